//! A stopped thread's registers, as the decoder asks for them.

use crate::os::ptrace::{Regs, Stopped};
use std::cell::OnceCell;
use wmtrace_decoder::effect::{Reg, Registers};
use wmtrace_decoder::x86::regs;

/// Where XSAVE puts the upper halves of `ymm0`…`ymm15`, the mask registers, the upper halves of `zmm0`…`zmm15`, and
/// `zmm16`…`zmm31`: the standard format's offsets on every processor that has them so far (SDM volume 1, 13.4.2).
const YMM_HIGH: usize = 576;
const MASKS: usize = 1088;
const ZMM_HIGH: usize = 1152;
const ZMM_16: usize = 1664;
/// XSTATE_BV: which parts are not in their initial state (zero).
const PRESENT: usize = 512;

/// Registers of a stopped thread. Vector registers are read when first asked for.
pub(super) struct View<'a> {
    pub(super) regs: &'a Regs,
    pub(super) thread: Option<&'a Stopped>,
    xstate: OnceCell<Vec<u8>>,
}

impl<'a> View<'a> {
    pub(super) fn new(regs: &'a Regs, thread: Option<&'a Stopped>) -> View<'a> {
        View { regs, thread, xstate: OnceCell::new() }
    }

    /// Bytes of the XSAVE area, if the part that they belong to is there.
    fn area(&self, part: u32, at: usize, into: &mut [u8]) {
        let area =
            self.xstate.get_or_init(|| self.thread.and_then(|it| it.xstate().ok()).unwrap_or_default());
        let present = area.get(PRESENT..PRESENT + 8).and_then(|bytes| bytes.try_into().ok());
        let present = present.map_or(0, u64::from_le_bytes);
        if present >> part & 1 != 0
            && let Some(bytes) = area.get(at..at + into.len())
        {
            into.copy_from_slice(bytes);
        }
    }
}

/// A general register by its encoding.
pub(super) fn gpr(regs: &Regs, number: u8) -> u64 {
    match number {
        0 => regs.rax,
        1 => regs.rcx,
        2 => regs.rdx,
        3 => regs.rbx,
        4 => regs.rsp,
        5 => regs.rbp,
        6 => regs.rsi,
        7 => regs.rdi,
        8 => regs.r8,
        9 => regs.r9,
        10 => regs.r10,
        11 => regs.r11,
        12 => regs.r12,
        13 => regs.r13,
        14 => regs.r14,
        _ => regs.r15,
    }
}

impl Registers for View<'_> {
    fn general(&self, reg: Reg) -> u64 {
        match reg {
            regs::RIP => self.regs.rip,
            regs::RFLAGS => self.regs.eflags,
            regs::FS_BASE => self.regs.fs_base,
            regs::GS_BASE => self.regs.gs_base,
            Reg(number) if number < 16 => gpr(self.regs, number),
            _ => 0,
        }
    }

    fn vector(&self, reg: Reg) -> [u8; 64] {
        let mut value = [0; 64];
        match reg.0 {
            number @ 16..32 => {
                let index = usize::from(number - 16);
                self.area(1, 160 + 16 * index, &mut value[..16]);
                self.area(2, YMM_HIGH + 16 * index, &mut value[16..32]);
                self.area(6, ZMM_HIGH + 32 * index, &mut value[32..]);
            }
            number @ 32..48 => self.area(7, ZMM_16 + 64 * usize::from(number - 32), &mut value),
            number @ 48..56 => self.area(5, MASKS + 8 * usize::from(number - 48), &mut value[..8]),
            _ => {}
        }
        value
    }
}
