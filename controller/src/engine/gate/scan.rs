//! Which instructions of a file get a gate.
//!
//! In every file: system calls. In code under the model: accesses, fences and hints, but for what is plainly private to
//! the stack and pointers that the dynamic linker fills in; calls that may leave for other code. In the C runtime: the
//! entries of functions that synchronise or allocate. Data among the code ([`islands`]) is left alone.

use super::asm::{self, Va};
use super::exclusive::{Sequence, sequence};
use super::islands::islands;
use super::patch::Kind;
use crate::engine::calls::{Kind as Function, meaning, operator};
use crate::engine::modules::Binary;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;
use wmtrace_decoder::aarch64::{Decoder, regs};
use wmtrace_decoder::effect::{AccessKind, Flow, InsnEffect, Reg, RegSet, Unit, Writeback};
use wmtrace_decoder::image::Image;

/// The frame pointer.
const FP: Reg = Reg(29);

/// An instruction that gets a gate.
pub(super) struct Found {
    pub(super) at: Va,
    pub(super) word: u32,
    pub(super) wanted: Wanted,
}

pub(super) enum Wanted {
    Entry,
    Insn {
        accesses: bool,
    },
    Exclusive(Rc<Sequence>),
    /// A call of an outline atomic, which does this.
    Outline(u32),
    Svc,
    Function(Function),
    Import(Rc<str>),
    Indirect,
}

impl Found {
    pub(super) fn kind(&self) -> Kind {
        match &self.wanted {
            Wanted::Entry => Kind::Entry,
            Wanted::Insn { .. } | Wanted::Outline(_) => Kind::Insn,
            Wanted::Exclusive(sequence) => Kind::Exclusive(sequence.clone()),
            Wanted::Svc => Kind::Svc,
            Wanted::Function(kind) => Kind::Function(*kind),
            Wanted::Import(name) => Kind::Import(name.clone()),
            Wanted::Indirect => Kind::Indirect,
        }
    }

    /// Whether a thread may be asked to stop behind it.
    pub(super) fn has_post(&self) -> bool {
        match self.wanted {
            Wanted::Insn { accesses } => accesses,
            Wanted::Exclusive(_) | Wanted::Outline(_) | Wanted::Svc => true,
            Wanted::Entry | Wanted::Function(_) | Wanted::Import(_) | Wanted::Indirect => false,
        }
    }
}

/// The instructions of a file that get gates, by address.
pub(super) fn scan(binary: &Binary) -> Vec<Found> {
    let image = binary.image;
    let mut found: BTreeMap<Va, Found> = BTreeMap::new();
    let decoder = Decoder::new();
    let data = islands(image, &decoder);
    let is_data = |at: Va| data.range(..=at).next_back().is_some_and(|(_, &end)| at < end);
    let mut put = |at: Va, word: u32, wanted: Wanted| {
        found.entry(at).or_insert(Found { at, word, wanted });
    };
    if let Some(word) = word_at(image, image.entry()) {
        put(image.entry(), word, Wanted::Entry);
    }
    for &(at, kind) in &binary.entries {
        if let Some(word) = word_at(image, at).filter(|_| !is_data(at)) {
            put(at, word, Wanted::Function(kind));
        }
    }
    let managed = if binary.managed { None } else { Some(binary.stepped()) };
    let functions = image.functions();
    for code in image.code() {
        let words: Vec<u32> = code
            .bytes
            .bytes()
            .chunks_exact(4)
            .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
            .collect();
        let linkage = code.name.contains("plt");
        for (index, &word) in words.iter().enumerate() {
            let at = code.addr + 4 * index as u64;
            if asm::is_svc(word) && !is_data(at) {
                put(at, word, Wanted::Svc);
            }
        }
        if linkage {
            if binary.managed {
                imports(binary, code.addr, &words, &mut put);
            }
            continue;
        }
        let end = code.end();
        let inside = |range: &Range<Va>| range.start >= code.addr && range.end <= end;
        let parts: Vec<Range<Va>> = match &managed {
            Some(ranges) => ranges.iter().filter(|range| inside(range)).cloned().collect(),
            // Without sections only what unwind information calls a function is code for sure.
            None if code.name.is_empty() => {
                functions.iter().map(|function| function.start..function.end).filter(inside).collect()
            }
            None => std::iter::once(code.addr..end).collect(),
        };
        let parts = parts.into_iter().flat_map(|part| binary.watched(part));
        for part in parts {
            let mut at = part.start;
            // Function by function, and what lies between.
            while at < part.end {
                let next = functions.partition_point(|function| function.end <= at);
                let stretch = match functions.get(next) {
                    Some(it) if it.start <= at => (at..it.end.min(part.end), it.start == at),
                    Some(it) => (at..it.start.min(part.end), false),
                    None => (at..part.end, false),
                };
                let (range, whole) = stretch;
                let from = ((range.start - code.addr) / 4) as usize;
                let to = ((range.end - code.addr) / 4) as usize;
                let stretch =
                    Stretch { binary, decoder: &decoder, start: range.start, words: &words[from..to] };
                stretch.scan(whole, &is_data, &mut put);
                at = range.end.max(at + 4);
            }
        }
    }
    found.into_values().collect()
}

fn word_at(image: &Image, at: Va) -> Option<u32> {
    let bytes = image.code_at(at)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

/// The LSE instruction of an outline atomic (libgcc's `lse.S`): that instruction and a return, an exclusive loop and a
/// return. It takes its operands where the caller has put them. In a stripped library the function has no name.
fn outline(image: &Image, decoder: &Decoder, start: Va) -> Option<u32> {
    const LONGEST: u64 = 32;
    let (mut returns, mut exclusives, mut lse) = (0, 0, None);
    for at in (start..start + 4 * LONGEST).step_by(4) {
        let word = word_at(image, at)?;
        let effect = decoder.decode(at, &word.to_le_bytes()).ok()?;
        match effect.flow {
            Flow::Next | Flow::Jump { .. } => {}
            Flow::Return => returns += 1,
            _ => return None,
        }
        if effect.accesses.iter().any(|access| access.kind == AccessKind::Rmw) && returns == 0 {
            lse = Some(word);
        }
        exclusives += usize::from(effect.unit == Unit::BeginsExclusive);
        if returns == 2 {
            return lse.filter(|_| exclusives == 1);
        }
    }
    None
}

/// Entries of the procedure linkage table, by what they jump to.
fn imports(binary: &Binary, start: Va, words: &[u32], put: &mut impl FnMut(Va, u32, Wanted)) {
    for (index, pair) in words.windows(2).enumerate() {
        let at = start + 4 * index as u64;
        // adrp x16, page; ldr x17, [x16, #offset]
        let Some((16, page)) = asm::page(pair[0], at) else { continue };
        if pair[1] & 0xffc0_03ff != 0xf940_0211 {
            continue;
        }
        let slot = page.wrapping_add(u64::from(pair[1] >> 10 & 0xfff) * 8);
        let Some(name) = binary.slot_name(slot) else { continue };
        // Its own gate tells the same. (The C++ library's `operator new` has none.)
        if meaning(name).is_none() || operator(name).is_some() {
            put(at, pair[0], Wanted::Import(name.into()));
        }
    }
}

/// A function, or code that belongs to none.
struct Stretch<'a> {
    binary: &'a Binary,
    decoder: &'a Decoder,
    start: Va,
    words: &'a [u32],
}

impl Stretch<'_> {
    fn decode(&self, index: usize) -> Option<InsnEffect> {
        self.decoder.decode(self.start + 4 * index as u64, &self.words[index].to_le_bytes()).ok()
    }

    fn scan(&self, whole: bool, is_data: &dyn Fn(Va) -> bool, put: &mut impl FnMut(Va, u32, Wanted)) {
        let effects: Vec<Option<InsnEffect>> =
            (0..self.words.len()).map(|index| self.decode(index)).collect();
        let frame = if whole { private_frame(self.words, &effects) } else { RegSet::EMPTY };
        let outline = whole && outline(self.binary.image, self.decoder, self.start).is_some();
        let targets: BTreeSet<Va> = effects
            .iter()
            .flatten()
            .filter_map(|effect| match effect.flow {
                Flow::Jump { target, .. } => Some(target),
                _ => None,
            })
            .collect();
        let sequences = self.sequences(&effects);
        let mut pages: HashMap<u32, Va> = HashMap::new();
        for (index, &word) in self.words.iter().enumerate() {
            let at = self.start + 4 * index as u64;
            if targets.contains(&at) {
                pages.clear();
            }
            // What an outline atomic looks at beside its cell is which instructions the processor has.
            let plain = effects[index].as_ref().is_some_and(|it| it.accesses.iter().all(|it| !it.atomic));
            if is_data(at) || outline && plain {
                continue;
            }
            if let Some(wanted) = self.wanted(index, effects[index].as_ref(), frame, &pages, &sequences) {
                put(at, word, wanted);
            }
            match &effects[index] {
                Some(effect) if effect.flow == Flow::Next => {
                    pages.retain(|&reg, _| !effect.writes.contains(Reg(reg as u8)));
                    if let Some((reg, page)) = asm::page(word, at) {
                        pages.insert(reg, page);
                    }
                }
                Some(InsnEffect { flow: Flow::Jump { conditional: true, .. }, .. }) => {}
                _ => pages.clear(),
            }
        }
    }

    /// The exclusive sequences that we know, by their loads.
    fn sequences(&self, effects: &[Option<InsnEffect>]) -> BTreeMap<Va, Rc<Sequence>> {
        let word_at = |at: Va| self.words.get((at.checked_sub(self.start)? / 4) as usize).copied();
        let loads = effects.iter().enumerate().filter_map(|(index, effect)| {
            let begins = effect.as_ref().is_some_and(|effect| effect.unit == Unit::BeginsExclusive);
            begins.then_some(self.start + 4 * index as u64)
        });
        loads.filter_map(|at| Some((at, Rc::new(sequence(self.decoder, at, word_at)?)))).collect()
    }

    fn wanted(
        &self,
        index: usize,
        effect: Option<&InsnEffect>,
        frame: RegSet,
        pages: &HashMap<u32, Va>,
        sequences: &BTreeMap<Va, Rc<Sequence>>,
    ) -> Option<Wanted> {
        let (word, at) = (self.words[index], self.start + 4 * index as u64);
        // What does not decode is refused where a thread gets there. Nothing follows from words that are no code.
        let Some(effect) = effect else {
            return (word >> 16 != 0).then_some(Wanted::Insn { accesses: false });
        };
        if effect.unit == Unit::BeginsExclusive {
            return Some(match sequences.get(&at) {
                Some(sequence) => Wanted::Exclusive(sequence.clone()),
                None => Wanted::Insn { accesses: true },
            });
        }
        // Part of a sequence; or alone, and refused where a thread gets there: behind a gate it would always fail.
        if effect.unit == Unit::EndsExclusive {
            let alone = !effect.accesses.is_empty() && sequences.values().all(|it| it.store_at != at);
            return alone.then_some(Wanted::Insn { accesses: false });
        }
        // In the C runtime, where outline atomics are not under the model for everybody.
        if !self.binary.managed
            && word & 0xfc00_0000 == 0x9400_0000
            && let Some(target) = asm::target(word, at)
            && let Some(lse) = outline(self.binary.image, self.decoder, target)
        {
            return Some(Wanted::Outline(lse));
        }
        let lost_fence = self.binary.fences.contains_key(&at);
        if effect.fence.is_some() || effect.waits || lost_fence || asks(word) {
            return Some(Wanted::Insn { accesses: !effect.accesses.is_empty() });
        }
        if matches!(effect.flow, Flow::Call { target: None }) {
            return Some(Wanted::Indirect);
        }
        let access = effect.accesses.first()?;
        if asm::literal(word, at).is_some() {
            return None;
        }
        let base = access.address.base?;
        let last = effect.accesses.last()?;
        if !access.atomic && (frame.contains(base) || base == regs::SP && last.address.writeback.is_some()) {
            return None;
        }
        // ldr xN, [xM, #offset] after adrp xM: a pointer that the dynamic linker fills in.
        if let Some(&page) = pages.get(&u32::from(base.0))
            && word & 0xffc0_0000 == 0xf940_0000
            && self.binary.is_linkage(page.wrapping_add_signed(access.address.displacement))
        {
            return None;
        }
        Some(Wanted::Insn { accesses: true })
    }
}

/// The registers that only ever point into the function's own frame, if nobody else can learn the frame's address.
fn private_frame(words: &[u32], effects: &[Option<InsnEffect>]) -> RegSet {
    let mut frame = RegSet::EMPTY.with(regs::SP);
    let framed = words.iter().any(|&word| is_frame_setup(word));
    if framed {
        frame.insert(FP);
    }
    // A part of a function that lies elsewhere (`.cold`) has the frame of the whole, which may be known to others.
    let mut made = false;
    for (&word, effect) in words.iter().zip(effects) {
        let Some(effect) = effect else { return RegSet::EMPTY };
        let access = effect.accesses.last().map(|access| access.address);
        made |= word & 0xff80_03ff == 0xd100_03ff
            || access.is_some_and(|address| {
                let down = matches!(address.writeback, Some(Writeback::By(by)) if by < 0);
                address.base == Some(regs::SP) && down
            });
        if !made && access.is_some_and(|address| address.base.is_some_and(|base| frame.contains(base))) {
            return RegSet::EMPTY;
        }
        let restores = effect.accesses.first().is_some_and(|access| access.address.base == Some(regs::SP));
        if framed && effect.writes.contains(FP) && !is_frame_setup(word) && !restores {
            return RegSet::EMPTY;
        }
        let reads = frame.iter().any(|reg| effect.reads.contains(reg));
        if !reads || is_frame_setup(word) {
            continue;
        }
        if let Some(access) = effect.accesses.first() {
            let based = access.address.base.is_some_and(|base| frame.contains(base));
            // The frame pointer itself may be saved, as every function does.
            let data = [word & 31, word >> 10 & 31];
            let pair = effect.accesses.len() == 2;
            let stores_frame = framed
                && word & 1 << 26 == 0
                && (data[0] == 29 || pair && data[1] == 29)
                && access.address.base != Some(regs::SP);
            let index = access.address.index.is_some_and(|index| frame.contains(index.reg));
            if !based || stores_frame || index {
                return RegSet::EMPTY;
            }
            continue;
        }
        // Moving the stack pointer. Signing a return address looks at it only.
        let moves = effect.writes.iter().all(|reg| reg == regs::SP);
        let signs = word & 0xffff_f01f == 0xd503_201f;
        if !moves && !signs {
            return RegSet::EMPTY;
        }
    }
    frame
}

/// `mov x29, sp` or `add x29, sp, #offset`.
fn is_frame_setup(word: u32) -> bool {
    word & 0xff80_03ff == 0x9100_03fd
}

/// Reads of the counter and of random numbers: the engine says what they give.
pub(super) fn asks(word: u32) -> bool {
    matches!(word & !31, 0xd53b_e020 | 0xd53b_e040 | 0xd53b_e0c0 | 0xd53b_2400 | 0xd53b_2420)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which registers point into a frame that nobody else knows.
    fn frame(words: &[u32]) -> Vec<Reg> {
        let decoder = Decoder::new();
        let decode = |word: &u32| decoder.decode(0x1000, &word.to_le_bytes()).ok();
        let effects: Vec<_> = words.iter().map(decode).collect();
        private_frame(words, &effects).iter().collect()
    }

    #[test]
    fn frames_that_nobody_else_knows() {
        // sub sp, sp, #16; str w0, [sp, #12]; ldr w0, [sp, #12]; add sp, sp, #16; ret
        assert_eq!(frame(&[0xd100_43ff, 0xb900_0fe0, 0xb940_0fe0, 0x9100_43ff, asm::RET]), [regs::SP]);
        // stp x29, x30, [sp, #-32]!; mov x29, sp; str w0, [x29, #28]; bl; ldp x29, x30, [sp], #32; ret
        let whole = [0xa9be_7bfd, 0x9100_03fd, 0xb900_1fa0, 0x9400_0010, 0xa8c2_7bfd, asm::RET];
        assert_eq!(frame(&whole), [FP, regs::SP]);
    }

    #[test]
    fn frames_that_somebody_may_know() {
        // add x0, sp, #12: the address of a variable.
        assert_eq!(frame(&[0xd100_43ff, 0x9100_33e0, 0x9400_0010]), []);
        // add x0, x29, #28, and mov x1, x29.
        assert_eq!(frame(&[0xa9be_7bfd, 0x9100_03fd, 0x9100_73a0]), []);
        assert_eq!(frame(&[0xa9be_7bfd, 0x9100_03fd, 0xaa1d_03e1]), []);
        // str x29, [x0]: the frame pointer goes elsewhere.
        assert_eq!(frame(&[0xa9be_7bfd, 0x9100_03fd, 0xf900_001d]), []);
        // ldr w0, [sp, #12] first: a part of another function.
        assert_eq!(frame(&[0xb940_0fe0, 0xd100_43ff, asm::RET]), []);
        // A word that does not decode.
        assert_eq!(frame(&[0xd100_43ff, u32::MAX, asm::RET]), []);
    }

    #[test]
    fn counters_and_random_numbers() {
        // mrs x3, cntvct_el0; mrs x0, rndr; mrs x0, tpidr_el0
        assert!(asks(0xd53b_e043) && asks(0xd53b_2400) && !asks(0xd53b_d040));
    }
}
