//! Fences that left no instruction, where debug information has their place.
//!
//! g++ and clang++ keep a fence without code as an inlined call with an entry pc. C's fence is a builtin that never was
//! a call; GCC and LLVM up to 14 give it a row of the line table, at the place that it has in the code, as they do for
//! every statement, in each copy that they make of it. The text of the row's line tells that it is a fence. Later LLVM
//! leaves nothing: see [`super::strength`].

use super::info::{Atomic, EmptyFence, OrderInfo, Source};
use super::instance::{is_cpp, is_rust, operation};
use super::ops::OpKind;
use super::{Decode, Inside, Orders};
use crate::debug::{NONE, Row, SourceLine, Unit};
use crate::effect::{Access, AccessKind, Arch, Flow};
use crate::text::{Effects, Found, Items, Language, Place, is_keyword, is_library};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use wmtrace_model::order::Order;

/// The most bytes of a fence that are looked at.
const MAX_FENCE: u64 = 4096;

impl Orders<'_> {
    /// The fences of the source that compile to no instruction, by address. `decode` tells the effect of the
    /// instruction at an address.
    pub fn empty_fences(&self, decode: &Decode<'_>) -> Vec<EmptyFence> {
        self.empty_fences_of(&self.debug.code_units(), decode)
    }

    /// The same for some of the units ([`crate::debug::Debug::code_units`]).
    pub fn empty_fences_of(&self, units: &[u32], decode: &Decode<'_>) -> Vec<EmptyFence> {
        let mut found: Vec<EmptyFence> = Vec::new();
        for unit in units.iter().filter_map(|&unit| self.debug.load(unit as usize)) {
            for at in 0..unit.nodes.len() as u32 {
                let Some(op) = operation(self.debug, unit, at, || None).filter(|op| op.kind == OpKind::Fence)
                else {
                    continue;
                };
                let node = &unit.nodes[at as usize];
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
                // An order that nobody knows: what has an instruction for the strongest one may also be another.
                let info = info.unwrap_or_else(|| OrderInfo {
                    strengthened: Some(Order::AcqRel),
                    ..OrderInfo::new(Order::AcqRel, Source::Policy, Atomic::Yes)
                });
                // On x86-64 an instruction in it is for another order: unoptimised code chooses among them.
                let other = self.image.arch() == Arch::X86_64 && info.order != Some(Order::SeqCst);
                if instructions.is_empty() || info.runtime.is_some() || info.from == Source::Policy || other {
                    let frames = match node.parent {
                        // A real function: its own instructions are its place.
                        NONE => self.debug.frames(pc),
                        parent => self.debug.frames_from(unit, parent, self.debug.call_line(unit, node.call)),
                    };
                    found.push(EmptyFence { pc, info, frames, instructions });
                }
            }
            // Every fence of AArch64 is an instruction.
            if self.image.arch() == Arch::X86_64 && unit.rows_for_fences && !is_rust(unit) {
                let mut rows = Vec::new();
                self.fences_of_rows(unit, &found, &mut rows);
                found.extend(rows);
            }
        }
        found.sort_by_key(|fence| fence.pc);
        // One that has an entry has a row, too.
        found.dedup_by(|next, first| {
            (next.pc, next.info.order) == (first.pc, first.info.order)
                && next.instructions == first.instructions
        });
        found
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

    /// The fences of rows: where the line table has a row whose text is a fence, or a macro with one in it.
    fn fences_of_rows(&self, unit: &Unit, entries: &[EmptyFence], found: &mut Vec<EmptyFence>) {
        let mut known: BTreeMap<u64, Option<(String, Marks)>> = BTreeMap::new();
        // By file and line: the rows that point at a mark, and the others.
        let mut lines: BTreeMap<(u64, u32), [Vec<Row>; 2]> = BTreeMap::new();
        for row in unit.lines().rows() {
            let Some(file) = row.file.filter(|_| self.image.code_at(row.addr).is_some()) else { continue };
            let marks = known.entry(file).or_insert_with(|| {
                let path = unit.line_file(file)?;
                let marks = self.marks(unit, &path)?;
                Some((path, marks))
            });
            let Some(here) = marks.as_ref().and_then(|(_, marks)| marks.0.get(&row.line)) else { continue };
            let pointed = here.iter().any(|mark| mark.is_at(row.column));
            lines.entry((file, row.line)).or_default()[usize::from(!pointed)].push(*row);
        }
        let mut seen: BTreeSet<(u64, u32, u32)> = BTreeSet::new();
        for ((file, line), [pointed, others]) in lines {
            let Some(Some((path, marks))) = known.get(&file) else { continue };
            // Without columns, and if a macro's are its definition's, every row of the line may be the fence's.
            for row in if pointed.is_empty() { &others } else { &pointed } {
                let (column, effects, sure) = marks.of(line, row.column);
                // A statement has several rows at one address.
                let Some(order) = effects.order().filter(|_| seen.insert((row.addr, line, column))) else {
                    continue;
                };
                let mut info = OrderInfo {
                    strengthened: (!sure).then_some(order),
                    ..OrderInfo::new(order, Source::Text, Atomic::Yes)
                };
                // The fence in the library's own function: entries know more of it, if they know of this copy of it.
                if is_library(path) {
                    let inside = self.inside(row.addr);
                    let has_code = inside.is_some_and(|inside| inside.ops[0].1.kind == OpKind::Fence);
                    if has_code || entries.iter().any(|entry| entry.pc == row.addr) {
                        continue;
                    }
                    // LLVM may drop the entry of one and keep that of another.
                    let orders = if unit.gnu { self.orders_of_entries(unit, row.addr) } else { None };
                    match orders.as_deref() {
                        // All fences of the function have instructions.
                        Some([]) => continue,
                        Some([order]) => info = OrderInfo::new(*order, Source::Dwarf, Atomic::Yes),
                        Some(_) | None => info.strengthened = Some(order),
                    }
                }
                let line = SourceLine { file: path.clone(), line, column };
                let innermost = unit.chain(row.addr).first().copied().unwrap_or(NONE);
                let frames = self.debug.frames_from(unit, innermost, Some(line));
                found.push(EmptyFence { pc: row.addr, info, frames, instructions: Vec::new() });
            }
        }
    }

    /// The orders of all fences in the function at `pc` that have no instruction for sure; `None` if one is not known.
    /// The compiler keeps one entry of a fence, whatever copies it makes.
    fn orders_of_entries(&self, unit: &Unit, pc: u64) -> Option<Vec<Order>> {
        let function = unit.functions_at(pc).next()?;
        let (mut orders, mut any) = (Vec::new(), false);
        for at in function..unit.nodes[function as usize].end {
            let fence = operation(self.debug, unit, at, || None).filter(|op| op.kind == OpKind::Fence);
            let Some(op) = fence else { continue };
            any = true;
            let inside = Inside { unit, ops: vec![(at, op)], nested: false };
            let entry = unit.nodes[at as usize].entry_pc?;
            let order = self.stated(entry, &inside).or_else(|| self.told_by_text(&inside))?.order?;
            if order != Order::SeqCst && !orders.contains(&order) {
                orders.push(order);
            }
        }
        any.then_some(orders)
    }

    /// The places of a file's text that are fences once they are compiled. Functions with fences in them are not: where
    /// they are inlined their own text has a row.
    fn marks(&self, unit: &Unit, path: &str) -> Option<Marks> {
        let names = self.names(Language::C);
        // Of the libraries of compilers only the fence itself.
        let own = if is_library(path) { names.library(path, || self.whole(path)) } else { None };
        let items = own.as_ref().or_else(|| names.file(path))?;
        let mut marks = Marks::default();
        let all = Place::Code(0..items.tokens.code.len());
        for (token, found) in items.contents(&all) {
            let (effects, sure) = match found {
                // C++'s is a function: it has an entry, or a row in the library's header.
                Found::Fence(_) if is_cpp(unit) && items.tokens.text(token) == "atomic_thread_fence" => {
                    continue;
                }
                Found::Fence(effects) => (effects, true),
                Found::Barrier(effects) => (effects, false),
                Found::Name { .. } if is_library(path) => continue,
                Found::Name { called } => {
                    let name = items.tokens.text(token);
                    match names.of_macro(name) {
                        Some(effects) => (effects, true),
                        // It may be a macro of a file that could not be read.
                        None if called && names.is_undefined(name) && !self.functions().contains(name) => {
                            (Effects::BOTH, false)
                        }
                        None if called && names.missing().is_some() && !self.is_function(name) => {
                            (Effects::BOTH, false)
                        }
                        None => continue,
                    }
                }
            };
            if effects.any() {
                let mark = Mark { columns: (token.column, token.column + token.len), effects, sure };
                marks.0.entry(token.line).or_default().push(mark);
            }
        }
        Some(marks)
    }

    /// What fences of a function's text do that were compiled and have left no trace in its code: compilers make one of two
    /// branches that end alike, and keep the row of one of them. The fences of the others are anywhere.
    pub(super) fn lost_fences(
        &self,
        unit: &Unit,
        root: u32,
        text: &Items,
        (path, function): (&str, Range<usize>),
    ) -> Effects {
        let mut marks = Marks::default();
        for (token, found) in text.contents(&Place::Code(function.clone())) {
            // Macros are not looked into: most of those that may have fences have none.
            let Found::Fence(effects) = found else { continue };
            if effects.any() && !text.may_be_left_out(token, &function) {
                let columns = (token.column, token.column + token.len);
                marks.0.entry(token.line).or_default().push(Mark { columns, effects, sure: true });
            }
        }
        if marks.0.is_empty() {
            return Effects::default();
        }
        let traces = self.traces(unit, root, path);
        let mut lost = Effects::default();
        for (line, marks) in &marks.0 {
            let columns: &[u32] = traces.get(line).map_or(&[], Vec::as_slice);
            let has_trace = |mark: &Mark| columns.iter().any(|&column| column == 0 || mark.is_at(column));
            // Every row of the line stands for the fences of C that nothing points at. C++'s would have entries.
            if !is_cpp(unit) && !columns.is_empty() && !marks.iter().any(has_trace) {
                continue;
            }
            let gone = marks.iter().filter(|mark| !has_trace(mark));
            lost = gone.fold(lost, |sum, mark| sum | mark.effects);
        }
        lost
    }

    /// The lines of a file that have rows in the code of a function, or entries of fences, with their columns (0 if that is
    /// not known).
    fn traces(&self, unit: &Unit, root: u32, path: &str) -> BTreeMap<u32, Vec<u32>> {
        let mut lines: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let function = &unit.nodes[root as usize];
        for row in function.ranges.iter().flat_map(|&(start, end)| unit.lines().within(start, end)) {
            if row.file.and_then(|file| unit.line_file(file)).is_some_and(|file| file == path) {
                lines.entry(row.line).or_default().push(row.column);
            }
        }
        for node in self.fence_entries(unit, root) {
            let call = self.debug.call_line(unit, unit.nodes[node as usize].call);
            if let Some(call) = call.filter(|call| call.file == path) {
                lines.entry(call.line).or_default().push(call.column);
            }
        }
        lines
    }

    /// The fences that a function has entries of.
    pub(super) fn fence_entries(&self, unit: &Unit, root: u32) -> impl Iterator<Item = u32> {
        (root..unit.nodes[root as usize].end).filter(move |&at| {
            unit.nodes[at as usize].entry_pc.is_some()
                && operation(self.debug, unit, at, || None).is_some_and(|op| op.kind == OpKind::Fence)
        })
    }

    fn is_function(&self, name: &str) -> bool {
        let names = self.names(Language::C);
        is_keyword(name) || names.defines(name) || self.functions().contains(name)
    }
}

/// A place in a line that is a fence once it is compiled.
struct Mark {
    /// From its name to its parenthesis.
    columns: (u32, u32),
    effects: Effects,
    /// Whether it is one for sure.
    sure: bool,
}

/// The marks of a file, by line.
#[derive(Default)]
struct Marks(BTreeMap<u32, Vec<Mark>>);

impl Mark {
    /// Whether a column is its: compilers point at the name, its parenthesis, or the namespace before it.
    fn is_at(&self, column: u32) -> bool {
        self.columns.0.saturating_sub(5) <= column && column <= self.columns.1
    }
}

impl Marks {
    /// The mark of a line that a column points at; if there is none, all of them together.
    fn of(&self, line: u32, column: u32) -> (u32, Effects, bool) {
        let marks = self.0.get(&line).map_or(&[][..], Vec::as_slice);
        if let Some(mark) = marks.iter().find(|mark| mark.is_at(column)) {
            return (mark.columns.0, mark.effects, mark.sure);
        }
        let effects = marks.iter().fold(Effects::default(), |sum, mark| sum | mark.effects);
        (marks.first().map_or(0, |mark| mark.columns.0), effects, marks.len() == 1 && marks[0].sure)
    }
}
