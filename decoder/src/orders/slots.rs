//! The frame of an atomic operation in unoptimised code: its parameters and variables have slots there, and reading
//! or writing these is not the operation.
//!
//! Only what is inside an operation counts: a variable of the function around it may be the object itself, although
//! its type is plain (`std::atomic_ref`).

use super::info::{Atomic, InsnOrders, OrderInfo, Source};
use super::instance::{Argument, Instance, operation, variable_name, variable_type};
use super::ops::Scale;
use super::{Decode, Inside, Op, Orders};
use crate::debug::{Unit, pointee_size, size_of};
use crate::effect::{Access, AccessKind, Extent, Flow, InsnEffect, Reg};
use std::collections::BTreeMap;

/// How many operations after this one are looked at: their arguments are written before their code begins.
const NEXT: u32 = 8;
/// The most instructions of one line that are looked at.
const MAX_LINE: usize = 64;

impl Orders<'_> {
    /// As [`Orders::at`], where there is no thread to ask which access of unoptimised code is the operation's own
    /// ([`super::RuntimeOrder::is_own`]): an access through another pointer of the operation's is not. libstdc++ loads
    /// into a buffer, and returns what is there.
    pub fn without_thread(&self, pc: u64, effect: &InsnEffect, decode: &Decode<'_>) -> InsnOrders {
        let mut orders = self.at(pc, effect);
        for (access, info) in effect.accesses.iter().zip(&mut orders.accesses) {
            if info.runtime.is_none() || info.atomic != Atomic::Yes || access.atomic {
                continue;
            }
            // A pointer that lies in memory is how the code goes to the object; what else is in the frame is beside it.
            let object = info.runtime.as_ref().and_then(|runtime| runtime.object.as_ref());
            let in_frame = object.is_some_and(|object| object.frame_slot().is_some())
                && self.frame_place(pc, access).is_some();
            let beside =
                |slot| self.inside(pc).is_some_and(|inside| self.is_other_pointer(pc, slot, access, &inside));
            if in_frame || self.pointer_slot(pc, access, decode).is_some_and(beside) {
                *info = OrderInfo::plain(Source::Dwarf);
            }
        }
        orders
    }

    /// Whether what lies in the frame, this far from the CFA, is a pointer of the operation's, but not to its object.
    fn is_other_pointer(&self, pc: u64, slot: i64, access: &Access, inside: &Inside<'_>) -> bool {
        let cfa = self.debug.cfa(pc);
        let to_object = inside.ops.iter().any(|&(node, op)| {
            let instance = Instance { debug: self.debug, unit: inside.unit, node, op, pc, cfa };
            // Without a slot of its own, the pointer to the object may be any.
            matches!(instance.object(), Argument::Runtime(lookup) if lookup.frame_slot() == Some(slot))
        });
        let pointer = Access { extent: Extent::Bytes(8), ..*access };
        !to_object && self.in_own_slot(pc, slot, &pointer, inside)
    }

    /// The slot of the frame that the base register of an access was loaded from, in the same line of the source.
    fn pointer_slot(&self, pc: u64, access: &Access, decode: &Decode<'_>) -> Option<i64> {
        let base = access.address.base.filter(|_| access.address.index.is_none())?;
        let mut at = self.debug.unit_at(pc)?.lines().line_start(pc)?;
        // By register: the slot, and where it was loaded.
        let mut loaded: BTreeMap<Reg, (i64, u64)> = BTreeMap::new();
        let mut joins = Vec::new();
        for _ in 0..MAX_LINE {
            if at >= pc {
                break;
            }
            let effect = decode(at, self.image.code_at(at)?)?;
            match effect.flow {
                Flow::Next => loaded.retain(|&reg, _| !effect.writes.contains(reg)),
                // Whoever gets behind it may have come from elsewhere, or lost its registers.
                Flow::Jump { target, .. } => {
                    joins.push(target);
                    loaded.clear();
                }
                Flow::IndirectJump | Flow::Call { .. } | Flow::Return | Flow::Syscall | Flow::Trap => {
                    loaded.clear();
                }
            }
            if let [load] = effect.accesses[..]
                && (load.kind, load.extent) == (AccessKind::Load, Extent::Bytes(8))
                && let Some(Some(place)) = self.frame_place(at, &load)
            {
                let mut written = effect.writes.iter();
                if let (Some(reg), None) = (written.next(), written.next()) {
                    loaded.insert(reg, (place, at));
                }
            }
            at = at.checked_add(u64::from(effect.len.max(1)))?;
        }
        let &(slot, from) = loaded.get(&base).filter(|_| at == pc)?;
        joins.iter().all(|&join| join <= from || pc < join).then_some(slot)
    }

    /// Whether an access to the frame, this far from the CFA, stays within a parameter or variable of the operation,
    /// or of one that follows it in the same function.
    pub(super) fn in_own_slot(&self, pc: u64, place: i64, access: &Access, inside: &Inside<'_>) -> bool {
        let Extent::Bytes(width) = access.extent else { return false };
        let unit = inside.unit;
        let cfa = self.debug.cfa(pc);
        let within = |node: u32, whole: bool| {
            unit.variables(node).any(|entry| {
                let op = inside.ops[0].1;
                let instance = Instance { debug: self.debug, unit, node, op, pc, cfa };
                let slot = instance.frame_slot(entry, whole);
                let size = variable_type(self.debug, unit, entry).and_then(|(unit, of)| size_of(unit, of));
                slot.zip(size).is_some_and(|(slot, size)| {
                    let (slot, place) = (i128::from(slot), i128::from(place));
                    slot <= place && place + i128::from(width) <= slot + i128::from(size)
                })
            })
        };
        let outermost = inside.ops[inside.ops.len() - 1].0;
        // From the innermost function around the instruction up to the operation's outermost layer.
        let chain = unit.chain(pc);
        let inner = chain.iter().copied().take_while(|&node| node != outermost).chain([outermost]);
        if inner.into_iter().any(|node| within(node, false)) {
            return true;
        }
        let root = *chain.last().unwrap_or(&outermost);
        let end = unit.nodes[root as usize].end;
        let first = unit.nodes[outermost as usize].end;
        (first..end.min(first.saturating_add(NEXT)))
            .filter(|&node| operation(self.debug, unit, node, || None).is_some())
            .any(|node| within(node, true))
    }

    /// Whether an access has another width than the object, as its type says: then it is not the operation's own.
    /// Compilers neither narrow nor widen atomic accesses.
    pub(super) fn other_width(&self, access: &Access, inside: &Inside<'_>) -> bool {
        let Extent::Bytes(width) = access.extent else { return true };
        self.known_size(inside).is_some_and(|size| size != u64::from(width))
    }

    /// Whether an access has the width of the object, as its type says.
    pub(super) fn has_width(&self, access: &Access, inside: &Inside<'_>) -> bool {
        let Extent::Bytes(width) = access.extent else { return false };
        self.known_size(inside) == Some(u64::from(width))
    }

    fn known_size(&self, inside: &Inside<'_>) -> Option<u64> {
        // A type that is declared only, or empty, says nothing.
        let known = |&(node, op): &(u32, Op)| self.object_size(inside.unit, node, op);
        inside.ops.iter().find_map(known).filter(|&size| size != 0)
    }

    fn object_size(&self, unit: &Unit, node: u32, op: Op) -> Option<u64> {
        // What `this` of an `atomic_ref` points to is not the object.
        if op.indirect {
            return None;
        }
        let names = op.scale.object_names();
        let typed = unit.variables(node).find_map(|entry| {
            let name = variable_name(self.debug, unit, entry)?;
            let (unit, of) =
                names.contains(&name.as_str()).then(|| variable_type(self.debug, unit, entry)).flatten()?;
            pointee_size(unit, of)
        });
        typed.or_else(|| {
            let path = self.debug.path(unit, unit.nodes[node as usize].entry).0?;
            generic_size(path.last()?).filter(|_| op.scale == Scale::Rust)
        })
    }

    /// Whether nothing is known of an operation but its name: line tables alone have no parameters.
    pub(super) fn is_bare(&self, inside: &Inside<'_>) -> bool {
        inside.ops.iter().all(|&(node, _)| inside.unit.variables(node).next().is_none())
    }
}

/// The size that the name of a function of Rust's core tells: `atomic_load<u32>`.
fn generic_size(name: &str) -> Option<u64> {
    let argument = name.split_once('<')?.1.split([',', '>']).next()?;
    match argument {
        "u8" | "i8" | "bool" => Some(1),
        "u16" | "i16" => Some(2),
        "u32" | "i32" => Some(4),
        "u64" | "i64" | "usize" | "isize" => Some(8),
        "u128" | "i128" => Some(16),
        _ if argument.starts_with('*') => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::generic_size;

    #[test]
    fn sizes_by_name() {
        assert_eq!(generic_size("atomic_load<u32>"), Some(4));
        assert_eq!(generic_size("atomic_store<*mut alloc::Node<u8>>"), Some(8));
        assert_eq!(generic_size("atomic_add<usize, usize>"), Some(8));
        assert_eq!(generic_size("atomic_load<T>"), None);
        assert_eq!(generic_size("load"), None);
    }
}
