//! x86-64: machine code → effects.
//!
//! Capstone finds the instruction, its operands and their addresses. What it does with them is said by our
//! tables, keyed by capstone's id (`tables/`), and applied by `lower`: capstone's own access flags are wrong for
//! many instructions that matter here, and it has no implicit accesses. The manual is Intel's SDM, volume 2.
//!
//! Choices that hold for all instructions:
//! - A locked instruction, or XCHG with memory, is one [`crate::effect::AccessKind::Rmw`] of order `SeqCst`. That
//!   it is also a full barrier follows from that under the hardware models; only where it changes nothing
//!   (`lock or [rsp], 0`, by which compilers mean a fence) it is also a [`crate::effect::Fence`].
//! - A read-modify-write without lock is a `LoadStore`: two events.
//! - Non-temporal stores (MOVNT…, MASKMOVDQU, MOVDIRI, MOVDIR64B) are plain stores, and marked: they are weaker than
//!   others.
//! - Writing a part of a register is writing the register. It counts as reading it only where the instruction
//!   itself combines old and new (MOVHPS, a merging mask, CMOV), not because of the bits that it leaves alone.
//! - A register combined with itself (`xor eax, eax`) counts as read.
//! - What only the kernel may execute, far jumps, and what depends on the maker of the processor is
//!   [`Unsupported`].

mod lower;
mod prefix;
pub mod regs;
mod shape;
pub mod simple;
mod tables;

use crate::effect::{InsnEffect, Unsupported};
use capstone::prelude::*;
use prefix::Prefixes;
use regs::FromCapstone;
use tables::{Index, Known};

/// The longest instruction.
pub const MAX_LEN: usize = 15;

/// A decoder. It keeps no state between instructions.
pub struct Decoder {
    capstone: Capstone,
    tables: Index,
    names: FromCapstone,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder::new()
    }
}

fn new_capstone() -> Capstone {
    Capstone::new()
        .x86()
        .mode(arch::x86::ArchMode::Mode64)
        .detail(true)
        .build()
        .expect("capstone is built with x86")
}

impl Decoder {
    /// A decoder for 64-bit mode.
    pub fn new() -> Decoder {
        Decoder { capstone: new_capstone(), tables: Index::new(), names: FromCapstone::new() }
    }

    /// The effect of the instruction that begins with `bytes`, at `pc`. Bytes after it do not matter.
    ///
    /// # Errors
    /// [`Unsupported`] for bytes that are no instruction, and for instructions whose effect is not known.
    pub fn decode(&self, pc: u64, bytes: &[u8]) -> Result<InsnEffect, Unsupported> {
        let window = &bytes[..bytes.len().min(MAX_LEN)];
        let unsupported = |bytes: &[u8], text: String| Unsupported { pc, bytes: bytes.to_vec(), text };
        let found = self.capstone.disasm_count(window, pc, 1).ok();
        let Some(insn) = found.as_ref().and_then(|found| found.first()) else {
            return Err(unsupported(window, "no instruction".to_owned()));
        };
        let refuse = |why: &str| unsupported(insn.bytes(), format!("{}: {why}", text(insn)));
        let prefixes = Prefixes::of(insn.bytes());
        let shape = match self.tables.find(insn.id(), &prefixes) {
            Some(Known::Shape(shape)) => shape,
            Some(Known::Unsupported(reason)) => return Err(refuse(reason)),
            None => return Err(refuse("not in the tables")),
        };
        let detail = self.capstone.insn_detail(insn).map_err(|_| refuse("no details"))?;
        let detail = detail.arch_detail();
        let detail = detail.x86().ok_or_else(|| refuse("no details"))?;
        lower::lower(insn.bytes().len() as u8, prefixes, shape, detail, &self.names).map_err(refuse)
    }

    /// The instruction's text, in Intel's syntax; `None` for bytes that are no instruction.
    pub fn text(&self, pc: u64, bytes: &[u8]) -> Option<String> {
        let window = &bytes[..bytes.len().min(MAX_LEN)];
        let found = self.capstone.disasm_count(window, pc, 1).ok()?;
        found.first().map(text)
    }
}

fn text(insn: &capstone::Insn<'_>) -> String {
    let mnemonic = insn.mnemonic().unwrap_or("?");
    match insn.op_str() {
        None | Some("") => mnemonic.to_owned(),
        Some(operands) => format!("{mnemonic} {operands}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> Unsupported {
        Decoder::new().decode(0x1000, bytes).expect_err("it must be refused")
    }

    #[test]
    fn what_is_no_instruction_is_refused() {
        assert_eq!(refused(&[]).bytes, []);
        assert_eq!(refused(&[0x48]).text, "no instruction");
        // AAA is none in 64-bit mode; the first three bytes of a MOV are none at all.
        assert_eq!(refused(&[0x37]).text, "no instruction");
        assert_eq!(refused(&[0x48, 0x8b, 0x80]).bytes, [0x48, 0x8b, 0x80]);
    }

    #[test]
    fn a_refusal_says_what_and_why() {
        let far = refused(&[0xff, 0x18, 0x90]);
        assert_eq!((far.pc, &far.bytes[..]), (0x1000, &[0xff, 0x18][..]));
        assert_eq!(far.to_string(), "unsupported instruction at 0x1000: call ptr [rax]: a far jump (ff 18)");
        // lock mov [rax], ecx; lock add ecx, [rax]; lock add eax, ecx
        for bytes in [&[0xf0, 0x89, 0x08][..], &[0xf0, 0x03, 0x08], &[0xf0, 0x01, 0xc8]] {
            refused(bytes);
        }
    }

    #[test]
    fn the_end_of_the_address_space_is_no_problem() {
        let effect = Decoder::new().decode(u64::MAX, &[0xeb, 0x10]).expect("jmp");
        assert_eq!(effect.flow, crate::effect::Flow::Jump { target: 0x11, conditional: false });
    }
}
