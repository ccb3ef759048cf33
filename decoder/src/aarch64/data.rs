//! Data processing: no memory, and the registers that the word's encoding class says.

use super::blank;
use super::classes::{Class, FLOAT_AND_SIMD, IMMEDIATE, Operand, REGISTER};
use super::regs;
use super::shape::Destination;
use super::word::{Word, add, field};
use crate::effect::InsnEffect;

/// The class of a word, by Arm ARM C4.1's first table.
fn class(word: Word) -> Option<&'static Class> {
    let group = match word.bits(28, 25) {
        0b1000 | 0b1001 => IMMEDIATE,
        0b0101 | 0b1101 => REGISTER,
        0b0111 | 0b1111 => FLOAT_AND_SIMD,
        _ => return None,
    };
    group.iter().find(|class| word.matches(class.mask, class.value))
}

/// The effect of a data-processing instruction.
pub(super) fn data(word: Word, destination: Destination) -> Option<InsnEffect> {
    let mut effect = blank();
    let InsnEffect { reads, writes, .. } = &mut effect;
    for operand in class(word)?.operands {
        match operand {
            Operand::Xd => add(writes, word.x(field::D)),
            Operand::XdModified => {
                add(reads, word.x(field::D));
                add(writes, word.x(field::D));
            }
            Operand::Sd => writes.insert(word.x_sp(field::D)),
            Operand::Xn => add(reads, word.x(field::N)),
            Operand::Sn => reads.insert(word.x_sp(field::N)),
            Operand::Xm => add(reads, word.x(field::M)),
            Operand::Sm => reads.insert(word.x_sp(field::M)),
            Operand::Xa => add(reads, word.x(field::A)),
            Operand::Vd => {
                writes.insert(word.v(field::D));
                if destination == Destination::Modified {
                    reads.insert(word.v(field::D));
                }
            }
            Operand::VdModified => {
                reads.insert(word.v(field::D));
                writes.insert(word.v(field::D));
            }
            Operand::Vn => reads.insert(word.v(field::N)),
            Operand::VnTable => {
                for offset in 0..=word.bits(14, 13) as u8 {
                    reads.insert(regs::vector(word.number(field::N) + offset));
                }
            }
            Operand::Vm => reads.insert(word.v(field::M)),
            Operand::VmLow => reads.insert(regs::vector(word.number(field::M) & 15)),
            Operand::Va => reads.insert(word.v(field::A)),
            Operand::Pc => reads.insert(regs::PC),
            Operand::ReadsFlags => reads.insert(regs::NZCV),
            Operand::WritesFlags => writes.insert(regs::NZCV),
        }
    }
    Some(effect)
}
