//! DWARF's register numbers, and a stopped thread as location expressions see it.

use crate::debug::Context;
use crate::effect::{Arch, Reg, Registers};
use crate::{aarch64, x86};

/// x86-64's general registers in DWARF's order (System V ABI, figure 3.36), by their encoding.
const X86_64: [u8; 16] = [0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];

/// The general register that DWARF's number means.
pub fn dwarf_register(arch: Arch, number: u16) -> Option<Reg> {
    match arch {
        Arch::X86_64 => X86_64.get(usize::from(number)).copied().map(Reg),
        // x0 … x30 and sp, in the same order on both sides.
        Arch::Aarch64 => (number < 32).then_some(Reg(number as u8)),
    }
}

/// The stack pointer.
pub(crate) fn stack_pointer(arch: Arch) -> Reg {
    match arch {
        Arch::X86_64 => x86::regs::RSP,
        Arch::Aarch64 => aarch64::regs::SP,
    }
}

/// A stopped thread.
pub struct Thread<'a> {
    /// The architecture.
    pub arch: Arch,
    /// Its registers.
    pub registers: &'a dyn Registers,
    /// Fills a buffer from its memory; false if it cannot be read.
    pub read: &'a dyn Fn(u64, &mut [u8]) -> bool,
    /// What is added to the image's addresses in its process.
    pub bias: u64,
}

impl Context for Thread<'_> {
    fn register(&self, dwarf: u16) -> Option<u64> {
        dwarf_register(self.arch, dwarf).map(|reg| self.registers.general(reg))
    }

    fn read(&self, addr: u64, buffer: &mut [u8]) -> bool {
        (self.read)(addr, buffer)
    }

    fn bias(&self) -> u64 {
        self.bias
    }
}
