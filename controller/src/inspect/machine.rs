//! The decoder of either architecture.

use wmtrace_decoder::effect::{Arch, InsnEffect, Unsupported};
use wmtrace_decoder::{aarch64, x86};

/// Decodes the instructions of one architecture.
pub(super) enum Decoder {
    X86(Box<x86::Decoder>),
    Aarch64(Box<aarch64::Decoder>),
}

impl Decoder {
    pub(super) fn new(arch: Arch) -> Decoder {
        match arch {
            Arch::X86_64 => Decoder::X86(Box::default()),
            Arch::Aarch64 => Decoder::Aarch64(Box::new(aarch64::Decoder::new())),
        }
    }

    pub(super) fn decode(&self, pc: u64, bytes: &[u8]) -> Result<InsnEffect, Unsupported> {
        match self {
            Decoder::X86(decoder) => decoder.decode(pc, bytes),
            Decoder::Aarch64(decoder) => decoder.decode(pc, bytes),
        }
    }

    pub(super) fn text(&self, pc: u64, bytes: &[u8]) -> Option<String> {
        match self {
            Decoder::X86(decoder) => decoder.text(pc, bytes),
            Decoder::Aarch64(decoder) => decoder.text(pc, bytes),
        }
    }

    /// The least distance between two instructions.
    pub(super) fn step(&self) -> usize {
        match self {
            Decoder::X86(_) => 1,
            Decoder::Aarch64(_) => 4,
        }
    }
}
