//! AArch64: from an instruction's word to its effect.
//!
//! Capstone says *which* instruction a word is, and refuses what is none; a table of ours, keyed by its id, says
//! what shape the instruction has ([`Decoder::decode`]). Everything else (registers, widths, offsets, addressing
//! modes) comes from the word itself: A64's fields are in the same few places in all encodings (Arm ARM C4.1), while
//! capstone's operands leave out half of what is needed (widths, post-index, register pairs) and get some of the rest
//! wrong. So capstone's details stay off, which also spares us its crate's casts of unknown system registers into
//! Rust enumerations.
//!
//! Invariants: an id that is in no table, or a word that does not fit its id's shape, is [`Unsupported`]; decoding
//! never panics; the effect is a function of the word, and of `pc` only in branch targets.
//!
//! Not supported: SVE, SME, MOPS (CPYP …, SETP …), transactions, LDRAA and LDRAB, kernel-only system instructions, and
//! what capstone refuses (STGP).

mod branch;
mod classes;
mod data;
mod memory;
mod outline;
pub mod regs;
mod shape;
mod structures;
mod system;
mod table;
mod word;

pub use outline::{OutlineAtomic, OutlineOp, outline_atomic};
pub use system::ZVA_BLOCK;

use crate::effect::{AccessKind, Flow, InsnEffect, RegSet, Unit, Unsupported};
use capstone::Capstone;
use capstone::arch::arm64::ArchMode;
use capstone::arch::{BuildsCapstone, BuildsCapstoneEndian};
use core::cell::Cell;
use shape::{Direction, Shape};
use word::Word;

/// Bytes of every instruction.
const LEN: usize = 4;

/// Decodes AArch64 instructions.
#[derive(Debug)]
pub struct Decoder {
    capstone: Capstone,
    /// Words seen lately and their ids, by [`slot`]: four of five words of real code were seen before, and
    /// capstone, which writes a text each time, is what takes the time.
    seen: Box<[Cell<Option<Seen>>]>,
}

/// A word and capstone's id of it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    word: u32,
    id: u32,
}

/// How many words [`Decoder::seen`] remembers, as a power of two.
const SEEN_BITS: u32 = 16;

/// Where a word is remembered.
const fn slot(word: u32) -> usize {
    // Fibonacci hashing: the low bits of a word are its registers, and the high ones alike in most words.
    (word.wrapping_mul(0x9e37_79b1) >> (u32::BITS - SEEN_BITS)) as usize
}

impl Decoder {
    /// A decoder for little-endian AArch64.
    ///
    /// # Panics
    /// If capstone was built without AArch64, or there is no memory for its handle.
    pub fn new() -> Decoder {
        let capstone = Capstone::new()
            .arm64()
            .mode(ArchMode::Arm)
            .endian(capstone::Endian::Little)
            .detail(false)
            .build()
            .expect("capstone has AArch64");
        Decoder { capstone, seen: vec![Cell::new(None); 1 << SEEN_BITS].into() }
    }

    /// The effect of the instruction at `pc`, whose first byte is the first of `bytes`.
    ///
    /// # Errors
    /// What does not decode, and what the tables do not know.
    pub fn decode(&self, pc: u64, bytes: &[u8]) -> Result<InsnEffect, Unsupported> {
        let Some((word, _)) = bytes.split_first_chunk::<LEN>() else {
            return Err(Unsupported { pc, bytes: bytes.into(), text: "truncated".into() });
        };
        self.shape(*word).and_then(|shape| effect(Word(u32::from_le_bytes(*word)), pc, shape)).ok_or_else(
            || {
                let text = self.text(pc, word).unwrap_or_else(|| "no instruction".into());
                Unsupported { pc, bytes: word.into(), text }
            },
        )
    }

    /// The shape of a word, if capstone and the table know it.
    fn shape(&self, bytes: [u8; LEN]) -> Option<Shape> {
        let word = u32::from_le_bytes(bytes);
        let seen = &self.seen[slot(word)];
        let id = match seen.get() {
            Some(seen) if seen.word == word => seen.id,
            _ => {
                // What an instruction is does not depend on where it is.
                let decoded = self.capstone.disasm_count(&bytes, 0, 1).ok();
                let id = decoded.as_ref().and_then(|insns| insns.first()).map_or(0, |insn| insn.id().0);
                seen.set(Some(Seen { word, id }));
                id
            }
        };
        table::shape(id)
    }

    /// The text of the instruction at `pc`, for people; `None`: it is none.
    pub fn text(&self, pc: u64, bytes: &[u8]) -> Option<String> {
        let (word, _) = bytes.split_first_chunk::<LEN>()?;
        self.capstone.disasm_count(word, pc, 1).ok()?.first().map(text)
    }
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder::new()
    }
}

/// Whether this is an LSE read-modify-write whose result goes to the zero register (`STADD`, or `SWP` to `XZR`).
/// Such a read is not ordered by DMB ISHLD, and its order has no acquire half even where the mnemonic has (Arm ARM
/// B2.3, "Barrier-ordered-before"). Other instructions that read memory write a register, or are conditional.
pub fn discards_read(effect: &InsnEffect) -> bool {
    effect.writes == RegSet::EMPTY
        && effect.accesses.iter().any(|access| access.kind == AccessKind::Rmw && !access.conditional)
}

fn text(insn: &capstone::Insn<'_>) -> String {
    let (mnemonic, operands) = (insn.mnemonic().unwrap_or("?"), insn.op_str().unwrap_or(""));
    if operands.is_empty() { mnemonic.into() } else { format!("{mnemonic} {operands}") }
}

/// An instruction that does nothing yet.
fn blank() -> InsnEffect {
    InsnEffect {
        len: LEN as u8,
        accesses: Vec::new(),
        fence: None,
        reads: RegSet::EMPTY,
        writes: RegSet::EMPTY,
        flow: Flow::Next,
        unit: Unit::Single,
        waits: false,
    }
}

/// What a word of this shape does; `None`: the word does not fit the shape.
fn effect(word: Word, pc: u64, shape: Shape) -> Option<InsnEffect> {
    Some(match shape {
        Shape::Data(destination) => data::data(word, destination)?,
        Shape::Single(direction) => memory::single(word, direction)?,
        Shape::Pair(direction) => memory::pair(word, direction)?,
        Shape::Prefetch => memory::prefetch(word)?,
        Shape::Ordered(direction) => memory::ordered(word, direction, 0),
        Shape::OrderedUnscaled(direction) => memory::ordered(word, direction, word.signed(20, 12)),
        Shape::Block(direction) => memory::block(word, direction, false)?,
        Shape::BlockWithStatus => memory::block(word, Direction::Store, true)?,
        Shape::LoadTag => memory::load_tag(word),
        Shape::StoreTags { zeroes } => memory::store_tags(word, zeroes)?,
        Shape::LoadExclusive { order, pair } => memory::load_exclusive(word, order, pair),
        Shape::StoreExclusive { order, pair } => memory::store_exclusive(word, order, pair),
        Shape::ClearExclusive => InsnEffect { unit: Unit::EndsExclusive, ..blank() },
        Shape::Rmw(order) => memory::rmw(word, order),
        Shape::Cas(order) => memory::compare_and_swap(word, order),
        Shape::CasPair(order) => memory::compare_and_swap_pair(word, order)?,
        Shape::Structure(direction) => structures::structure(word, direction)?,
        Shape::Replicate => structures::replicate(word)?,
        Shape::Barrier => system::barrier(word),
        Shape::NoBarrier => system::no_barrier(),
        Shape::Hint => system::hint(word)?,
        Shape::WaitWithTimeout => system::wait_with_timeout(word),
        Shape::ReadSystem => system::read_system(word)?,
        Shape::WriteSystem => system::write_system(word)?,
        Shape::Flags => system::flags(),
        Shape::Maintenance => system::maintenance(word)?,
        Shape::Branch => branch::branch(word, pc)?,
        Shape::CompareBranch => branch::compare_branch(word, pc),
        Shape::TestBranch => branch::test_branch(word, pc),
        Shape::Call => branch::call(word, pc),
        Shape::IndirectJump => branch::indirect(word, Flow::IndirectJump),
        Shape::IndirectCall => branch::indirect(word, Flow::Call { target: None }),
        Shape::Return => branch::indirect(word, Flow::Return),
        Shape::AuthenticatedReturn => branch::authenticated_return(),
        Shape::Syscall => branch::flow(Flow::Syscall),
        Shape::Trap => branch::flow(Flow::Trap),
    })
}
