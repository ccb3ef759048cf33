//! What the registers will be after instructions that have not run yet: as far as the stack is concerned, and which of
//! them cannot be told. A stretch goes on as long as the addresses of its accesses are known.

use super::code::Insn;
use crate::os::ptrace::Regs;
use wmtrace_decoder::effect::{Access, Extent, Mask, RegSet};
use wmtrace_decoder::x86::regs::{RBP, RFLAGS, RSP};

/// The registers then.
pub(super) struct Ahead {
    pub(super) regs: Regs,
    unknown: RegSet,
}

impl Ahead {
    pub(super) fn new(regs: Regs) -> Ahead {
        Ahead { regs, unknown: RegSet::EMPTY }
    }

    /// Whether the addresses of the instruction's accesses can be told.
    pub(super) fn knows(&self, insn: &Insn) -> bool {
        insn.effect.accesses.iter().all(|access| !used(access).iter().any(|reg| self.unknown.contains(reg)))
    }

    pub(super) fn run(&mut self, insn: &Insn, bytes: &[u8]) {
        let known = self.stack(&bytes[..usize::from(insn.effect.len).min(bytes.len())]);
        for reg in insn.effect.writes.iter() {
            if !known.contains(reg) {
                self.unknown.insert(reg);
            }
        }
    }

    /// Instructions that move the stack and frame pointers by constants.
    fn stack(&mut self, bytes: &[u8]) -> RegSet {
        let sp = RegSet::EMPTY.with(RSP);
        if self.unknown.contains(RSP) {
            return RegSet::EMPTY;
        }
        let amount = |bytes: &[u8]| match *bytes {
            [low] => Some(i64::from(low as i8)),
            [a, b, c, d] => Some(i64::from(i32::from_le_bytes([a, b, c, d]))),
            _ => None,
        };
        match *bytes {
            [0x50..=0x57] | [0x41, 0x50..=0x57] | [0x6a, _] | [0x68, _, _, _, _] => {
                self.regs.rsp = self.regs.rsp.wrapping_sub(8);
                sp
            }
            [low @ 0x58..=0x5f] | [0x41, low @ 0x58..=0x5f] if low != 0x5c => {
                self.regs.rsp = self.regs.rsp.wrapping_add(8);
                sp
            }
            [0x48, 0x83 | 0x81, 0xec, ..] => {
                let Some(amount) = amount(&bytes[3..]) else { return RegSet::EMPTY };
                self.regs.rsp = self.regs.rsp.wrapping_sub(amount as u64);
                sp
            }
            [0x48, 0x83 | 0x81, 0xc4, ..] => {
                let Some(amount) = amount(&bytes[3..]) else { return RegSet::EMPTY };
                self.regs.rsp = self.regs.rsp.wrapping_add(amount as u64);
                sp
            }
            [0x48, 0x89, 0xe5] => {
                self.regs.rbp = self.regs.rsp;
                RegSet::EMPTY.with(RBP)
            }
            _ => RegSet::EMPTY,
        }
    }
}

/// The registers that decide where an access goes.
fn used(access: &Access) -> RegSet {
    let mut set = RegSet::EMPTY;
    let address = &access.address;
    for reg in [address.base, address.index.map(|index| index.reg), address.segment].into_iter().flatten() {
        set.insert(reg);
    }
    let mut masked = |mask: &Mask| match *mask {
        Mask::Bits(reg) | Mask::Signs(reg, _) => set.insert(reg),
    };
    match &access.extent {
        Extent::Repeated { count, .. } => {
            set.insert(*count);
            set.insert(RFLAGS);
        }
        Extent::Lanes { indices, mask, .. } => {
            mask.iter().for_each(&mut masked);
            set.insert(*indices);
        }
        Extent::Masked { mask, .. } | Extent::Packed { mask, .. } => masked(mask),
        Extent::BitString { offset, .. } => set.insert(*offset),
        Extent::Bytes(_) | Extent::AtMost(_) | Extent::Block(_) => {}
    }
    set
}
