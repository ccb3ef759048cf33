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
