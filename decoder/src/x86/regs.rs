//! The numbers of x86-64's registers, and capstone's names for them.
//!
//! Parts are the whole register: `al` is [`RAX`], `xmm3` is `zmm(3)`. The x87 stack and the MMX registers that
//! share it are the one register [`X87`], control and status word included: `st(1)` names a place relative to a
//! top that only the thread knows.

use crate::effect::{Reg, RegSet};
use capstone::RegId;
use capstone::arch::x86::X86Reg;

/// The accumulator.
pub const RAX: Reg = Reg(0);
/// The counter of `rep` and `loop`.
pub const RCX: Reg = Reg(1);
/// The high half of products.
pub const RDX: Reg = Reg(2);
/// The base of XLAT, and a half of CMPXCHG16B's new value.
pub const RBX: Reg = Reg(3);
/// The stack pointer.
pub const RSP: Reg = Reg(4);
/// The frame pointer.
pub const RBP: Reg = Reg(5);
/// The source of string instructions.
pub const RSI: Reg = Reg(6);
/// The destination of string instructions.
pub const RDI: Reg = Reg(7);
/// Where SYSCALL leaves the flags.
pub const R11: Reg = Reg(11);

/// The program counter.
pub const RIP: Reg = Reg(56);
/// The flags.
pub const RFLAGS: Reg = Reg(57);
/// The base of the FS segment: thread-local storage on Linux.
pub const FS_BASE: Reg = Reg(58);
/// The base of the GS segment.
pub const GS_BASE: Reg = Reg(59);
/// The x87 stack, its control and status words, and the MMX registers.
pub const X87: Reg = Reg(60);
/// SSE's control and status register. Only what loads, stores, saves or restores it counts as using it: that
/// arithmetic rounds as it says and raises its sticky flags does not.
pub const MXCSR: Reg = Reg(61);
/// Protection keys.
pub const PKRU: Reg = Reg(62);
/// The shadow stack pointer.
pub const SSP: Reg = Reg(63);
/// MPX's bounds.
pub const BOUNDS: Reg = Reg(64);

/// A general register, in the order of their encoding: `rax`, `rcx`, `rdx`, `rbx`, `rsp`, `rbp`, `rsi`, `rdi`,
/// `r8` … `r15`.
pub const fn gpr(number: u8) -> Reg {
    assert!(number < 16);
    Reg(number)
}

/// A vector register, `zmm0` … `zmm31`.
pub const fn zmm(number: u8) -> Reg {
    assert!(number < 32);
    Reg(16 + number)
}

/// A mask register, `k0` … `k7`.
pub const fn mask(number: u8) -> Reg {
    assert!(number < 8);
    Reg(48 + number)
}

/// A segment's selector, in the order of their encoding: ES, CS, SS, DS, FS, GS.
pub const fn selector(number: u8) -> Reg {
    assert!(number < 6);
    Reg(65 + number)
}

/// The vector registers that `xmm0` … `xmm15` are part of.
pub(super) const LEGACY_VECTORS: RegSet = range(16, 32);
/// What XSAVE can save.
pub(super) const STATE: RegSet = range(16, 56).with(X87).with(MXCSR).with(PKRU).with(BOUNDS);

const fn range(from: u8, to: u8) -> RegSet {
    let mut set = RegSet::EMPTY;
    let mut number = from;
    while number < to {
        set.insert(Reg(number));
        number += 1;
    }
    set
}

/// Its name.
pub fn name(reg: Reg) -> String {
    const GENERAL: [&str; 8] = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"];
    const OTHERS: [&str; 15] = [
        "rip", "rflags", "fs_base", "gs_base", "x87", "mxcsr", "pkru", "ssp", "bounds", "es", "cs", "ss",
        "ds", "fs", "gs",
    ];
    match reg.0 {
        number @ 0..8 => GENERAL[usize::from(number)].to_owned(),
        number @ 8..16 => format!("r{number}"),
        number @ 16..48 => format!("zmm{}", number - 16),
        number @ 48..56 => format!("k{}", number - 48),
        number @ 56..71 => OTHERS[usize::from(number - 56)].to_owned(),
        number @ 71.. => format!("reg{number}"),
    }
}

/// Capstone's register numbers → ours.
#[derive(Debug)]
pub(super) struct FromCapstone([Option<Reg>; X86Reg::X86_REG_ENDING as usize]);

impl FromCapstone {
    pub(super) fn new() -> FromCapstone {
        use X86Reg::*;
        let mut table = [None; X86_REG_ENDING as usize];
        let mut set = |id: u32, reg: Reg| table[id as usize] = Some(reg);
        // The low eight have names of their own, each part another.
        for (number, parts) in (0..).zip([
            &[X86_REG_AL, X86_REG_AH, X86_REG_AX, X86_REG_EAX, X86_REG_RAX],
            &[X86_REG_CL, X86_REG_CH, X86_REG_CX, X86_REG_ECX, X86_REG_RCX],
            &[X86_REG_DL, X86_REG_DH, X86_REG_DX, X86_REG_EDX, X86_REG_RDX],
            &[X86_REG_BL, X86_REG_BH, X86_REG_BX, X86_REG_EBX, X86_REG_RBX],
            &[X86_REG_SPL, X86_REG_SPL, X86_REG_SP, X86_REG_ESP, X86_REG_RSP],
            &[X86_REG_BPL, X86_REG_BPL, X86_REG_BP, X86_REG_EBP, X86_REG_RBP],
            &[X86_REG_SIL, X86_REG_SIL, X86_REG_SI, X86_REG_ESI, X86_REG_RSI],
            &[X86_REG_DIL, X86_REG_DIL, X86_REG_DI, X86_REG_EDI, X86_REG_RDI],
        ]) {
            for &part in parts {
                set(part, gpr(number));
            }
        }
        // The others are numbered in a row.
        for number in 0..8 {
            for first in [X86_REG_R8B, X86_REG_R8W, X86_REG_R8D, X86_REG_R8] {
                set(first + u32::from(number), gpr(8 + number));
            }
            for first in [X86_REG_ST0, X86_REG_MM0, X86_REG_FP0] {
                set(first + u32::from(number), X87);
            }
            set(X86_REG_K0 + u32::from(number), mask(number));
        }
        for number in 0..32 {
            for first in [X86_REG_XMM0, X86_REG_YMM0, X86_REG_ZMM0] {
                set(first + u32::from(number), zmm(number));
            }
        }
        for bound in X86_REG_BND0..=X86_REG_BND3 {
            set(bound, BOUNDS);
        }
        for (number, id) in
            (0..).zip([X86_REG_ES, X86_REG_CS, X86_REG_SS, X86_REG_DS, X86_REG_FS, X86_REG_GS])
        {
            set(id, selector(number));
        }
        for id in [X86_REG_RIP, X86_REG_EIP] {
            set(id, RIP);
        }
        set(X86_REG_FPSW, X87);
        set(X86_REG_EFLAGS, RFLAGS);
        FromCapstone(table)
    }

    /// Our number; `None` for what only the kernel can name (control and debug registers) and for no register.
    pub(super) fn get(&self, id: RegId) -> Option<Reg> {
        self.0.get(usize::from(id.0)).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(name(gpr(13)), "r13");
        assert_eq!(name(zmm(31)), "zmm31");
        assert_eq!(name(mask(7)), "k7");
        assert_eq!(name(BOUNDS), "bounds");
        assert_eq!(name(selector(5)), "gs");
        let table = FromCapstone::new();
        let of = |id: u32| table.get(RegId(id as u16));
        assert_eq!(of(X86Reg::X86_REG_R15B), Some(gpr(15)));
        assert_eq!(of(X86Reg::X86_REG_BH), Some(RBX));
        assert_eq!(of(X86Reg::X86_REG_YMM31), Some(zmm(31)));
        assert_eq!(of(X86Reg::X86_REG_CR0), None);
        assert_eq!(of(X86Reg::X86_REG_INVALID), None);
    }
}
