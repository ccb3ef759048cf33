//! Loads of which the source may have only a part.
//!
//! `p.a == q.a && p.b == q.b` loads `p.b` only if the first comparison holds. A compiler that knows that all of `p` can be
//! read makes one wide load of both, and one comparison. A loop over `r[i].key` loads vectors with everything that lies
//! between the keys, and drops the rest. The processor does not mind. In the memory model such a load would race with a
//! store to what the source does not read.
//!
//! So a load may read more than the source does if the other access of the race is narrower, and if what is loaded is
//! compared or taken apart. A load whose value is stored as it is copies all of it, and one that a vector is computed with,
//! each element for itself, is one of a loop that reads all elements.

use super::Orders;
use crate::effect::{AccessKind, Arch, Extent, Flow, InsnEffect, RegSet};
use crate::machine::Decoder;
use crate::{aarch64, x86};

/// How many instructions the first use of a value is looked for in.
const FAR: usize = 32;

/// What an instruction does with a value that it reads.
enum Use {
    /// It needs all of it.
    Whole,
    Moves,
    /// It may need only a part.
    TakesApart,
}

impl Orders<'_> {
    /// Whether the source may have only a part of an instruction's load, and not the part that a narrower access touches,
    /// which is that of the instruction `other`.
    pub fn may_read_more(&self, pc: u64, other: u64) -> bool {
        let decoder = Decoder::shared(self.image.arch());
        let effect = |pc: u64| decoder.decode(pc, self.image.code_at(pc)?).ok();
        let (Some(load), Some(other)) = (effect(pc), effect(other)) else { return false };
        let ([access], Some(width)) = (load.accesses.as_slice(), widest(&load)) else { return false };
        if access.kind != AccessKind::Load || widest(&other).is_none_or(|other| other >= width) {
            return false;
        }
        let text =
            |pc: u64| self.image.code_at(pc).and_then(|bytes| decoder.text(pc, bytes)).unwrap_or_default();
        let vector = |set: RegSet| set.iter().any(|reg| is_vector(self.image.arch(), reg.0));
        match kind_of_use(&text(pc), vector(load.writes)) {
            Use::Whole => return false,
            Use::TakesApart => return true,
            Use::Moves => {}
        }
        let mut held = load.writes;
        let mut at = pc.saturating_add(u64::from(load.len.max(1)));
        for _ in 0..FAR {
            let Some(next) = effect(at).filter(|next| next.flow == Flow::Next) else { return false };
            if next.reads.iter().any(|reg| held.contains(reg)) {
                let stores = next.accesses.iter().any(|access| access.kind != AccessKind::Load);
                match kind_of_use(&text(at), vector(held)) {
                    _ if stores => return false,
                    Use::Whole => return false,
                    Use::TakesApart => return true,
                    Use::Moves => held = held.union(next.writes),
                }
            }
            at = at.saturating_add(u64::from(next.len.max(1)));
        }
        false
    }
}

/// What an instruction does with a value that it reads, by its name.
fn kind_of_use(text: &str, vector: bool) -> Use {
    let name = text.split(' ').next().unwrap_or_default();
    let plain = name.strip_prefix('v').unwrap_or(name);
    const MOVES: [&str; 6] = ["mov", "lddq", "ldr", "ldu", "ld1", "fmov"];
    /// Each element for itself.
    const ELEMENTS: [&str; 24] = [
        "padd", "psub", "pmul", "pmin", "pmax", "pavg", "pabs", "add", "sub", "mul", "div", "min", "max",
        "sqrt", "fma", "fms", "fnma", "fnms", "fadd", "fsub", "fmul", "smin", "smax", "mla",
    ];
    let is = |names: &[&str]| names.iter().any(|it| plain.starts_with(it));
    if is(&MOVES) && !is(&["movmsk", "movsldup", "movshdup", "movddup", "movhlps", "movlhps"]) {
        Use::Moves
    } else if vector && is(&ELEMENTS) {
        Use::Whole
    } else {
        Use::TakesApart
    }
}

/// How many bytes of one object an instruction touches at the most: those of a scatter are one object for each element.
fn widest(effect: &InsnEffect) -> Option<u16> {
    let width = |extent: Extent| match extent {
        Extent::Bytes(bytes) => Some(bytes),
        Extent::Repeated { element, .. }
        | Extent::Lanes { element, .. }
        | Extent::Masked { element, .. }
        | Extent::Packed { element, .. }
        | Extent::BitString { element, .. } => Some(element.into()),
        Extent::AtMost(_) | Extent::Block(_) => None,
    };
    effect.accesses.iter().filter_map(|access| width(access.extent)).max()
}

fn is_vector(arch: Arch, reg: u8) -> bool {
    match arch {
        Arch::X86_64 => (0..32).any(|number| x86::regs::zmm(number).0 == reg),
        Arch::Aarch64 => (0..32).any(|number| aarch64::regs::vector(number).0 == reg),
    }
}
