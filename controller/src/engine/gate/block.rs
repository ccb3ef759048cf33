//! The block of registers that a thread leaves on its stack at a gate, and takes back when it goes on.

use super::asm::Va;
use wmtrace_decoder::aarch64::regs;
use wmtrace_decoder::effect::{Reg, Registers};

/// Words of the block: `x0` to `x30` by their numbers, and these.
pub(super) const LR: usize = 30;
/// Where the thread goes on.
pub(super) const NEXT: usize = 31;
/// The block's own address: where the stack pointer is while the thread is at the gate.
pub(super) const SP: usize = 32;
/// The condition flags, as `mrs` gives them.
pub(super) const FLAGS: usize = 33;
/// Its length in words, and in bytes: a multiple of sixteen, as the stack pointer's must be.
pub(super) const WORDS: usize = 36;
pub(super) const SIZE: usize = WORDS * 8;

/// The registers of a thread at a gate. The program counter is that of the instruction which the gate stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block {
    words: [u64; WORDS],
    pub(super) pc: u64,
}

impl Default for Block {
    fn default() -> Block {
        Block { words: [0; WORDS], pc: 0 }
    }
}

impl Block {
    pub(super) fn new(bytes: &[u8; SIZE]) -> Block {
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        Block { words, pc: 0 }
    }

    /// These registers, and a stack pointer and a program counter as the program sees them.
    pub(super) fn with(registers: [u64; 31], sp: u64, pc: u64) -> Block {
        let mut words = [0; WORDS];
        words[..31].copy_from_slice(&registers);
        words[SP] = sp.wrapping_sub(SIZE as u64);
        Block { words, pc }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// A general register; 31 is the zero register.
    pub(super) fn x(&self, number: u32) -> u64 {
        if number == 31 { 0 } else { self.words[number as usize & 31] }
    }

    pub(super) fn set_x(&mut self, number: u32, value: u64) {
        if number != 31 {
            self.words[number as usize & 31] = value;
        }
    }

    /// The stack pointer, as the program sees it.
    pub(super) fn sp(&self) -> u64 {
        self.words[SP].wrapping_add(SIZE as u64)
    }

    /// Where the block is.
    pub(super) fn address(&self) -> u64 {
        self.words[SP]
    }

    /// The condition flags.
    pub(super) fn flags(&self) -> u64 {
        self.words[FLAGS]
    }

    pub(super) fn next(&self) -> u64 {
        self.words[NEXT]
    }

    pub(super) fn set_next(&mut self, at: Va) {
        self.words[NEXT] = at;
    }

    /// Everything in it that decides what the thread does next.
    pub(super) fn state(&self) -> impl Iterator<Item = u64> {
        self.words[..=30].iter().copied().chain([self.words[SP], self.words[FLAGS], self.pc])
    }
}

impl Registers for Block {
    fn general(&self, reg: Reg) -> u64 {
        match reg {
            regs::SP => self.sp(),
            regs::PC => self.pc,
            Reg(number @ 0..=30) => self.words[usize::from(number)],
            // No address depends on another one.
            _ => 0,
        }
    }

    fn vector(&self, _: Reg) -> [u8; 64] {
        [0; 64]
    }
}
