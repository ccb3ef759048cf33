//! The `sim` engine: runs a litmus program on a machine. No process, no memory but an array.
//!
//! It is an engine like any other: it stops each thread before its next memory operation, and performs the
//! operation just as the machine says, on a memory of its own. So it also tests what real engines must do with
//! held stores and redirected loads.

use super::program::{Expected, Instr, Location, LocationId, Program, Reg, State};
use crate::machine::{Machine, Memory, Mismatch};
use crate::op::{How, Op, Place, Site, Step, Stuck, ThreadId, Value};
use crate::strategy::{Divergence, Strategy};
use alloc::vec;
use alloc::vec::Vec;

/// How an execution ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum End {
    /// Every thread ran to its end.
    Finished,
    /// Nobody could go on.
    Stuck(Stuck),
    /// A loop went round more often than the exploration unrolls it, or for ever without touching memory.
    Cut,
    /// The machine's limit on events.
    Limit,
    /// The strategy gave the execution up.
    Abandoned,
    /// A replay left its recording.
    Diverged(Divergence),
    /// The machine and this engine disagree about memory: a defect of ours.
    Mismatch(Mismatch),
}

/// The end of an execution and the state it left.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Registers and memory at that point.
    pub state: State,
}

/// The code location of an instruction.
pub const fn site(thread: usize, instruction: usize) -> Site {
    Site(((thread as u32) << 16) | (instruction as u32 & 0xffff))
}

/// Instructions without a memory operation in a row that are taken for an endless loop.
const PATIENCE: u32 = 100_000;

struct Thread {
    pc: usize,
    registers: Vec<i64>,
    /// Rounds of each loop, by the index of its last instruction.
    rounds: Vec<u32>,
}

struct Ram<'p> {
    locations: &'p [Location],
    bytes: Vec<Value>,
}

impl Memory for Ram<'_> {
    fn read(&mut self, at: Place) -> Value {
        let index = self.locations.iter().position(|it| it.place == at).expect("a place of the program");
        self.bytes[index]
    }
}

impl Ram<'_> {
    fn write(&mut self, at: LocationId, value: Value) {
        self.bytes[at.0] = value;
    }
}

/// Runs the program once. With `unroll`, an execution in which some loop repeats more often is cut.
pub fn run<S: Strategy>(program: &Program, machine: &mut Machine<S>, unroll: Option<u32>) -> Outcome {
    let ram = Ram {
        locations: &program.locations,
        bytes: program.locations.iter().map(|it| it.encode(it.init)).collect(),
    };
    let threads = program.threads.iter().map(|code| Thread {
        pc: 0,
        registers: vec![0; code.registers.len()],
        rounds: vec![0; code.body.len()],
    });
    let mut sim = Sim { program, ram, threads: threads.collect(), unroll };
    let end = sim.run(machine).unwrap_or_else(|end| end);
    let memory = program.locations.iter().zip(&sim.ram.bytes).map(|(it, &bytes)| it.decode(bytes)).collect();
    let registers = sim.threads.into_iter().map(|thread| thread.registers).collect();
    Outcome { end, state: State { registers, memory } }
}

struct Sim<'p> {
    program: &'p Program,
    ram: Ram<'p>,
    threads: Vec<Thread>,
    unroll: Option<u32>,
}

impl Sim<'_> {
    fn run<S: Strategy>(&mut self, machine: &mut Machine<S>) -> Result<End, End> {
        for index in 0..self.threads.len() {
            // A litmus file has at most a few threads: the machine has room for them.
            machine.spawn(None, site(index, 0)).map_err(|_| End::Limit)?;
        }
        for index in 0..self.threads.len() {
            self.advance(index, machine)?;
        }
        loop {
            match machine.next(&mut self.ram) {
                Step::Run { thread, how } => self.perform(thread, how, machine)?,
                Step::Commit { at, value, .. } => {
                    let index = self.program.locations.iter().position(|it| it.place == at);
                    self.ram.write(LocationId(index.expect("a place of the program")), value);
                }
                Step::Finished => return Ok(End::Finished),
                Step::Stuck(stuck) => return Ok(End::Stuck(stuck)),
                Step::Abandoned => return Ok(End::Abandoned),
                Step::Diverged(divergence) => return Ok(End::Diverged(divergence)),
                Step::Limit => return Ok(End::Limit),
                Step::Idle => unreachable!("no thread of a litmus program is ever away"),
            }
        }
    }

    fn location(&self, at: LocationId) -> &Location {
        &self.program.locations[at.0]
    }

    /// Runs the thread up to its next memory operation, or its end.
    fn advance<S: Strategy>(&mut self, index: usize, machine: &mut Machine<S>) -> Result<(), End> {
        let id = ThreadId(index as u32);
        for _ in 0..PATIENCE {
            let program = self.program;
            let thread = &mut self.threads[index];
            let pc = thread.pc;
            let Some(instr) = program.threads[index].body.get(pc) else {
                machine.exit(id, site(index, pc));
                return Ok(());
            };
            match instr {
                Instr::Set { to, value } => {
                    thread.registers[to.0] = value.eval(&thread.registers);
                    thread.pc += 1;
                }
                Instr::JumpIfZero { condition, to } => {
                    let zero = condition.eval(&thread.registers) == 0;
                    thread.pc = if zero { *to } else { pc + 1 };
                }
                Instr::Jump { to } => thread.pc = *to,
                Instr::Repeat { to } => {
                    thread.rounds[pc] += 1;
                    if self.unroll.is_some_and(|most| thread.rounds[pc] > most) {
                        return Err(End::Cut);
                    }
                    thread.pc = *to;
                }
                _ => {
                    let op = self.operation(index, instr);
                    let state = self.fingerprint(index);
                    machine.pending(id, op, site(index, pc), state);
                    return Ok(());
                }
            }
        }
        Err(End::Cut)
    }

    /// The memory operation of an instruction.
    fn operation(&self, index: usize, instr: &Instr) -> Op {
        let registers = &self.threads[index].registers;
        let place = |at: &LocationId| self.location(*at).place;
        match instr {
            Instr::Load { at, order, .. } => Op::Load { at: place(at), order: *order },
            Instr::Store { at, order, .. } => Op::Store { at: place(at), order: *order },
            Instr::Rmw { at, order, .. } => Op::Rmw { at: place(at), order: *order },
            Instr::Cas { at, expected, order, failure, weak, .. } => {
                let expected = match expected {
                    Expected::Reg(reg) => registers[reg.0],
                    Expected::Value(value) => value.eval(registers),
                };
                let expected = self.location(*at).encode(expected);
                Op::Cas { at: place(at), order: *order, failure: *failure, expected, weak: *weak }
            }
            Instr::Fence { order } => Op::Fence { order: *order },
            Instr::Wait { at, expected } => {
                Op::Wait { at: place(at), expected: self.location(*at).encode(*expected) }
            }
            Instr::Wake { at, count } => Op::Wake { at: place(at), count: *count },
            Instr::Set { .. } | Instr::JumpIfZero { .. } | Instr::Jump { .. } | Instr::Repeat { .. } => {
                unreachable!("no memory operation")
            }
        }
    }

    /// Everything that decides what the thread does next, as one number that is not 0. Rounds of loops count
    /// only where they decide something: when loops are cut.
    fn fingerprint(&self, index: usize) -> u64 {
        let thread = &self.threads[index];
        let rounds = if self.unroll.is_some() { &thread.rounds[..] } else { &[] };
        let words =
            thread.registers.iter().map(|&value| value as u64).chain(rounds.iter().map(|&n| u64::from(n)));
        let hash = words.fold(thread.pc as u64 + 1, |hash, word| {
            (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
        });
        hash | 1
    }

    /// Performs the thread's operation as the machine says, and runs it on to the next one.
    fn perform<S: Strategy>(&mut self, id: ThreadId, how: How, machine: &mut Machine<S>) -> Result<(), End> {
        let index = id.index();
        let pc = self.threads[index].pc;
        self.threads[index].pc += 1;
        if how.sleeps {
            return Ok(());
        }
        let program = self.program;
        let (read, written) = match &program.threads[index].body[pc] {
            Instr::Load { to, at, .. } => {
                let read = self.fetch(*at, how);
                self.set(index, Some(*to), *at, read);
                (read, 0)
            }
            Instr::Store { at, value, .. } => {
                let value = value.eval(&self.threads[index].registers);
                (0, self.store(*at, value, how))
            }
            Instr::Rmw { to, at, op, operand, .. } => {
                let read = self.fetch(*at, how);
                let operand = operand.eval(&self.threads[index].registers);
                let new = op.apply(self.location(*at).decode(read), operand);
                self.set(index, *to, *at, read);
                (read, self.store(*at, new, how))
            }
            Instr::Cas { to, at, expected, desired, .. } => {
                let read = self.fetch(*at, how);
                let desired = desired.eval(&self.threads[index].registers);
                let written = if how.succeeds { self.store(*at, desired, how) } else { 0 };
                if let (Expected::Reg(reg), false) = (expected, how.succeeds) {
                    self.set(index, Some(*reg), *at, read);
                }
                if let Some(to) = to {
                    self.threads[index].registers[to.0] = i64::from(how.succeeds);
                }
                (read, written)
            }
            Instr::Wait { at, .. } => (self.fetch(*at, how), 0),
            _ => (0, 0),
        };
        machine.retired(id, read, written).map_err(End::Mismatch)?;
        self.advance(index, machine)?;
        for woken in machine.woken().to_vec() {
            self.advance(woken.index(), machine)?;
        }
        Ok(())
    }

    fn fetch(&mut self, at: LocationId, how: How) -> Value {
        how.read.unwrap_or(self.ram.bytes[at.0])
    }

    fn store(&mut self, at: LocationId, value: i64, how: How) -> Value {
        let bytes = self.location(at).encode(value);
        if !how.hold {
            self.ram.write(at, bytes);
        }
        bytes
    }

    fn set(&mut self, index: usize, to: Option<Reg>, at: LocationId, bytes: Value) {
        if let Some(to) = to {
            self.threads[index].registers[to.0] = self.location(at).decode(bytes);
        }
    }
}
