//! Control flow is followed by the engine, not run: a jump, call or return is a change of two registers and one
//! word of memory, which is cheaper to make than to run, and leaves no doubt about where the thread goes. What is
//! not known here is single-stepped.

use super::registers::gpr;
use crate::os::ptrace::Regs;
use wmtrace_decoder::effect::{Flow, InsnEffect};
use wmtrace_decoder::x86::simple::holds;

/// How an instruction transfers control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transfer {
    /// Jumps, if the condition (the low four bits of the opcode) holds.
    Jump {
        target: u64,
        condition: Option<u8>,
    },
    /// Jumps if the counter is zero (JRCXZ).
    JumpIfZero {
        target: u64,
    },
    /// Jumps to what a register holds.
    JumpRegister(u8),
    /// Jumps to what memory holds.
    JumpMemory,
    Call {
        target: u64,
    },
    CallRegister(u8),
    CallMemory,
    /// Returns, and takes so many bytes more off the stack.
    Return {
        pops: u16,
    },
}

impl Transfer {
    /// What the instruction with these bytes does, if it is one of the usual ones.
    pub(super) fn of(effect: &InsnEffect, bytes: &[u8]) -> Option<Transfer> {
        let mut at = 0;
        let mut extends = 0;
        // BND, NOTRACK and REX prefixes, and the REP of old `rep ret`; nothing that changes sizes. Compilers fill calls of
        // `__tls_get_addr` up with 0x66, which REX.W makes void.
        let (mut shortens, mut widens) = (false, false);
        while let Some(&byte) = bytes.get(at) {
            match byte {
                0xf2 | 0xf3 | 0x3e | 0x2e => {}
                0x66 => shortens = true,
                0x40..=0x4f => (extends, widens) = ((byte & 1) << 3, byte & 8 != 0),
                _ => break,
            }
            at += 1;
        }
        if shortens && !widens {
            return None;
        }
        let opcode = *bytes.get(at)?;
        let next = *bytes.get(at + 1).unwrap_or(&0);
        match (effect.flow, opcode) {
            (Flow::Jump { target, .. }, 0xe9 | 0xeb) => Some(Transfer::Jump { target, condition: None }),
            (Flow::Jump { target, .. }, 0x70..=0x7f) => {
                Some(Transfer::Jump { target, condition: Some(opcode & 15) })
            }
            (Flow::Jump { target, .. }, 0x0f) if (0x80..=0x8f).contains(&next) => {
                Some(Transfer::Jump { target, condition: Some(next & 15) })
            }
            (Flow::Jump { target, .. }, 0xe3) => Some(Transfer::JumpIfZero { target }),
            (Flow::Call { target: Some(target) }, 0xe8) => Some(Transfer::Call { target }),
            (Flow::Call { target: None } | Flow::IndirectJump, 0xff) => {
                let register = (next >> 6 == 3).then_some(next & 7 | extends);
                match (next >> 3 & 7, register) {
                    (2, Some(register)) => Some(Transfer::CallRegister(register)),
                    (2, None) => Some(Transfer::CallMemory),
                    (4, Some(register)) => Some(Transfer::JumpRegister(register)),
                    (4, None) => Some(Transfer::JumpMemory),
                    _ => None,
                }
            }
            (Flow::Return, 0xc3) => Some(Transfer::Return { pops: 0 }),
            (Flow::Return, 0xc2) => {
                Some(Transfer::Return { pops: u16::from_le_bytes([next, *bytes.get(at + 2)?]) })
            }
            _ => None,
        }
    }

    /// Where control goes. `memory` is what the instruction's own load of a target read; `fallthrough` is the
    /// address of the next instruction.
    pub(super) fn target(self, regs: &Regs, memory: u64, fallthrough: u64) -> u64 {
        match self {
            Transfer::Jump { target, condition: None } | Transfer::Call { target } => target,
            Transfer::Jump { target, condition: Some(condition) } => {
                if holds(condition, regs.eflags) {
                    target
                } else {
                    fallthrough
                }
            }
            Transfer::JumpIfZero { target } => {
                if regs.rcx == 0 {
                    target
                } else {
                    fallthrough
                }
            }
            Transfer::JumpRegister(register) | Transfer::CallRegister(register) => gpr(regs, register),
            Transfer::JumpMemory | Transfer::CallMemory | Transfer::Return { .. } => memory,
        }
    }

    pub(super) fn is_call(self) -> bool {
        matches!(self, Transfer::Call { .. } | Transfer::CallRegister(_) | Transfer::CallMemory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wmtrace_decoder::x86::Decoder;

    fn transfer(bytes: &[u8]) -> Option<Transfer> {
        Transfer::of(&Decoder::new().decode(0x1000, bytes).expect("an instruction"), bytes)
    }

    #[test]
    fn the_usual_transfers() {
        assert_eq!(transfer(&[0xe8, 0xfb, 0, 0, 0]), Some(Transfer::Call { target: 0x1100 }));
        assert_eq!(transfer(&[0xeb, 0xfe]), Some(Transfer::Jump { target: 0x1000, condition: None }));
        assert_eq!(transfer(&[0x75, 0x0e]), Some(Transfer::Jump { target: 0x1010, condition: Some(5) }));
        assert_eq!(
            transfer(&[0x0f, 0x84, 0x0a, 0, 0, 0]),
            Some(Transfer::Jump { target: 0x1010, condition: Some(4) })
        );
        assert_eq!(transfer(&[0x41, 0xff, 0xd3]), Some(Transfer::CallRegister(11)));
        assert_eq!(transfer(&[0xff, 0xe0]), Some(Transfer::JumpRegister(0)));
        assert_eq!(transfer(&[0x3e, 0xff, 0xe0]), Some(Transfer::JumpRegister(0)), "notrack");
        assert_eq!(transfer(&[0xf2, 0xff, 0x25, 0, 0, 0, 0]), Some(Transfer::JumpMemory), "bnd");
        assert_eq!(transfer(&[0xff, 0x15, 0, 0, 0, 0]), Some(Transfer::CallMemory));
        assert_eq!(transfer(&[0xf3, 0xc3]), Some(Transfer::Return { pops: 0 }));
        assert_eq!(transfer(&[0xc2, 0x10, 0]), Some(Transfer::Return { pops: 16 }));
        let padded = [0x66, 0x66, 0x48, 0xe8, 0xf8, 0, 0, 0];
        assert_eq!(transfer(&padded), Some(Transfer::Call { target: 0x1100 }), "of __tls_get_addr");
        assert_eq!(transfer(&[0x66, 0x48, 0xff, 0x15, 0, 0, 0, 0]), Some(Transfer::CallMemory));
        // LOOP changes a register, too.
        assert_eq!(transfer(&[0xe2, 0xfe]), None);
    }

    #[test]
    fn conditions() {
        const CARRY: u64 = 1;
        const ZERO: u64 = 1 << 6;
        const SIGN: u64 = 1 << 7;
        const OVERFLOW: u64 = 1 << 11;
        // je, jne, jb, ja, jl, jge, jle, jg
        let table = [
            (4, ZERO, true),
            (4, 0, false),
            (5, 0, true),
            (2, CARRY, true),
            (7, CARRY, false),
            (7, 0, true),
            (12, SIGN, true),
            (12, SIGN | OVERFLOW, false),
            (13, SIGN | OVERFLOW, true),
            (14, ZERO, true),
            (15, 0, true),
            (15, ZERO, false),
        ];
        for (condition, flags, expected) in table {
            assert_eq!(holds(condition, flags), expected, "condition {condition} with flags {flags:#x}");
        }
    }
}
