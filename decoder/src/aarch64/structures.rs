//! LD1 … LD4, ST1 … ST4 and their replicating forms. Arm ARM C4.1, "Advanced SIMD load/store structures": whatever
//! the registers' lanes, memory is touched without gaps. It is one access here, though the architecture makes one of
//! each element: nothing else is promised about them, and nobody synchronises through a vector's lanes.

use super::memory::{at, plain, push};
use super::regs;
use super::shape::Direction;
use super::word::{Word, field};
use super::{blank, shape::Direction::Load};
use crate::effect::{Address, InsnEffect, Writeback};

/// Whole registers, or one lane of each.
pub(super) fn structure(word: Word, direction: Direction) -> Option<InsnEffect> {
    if word.matches(0xbf20_0000, 0x0c00_0000) || word.matches(0xbf20_0000, 0x0c80_0000) {
        let registers = match word.bits(15, 12) {
            0b0000 | 0b0010 => 4,
            0b0100 | 0b0110 => 3,
            0b1000 | 0b1010 => 2,
            0b0111 => 1,
            _ => return None,
        };
        let bytes = if word.bit(30) { 16 } else { 8 };
        Some(transfer(word, direction, registers, bytes, false))
    } else if word.matches(0xbf00_0000, 0x0d00_0000) {
        let bytes = match (word.bits(15, 14), word.bit(10)) {
            (0b00, _) => 1,
            (0b01, _) => 2,
            (0b10, false) => 4,
            (0b10, true) => 8,
            (_, _) => return None,
        };
        Some(transfer(word, direction, selected(word), bytes, true))
    } else {
        None
    }
}

/// One structure into every lane.
pub(super) fn replicate(word: Word) -> Option<InsnEffect> {
    let lanes = word.matches(0xbf40_0000, 0x0d40_0000) && word.bits(15, 14) == 0b11;
    lanes.then(|| transfer(word, Load, selected(word), 1 << word.bits(11, 10), false))
}

/// How many registers a single structure has.
const fn selected(word: Word) -> u8 {
    (word.bits(13, 13) << 1 | word.bits(21, 21)) as u8 + 1
}

/// `bytes` for each of `registers`; the rest of a register survives a load of one lane.
fn transfer(word: Word, direction: Direction, registers: u8, bytes: u16, one_lane: bool) -> InsnEffect {
    let total = u16::from(registers) * bytes;
    let writeback = word.bit(23).then(|| match word.x(field::M) {
        Some(reg) => Writeback::ByReg(reg),
        None => Writeback::By(i64::from(total)),
    });
    let mut effect = blank();
    for offset in 0..registers {
        let reg = regs::vector(word.number(field::T) + offset);
        direction.transfer(&mut effect, Some(reg));
        if one_lane {
            effect.reads.insert(reg);
        }
    }
    let address = Address { writeback, ..at(word.x_sp(field::N), 0) };
    push(&mut effect, plain(direction.kind(), address, total));
    effect
}
