//! Exclusive sequences (LDXR … STXR): found whole, so that each can run in one go as one read-modify-write. A stop
//! between its two halves would clear the monitor.
//!
//! What compilers and libraries write is one of two: a load, arithmetic on registers, a store (a read-modify-write); or
//! the same with one way out after a comparison of what was loaded (a compare-and-swap). Anything else is no sequence
//! that we know, and is refused where a thread gets there.

use super::asm::{self, Va};
use wmtrace_decoder::aarch64::Decoder;
use wmtrace_decoder::effect::{Flow, InsnEffect, Reg, Unit};

/// The longest sequence, in instructions.
const LONGEST: usize = 24;

/// A sequence that begins with a load-exclusive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sequence {
    /// Its instructions, from the load to the store and the branch back, if there is one.
    pub(super) words: Vec<u32>,
    pub(super) kind: SequenceKind,
    /// The store-exclusive's place.
    pub(super) store: usize,
}

impl Sequence {
    /// The register that says whether the store has failed.
    pub(super) fn status(&self) -> u32 {
        self.words[self.store] >> 16 & 31
    }

    /// Whether it goes on by itself when the store has failed: else the program sees that.
    pub(super) fn is_loop(&self) -> bool {
        self.words.len() > self.store + 1
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SequenceKind {
    /// It stores whatever it has loaded.
    Rmw,
    /// It stores only what compares equal with these: one, or two for a pair.
    Cas(Vec<Expected>),
}

/// What a loaded register is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expected {
    Constant(u64),
    Register(Reg),
}

/// The sequence that begins with the first of `words`.
pub(super) fn sequence(decoder: &Decoder, at: Va, words: &[u32]) -> Option<Sequence> {
    let decode = |index: usize| -> Option<InsnEffect> {
        decoder.decode(at + 4 * index as u64, &words.get(index)?.to_le_bytes()).ok()
    };
    let first = decode(0)?;
    let loaded = [words[0] & 31, words[0] >> 10 & 31];
    let pair = words[0] & 0xbfe0_0000 == 0x8860_0000;
    let loaded = if pair { &loaded[..] } else { &loaded[..1] };
    let base = words[0] >> 5 & 31;
    if first.unit != Unit::BeginsExclusive {
        return None;
    }
    let mut exits: Vec<(usize, Va)> = Vec::new();
    let mut compared: Vec<(u32, Expected)> = Vec::new();
    let mut store = None;
    for (index, &word) in words.iter().enumerate().take(LONGEST).skip(1) {
        let effect = decode(index)?;
        if effect.unit == Unit::EndsExclusive {
            // The same address, and a store (not CLREX).
            if effect.accesses.is_empty() || word >> 5 & 31 != base {
                return None;
            }
            store = Some(index);
            break;
        }
        if !effect.accesses.is_empty() || effect.fence.is_some() || effect.unit != Unit::Single {
            return None;
        }
        if effect.writes.contains(Reg(base as u8)) {
            return None;
        }
        match effect.flow {
            Flow::Next => {
                if let Some(comparison) = comparison(word, loaded) {
                    compared.push(comparison);
                }
            }
            Flow::Jump { target, conditional: true } => {
                exits.push((index, target));
                // CBNZ of what was loaded.
                if word & 0x7f00_0000 == 0x3500_0000 && loaded.contains(&(word & 31)) {
                    compared.push((word & 31, Expected::Constant(0)));
                } else if word & 0xff00_001f != 0x5400_0001 {
                    // Not B.NE.
                    return None;
                }
            }
            _ => return None,
        }
    }
    let store = store?;
    let status = words[store] >> 16 & 31;
    let mut end = store + 1;
    // The branch back when the store has failed.
    if let Some(&word) = words.get(end)
        && word & 0x7f00_0000 == 0x3500_0000
        && word & 31 == status
        && asm::target(word, at + 4 * end as u64) == Some(at)
    {
        end += 1;
    }
    let after = |target: Va| target >= at + 4 * end as u64 || target < at;
    if exits.iter().any(|&(_, target)| !after(target) && target != at + 4 * (store as u64 + 1)) {
        return None;
    }
    let kind = match exits.len() {
        0 => SequenceKind::Rmw,
        // A pair is compared by CMP and CCMP, and left by one branch, or by two.
        1 | 2
            if compared.len() == loaded.len()
                && loaded.iter().all(|reg| compared.iter().any(|it| it.0 == *reg)) =>
        {
            let expected = |reg: &u32| compared.iter().find(|it| it.0 == *reg).map(|it| it.1);
            SequenceKind::Cas(loaded.iter().filter_map(expected).collect())
        }
        _ => return None,
    };
    Some(Sequence { words: words[..end].to_vec(), kind, store })
}

/// CMP (or CCMP) of a loaded register with another, or with a constant.
fn comparison(word: u32, loaded: &[u32]) -> Option<(u32, Expected)> {
    let (n, m) = (word >> 5 & 31, word >> 16 & 31);
    let register = |number: u32| match number {
        31 => Expected::Constant(0),
        number => Expected::Register(Reg(number as u8)),
    };
    // SUBS to the zero register: shifted by nothing, or extended from the access's width.
    let shifted = word & 0x7fe0_fc1f == 0x6b00_001f;
    let extended = word & 0x7fe0_1c1f == 0x6b20_001f;
    // CCMP of registers, in force only after an equal comparison.
    let conditional = word & 0x7fe0_fc10 == 0x7a40_0000;
    if shifted || extended || conditional {
        return match (loaded.contains(&n), loaded.contains(&m)) {
            (true, false) => Some((n, register(m))),
            (false, true) if shifted => Some((m, register(n))),
            _ => None,
        };
    }
    // SUBS to the zero register with a constant.
    if word & 0x7fc0_001f == 0x7100_001f && loaded.contains(&n) {
        return Some((n, Expected::Constant(u64::from(word >> 10 & 0xfff))));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[u32]) -> Option<Sequence> {
        sequence(&Decoder::new(), 0x1000, words)
    }

    #[test]
    fn what_compilers_write() {
        // ldxr w0, [x1]; add w2, w0, w3; stxr w4, w2, [x1]; cbnz w4, 0x1000; ret
        let add = of(&[0x885f_7c20, 0x0b03_0002, 0x8804_7c22, 0x35ff_ffa4, asm::RET]).unwrap();
        assert_eq!((add.kind, add.words.len(), add.store), (SequenceKind::Rmw, 4, 2));
        // ldaxr w0, [x1]; cmp w0, w2; b.ne 0x1014; stlxr w4, w3, [x1]; cbnz w4, 0x1000; ret
        let cas = of(&[0x885f_fc20, 0x6b02_001f, 0x5400_0061, 0x8804_fc23, 0x35ff_ff84, asm::RET]).unwrap();
        assert_eq!(cas.kind, SequenceKind::Cas(vec![Expected::Register(Reg(2))]));
        assert_eq!((cas.words.len(), cas.store, cas.is_loop(), cas.status()), (5, 3, true, 4));
        // ldxrb w0, [x1]; cmp w0, w2, uxtb; b.ne; stxrb w4, w3, [x1]
        let byte = of(&[0x085f_7c20, 0x6b22_001f, 0x5400_0041, 0x0804_7c23, asm::RET]).unwrap();
        assert_eq!(byte.kind, SequenceKind::Cas(vec![Expected::Register(Reg(2))]));
        assert!(!byte.is_loop());
        // ldxp x0, x1, [x4]; cmp x0, x2; ccmp x1, x3, #0, eq; b.ne; stxp w5, x6, x7, [x4]
        let pair = of(&[0xc87f_0480, 0xeb02_001f, 0xfa43_0020, 0x5400_0041, 0xc825_1c86, asm::RET]).unwrap();
        let expected = [2, 3].map(|number| Expected::Register(Reg(number)));
        assert_eq!(pair.kind, SequenceKind::Cas(expected.to_vec()));
    }

    #[test]
    fn what_they_do_not() {
        // No store; a load between; another address; a way out that compares nothing; a call.
        assert_eq!(of(&[0x885f_7c20, asm::RET]), None);
        assert_eq!(of(&[0x885f_7c20, 0xb940_0042, 0x8804_7c22]), None);
        assert_eq!(of(&[0x885f_7c20, 0x8804_7c62]), None);
        assert_eq!(of(&[0x885f_7c20, 0x5400_0061, 0x8804_7c22]), None);
        assert_eq!(of(&[0x885f_7c20, 0x9400_0010, 0x8804_7c22]), None);
    }
}
