//! Arithmetic and logic, with the flags that they set (SDM volume 1, 3.4.3, and volume 2).

pub(super) const CARRY: u64 = 1;
const PARITY: u64 = 1 << 2;
const ADJUST: u64 = 1 << 4;
const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;
pub(super) const ALL: u64 = CARRY | PARITY | ADJUST | ZERO | SIGN | OVERFLOW;

/// The bits of a value of so many bytes.
pub(super) fn mask(width: u8) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(width))
}

pub(super) fn cut(value: u64, width: u8) -> u64 {
    value & mask(width)
}

/// Whether the highest bit is set.
pub(super) fn sign(value: u64, width: u8) -> bool {
    value >> (8 * u32::from(width) - 1) & 1 != 0
}

/// The value with its sign in all higher bits.
pub(super) fn extend(value: u64, width: u8) -> u64 {
    let shift = 64 - 8 * u32::from(width);
    (((value << shift) as i64) >> shift) as u64
}

/// Flags that follow from a result alone.
fn of_result(result: u64, width: u8) -> u64 {
    let mut flags = 0;
    if (result as u8).count_ones().is_multiple_of(2) {
        flags |= PARITY;
    }
    if result == 0 {
        flags |= ZERO;
    }
    if sign(result, width) {
        flags |= SIGN;
    }
    flags
}

/// The flags, with that for zero as the value is.
pub(super) fn when_zero(value: u64, flags: u64) -> u64 {
    flags & !ZERO | when(value == 0, ZERO)
}

fn when(condition: bool, flag: u64) -> u64 {
    if condition { flag } else { 0 }
}

/// An operation on two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Alu {
    Add,
    AddCarry,
    Subtract,
    SubtractBorrow,
    And,
    Or,
    Xor,
}

impl Alu {
    /// The result; the flags change.
    pub(super) fn run(self, a: u64, b: u64, width: u8, flags: &mut u64) -> u64 {
        let (a, b) = (cut(a, width), cut(b, width));
        let carry = match self {
            Alu::AddCarry | Alu::SubtractBorrow => *flags & CARRY,
            _ => 0,
        };
        let (result, set) = match self {
            Alu::Add | Alu::AddCarry => {
                let result = cut(a.wrapping_add(b).wrapping_add(carry), width);
                let out = u128::from(a) + u128::from(b) + u128::from(carry) > u128::from(mask(width));
                let overflow = sign((a ^ result) & (b ^ result), width);
                (result, when(out, CARRY) | when(overflow, OVERFLOW) | (a ^ b ^ result) & ADJUST)
            }
            Alu::Subtract | Alu::SubtractBorrow => {
                let result = cut(a.wrapping_sub(b).wrapping_sub(carry), width);
                let borrow = u128::from(a) < u128::from(b) + u128::from(carry);
                let overflow = sign((a ^ b) & (a ^ result), width);
                (result, when(borrow, CARRY) | when(overflow, OVERFLOW) | (a ^ b ^ result) & ADJUST)
            }
            Alu::And => (a & b, 0),
            Alu::Or => (a | b, 0),
            Alu::Xor => (a ^ b, 0),
        };
        *flags = *flags & !ALL | set | of_result(result, width);
        result
    }
}

/// A shift or a rotation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shift {
    Left,
    Right,
    RightSigned,
    RotateLeft,
    RotateRight,
}

impl Shift {
    /// The result; the flags change unless nothing is shifted. Shifts by the width or more, of less than four bytes, are
    /// not asked for.
    pub(super) fn run(self, value: u64, by: u64, width: u8, flags: &mut u64) -> u64 {
        let bits = 8 * u32::from(width);
        let by = by as u32 & if width == 8 { 63 } else { 31 };
        let value = cut(value, width);
        if by == 0 {
            return value;
        }
        let bit = |value: u64, at: u32| value >> at & 1 != 0;
        let top = bits - 1;
        let rotated = |left: u32| cut(value << left | value >> (bits - left), width);
        let (result, carry, overflow) = match self {
            Shift::Left => {
                let result = cut(value << by, width);
                let carry = bit(value, bits - by);
                (result, carry, bit(result, top) != carry)
            }
            Shift::Right => (value >> by, bit(value, by - 1), bit(value, top)),
            Shift::RightSigned => {
                let extended = extend(value, width) as i64;
                (cut((extended >> by) as u64, width), bit(extended as u64, by - 1), false)
            }
            Shift::RotateLeft => {
                let result = rotated(by);
                (result, bit(result, 0), bit(result, top) != bit(result, 0))
            }
            Shift::RotateRight => {
                let result = rotated(bits - by);
                (result, bit(result, top), bit(result, top) != bit(result, top - 1))
            }
        };
        let set = when(carry, CARRY) | when(overflow, OVERFLOW);
        *flags = match self {
            Shift::RotateLeft | Shift::RotateRight => *flags & !(CARRY | OVERFLOW) | set,
            _ => *flags & !ALL | set | of_result(result, width),
        };
        result
    }
}

/// A product as far as it fits.
pub(super) fn multiply(a: u64, b: u64, width: u8, flags: &mut u64) -> u64 {
    let signed = |value| i128::from(extend(value, width) as i64);
    let product = signed(a) * signed(b);
    let result = cut(product as u64, width);
    let lost = signed(result) != product;
    *flags = *flags & !ALL | when(lost, CARRY | OVERFLOW) | of_result(result, width) & !ZERO;
    result
}

/// The two halves of a product, the lower one first.
pub(super) fn multiply_wide(a: u64, b: u64, width: u8, signed: bool, flags: &mut u64) -> (u64, u64) {
    let value = |value: u64| match signed {
        true => i128::from(extend(value, width) as i64) as u128,
        false => u128::from(cut(value, width)),
    };
    let product = value(a).wrapping_mul(value(b));
    let (low, high) = (cut(product as u64, width), cut((product >> (8 * u32::from(width))) as u64, width));
    let fits = if signed { cut(extend(low, width) >> 63, 1) * mask(width) == high } else { high == 0 };
    *flags = *flags & !ALL | when(!fits, CARRY | OVERFLOW) | of_result(low, width) & !ZERO;
    (low, high)
}

/// Whether a condition (the low four bits of its opcode) holds with these flags (SDM volume 1, appendix B).
pub fn holds(condition: u8, flags: u64) -> bool {
    let flag = |flag: u64| flags & flag != 0;
    let base = match condition >> 1 {
        0 => flag(OVERFLOW),
        1 => flag(CARRY),
        2 => flag(ZERO),
        3 => flag(CARRY | ZERO),
        4 => flag(SIGN),
        5 => flag(PARITY),
        6 => flag(SIGN) != flag(OVERFLOW),
        _ => flag(ZERO) || flag(SIGN) != flag(OVERFLOW),
    };
    base != (condition & 1 != 0)
}
