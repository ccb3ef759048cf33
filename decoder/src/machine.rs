//! The decoder of either architecture.

use crate::effect::{Arch, InsnEffect, Unsupported};
use crate::{aarch64, x86};

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
