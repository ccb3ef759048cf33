//! Exclusive sequences (LDXR … STXR): found whole, so that each can run in one go as one read-modify-write. A stop
//! between its two halves would clear the monitor.
//!
//! What compilers and libraries write is one of two: a load, arithmetic on registers, a store (a read-modify-write); or
//! the same with one way out after a comparison of what was loaded (a compare-and-swap). The store need not follow the
//! load in the file: musl's loops begin with it. Two registers are loaded at once only if they can be stored, so what does
//! not compare equal is stored back on the way out; in one go that changes nothing, and is left out. Anything else is no
//! sequence that we know, and is refused where a thread gets there.

use super::asm::{self, Va};
use wmtrace_decoder::aarch64::Decoder;
use wmtrace_decoder::effect::{Flow, InsnEffect, Reg, RegSet, Registers, Unit};

/// The longest sequence, in instructions.
const LONGEST: usize = 24;

/// A sequence that begins with a load-exclusive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sequence {
    /// Its instructions in the order in which they run, from the load to the store and the branch back, if there is one.
    pub(super) words: Vec<u32>,
    pub(super) kind: SequenceKind,
    /// The store-exclusive's place among them, and in the file.
    pub(super) store: usize,
    pub(super) store_at: Va,
    pub(super) exits: Vec<Exit>,
    /// Where it goes on behind the last one.
    pub(super) next: Va,
    /// Whether it goes on by itself when the store has failed: else the program sees that.
    pub(super) loops: bool,
    /// The registers that the load's and the store's addresses are in before it, and what is added to the latter.
    base: Reg,
    store_base: (Reg, u64),
}

/// A way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Exit {
    /// Which instruction of the sequence branches.
    pub(super) branch: usize,
    pub(super) to: Va,
    /// An instruction on the way there.
    pub(super) first: Option<u32>,
}

impl Sequence {
    /// Whether it stores where it loads.
    pub(super) fn is_one_place(&self, regs: &impl Registers) -> bool {
        let (reg, more) = self.store_base;
        regs.general(self.base) == regs.general(reg).wrapping_add(more)
    }

    /// The register that says whether the store has failed.
    pub(super) fn status(&self) -> u32 {
        self.words[self.store] >> 16 & 31
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

/// What is known on the way from the load to the store.
struct Walk {
    words: Vec<u32>,
    places: Vec<Va>,
    exits: Vec<(usize, Va)>,
    /// What loaded registers were compared with, and which instruction was the last to do so.
    compared: Vec<(u32, Expected)>,
    last_compared: usize,
    /// Registers that were read before they were written, and those that were written behind the load.
    inputs: RegSet,
    written: RegSet,
    /// Registers that hold another one's value at the beginning, and something more.
    sums: Vec<(Reg, (Reg, u64))>,
    /// The register that is 0 if this many comparisons have found what they compare equal.
    differs: Option<(Reg, usize)>,
}

impl Walk {
    fn push(&mut self, at: Va, word: u32, effect: &InsnEffect, loads: RegSet) {
        let sum = sum(word).filter(|(_, (from, _))| !self.written.union(loads).contains(*from));
        for reg in effect.reads.iter().filter(|&reg| !self.written.union(loads).contains(reg)) {
            self.inputs.insert(reg);
        }
        self.sums.retain(|(reg, _)| !effect.writes.contains(*reg));
        self.sums.extend(sum);
        self.differs = self.collected(word).or(self.differs.filter(|(reg, _)| !effect.writes.contains(*reg)));
        self.written = self.written.union(effect.writes);
        self.words.push(word);
        self.places.push(at);
    }

    /// `cset wD, ne` behind the first comparison, `cinc wD, wD, ne` behind the second: the register, and of how many.
    fn collected(&self, word: u32) -> Option<(Reg, usize)> {
        let reg = Reg((word & 31) as u8);
        let behind = self.last_compared + 1 == self.words.len();
        let first = word & !31 == 0x1a9f_07e0 && self.compared.len() == 1;
        let number = word & 31;
        let second = word == 0x1a80_0400 | number << 16 | number << 5 | number
            && self.compared.len() == 2
            && self.differs == Some((reg, 1));
        (behind && (first || second)).then_some((reg, self.compared.len()))
    }
}

/// The sequence that begins with the load at `at`; `word_at` gives the words of its function.
pub(super) fn sequence(decoder: &Decoder, at: Va, word_at: impl Fn(Va) -> Option<u32>) -> Option<Sequence> {
    let decode = |at: Va| -> Option<(u32, InsnEffect)> {
        let word = word_at(at)?;
        Some((word, decoder.decode(at, &word.to_le_bytes()).ok()?))
    };
    let (load, first) = decode(at)?;
    if first.unit != Unit::BeginsExclusive {
        return None;
    }
    let loaded = [load & 31, load >> 10 & 31];
    let pair = load & 0xbfe0_0000 == 0x8860_0000;
    let loaded = if pair { &loaded[..] } else { &loaded[..1] };
    let base = Reg((load >> 5 & 31) as u8);
    let mut walk = Walk {
        words: vec![load],
        places: vec![at],
        exits: Vec::new(),
        compared: Vec::new(),
        last_compared: 0,
        inputs: first.reads,
        written: RegSet::EMPTY,
        sums: Vec::new(),
        differs: None,
    };
    let mut place = at + 4;
    let store_base = loop {
        let (word, effect) = decode(place)?;
        if walk.words.len() >= LONGEST || walk.places.contains(&place) {
            return None;
        }
        if effect.unit == Unit::EndsExclusive {
            // A store (not CLREX).
            effect.accesses.first()?;
            let reg = Reg((word >> 5 & 31) as u8);
            let sum = walk.sums.iter().find(|(known, _)| *known == reg).map(|(_, sum)| *sum);
            let kept = !walk.written.contains(reg) && !first.writes.contains(reg);
            let store_base = sum.or(kept.then_some((reg, 0)))?;
            walk.push(place, word, &effect, first.writes);
            break store_base;
        }
        // Nor anything that means something else elsewhere.
        let relative = word & 0x1f00_0000 == 0x1000_0000;
        if !effect.accesses.is_empty() || effect.fence.is_some() || effect.unit != Unit::Single || relative {
            return None;
        }
        match effect.flow {
            Flow::Next => {
                if let Some(comparison) = comparison(word, load, loaded, walk.written) {
                    walk.compared.push(comparison);
                    walk.last_compared = walk.words.len();
                }
                walk.push(place, word, &effect, first.writes);
                place += 4;
            }
            Flow::Jump { target, conditional: true } => {
                let zero = word & 0x7e00_0000 == 0x3400_0000;
                let equal = word & 0xff00_001e == 0x5400_0000;
                let reg = word & 31;
                if zero && loaded.contains(&reg) && !walk.written.contains(Reg(reg as u8)) {
                    walk.compared.push((reg, Expected::Constant(0)));
                } else if zero && walk.differs != Some((Reg(reg as u8), loaded.len())) || !zero && !equal {
                    return None;
                }
                // B.EQ and CBZ lead to the store, B.NE and CBNZ away from it.
                let unequal = if zero { 1 << 24 } else { 1 };
                let (next, out) = if word & unequal == 0 { (target, place + 4) } else { (place + 4, target) };
                walk.exits.push((walk.words.len(), out));
                walk.push(place, word | unequal, &effect, first.writes);
                place = next;
            }
            _ => return None,
        }
    };
    let store = walk.words.len() - 1;
    let store_at = place;
    if walk.exits.iter().any(|(_, target)| walk.places.contains(target)) {
        return None;
    }
    let mut next = store_at + 4;
    let status = walk.words[store] >> 16 & 31;
    let status_branch = word_at(next).filter(|word| word & 0x7e00_0000 == 0x3400_0000 && word & 31 == status);
    let back_again = |again: u32| {
        // CBNZ to the load.
        let distance = (again as i32).wrapping_neg().cast_unsigned() & 0x7_ffff;
        0x3500_0000 | distance << 5 | status
    };
    let mut loops = true;
    match status_branch.and_then(|word| Some((word >> 24 & 1 == 1, asm::target(word, next)?))) {
        // The branch back when the store has failed, or away when it has not.
        Some((true, target)) if target == at => {
            walk.words.push(back_again(store as u32 + 1));
            next += 4;
        }
        Some((false, target)) if next + 4 == at => {
            walk.words.push(back_again(store as u32 + 1));
            next = target;
        }
        _ => {
            loops = false;
            // What the processor fails for no reason is tried again, if that makes no difference: whether the store fails,
            // is not the processor's to choose.
            if walk.inputs.iter().all(|reg| !walk.written.union(first.writes).contains(reg)) {
                walk.words.push(back_again(store as u32 + 1));
            }
        }
    }
    let kind = match walk.exits.len() {
        0 => SequenceKind::Rmw,
        // A pair is compared by CMP and CCMP, and left by one branch, or by two.
        1 | 2
            if walk.compared.len() == loaded.len()
                && loaded.iter().all(|reg| walk.compared.iter().any(|it| it.0 == *reg)) =>
        {
            let expected = |reg: &u32| walk.compared.iter().find(|it| it.0 == *reg).map(|it| it.1);
            SequenceKind::Cas(loaded.iter().filter_map(expected).collect())
        }
        _ => return None,
    };
    // What is stored back is what was loaded, where it was loaded, if both are still known.
    let known = loaded.iter().map(|&reg| Reg(reg as u8)).chain([base]);
    let kept = known.clone().all(|reg| !walk.written.contains(reg)) && !first.writes.contains(base);
    let exits = walk.exits.iter().map(|&(branch, to)| {
        let back = stores_back(load, at, to, &word_at).filter(|_| kept);
        // mov wS, wzr: the store has not failed.
        let skipped = |status: u32| Exit { branch, to: to + 8, first: Some(0x2a1f_03e0 | status) };
        back.map_or(Exit { branch, to, first: None }, skipped)
    });
    let exits = exits.collect();
    let Walk { words, .. } = walk;
    Some(Sequence { words, kind, store, store_at, exits, next, loops, base, store_base })
}

/// Whether the load's registers are stored back at `to`, until that succeeds: the register that says so.
fn stores_back(load: u32, at: Va, to: Va, word_at: &impl Fn(Va) -> Option<u32>) -> Option<u32> {
    let (store, again) = (word_at(to)?, word_at(to + 4)?);
    // The same but for the bit that makes it a load, the register of the status, and the order.
    let same = (store ^ load) & 0xffe0_7fff == 1 << 22;
    let status = store >> 16 & 31;
    let branches = again & 0xff00_001f == 0x3500_0000 | status && asm::target(again, to + 4) == Some(at);
    (same && branches).then_some(status)
}

/// `add xD, xN, #constant`: the register, and what it becomes.
fn sum(word: u32) -> Option<(Reg, (Reg, u64))> {
    if word & 0xff80_0000 != 0x9100_0000 {
        return None;
    }
    let constant = u64::from(word >> 10 & 0xfff) << if word >> 22 & 1 == 1 { 12 } else { 0 };
    Some((Reg((word & 31) as u8), (Reg((word >> 5 & 31) as u8), constant)))
}

/// CMP (or CCMP) of a loaded register with another, or with a constant: of all of it, and of what both were before.
fn comparison(word: u32, load: u32, loaded: &[u32], written: RegSet) -> Option<(u32, Expected)> {
    let (n, m) = (word >> 5 & 31, word >> 16 & 31);
    let kept = |number: u32| number == 31 || !written.contains(Reg(number as u8));
    let constant = word & 0x7fc0_001f == 0x7100_001f;
    let whole = load >> 30 != 3 || word >> 31 == 1;
    if !whole || !kept(n) || !constant && !kept(m) {
        return None;
    }
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
    if constant && loaded.contains(&n) {
        return Some((n, Expected::Constant(u64::from(word >> 10 & 0xfff))));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sequence whose load is the word of this number, at 0x1000.
    fn at(load: usize, words: &[u32]) -> Option<Sequence> {
        let first = 0x1000 - 4 * load as u64;
        let word = |at: Va| words.get(usize::try_from(at.checked_sub(first)? / 4).ok()?).copied();
        sequence(&Decoder::new(), 0x1000, word)
    }

    fn of(words: &[u32]) -> Option<Sequence> {
        at(0, words)
    }

    #[test]
    fn what_compilers_write() {
        // ldxr w0, [x1]; add w2, w0, w3; stxr w4, w2, [x1]; cbnz w4, 0x1000; ret
        let add = of(&[0x885f_7c20, 0x0b03_0002, 0x8804_7c22, 0x35ff_ffa4, asm::RET]).unwrap();
        assert_eq!((add.kind, add.store, add.next), (SequenceKind::Rmw, 2, 0x1010));
        assert_eq!(add.words, [0x885f_7c20, 0x0b03_0002, 0x8804_7c22, 0x35ff_ffa4]);
        // ldaxr w0, [x1]; cmp w0, w2; b.ne 0x1014; stlxr w4, w3, [x1]; cbnz w4, 0x1000; ret
        let cas = of(&[0x885f_fc20, 0x6b02_001f, 0x5400_0061, 0x8804_fc23, 0x35ff_ff84, asm::RET]).unwrap();
        assert_eq!(cas.kind, SequenceKind::Cas(vec![Expected::Register(Reg(2))]));
        assert_eq!((cas.words.len(), cas.store, cas.loops, cas.status()), (5, 3, true, 4));
        assert_eq!((cas.exits, cas.next), (vec![Exit { branch: 2, to: 0x1014, first: None }], 0x1014));
        // ldxrb w0, [x1]; cmp w0, w2, uxtb; b.ne; stxrb w4, w3, [x1]: it is tried again all the same.
        let byte = of(&[0x085f_7c20, 0x6b22_001f, 0x5400_0041, 0x0804_7c23, asm::RET]).unwrap();
        assert_eq!(byte.kind, SequenceKind::Cas(vec![Expected::Register(Reg(2))]));
        assert_eq!((byte.words[4], byte.next, byte.loops), (0x35ff_ff84, 0x1010, false));
        // ldxp x0, x1, [x4]; cmp x0, x2; ccmp x1, x3, #0, eq; b.ne; stxp w5, x6, x7, [x4]
        let pair = of(&[0xc87f_0480, 0xeb02_001f, 0xfa43_0020, 0x5400_0041, 0xc825_1c86, asm::RET]).unwrap();
        let expected = [2, 3].map(|number| Expected::Register(Reg(number)));
        assert_eq!(pair.kind, SequenceKind::Cas(expected.to_vec()));
    }

    #[test]
    fn what_is_stored_back() {
        // ldaxp x9, x8, [x0]; cmp x9, x11; cset w12, ne; cmp x8, x10; cinc w12, w12, ne; cbz w12, 0x1024
        // stlxp w12, x9, x8, [x0]; cbnz w12, 0x1000; b 0x102c; stlxp w12, x2, x3, [x0]; cbnz w12, 0x1000
        let clang = [
            0xc87f_a009,
            0xeb0b_013f,
            0x1a9f_07ec,
            0xeb0a_011f,
            0x1a8c_058c,
            0x3400_008c,
            0xc82c_a009,
            0x35ff_ff2c,
            0x1400_0003,
            0xc82c_8c02,
            0x35ff_fecc,
            asm::RET,
        ];
        let both = of(&clang).unwrap();
        let expected = [11, 10].map(|number| Expected::Register(Reg(number)));
        assert_eq!(both.kind, SequenceKind::Cas(expected.to_vec()));
        // The branch is turned; the way out is behind the store, which has not failed (mov w12, wzr).
        assert_eq!((both.words[5] >> 24, both.store_at, both.next), (0x35, 0x1024, 0x102c));
        assert_eq!(both.exits, [Exit { branch: 5, to: 0x1020, first: Some(0x2a1f_03ec) }]);
        // Only one of the two decides (nop for cinc); something else is stored back (x8 twice): left as it is.
        let changed = |index: usize, word: u32| {
            let mut words = clang;
            words[index] = word;
            of(&words)
        };
        assert_eq!(changed(4, 0xd503_201f), None);
        assert_eq!(changed(6, 0xc82c_a008).unwrap().exits, [Exit { branch: 5, to: 0x1018, first: None }]);
    }

    #[test]
    fn what_musl_has() {
        // stlxr w1, w0, [x21]; cbz w1, 0x101c; ldaxr w20, [x21]; cmp w20, #2; b.eq 0xff8; dmb ish
        let words = [0x8801_fea0, 0x3400_0101, 0x885f_feb4, 0x7100_0a9f, 0x54ff_ff80, 0xd503_3bbf];
        let turned = at(2, &words).unwrap();
        assert_eq!(turned.kind, SequenceKind::Cas(vec![Expected::Constant(2)]));
        // ldaxr; cmp; b.ne (out); stlxr; cbnz (again)
        let shown = [0x885f_feb4, 0x7100_0a9f, 0x54ff_ff81, 0x8801_fea0, 0x35ff_ff81];
        assert_eq!((&turned.words[..], turned.store, turned.store_at), (&shown[..], 3, 0xff8));
        assert_eq!((turned.exits, turned.next), (vec![Exit { branch: 2, to: 0x100c, first: None }], 0x101c));
        // ldaxr w0, [x0]; add w0, w0, #1; add x3, x1, #0x1d0; stlxr w2, w0, [x3]; cbnz w2, 0xffc
        let words = [0x885f_fc00, 0x1100_0400, 0x9107_4023, 0x8802_fc60, 0x35ff_ff62];
        let twice = of(&words).unwrap();
        assert_eq!((twice.kind.clone(), twice.store_base), (SequenceKind::Rmw, (Reg(1), 0x1d0)));
        // Its base is gone: it cannot be tried again here.
        assert_eq!((twice.words.len(), twice.next), (4, 0x1010));
        struct Two;
        impl Registers for Two {
            fn general(&self, reg: Reg) -> u64 {
                [0x51d0, 0x5000][usize::from(reg.0)]
            }
            fn vector(&self, _: Reg) -> [u8; 64] {
                [0; 64]
            }
        }
        assert!(twice.is_one_place(&Two));
        assert!(!Sequence { store_base: (Reg(1), 0x1d8), ..twice }.is_one_place(&Two));
    }

    #[test]
    fn what_they_do_not() {
        // No store; a load between; a way out that compares nothing; a call; a store to what was loaded.
        assert_eq!(of(&[0x885f_7c20, asm::RET]), None);
        assert_eq!(of(&[0x885f_7c20, 0xb940_0042, 0x8804_7c22]), None);
        assert_eq!(of(&[0x885f_7c20, 0x5400_0061, 0x8804_7c22]), None);
        assert_eq!(of(&[0x885f_7c20, 0x9400_0010, 0x8804_7c22]), None);
        assert_eq!(of(&[0xc85f_7c21, 0xc804_7c22]), None);
        // Half of what was loaded is compared (ldxr x0; cmp w0, w2); something else than what was loaded.
        assert_eq!(of(&[0xc85f_7c20, 0x6b02_001f, 0x5400_0061, 0xc804_7c23]), None);
        assert_eq!(of(&[0x885f_7c20, 0x1200_0000, 0x6b02_001f, 0x5400_0061, 0x8804_7c23]), None);
        // Round and round: ldxr w0, [x1]; cbz w0, 0x1004.
        assert_eq!(of(&[0x885f_7c20, 0x3400_0000, 0x8804_7c22]), None);
        // Another address: seen where a thread gets there.
        let elsewhere = of(&[0x885f_7c20, 0x8804_7c62]).unwrap();
        assert_eq!((elsewhere.base, elsewhere.store_base), (Reg(1), (Reg(3), 0)));
    }
}
