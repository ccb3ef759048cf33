//! Branches, calls, returns and traps: where control goes.

use super::word::{Word, add, field};
use super::{blank, regs};
use crate::effect::{Flow, InsnEffect};

/// A target that is `offset` instructions away.
const fn target(pc: u64, offset: i64) -> u64 {
    pc.wrapping_add((offset * 4) as u64)
}

/// An instruction that only moves control.
pub(super) fn flow(flow: Flow) -> InsnEffect {
    InsnEffect { flow, ..blank() }
}

/// B, B.cond and BC.cond. The conditions AL and NV always hold.
pub(super) fn branch(word: Word, pc: u64) -> Option<InsnEffect> {
    if word.matches(0xfc00_0000, 0x1400_0000) {
        return Some(flow(Flow::Jump { target: target(pc, word.signed(25, 0)), conditional: false }));
    }
    if !word.matches(0xff00_0000, 0x5400_0000) {
        return None;
    }
    let conditional = word.bits(3, 0) < 0b1110;
    let mut effect = flow(Flow::Jump { target: target(pc, word.signed(23, 5)), conditional });
    if conditional {
        effect.reads.insert(regs::NZCV);
    }
    Some(effect)
}

/// CBZ and CBNZ.
pub(super) fn compare_branch(word: Word, pc: u64) -> InsnEffect {
    on_register(word, target(pc, word.signed(23, 5)))
}

/// TBZ and TBNZ.
pub(super) fn test_branch(word: Word, pc: u64) -> InsnEffect {
    on_register(word, target(pc, word.signed(18, 5)))
}

fn on_register(word: Word, target: u64) -> InsnEffect {
    let mut effect = flow(Flow::Jump { target, conditional: true });
    add(&mut effect.reads, word.x(field::T));
    effect
}

/// BL.
pub(super) fn call(word: Word, pc: u64) -> InsnEffect {
    let mut effect = flow(Flow::Call { target: Some(target(pc, word.signed(25, 0))) });
    effect.writes.insert(regs::LR);
    effect
}

/// BR, BLR, RET, and their authenticating forms: with a modifier register (bit 24 set), with none, or plain.
pub(super) fn indirect(word: Word, to: Flow) -> InsnEffect {
    let mut effect = flow(to);
    add(&mut effect.reads, word.x(field::N));
    if word.bit(24) {
        effect.reads.insert(word.x_sp(field::D));
    }
    if matches!(to, Flow::Call { .. }) {
        effect.writes.insert(regs::LR);
    }
    effect
}

/// RETAA and RETAB.
pub(super) fn authenticated_return() -> InsnEffect {
    let mut effect = flow(Flow::Return);
    effect.reads.insert(regs::LR);
    effect.reads.insert(regs::SP);
    effect
}
