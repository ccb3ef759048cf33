//! Operations that compilers make other instructions of than the usual ones: read-modify-writes that change nothing
//! (`fetch_add(0)`), and stores that are exchanges.
//!
//! LLVM turns an idle read-modify-write into a full barrier (MFENCE, or `lock or` of the stack below or at its top) and a
//! plain load (`lowerIdempotentRMWIntoFencedLoad`); up to LLVM 14 a relaxed or an acquire one becomes a bare load, on
//! every architecture. What is left if nobody needs its result: of a sequentially consistent one the barrier, which is
//! then modelled as a fence; of weaker ones nothing. gcc leaves them as they are.

use super::info::{Atomic, OrderInfo};
use super::{Inside, OpKind, Orders};
use crate::debug::Unit;
use crate::effect::{Access, AccessKind, Arch, Flow, InsnEffect, Reg};

/// The most bytes of an operation that are looked at.
const MAX_BYTES: u64 = 4096;
/// The most instructions after an exchange that are looked at for its result.
const MAX_AHEAD: usize = 16;

/// What is left of a read-modify-write.
#[derive(Clone, Copy, Default)]
pub(super) struct Idle {
    /// It has become a load: there is one, and nothing that is atomic by its instruction.
    pub(super) loads: bool,
}

impl Orders<'_> {
    /// What is left of the read-modify-write around an instruction, if LLVM found it idle.
    pub(super) fn idle(&self, inside: &Inside<'_>) -> Idle {
        if inside.ops[0].1.kind != OpKind::Rmw || inside.unit.gnu {
            return Idle::default();
        }
        let outermost = inside.ops[inside.ops.len() - 1].0;
        let ranges = &inside.unit.nodes[outermost as usize].ranges;
        let (mut loads, mut atomic) = (false, false);
        self.look(ranges, &mut |pc, effect| {
            for access in &effect.accesses {
                let beside = self.is_no_op_on_stack(pc, access) || self.pushes(access, effect);
                loads |= access.kind == AccessKind::Load && !self.other_width(access, inside);
                atomic |= !beside && (access.kind == AccessKind::Rmw || access.conditional);
            }
            // A call does what nobody sees here; so do exclusive pairs.
            atomic |= matches!(effect.flow, Flow::Call { .. } | Flow::IndirectJump);
        });
        Idle { loads: loads && !atomic }
    }

    /// Whether a locked instruction is the barrier of an idle read-modify-write.
    pub(super) fn is_idle_barrier(&self, pc: u64, access: &Access, inside: &Inside<'_>) -> bool {
        inside.ops[0].1.kind == OpKind::Rmw && !inside.unit.gnu && self.is_no_op_on_stack(pc, access)
    }

    /// Whether an instruction of C is the load of an idle read-modify-write, as far as that can be told without asking
    /// what the source has there: nothing at the same place of the source is atomic by its instruction.
    pub(super) fn is_idle_line(&self, pc: u64, unit: &Unit) -> bool {
        if unit.gnu {
            return false;
        }
        let Some(here) = unit.lines().at(pc).filter(|row| row.line != 0 && row.column != 0) else {
            return false;
        };
        let chain = unit.chain(pc);
        let Some(root) = chain.last().map(|&root| &unit.nodes[root as usize]) else { return false };
        let rows = unit.lines().rows();
        let mut ranges = Vec::new();
        for (row, next) in rows.iter().zip(rows.iter().skip(1)) {
            let same = (row.file, row.line, row.column) == (here.file, here.line, here.column);
            if same && root.ranges.iter().any(|&(start, end)| start <= row.addr && row.addr < end) {
                ranges.push((row.addr, next.addr));
            }
        }
        let mut atomic = false;
        self.look(&ranges, &mut |pc, effect| {
            let locked =
                |access: &Access| access.kind == AccessKind::Rmw && !self.is_no_op_on_stack(pc, access);
            atomic |= effect.accesses.iter().any(locked);
        });
        !atomic
    }

    /// Whether an instruction is `lock or` of the stack with 0: a barrier. No compiler that makes loads of idle
    /// read-modify-writes has that for another reason.
    pub(super) fn is_no_op_on_stack(&self, pc: u64, access: &Access) -> bool {
        if access.kind != AccessKind::Rmw || !self.on_stack_top(access) || self.image.arch() != Arch::X86_64 {
            return false;
        }
        let Some(bytes) = self.image.code_at(pc) else { return false };
        // 83 /1 ib, with a base of RSP: a SIB byte, and 0, 1 or 4 bytes of displacement.
        let [0x83, modrm, 0x24, rest @ ..] = opcode(bytes) else { return false };
        let displacement = match modrm {
            0x0c => 0,
            0x4c => 1,
            0x8c => 4,
            _ => return false,
        };
        rest.get(displacement) == Some(&0)
    }

    /// Whether an instruction is an XCHG.
    pub(super) fn is_exchange(&self, pc: u64) -> bool {
        let x86 = self.image.arch() == Arch::X86_64;
        x86 && self.image.code_at(pc).is_some_and(|bytes| matches!(opcode(bytes), [0x86 | 0x87, ..]))
    }

    /// Whether nobody knows if an access is a store or a read-modify-write: an XCHG, of an operation that is not known,
    /// whose result is not used as far as the code shows.
    pub(super) fn may_be_store(
        &self,
        pc: u64,
        access: &Access,
        effect: &InsnEffect,
        info: &OrderInfo,
    ) -> bool {
        access.kind == AccessKind::Rmw
            && info.atomic != Atomic::No
            && self.is_exchange(pc)
            && !self.uses_result(pc, effect)
    }

    /// Whether the register that an exchange writes is read before it is written again, as far as control goes straight
    /// on.
    fn uses_result(&self, pc: u64, exchange: &InsnEffect) -> bool {
        let Some(result) = exchange.writes.iter().find(|reg| reg.0 < 16) else { return false };
        let start = pc.saturating_add(u64::from(exchange.len.max(1)));
        let (mut used, mut done, mut left) = (false, false, MAX_AHEAD);
        self.look(&[(start, start.saturating_add(MAX_BYTES))], &mut |_, effect| {
            if done || left == 0 {
                return;
            }
            left -= 1;
            let addresses = effect.accesses.iter().any(|access| {
                let index = access.address.index.map(|index| index.reg);
                access.address.base == Some(result) || index == Some(result)
            });
            used = effect.reads.contains(result) && !clears(effect, result) || addresses;
            done = used || effect.writes.contains(result) || effect.flow != Flow::Next;
        });
        used
    }

    /// Looks at the instructions of some ranges, as far as they can be decoded.
    pub(super) fn look(&self, ranges: &[(u64, u64)], each: &mut dyn FnMut(u64, &InsnEffect)) {
        let decoded = self.decoder();
        for &(start, end) in ranges {
            let mut pc = start;
            while pc < end.min(start.saturating_add(MAX_BYTES)) {
                let Some(effect) = decoded(pc) else { break };
                each(pc, &effect);
                let Some(next) = pc.checked_add(u64::from(effect.len.max(1))) else { break };
                pc = next;
            }
        }
    }
}

/// Whether it makes a register 0 by itself: `xor eax, eax` reads nothing that matters.
fn clears(effect: &InsnEffect, reg: Reg) -> bool {
    let mut reads = effect.reads.iter().filter(|reg| reg.0 < 16);
    effect.accesses.is_empty()
        && effect.writes.contains(reg)
        && reads.next() == Some(reg)
        && reads.next().is_none()
        && effect.len <= 3
}

/// An x86-64 instruction without its prefixes.
pub(super) fn opcode(bytes: &[u8]) -> &[u8] {
    let prefixes =
        bytes.iter().take_while(|byte| matches!(byte, 0x66 | 0xf0 | 0xf2 | 0xf3 | 0x2e | 0x3e)).count();
    let rest = &bytes[prefixes..];
    if matches!(rest.first(), Some(0x40..=0x4f)) { &rest[1..] } else { rest }
}
