//! The decoder of either architecture.

use crate::effect::{Arch, InsnEffect, Unsupported};
use crate::{aarch64, x86};
use std::cell::OnceCell;
use std::rc::Rc;

/// Decodes the instructions of one architecture.
pub enum Decoder {
    /// x86-64's.
    X86(Box<x86::Decoder>),
    /// AArch64's.
    Aarch64(Box<aarch64::Decoder>),
}

impl Decoder {
    /// The decoder of an architecture.
    pub fn new(arch: Arch) -> Decoder {
        match arch {
            Arch::X86_64 => Decoder::X86(Box::default()),
            Arch::Aarch64 => Decoder::Aarch64(Box::default()),
        }
    }

    /// The thread's own decoder of an architecture. It keeps no state; to make one takes longer than to use it a few times.
    pub fn shared(arch: Arch) -> Rc<Decoder> {
        thread_local! {
            static MADE: [OnceCell<Rc<Decoder>>; 2] = const { [OnceCell::new(), OnceCell::new()] };
        }
        let number = usize::from(arch == Arch::Aarch64);
        MADE.with(|made| made[number].get_or_init(|| Rc::new(Decoder::new(arch))).clone())
    }

    /// What the instruction does that these bytes begin with.
    ///
    /// # Errors
    /// When it is none, or none that is known.
    pub fn decode(&self, pc: u64, bytes: &[u8]) -> Result<InsnEffect, Unsupported> {
        match self {
            Decoder::X86(decoder) => decoder.decode(pc, bytes),
            Decoder::Aarch64(decoder) => decoder.decode(pc, bytes),
        }
    }

    /// The instruction as text.
    pub fn text(&self, pc: u64, bytes: &[u8]) -> Option<String> {
        match self {
            Decoder::X86(decoder) => decoder.text(pc, bytes),
            Decoder::Aarch64(decoder) => decoder.text(pc, bytes),
        }
    }

    /// The least distance between two instructions.
    pub fn step(&self) -> usize {
        match self {
            Decoder::X86(_) => 1,
            Decoder::Aarch64(_) => 4,
        }
    }
}
