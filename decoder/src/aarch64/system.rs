//! Barriers, hints, system registers, cache maintenance.

use super::memory::{at, plain, push};
use super::word::{Word, add, field};
use super::{blank, regs};
use crate::effect::{Access, AccessKind, Extent, Fence, InsnEffect, Reg};
use wmtrace_model::order::Order;

/// How much memory DC ZVA zeroes. DCZID_EL0 says it at run time; 64 bytes is what every core that runs Linux today
/// and qemu's default have.
pub const ZVA_BLOCK: u16 = 64;

fn fence(order: Order) -> InsnEffect {
    InsnEffect { fence: Some(Fence { order }), ..blank() }
}

/// DMB and DSB. The low half of the option is the type: 01 loads with what follows, 10 stores with stores, 11 and the
/// reserved 00 everything. The high half is the domain, which is not told apart: threads of one process are in one
/// inner-shareable domain, and NSH, which promises less, is taken for what its type says.
pub(super) fn barrier(word: Word) -> InsnEffect {
    // DSB nXS (op2 = 001) has the domain alone, and orders everything.
    let everything = word.bits(7, 5) == 0b001;
    fence(match word.bits(9, 8) {
        0b01 if !everything => Order::Acquire,
        0b10 if !everything => Order::Release,
        _ => Order::SeqCst,
    })
}

/// ISB, SB, SSBB, PSSBB: order instruction fetch or speculation, not memory.
pub(super) fn no_barrier() -> InsnEffect {
    fence(Order::Relaxed)
}

/// The hint space, by number. A number that nobody has given a meaning is no NOP to rely on.
pub(super) fn hint(word: Word) -> Option<InsnEffect> {
    let mut effect = blank();
    match word.bits(11, 5) {
        // NOP, SEV, SEVL, DGH, ESB, PSB, TSB, CSDB, CLRBHB, and BTI in its four forms.
        0 | 4..=6 | 16..=18 | 20 | 22 | 32 | 34 | 36 | 38 => {}
        // YIELD, WFE, WFI.
        1..=3 => effect.waits = true,
        // XPACLRI, PACIAZ, PACIBZ, AUTIAZ, AUTIBZ.
        7 | 24 | 26 | 28 | 30 => sign(&mut effect, regs::LR, None),
        // PACIASP, PACIBSP, AUTIASP, AUTIBSP.
        25 | 27 | 29 | 31 => sign(&mut effect, regs::LR, Some(regs::SP)),
        // PACIA1716, PACIB1716, AUTIA1716, AUTIB1716.
        8 | 10 | 12 | 14 => sign(&mut effect, regs::general(17), Some(regs::general(16))),
        // CHKFEAT.
        40 => sign(&mut effect, regs::general(16), None),
        _ => return None,
    }
    Some(effect)
}

/// `pointer` changes, depending on itself and on `modifier`.
fn sign(effect: &mut InsnEffect, pointer: Reg, modifier: Option<Reg>) {
    effect.reads.insert(pointer);
    effect.writes.insert(pointer);
    add(&mut effect.reads, modifier);
}

/// WFET and WFIT.
pub(super) fn wait_with_timeout(word: Word) -> InsnEffect {
    let mut effect = InsnEffect { waits: true, ..blank() };
    add(&mut effect.reads, word.x(field::T));
    effect
}

/// `op0:op1:CRn:CRm:op2` of MRS and MSR, as S3_3_C13_C0_2 has them.
const fn system_register(word: Word) -> (u32, u32, u32, u32, u32) {
    (word.bits(20, 19), word.bits(18, 16), word.bits(15, 12), word.bits(11, 8), word.bits(7, 5))
}

fn named(register: (u32, u32, u32, u32, u32)) -> Reg {
    match register {
        (3, 3, 4, 2, 0) => regs::NZCV,
        (3, 3, 4, 4, 0) => regs::FPCR,
        (3, 3, 4, 4, 1) => regs::FPSR,
        (3, 3, 13, 0, 2) => regs::TPIDR,
        (3, 3, 13, 0, 3) => regs::TPIDRRO,
        _ => regs::SYSTEM,
    }
}

/// MRS. Registers have op0 = 2 or 3; capstone takes other words of that space for MRS and MSR too.
pub(super) fn read_system(word: Word) -> Option<InsnEffect> {
    if !word.bit(20) {
        return None;
    }
    let mut effect = blank();
    effect.reads.insert(named(system_register(word)));
    add(&mut effect.writes, word.x(field::T));
    // RNDR and RNDRRS say in the flags whether there was a random number.
    if matches!(system_register(word), (3, 3, 2, 4, 0 | 1)) {
        effect.writes.insert(regs::NZCV);
    }
    Some(effect)
}

/// MSR of a register, or of an immediate into a field of PSTATE: op0 = 0, CRn = 4, no Rt. (SVCR is such a field, and
/// belongs to SME.)
pub(super) fn write_system(word: Word) -> Option<InsnEffect> {
    let mut effect = blank();
    match (system_register(word), word.x(field::T)) {
        ((0, 3, 4, _, 3), _) => return None,
        ((0, _, 4, _, _), None) => effect.writes.insert(regs::SYSTEM),
        ((2 | 3, _, _, _, _), rt) => {
            add(&mut effect.reads, rt);
            effect.writes.insert(named(system_register(word)));
        }
        (_, _) => return None,
    }
    Some(effect)
}

/// CFINV, AXFLAG, XAFLAG.
pub(super) fn flags() -> InsnEffect {
    let mut effect = blank();
    effect.reads.insert(regs::NZCV);
    effect.writes.insert(regs::NZCV);
    effect
}

/// SYS, by `op1, CRn, CRm, op2`: what user code may execute, and nothing else. (GCSPUSHM and others of the guarded
/// control stack are SYS too, and touch memory.)
pub(super) fn maintenance(word: Word) -> Option<InsnEffect> {
    let mut effect = blank();
    add(&mut effect.reads, word.x(field::T));
    match (word.bits(18, 16), word.bits(15, 12), word.bits(11, 8), word.bits(7, 5)) {
        // DC ZVA, DC GZVA. (DC GVA writes tags only.)
        (3, 7, 4, 1 | 4) => {
            let address = at(word.x(field::T)?, 0);
            let zeroing = plain(AccessKind::Store, address, ZVA_BLOCK);
            push(&mut effect, Access { extent: Extent::Block(ZVA_BLOCK), ..zeroing });
        }
        (3, 7, 4, 3) => {}
        // IC IVAU; DC CVAC, CVAU, CVAP, CVADP, CIVAC and their forms with tags.
        (3, 7, 5, 1) | (3, 7, 11, 1) | (3, 7, 10 | 12 | 13 | 14, 1 | 3 | 5) => {}
        // CFP, DVP, COSP, CPP RCTX: prediction restriction.
        (3, 7, 3, 4..=7) => {}
        _ => return None,
    }
    Some(effect)
}
