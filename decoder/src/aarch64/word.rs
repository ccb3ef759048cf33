//! The fields of an instruction word. Arm ARM C4: registers and sizes sit in the same bits of nearly every encoding.

use super::regs;
use crate::effect::{Reg, RegSet};

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word(pub(super) u32);

impl Word {
    /// Bits `high` down to `low`.
    pub(super) const fn bits(self, high: u32, low: u32) -> u32 {
        self.0 << (31 - high) >> (31 - high + low)
    }

    /// Bits `high` down to `low` as a signed number.
    pub(super) const fn signed(self, high: u32, low: u32) -> i64 {
        ((self.0 << (31 - high)) as i32 >> (31 - high + low)) as i64
    }

    /// Bit `at`.
    pub(super) const fn bit(self, at: u32) -> bool {
        self.0 >> at & 1 != 0
    }

    /// Whether the bits of `mask` are those of `value`.
    pub(super) const fn matches(self, mask: u32, value: u32) -> bool {
        self.0 & mask == value
    }

    /// The five bits from `low` up: a register's number.
    pub(super) const fn number(self, low: u32) -> u8 {
        self.bits(low + 4, low) as u8
    }

    /// A general register whose number 31 is the zero register.
    pub(super) fn x(self, low: u32) -> Option<Reg> {
        (self.number(low) != 31).then(|| regs::general(self.number(low)))
    }

    /// A general register whose number 31 is the stack pointer.
    pub(super) const fn x_sp(self, low: u32) -> Reg {
        regs::general(self.number(low))
    }

    /// A vector register.
    pub(super) const fn v(self, low: u32) -> Reg {
        regs::vector(self.number(low))
    }
}

/// Where the register fields are.
pub(super) mod field {
    /// Rd: the destination. Rt of loads and stores is at the same place.
    pub(in crate::aarch64) const D: u32 = 0;
    /// Rt: the transferred register.
    pub(in crate::aarch64) const T: u32 = 0;
    /// Rn: the first source, or the base.
    pub(in crate::aarch64) const N: u32 = 5;
    /// Ra: the third source.
    pub(in crate::aarch64) const A: u32 = 10;
    /// Rt2: the second transferred register.
    pub(in crate::aarch64) const T2: u32 = 10;
    /// Rm: the second source, or the index.
    pub(in crate::aarch64) const M: u32 = 16;
    /// Rs: the status of an exclusive store, or an atomic's operand.
    pub(in crate::aarch64) const S: u32 = 16;
}

/// Adds a register, unless it is the zero register.
pub(super) fn add(set: &mut RegSet, reg: Option<Reg>) {
    if let Some(reg) = reg {
        set.insert(reg);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let word = Word(0b1000_0000_0001_1111_0000_0011_1110_0101);
        assert_eq!((word.number(0), word.number(5), word.number(16)), (5, 31, 31));
        assert_eq!((word.x(5), word.x_sp(5), word.v(5)), (None, regs::SP, regs::vector(31)));
        assert_eq!((word.bits(31, 31), word.bits(31, 30), word.bits(20, 16)), (1, 2, 31));
        assert_eq!((word.signed(31, 31), word.signed(20, 16), word.signed(21, 16)), (-1, -1, 31));
        assert_eq!(word.bits(31, 0), word.0);
    }
}
