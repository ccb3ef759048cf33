//! Loads, stores, exclusives and LSE atomics: the access, its address and the registers, from the fields that their
//! encodings (Arm ARM C4.1, "Loads and Stores") have in common.
//!
//! A pair (LDP, STP) is two accesses, because nothing makes it single-copy atomic as a whole; the exclusive pairs and
//! CASP are one access of both registers' width, because they are. The base register's change by a pair is noted
//! with its second access only.

use super::shape::Direction;
use super::word::{Word, add, field};
use super::{blank, regs};
use crate::effect::{Access, AccessKind, Address, Extent, Index, InsnEffect, Reg, RegSet, Unit, Writeback};
use wmtrace_model::order::Order;

/// `[base, #displacement]`.
pub(super) const fn at(base: Reg, displacement: i64) -> Address {
    Address { base: Some(base), index: None, displacement, segment: None, bits: 64, writeback: None }
}

/// A plain access.
pub(super) const fn plain(kind: AccessKind, address: Address, bytes: u16) -> Access {
    let extent = Extent::Bytes(bytes);
    Access {
        kind,
        address,
        extent,
        order: Order::Relaxed,
        atomic: false,
        conditional: false,
        non_temporal: false,
    }
}

/// An access that the instruction set calls atomic.
const fn atomic(kind: AccessKind, base: Reg, bytes: u16, order: Order) -> Access {
    Access { order, atomic: true, ..plain(kind, at(base, 0), bytes) }
}

impl Direction {
    pub(super) const fn kind(self) -> AccessKind {
        match self {
            Direction::Load => AccessKind::Load,
            Direction::Store => AccessKind::Store,
        }
    }

    /// What load-acquire and store-release mean.
    const fn order(self) -> Order {
        match self {
            Direction::Load => Order::Acquire,
            Direction::Store => Order::Release,
        }
    }

    /// Notes the transferred register.
    pub(super) fn transfer(self, effect: &mut InsnEffect, reg: Option<Reg>) {
        match self {
            Direction::Load => add(&mut effect.writes, reg),
            Direction::Store => add(&mut effect.reads, reg),
        }
    }
}

/// Notes an access and the registers of its address.
pub(super) fn push(effect: &mut InsnEffect, access: Access) {
    effect.reads = effect.reads.union(address_reads(&access.address));
    if access.address.writeback.is_some() {
        add(&mut effect.writes, access.address.base);
    }
    effect.accesses.push(access);
}

fn address_reads(address: &Address) -> RegSet {
    let mut reads = RegSet::EMPTY;
    add(&mut reads, address.base);
    add(&mut reads, address.index.map(|index| index.reg));
    if let Some(Writeback::ByReg(reg)) = address.writeback {
        reads.insert(reg);
    }
    reads
}

/// The transferred register of a load or store with a vector bit (26).
fn transferred(word: Word, low: u32) -> Option<Reg> {
    if word.bit(26) { Some(word.v(low)) } else { word.x(low) }
}

/// Bytes from the size field, bits 31 and 30.
const fn size(word: Word) -> u16 {
    1 << word.bits(31, 30)
}

/// Bytes of both registers of an exclusive pair or CASP: bit 30 chooses between w and x.
const fn pair_size(word: Word) -> u16 {
    if word.bit(30) { 16 } else { 8 }
}

/// Address and width of a single-register load, store or prefetch, in whichever addressing mode.
fn operand(word: Word) -> Option<(Address, u16)> {
    let vector = word.bit(26);
    if word.matches(0x3b00_0000, 0x1800_0000) {
        // Literal: the size field means something else. LDRSW and PRFM have 10 and 11 there.
        let bytes = match (word.bits(31, 30), vector) {
            (0, _) | (2, false) => 4,
            (1, _) | (3, false) => 8,
            (2, true) => 16,
            (_, _) => return None,
        };
        return Some((at(regs::PC, word.signed(23, 5) * 4), bytes));
    }
    if !word.matches(0x3a00_0000, 0x3800_0000) {
        return None;
    }
    let bytes = match (vector && word.bit(23), word.bits(31, 30)) {
        (false, log) => 1 << log,
        (true, 0) => 16,
        (true, _) => return None,
    };
    let base = word.x_sp(field::N);
    let unscaled = word.signed(20, 12);
    let address = match (word.bit(24), word.bit(21), word.bits(11, 10)) {
        (true, _, _) => at(base, i64::from(word.bits(21, 10)) * i64::from(bytes)),
        // Unscaled, and unprivileged.
        (false, false, 0b00 | 0b10) => at(base, unscaled),
        (false, false, 0b01) => Address { writeback: Some(Writeback::By(unscaled)), ..at(base, 0) },
        (false, false, _) => Address { writeback: Some(Writeback::By(unscaled)), ..at(base, unscaled) },
        (false, true, 0b10) => Address { index: index(word, bytes), ..at(base, 0) },
        (false, true, _) => return None,
    };
    Some((address, bytes))
}

/// The index of a register offset; the zero register adds nothing.
fn index(word: Word, bytes: u16) -> Option<Index> {
    let from_bits = if word.bit(13) { 64 } else { 32 };
    let scale = if word.bit(12) { bytes as u8 } else { 1 };
    word.x(field::M).map(|reg| Index { reg, from_bits, signed: word.bit(15), scale })
}

/// LDR, STR and kin.
pub(super) fn single(word: Word, direction: Direction) -> Option<InsnEffect> {
    let (address, bytes) = operand(word)?;
    let mut effect = blank();
    direction.transfer(&mut effect, transferred(word, field::T));
    push(&mut effect, plain(direction.kind(), address, bytes));
    Some(effect)
}

/// PRFM: the registers of the address are read, memory is not.
pub(super) fn prefetch(word: Word) -> Option<InsnEffect> {
    let (address, _) = operand(word)?;
    Some(InsnEffect { reads: address_reads(&address), ..blank() })
}

/// LDP, STP and kin.
pub(super) fn pair(word: Word, direction: Direction) -> Option<InsnEffect> {
    let bytes = match (word.bits(31, 30), word.bit(26)) {
        (0, false) => 4,
        // LDPSW.
        (1, false) if direction == Direction::Load => 4,
        (2, false) => 8,
        (log @ 0..=2, true) => 4 << log,
        (_, _) => return None,
    };
    let offset = word.signed(21, 15) * i64::from(bytes);
    let (displacement, writeback) = match word.bits(25, 23) {
        0b000 | 0b010 => (offset, None),
        0b001 => (0, Some(Writeback::By(offset))),
        0b011 => (offset, Some(Writeback::By(offset))),
        _ => return None,
    };
    let base = word.x_sp(field::N);
    let mut effect = blank();
    direction.transfer(&mut effect, transferred(word, field::T));
    direction.transfer(&mut effect, transferred(word, field::T2));
    push(&mut effect, plain(direction.kind(), at(base, displacement), bytes));
    let second = Address { writeback, ..at(base, displacement + i64::from(bytes)) };
    push(&mut effect, plain(direction.kind(), second, bytes));
    Some(effect)
}

/// LDAR, LDAPR, STLR and kin, and those with an unscaled offset.
pub(super) fn ordered(word: Word, direction: Direction, displacement: i64) -> InsnEffect {
    let mut effect = blank();
    direction.transfer(&mut effect, word.x(field::T));
    let access = atomic(direction.kind(), word.x_sp(field::N), size(word), direction.order());
    push(&mut effect, Access { address: at(word.x_sp(field::N), displacement), ..access });
    effect
}

/// LDXR and kin.
pub(super) fn load_exclusive(word: Word, order: Order, pair: bool) -> InsnEffect {
    let mut effect = InsnEffect { unit: Unit::BeginsExclusive, ..blank() };
    exclusive(&mut effect, word, Direction::Load, order, pair);
    effect
}

/// STXR and kin: the store happens only if the exclusive monitor still holds, and Ws says so.
pub(super) fn store_exclusive(word: Word, order: Order, pair: bool) -> InsnEffect {
    let mut effect = InsnEffect { unit: Unit::EndsExclusive, ..blank() };
    exclusive(&mut effect, word, Direction::Store, order, pair);
    add(&mut effect.writes, word.x(field::S));
    effect
}

fn exclusive(effect: &mut InsnEffect, word: Word, direction: Direction, order: Order, pair: bool) {
    direction.transfer(effect, word.x(field::T));
    if pair {
        direction.transfer(effect, word.x(field::T2));
    }
    let bytes = if pair { pair_size(word) } else { size(word) };
    let access = atomic(direction.kind(), word.x_sp(field::N), bytes, order);
    push(effect, Access { conditional: direction == Direction::Store, ..access });
}

/// `LD<op>` and SWP. With the zero register as destination the load half is not an acquire, whatever the mnemonic
/// says; that DMB ISHLD does not order it either is [`super::discards_read`].
pub(super) fn rmw(word: Word, order: Order) -> InsnEffect {
    let mut effect = blank();
    add(&mut effect.reads, word.x(field::S));
    add(&mut effect.writes, word.x(field::T));
    let order = match (word.x(field::T), order) {
        (None, Order::Acquire) => Order::Relaxed,
        (None, Order::AcqRel) => Order::Release,
        (_, order) => order,
    };
    push(&mut effect, atomic(AccessKind::Rmw, word.x_sp(field::N), size(word), order));
    effect
}

/// CAS: Rs is compared and receives what was read, Rt is stored if they were equal. It stays an acquire whatever its
/// destination.
pub(super) fn compare_and_swap(word: Word, order: Order) -> InsnEffect {
    let mut effect = blank();
    add(&mut effect.reads, word.x(field::S));
    add(&mut effect.reads, word.x(field::T));
    add(&mut effect.writes, word.x(field::S));
    let access = atomic(AccessKind::Rmw, word.x_sp(field::N), size(word), order);
    push(&mut effect, Access { conditional: true, ..access });
    effect
}

/// CASP: the same with register pairs, which begin at an even number.
pub(super) fn compare_and_swap_pair(word: Word, order: Order) -> Option<InsnEffect> {
    let (compared, stored) = (word.number(field::S), word.number(field::T));
    if !compared.is_multiple_of(2) || !stored.is_multiple_of(2) {
        return None;
    }
    let mut effect = blank();
    for number in [compared, compared + 1] {
        // Number 31 is the zero register here too.
        let reg = (number != 31).then_some(regs::general(number));
        add(&mut effect.reads, reg);
        add(&mut effect.writes, reg);
    }
    for number in [stored, stored + 1] {
        add(&mut effect.reads, (number != 31).then_some(regs::general(number)));
    }
    let access = atomic(AccessKind::Rmw, word.x_sp(field::N), pair_size(word), order);
    push(&mut effect, Access { conditional: true, ..access });
    Some(effect)
}

/// LD64B, ST64B, ST64BV: eight registers from an even one up.
pub(super) fn block(word: Word, direction: Direction, status: bool) -> Option<InsnEffect> {
    let first = word.number(field::T);
    if !first.is_multiple_of(2) || first > 22 {
        return None;
    }
    let mut effect = blank();
    for number in first..first + 8 {
        direction.transfer(&mut effect, Some(regs::general(number)));
    }
    if status {
        add(&mut effect.writes, word.x(field::S));
    }
    let access = atomic(direction.kind(), word.x_sp(field::N), 64, Order::Relaxed);
    push(&mut effect, Access { conditional: status, ..access });
    Some(effect)
}

/// LDG: a tag replaces four bits of Xt. Tags are no data: no access.
pub(super) fn load_tag(word: Word) -> InsnEffect {
    let mut effect = blank();
    effect.reads.insert(word.x_sp(field::N));
    add(&mut effect.reads, word.x(field::T));
    add(&mut effect.writes, word.x(field::T));
    effect
}

/// STG and kin: what they zero is an access, the tags are none.
pub(super) fn store_tags(word: Word, zeroes: u16) -> Option<InsnEffect> {
    let offset = word.signed(20, 12) * 16;
    let (displacement, writeback) = match word.bits(11, 10) {
        0b01 => (0, Some(Writeback::By(offset))),
        0b10 => (offset, None),
        0b11 => (offset, Some(Writeback::By(offset))),
        _ => return None,
    };
    let base = word.x_sp(field::N);
    let mut effect = blank();
    effect.reads.insert(base);
    effect.reads.insert(word.x_sp(field::T));
    if writeback.is_some() {
        effect.writes.insert(base);
    }
    if zeroes > 0 {
        effect.accesses.push(plain(
            AccessKind::Store,
            Address { writeback, ..at(base, displacement) },
            zeroes,
        ));
    }
    Some(effect)
}
