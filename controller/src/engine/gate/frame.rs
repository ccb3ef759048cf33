//! How far a thread has come that a signal has found in a stub, and what it would have looked like in the program: with
//! the program's registers, at the program's instruction.

use super::asm::{self, Va};
use super::block::{Block, SIZE};
use super::patch::{Gate, Kind, Own};

/// What a handler is shown of the thread that it interrupts: `struct sigcontext`, from its registers on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Context {
    /// `x0` to `x30`, the stack pointer, the program counter, and the processor's state.
    words: [u64; 34],
}

const CONTEXT_SP: usize = 31;
const CONTEXT_PC: usize = 32;
const CONTEXT_STATE: usize = 33;

/// The condition flags in the processor's state.
const FLAGS: u64 = 0xf000_0000;

/// Where it is in the frame that the kernel makes for a handler: behind `siginfo_t`, the beginning of `ucontext_t`, and
/// the address of a fault.
pub(super) const IN_FRAME: u64 = 128 + 176 + 8;

impl Context {
    pub(super) const LEN: usize = 34 * 8;

    pub(super) fn new(bytes: &[u8; Context::LEN]) -> Context {
        let mut words = [0; 34];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        Context { words }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub(super) fn sp(&self) -> u64 {
        self.words[CONTEXT_SP]
    }

    pub(super) fn pc(&self) -> u64 {
        self.words[CONTEXT_PC]
    }

    pub(super) fn set_pc(&mut self, pc: u64) {
        self.words[CONTEXT_PC] = pc;
    }

    pub(super) fn x(&self, number: u32) -> u64 {
        self.words[number as usize]
    }

    pub(super) fn set_x(&mut self, number: u32, value: u64) {
        self.words[number as usize] = value;
    }

    /// The same as a gate shows a thread's registers.
    pub(super) fn block(&self) -> Block {
        let registers = self.words[..31].try_into().expect("31 registers");
        Block::with(registers, self.sp(), self.pc())
    }

    /// The thread has a block on its stack: as many of its registers are in there.
    fn take_back(&mut self, block: &Block, saved: Saved) {
        let low = if saved >= Saved::Low { 2 } else { 0 };
        let registers = if saved >= Saved::All { 30 } else { low };
        for number in 0..registers {
            self.set_x(number, block.x(number));
        }
        if saved >= Saved::Link {
            self.set_x(asm::LR, block.x(asm::LR));
        }
        if saved == Saved::Flags {
            let state = &mut self.words[CONTEXT_STATE];
            *state = *state & !FLAGS | block.flags() & FLAGS;
        }
        self.words[CONTEXT_SP] = self.words[CONTEXT_SP].wrapping_add(SIZE as u64);
    }
}

/// Which of the program's registers are in the block only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Saved {
    None,
    /// The link register.
    Link,
    /// That, and the first two.
    Low,
    All,
    /// And the condition flags.
    Flags,
}

/// How far a thread has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Point {
    /// It has not asked at the gate, or is to ask again.
    Before,
    /// It has asked, and the gate's instruction is next.
    Through,
    /// It is inside: at this instruction of those that the gate stands for.
    Inside(usize),
    /// It has gone through, or around.
    Behind,
}

/// A thread in code of ours: at which gate, how far, and where in the program that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) gate: usize,
    pub(super) point: Point,
    /// An address of the file.
    pub(super) shown: Va,
}

/// Finds out how far a thread has come that is in code of ours, and gives it its registers back. `bias` is added to the
/// file's addresses; `block` reads a block. `None`: it is not in such code, or that cannot be told.
pub(super) fn find(
    context: &mut Context,
    gates: &[Gate],
    file: usize,
    own: &Own,
    bias: u64,
    block: impl Fn(u64) -> Option<Block>,
) -> Option<Found> {
    let at = context.pc().wrapping_sub(bias);
    let common = &own.common;
    let (found, saved) = match at {
        _ if at < common.always || at >= own.end => return None,
        _ if at >= common.end => in_stub(gates, file, at)?,
        _ if at > common.svc && at < common.pass => {
            let next = block(context.sp())?.next().wrapping_sub(bias);
            (in_stub(gates, file, next)?.0, Some(Saved::Flags))
        }
        _ => {
            let gate = gate_before(gates, file, context.x(asm::LR).wrapping_sub(bias))?;
            let saved = match at {
                _ if at == common.always || at == common.gate => Saved::Link,
                _ if (common.saved..=common.svc).contains(&at) => Saved::All,
                _ => Saved::Low,
            };
            (asking(gates, gate)?, Some(saved))
        }
    };
    if let Some(saved) = saved {
        let block = block(context.sp())?;
        context.take_back(&block, saved);
    }
    Some(found)
}

/// The last gate of the file whose stub begins here or before.
fn gate_before(gates: &[Gate], file: usize, at: Va) -> Option<usize> {
    let behind = gates.partition_point(|gate| (gate.file, gate.exec - ENTRY) <= (file, at));
    behind.checked_sub(1).filter(|&index| gates[index].file == file)
}

/// How many bytes there are from a stub's entry to where it returns to.
const ENTRY: u64 = 12;

/// A thread that has come to a gate, and has not asked.
fn asking(gates: &[Gate], gate: usize) -> Option<Found> {
    let shown = match gates[gate].kind {
        Kind::Return | Kind::Handler => return None,
        Kind::Post => gates[gate].back,
        _ => gates[gate].at,
    };
    Some(Found { gate, point: Point::Before, shown })
}

/// The same in a stub. If it has a block on its stack: what is in there only.
fn in_stub(gates: &[Gate], file: usize, at: Va) -> Option<(Found, Option<Saved>)> {
    // Where the block is taken away again: the link register first.
    let leaving = |start: Va| match at.wrapping_sub(start) {
        0 => Some(Some(Saved::Link)),
        4 => Some(Some(Saved::None)),
        8 => Some(None),
        _ => None,
    };
    let mut index = gate_before(gates, file, at)?;
    if at < gates[index].exec {
        let has_block = at > gates[index].exec - ENTRY;
        return Some((asking(gates, index)?, has_block.then_some(Saved::None)));
    }
    if let Kind::Post = gates[index].kind {
        if let Some(saved) = leaving(gates[index].exec) {
            return Some((Found { gate: index, point: Point::Behind, shown: gates[index].back }, saved));
        }
        // What comes then belongs to the gate whose instruction that was.
        index = gates[..index].iter().rposition(|gate| !matches!(gate.kind, Kind::Post))?;
    }
    let gate = &gates[index];
    if let Kind::Return | Kind::Handler = gate.kind {
        return None;
    }
    let found = |point, shown| Found { gate: index, point, shown };
    if let Some(saved) = leaving(gate.skip) {
        return Some((found(Point::Behind, gate.back), saved));
    }
    if let Some(saved) = leaving(gate.retry) {
        return Some((found(Point::Before, gate.at), saved));
    }
    // The instruction is there twice: with a gate behind it, and without.
    let watched = gate.post != 0 && at >= gate.post;
    let start = if watched { gate.post } else { gate.exec };
    let len = match &gate.kind {
        Kind::Exclusive(sequence) => sequence.words.len(),
        Kind::Svc => 1,
        _ if watched => 1,
        _ => ((if gate.post != 0 { gate.post } else { gate.skip }) - gate.exec) as usize / 4 - 3,
    };
    let step = ((at - start) / 4) as usize;
    let store = if let Kind::Exclusive(sequence) = &gate.kind { Some(sequence) } else { None };
    let store = store.filter(|sequence| sequence.store + 2 == step).map(|sequence| sequence.store_at);
    match (step, store) {
        (0 | 1, _) => Some((found(Point::Through, gate.at), leaving(start)?)),
        (2, _) => Some((found(Point::Inside(0), gate.at), None)),
        (_, Some(store)) => Some((found(Point::Inside(step - 2), store), None)),
        _ if step == len + 2 && watched => {
            let post = index + 1;
            matches!(gates.get(post)?.kind, Kind::Post)
                .then(|| asking(gates, post))?
                .map(|found| (found, None))
        }
        _ if step == len + 2 => Some((found(Point::Behind, gate.back), None)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::gate::asm::SVC;
    use crate::engine::gate::patch::stubs;
    use crate::engine::gate::scan::{Found as Wants, Wanted};

    const BASE: Va = 0x10_0000;
    const BIAS: u64 = 0x55_0000_0000;
    const STACK: u64 = 0x7000;

    /// A processor that knows the instructions which stubs are made of, and stops at others.
    struct Processor<'a> {
        context: Context,
        stack: Vec<u64>,
        words: &'a [u32],
        shut: bool,
        next: u64,
    }

    impl Processor<'_> {
        fn slot(&self, word: u32, shift: u32, bits: u32) -> usize {
            let offset = u64::from(word >> shift & ((1 << bits) - 1)) * 8;
            ((self.context.sp() + offset) / 8) as usize
        }

        /// One instruction. False if it is not ours.
        fn step(&mut self) -> bool {
            let pc = self.context.pc();
            let Some(&word) = self.words.get(((pc - BIAS).wrapping_sub(BASE) / 4) as usize) else {
                return false;
            };
            let (first, second) = (word & 31, word >> 10 & 31);
            let mut next = pc + 4;
            let sp = self.context.sp();
            match word {
                SVC if pc - BIAS < BASE + 0x100 => {
                    // The supervisor says where it goes on. The kernel's answer is an error.
                    let slot = sp as usize / 8 + super::super::block::NEXT;
                    self.stack[slot] = self.next + BIAS;
                    self.context.set_x(0, u64::MAX);
                }
                asm::RET => next = self.context.x(30),
                asm::SP_TO_X1 => self.context.set_x(1, sp),
                asm::LOAD_NUMBER => self.context.set_x(0, 77),
                asm::FLAGS_TO_X0 => self.context.set_x(0, self.context.words[CONTEXT_STATE] & FLAGS),
                asm::X0_TO_FLAGS => self.context.words[CONTEXT_STATE] = self.context.x(0) & FLAGS,
                _ if word == asm::push(SIZE as u32) => self.context.words[CONTEXT_SP] -= SIZE as u64,
                _ if word == asm::pop(SIZE as u32) => self.context.words[CONTEXT_SP] += SIZE as u64,
                _ if word & 0xffc0_03e0 == asm::store_pair(0, 0, 0) => {
                    let slot = self.slot(word, 15, 7);
                    self.stack[slot] = self.context.x(first);
                    self.stack[slot + 1] = self.context.x(second);
                }
                _ if word & 0xffc0_03e0 == asm::load_pair(0, 0, 0) => {
                    let slot = self.slot(word, 15, 7);
                    self.context.set_x(first, self.stack[slot]);
                    self.context.set_x(second, self.stack[slot + 1]);
                }
                _ if word & 0xffc0_03e0 == asm::store(0, 0) => {
                    let slot = self.slot(word, 10, 12);
                    self.stack[slot] = self.context.x(first);
                }
                _ if word & 0xffc0_03e0 == asm::load(0, 0) => {
                    let slot = self.slot(word, 10, 12);
                    self.context.set_x(first, self.stack[slot]);
                }
                _ if word & 0xffe0_0000 == 0xd280_0000 => {
                    self.context.set_x(first, u64::from(word >> 5 & 0xffff));
                }
                _ if word & 0xff00_001f == 0x1800_0000 => self.context.set_x(0, u64::from(self.shut)),
                _ if word & 0xff00_001f == 0x3400_0000 => {
                    if self.context.x(0) == 0 {
                        next = asm::target(word, pc).expect("a branch");
                    }
                }
                _ if word & 0x7c00_0000 == 0x1400_0000 => {
                    next = asm::target(word, pc).expect("a branch");
                    if word >> 31 == 1 {
                        self.context.set_x(30, pc + 4);
                    }
                }
                _ => return false,
            }
            self.context.set_pc(next);
            true
        }
    }

    /// On every way through every kind of stub, at every instruction, a thread is shown as it came: before the gate's
    /// instruction at that, behind it at the next.
    #[test]
    fn a_thread_is_shown_as_it_came() {
        let found = [
            Wants { at: 0x1000, word: 0xf940_0041, wanted: Wanted::Insn { accesses: true } },
            Wants { at: 0x1010, word: 0xd503_3bbf, wanted: Wanted::Insn { accesses: false } },
            Wants { at: 0x1020, word: SVC, wanted: Wanted::Svc },
            Wants { at: 0x1030, word: 0xd63f_0060, wanted: Wanted::Indirect },
        ];
        let (gates, own, words) = stubs(&found, BASE);
        let mut words_of: [u64; 34] = std::array::from_fn(|number| 1000 + number as u64);
        (words_of[CONTEXT_SP], words_of[CONTEXT_STATE]) = (STACK, 0x6000_0000);
        let came = Context { words: words_of };
        for gate in gates.iter().filter(|gate| !matches!(gate.kind, Kind::Return | Kind::Handler)) {
            let (is_post, entry) = (matches!(gate.kind, Kind::Post), gate.exec - ENTRY);
            let ways = [gate.exec, gate.skip, gate.retry, gate.post].map(|to| (to, true));
            // Not every gate has one behind it. Open gates do not ask.
            let ways = ways.into_iter().filter(|&(to, _)| to != 0).chain([(gate.exec, false)]);
            for (to, shut) in ways {
                let mut cpu = Processor {
                    context: came.clone(),
                    stack: vec![0; 0x1000],
                    words: &words,
                    shut,
                    next: to,
                };
                cpu.context.set_pc(entry + BIAS);
                for steps in 0.. {
                    let at = cpu.context.pc() - BIAS;
                    let mut context = cpu.context.clone();
                    let block = |at: u64| {
                        let words = &cpu.stack[at as usize / 8..][..SIZE / 8];
                        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                        bytes.first_chunk().map(Block::new)
                    };
                    let told = find(&mut context, &gates, 0, &own, BIAS, block);
                    let ours = at >= own.common.always && at < own.end;
                    let back_again = steps > 0 && at == entry;
                    if !ours || back_again {
                        assert!(!ours || told.is_some_and(|told| told.shown == gate.at), "{at:#x}");
                        break;
                    }
                    let told = told.unwrap_or_else(|| panic!("{gate:x?} at {at:#x}"));
                    assert!(
                        told.shown == if is_post { gate.back } else { gate.at } || told.shown == gate.back,
                        "{told:x?}"
                    );
                    context.set_pc(came.pc());
                    assert_eq!(context, came, "{gate:x?} at {at:#x}, to {to:#x}");
                    if !cpu.step() {
                        assert_eq!((told.point, told.shown), (Point::Inside(0), gate.at), "{at:#x}");
                        break;
                    }
                }
            }
        }
    }
}
