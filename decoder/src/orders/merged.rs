//! Operations that GCC has made one instruction of.
//!
//! Two paths that end in the same instruction may share it (cross-jumping), whatever orders the two operations have: a
//! relaxed load and an acquire load are both a MOV. The instruction then has the line, or the inlined call, of one of
//! them, and of the other nothing is left. So where the text of the function has another operation of the same kind, with
//! more order, and no instruction is its own, the instruction may be that one, and gets its order. (What LLVM merges has
//! no line, or is where both are: see `classify`.)

use super::info::{Meant, OrderInfo, Source};
use super::instance::{is_cpp, is_rust, operation};
use super::ops::OpKind;
use super::source::c_function;
use super::strength::strengthen;
use super::{Chain, Inside, Orders};
use crate::debug::{SourceLine, Unit};
use crate::effect::{AccessKind, Arch};
use crate::text::{Effects, Language, Operation, is_library};
use wmtrace_model::order::Order;

impl Orders<'_> {
    /// The order of an access with that of another operation that may have become the same instruction.
    pub(super) fn with_merged(
        &self,
        pc: u64,
        kind: AccessKind,
        place: Option<&Chain<'_>>,
        info: OrderInfo,
    ) -> OrderInfo {
        let complete = info.order.is_none_or(|order| order == Order::SeqCst);
        let stated = matches!(info.from, Source::Dwarf | Source::Text) && info.runtime.is_none();
        let Some((unit, chain)) = place.filter(|_| stated && !complete) else { return info };
        if !unit.gnu || is_rust(unit) || self.image.arch() != Arch::X86_64 {
            return info;
        }
        let kind = match info.meant {
            Meant::Same | Meant::StoreOrRmw => kind,
            Meant::Store => AccessKind::Store,
            Meant::Rmw => AccessKind::Rmw,
        };
        let effects = self.lost_operations(pc, unit, chain, kind);
        // A seq_cst store is another instruction; a seq_cst load is not.
        let mut info = strengthen(info, kind, effects.0);
        if effects.1 && kind != AccessKind::Store {
            info.order = Some(Order::SeqCst);
            info.strengthened = Some(Order::SeqCst);
        }
        info
    }

    /// What operations of a function do, of this kind, that no instruction is of; whether one of them is seq_cst.
    fn lost_operations(&self, pc: u64, unit: &Unit, chain: &[u32], kind: AccessKind) -> (Effects, bool) {
        let mut sum = (Effects::default(), false);
        let Some(&root) = chain.last() else { return sum };
        for node in root..unit.nodes[root as usize].end {
            if let Some(order) = self.lost_entry(pc, unit, node, kind) {
                sum.0 |= Effects { acquire: order.acquires(), release: order.releases() };
                sum.1 |= order == Order::SeqCst;
            }
        }
        let names = self.names(Language::C);
        for &node in chain {
            let Some(declared) = self.debug.declared(unit, unit.nodes[node as usize].entry) else { continue };
            if is_library(&declared.file) {
                continue;
            }
            let Some(items) = names.file(&declared.file) else { continue };
            let Some(range) = items.around(declared.line, declared.line) else { continue };
            let here = self.line_in(pc, unit, node);
            for found in items.operations(range) {
                let Some(order) = order_of(&found, kind) else { continue };
                let alone = here.is_some_and(|(line, _)| items.exclude_each_other(line, found.line));
                let itself = here.is_some_and(|(line, column)| {
                    line == found.line
                        && (column == 0 || column.abs_diff(found.column) <= found.name.len() as u32 + 2)
                });
                if alone || itself || self.has_own(pc, unit, root, &declared, &found, kind) {
                    continue;
                }
                sum.0 |= Effects { acquire: order.acquires(), release: order.releases() };
                sum.1 |= order == Order::SeqCst;
            }
        }
        sum
    }

    /// The order of an inlined operation of this kind, if it has an entry and no instruction.
    fn lost_entry(&self, pc: u64, unit: &Unit, node: u32, kind: AccessKind) -> Option<Order> {
        let op = operation(self.debug, unit, node, || None).filter(|op| same(op.kind, kind))?;
        let around = |node: u32| operation(self.debug, unit, node, || None).is_some();
        let at = &unit.nodes[node as usize];
        // One of several layers is no operation of its own.
        let layer = !at.inlined() || around(at.parent) || (node + 1..at.end).any(around);
        if layer
            || at.ranges.iter().any(|&(start, end)| start <= pc && pc < end)
            || self.has_access(pc, &at.ranges, kind)
        {
            return None;
        }
        let inside = Inside { unit, ops: vec![(node, op)], nested: false };
        let stated = self.stated(at.entry_pc.unwrap_or(pc), &inside).or_else(|| self.told_by_text(&inside));
        // An order that nobody knows may be any.
        Some(stated.and_then(|info| info.order).unwrap_or(Order::SeqCst))
    }

    /// Where in the text of a function an instruction is, or the call that was inlined there.
    fn line_in(&self, pc: u64, unit: &Unit, node: u32) -> Option<(u32, u32)> {
        let chain = unit.chain(pc);
        let at = chain.iter().position(|&it| it == node)?;
        match at.checked_sub(1) {
            None => unit.lines().at(pc).map(|row| (row.line, row.column)),
            Some(inner) => {
                let call = unit.nodes[chain[inner] as usize].call;
                Some((call.line, call.column))
            }
        }
    }

    /// Whether an operation of the text has an instruction of its own, which is not the one at `pc`.
    fn has_own(
        &self,
        pc: u64,
        unit: &Unit,
        root: u32,
        declared: &SourceLine,
        found: &Operation<'_>,
        kind: AccessKind,
    ) -> bool {
        let (file, first) = (declared.file.as_str(), declared.line);
        let ranges = match is_cpp(unit) && found.member {
            // An inlined call.
            true => (root..unit.nodes[root as usize].end)
                .filter(|&node| unit.nodes[node as usize].call.line == found.line)
                .filter(|&node| operation(self.debug, unit, node, || None).is_some())
                .flat_map(|node| unit.nodes[node as usize].ranges.clone())
                .collect(),
            // A builtin: what the line table has of its line.
            false => {
                let rows = unit.lines().rows();
                let function = &unit.nodes[root as usize].ranges;
                // Several functions may begin in one line.
                let inside = |addr: u64| {
                    found.line == first || function.iter().any(|&(start, end)| start <= addr && addr < end)
                };
                let path = |number: Option<u64>| number.and_then(|number| unit.line_file(number));
                let pairs = rows.iter().zip(rows.iter().skip(1));
                let mine = pairs.filter(|(row, _)| row.line == found.line && inside(row.addr));
                let mine = mine.filter(|(row, _)| path(row.file).as_deref() == Some(file));
                mine.map(|(row, next)| (row.addr, next.addr)).collect::<Vec<_>>()
            }
        };
        self.has_access(pc, &ranges, kind)
    }

    /// Whether some code has an access of this kind, which is not the one at `pc`.
    fn has_access(&self, pc: u64, ranges: &[(u64, u64)], kind: AccessKind) -> bool {
        let mut own = false;
        self.look(ranges, &mut |at, effect| {
            own |= at != pc
                && effect.accesses.iter().any(|access| {
                    let fits = access.kind == kind || kind == AccessKind::Store && access.atomic;
                    fits && self.frame_place(at, access).is_none()
                });
        });
        own
    }
}

/// The order of an operation, if it is one of this kind.
fn order_of(found: &Operation<'_>, kind: AccessKind) -> Option<Order> {
    let (op, fixed) = match found.member {
        true => (member(found.name)?, None),
        false => c_function(found.name)?,
    };
    // An order that is no word of the text may be any.
    same(op, kind).then(|| fixed.or(found.order).unwrap_or(Order::SeqCst))
}

/// Whether an operation makes an access of this kind.
fn same(op: OpKind, kind: AccessKind) -> bool {
    op != OpKind::Fence && op.access() == kind
}

/// What a member function of `std::atomic` does.
fn member(name: &str) -> Option<OpKind> {
    match name {
        "load" | "test" => Some(OpKind::Load),
        "store" | "clear" => Some(OpKind::Store),
        "exchange" | "test_and_set" => Some(OpKind::Rmw),
        "compare_exchange_weak" | "compare_exchange_strong" => Some(OpKind::Cas),
        _ if name.starts_with("fetch_") => Some(OpKind::Rmw),
        _ => None,
    }
}
