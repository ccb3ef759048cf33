//! How AArch64's registers are numbered in [`Reg`] and [`RegSet`](crate::effect::RegSet).
//!
//! `xzr` and `wzr` are no register: a read of them is a constant, a write is lost. Status and control of floating
//! point (FPCR, FPSR) count only where an instruction names them, as iced-x86 does with MXCSR: that every `fadd`
//! depends on the rounding mode is of no use here.

use crate::effect::Reg;

/// `x30`, the link register.
pub const LR: Reg = Reg(30);
/// The stack pointer.
pub const SP: Reg = Reg(31);
/// The program counter.
pub const PC: Reg = Reg(64);
/// The condition flags.
pub const NZCV: Reg = Reg(65);
/// The floating-point control register.
pub const FPCR: Reg = Reg(66);
/// The floating-point status register.
pub const FPSR: Reg = Reg(67);
/// The thread pointer, TPIDR_EL0.
pub const TPIDR: Reg = Reg(68);
/// The read-only thread pointer, TPIDRRO_EL0.
pub const TPIDRRO: Reg = Reg(69);
/// Every other system register and PSTATE field.
pub const SYSTEM: Reg = Reg(70);

/// The general register `x0` … `x30`, or `sp` as number 31. Only the low five bits of `number` count.
pub const fn general(number: u8) -> Reg {
    Reg(number & 31)
}

/// The vector register `v0` … `v31`. Only the low five bits of `number` count.
pub const fn vector(number: u8) -> Reg {
    Reg(32 + (number & 31))
}

/// The name of a register; `None`: there is none of this number.
pub fn name(reg: Reg) -> Option<String> {
    Some(match reg {
        SP => "sp".into(),
        PC => "pc".into(),
        NZCV => "nzcv".into(),
        FPCR => "fpcr".into(),
        FPSR => "fpsr".into(),
        TPIDR => "tpidr".into(),
        TPIDRRO => "tpidrro".into(),
        SYSTEM => "system".into(),
        Reg(number @ 0..=30) => format!("x{number}"),
        Reg(number @ 32..=63) => format!("v{}", number - 32),
        Reg(71..) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_numbers_have_no_gap() {
        let names: Vec<_> = (0..=70).map(|number| name(Reg(number)).expect("has a name")).collect();
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        assert_eq!(name(Reg(71)), None);
        assert_eq!((general(31), vector(33)), (SP, Reg(33)));
    }
}
