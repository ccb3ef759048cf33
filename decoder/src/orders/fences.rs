//! Fences that left no instruction: where debug information has them, and, on x86-64, where only source text does.
//!
//! g++ and clang++ keep a fence without code as an inlined call with an entry pc. LLVM since 15 or so (rustc) drops
//! it, and C's fence is a builtin that never was a call. Then the source has the fence, and the line table says
//! between which instructions it belongs: the compiler moves no access across it. A fence that cannot be placed so
//! that everything before it in the source is before it in the code is not placed: [`LostFence`] says so.

use super::info::{Atomic, EmptyFence, LostFence, OrderInfo, Source};
use super::instance::operation;
use super::ops::OpKind;
use super::source::FenceText;
use super::{Decode, Inside, Orders};
use crate::debug::{NONE, SourceLine, Unit};
use crate::effect::{Access, AccessKind, Arch, Flow};
use std::collections::{BTreeMap, BTreeSet};
use wmtrace_model::order::Order;

/// The most bytes of a fence that are looked at.
const MAX_FENCE: u64 = 4096;

/// Where an instruction is in the source of a function: (line, column), and its address.
type Position = ((u32, u32), u64);

impl Orders<'_> {
    /// The fences of the source that compile to no instruction, by address. `decode` tells the effect of the
    /// instruction at an address.
    pub fn empty_fences(&self, decode: &Decode<'_>) -> (Vec<EmptyFence>, Vec<LostFence>) {
        self.empty_fences_of(&self.debug.code_units(), decode)
    }

    /// The same for some of the units ([`crate::debug::Debug::code_units`]).
    pub fn empty_fences_of(&self, units: &[u32], decode: &Decode<'_>) -> (Vec<EmptyFence>, Vec<LostFence>) {
        let (mut found, mut lost) = (Vec::new(), Vec::new());
        for unit in units.iter().filter_map(|&unit| self.debug.load(unit as usize)) {
            // Fences that debug information has, by their call: source text need not be asked about them.
            let mut calls = BTreeSet::new();
            for at in 0..unit.nodes.len() as u32 {
                let Some(op) = operation(self.debug, unit, at, || None).filter(|op| op.kind == OpKind::Fence)
                else {
                    continue;
                };
                let node = &unit.nodes[at as usize];
                calls.insert(node.call.line);
                // libc++ has two layers, one inlined into the other: the outer one is the fence.
                let layer = |parent| operation(self.debug, unit, parent, || None);
                if node.inlined() && layer(node.parent).is_some_and(|op| op.kind == OpKind::Fence) {
                    continue;
                }
                let Some(entry) = node.entry_pc.filter(|&pc| self.image.code_at(pc).is_some()) else {
                    continue;
                };
                let pc = match node.ranges.first() {
                    // A real function finds its argument only after its prologue.
                    Some(&(start, end)) if !node.inlined() => unit.lines().body(start, end),
                    _ => entry,
                };
                let (mut instructions, mut called) = (Vec::new(), false);
                for &range in &node.ranges {
                    called |= self.fences_in(range, decode, &mut instructions);
                }
                // Unoptimised, the outer layer calls the inner one, which is a function of its own.
                if called && instructions.is_empty() {
                    continue;
                }
                let inside = Inside { unit, ops: vec![(at, op)], nested: false };
                let info = self.stated(pc, &inside).or_else(|| self.told_by_text(&inside));
                let info = info.unwrap_or_else(|| OrderInfo::new(Order::SeqCst, Source::Policy, Atomic::Yes));
                if instructions.is_empty() || info.runtime.is_some() {
                    let frames = match node.parent {
                        // A real function: its own instructions are its place.
                        NONE => self.debug.frames(pc),
                        parent => self.debug.frames_from(unit, parent, self.debug.call_line(unit, node.call)),
                    };
                    found.push(EmptyFence { pc, info, frames, instructions });
                }
            }
            // Every fence of AArch64 is an instruction.
            if self.image.arch() == Arch::X86_64 {
                self.fences_of_text(unit, &calls, &mut found, &mut lost);
            }
        }
        found.sort_by_key(|fence| fence.pc);
        (found, lost)
    }

    /// The instructions of a range that are fences, as far as it can be decoded; whether a function that is a fence is
    /// called.
    fn fences_in(&self, (start, end): (u64, u64), decode: &Decode<'_>, found: &mut Vec<u64>) -> bool {
        let (mut pc, mut called) = (start, false);
        while pc < end.min(start.saturating_add(MAX_FENCE)) {
            let Some(effect) = self.image.code_at(pc).and_then(|bytes| decode(pc, bytes)) else { break };
            let locked = |access: &Access| access.kind == AccessKind::Rmw && self.on_stack_top(access);
            if effect.fence.is_some() || effect.accesses.iter().any(locked) {
                found.push(pc);
            }
            if let Flow::Call { target: Some(target) } = effect.flow {
                called |= self.inside(target).is_some_and(|inside| inside.ops[0].1.kind == OpKind::Fence);
            }
            let Some(next) = pc.checked_add(u64::from(effect.len.max(1))) else { break };
            pc = next;
        }
        called
    }

    fn fences_of_text(
        &self,
        unit: &Unit,
        calls: &BTreeSet<u32>,
        found: &mut Vec<EmptyFence>,
        lost: &mut Vec<LostFence>,
    ) {
        let files: BTreeSet<u64> = unit.lines().rows().iter().filter_map(|row| row.file).collect();
        let texts: BTreeMap<String, Vec<_>> = files
            .into_iter()
            .filter_map(|file| {
                let path = unit.line_file(file)?;
                let fences = self.kept.0.texts.fences(self.debug.files(), &path);
                (!fences.is_empty()).then_some((path, fences))
            })
            .collect();
        if texts.is_empty() {
            return;
        }
        // g++ and gcc give every statement a row, also if it has no code: what has none was not compiled (`#ifdef`).
        let rows = unit.lines().rows();
        let compiled = |path: &str, line: u32| {
            let here = |file: u64| unit.line_file(file).as_deref() == Some(path);
            !unit.gnu || rows.iter().any(|row| row.line == line && row.file.is_some_and(here))
        };
        for ((node, path), mut positions) in self.positions(unit) {
            let Some(fences) = texts.get(&path) else { continue };
            positions.sort_unstable();
            let (first, last) = (positions[0].0, positions[positions.len() - 1].0);
            for &FenceText { line, columns: (column, open), order } in fences {
                let at = (line, column);
                // A sequentially consistent fence is an instruction, and in unoptimised Rust any fence is a call.
                let called = |&((of, from), _): &Position| of == line && (column..=open).contains(&from);
                let has_code =
                    order == Order::SeqCst || calls.contains(&line) || positions.iter().any(called);
                if at < first || at > last || has_code || !compiled(&path, line) {
                    continue;
                }
                let split = positions.partition_point(|&(position, _)| position < at);
                let before = positions[..split].iter().map(|&(_, pc)| pc).max();
                let after = positions[split..].iter().map(|&(_, pc)| pc).min();
                match (before, after) {
                    (before, Some(pc)) if before.is_none_or(|before| before < pc) => {
                        let info = OrderInfo::new(order, Source::Text, Atomic::Yes);
                        let line = SourceLine { file: path.clone(), line, column };
                        let frames = self.debug.frames_from(unit, node, Some(line));
                        found.push(EmptyFence { pc, info, frames, instructions: Vec::new() });
                    }
                    _ => {
                        lost.push(LostFence { line: SourceLine { file: path.clone(), line, column }, order });
                    }
                }
            }
        }
    }

    /// For each function and each inlined call, where its instructions are in its own source: those of calls
    /// inlined into it are where the call is.
    fn positions(&self, unit: &Unit) -> BTreeMap<(u32, String), Vec<Position>> {
        let mut paths: BTreeMap<u64, Option<String>> = BTreeMap::new();
        let mut positions: BTreeMap<(u32, String), Vec<Position>> = BTreeMap::new();
        let rows = unit.lines().rows();
        for (row, next) in rows.iter().zip(rows.iter().skip(1)) {
            // A row without an instruction is a statement without code: a fence, perhaps.
            let Some(file) = row.file.filter(|_| row.addr < next.addr) else { continue };
            let path = paths.entry(file).or_insert_with(|| unit.line_file(file)).clone();
            let mut place = path.map(|path| (path, (row.line, row.column)));
            for node in unit.chain(row.addr) {
                if let Some((path, at)) = place.filter(|(_, at)| at.0 != 0) {
                    positions.entry((node, path)).or_default().push((at, row.addr));
                }
                let call = unit.nodes[node as usize].call;
                place = self.debug.call_line(unit, call).map(|line| (line.file, (line.line, line.column)));
            }
        }
        positions
    }
}
