//! Simple instructions are done by the engine, not run: a thread that is set going and stopped again costs more than
//! all the moves and additions of a function.
//!
//! What would fault is left to the processor, so that the program gets its signal. So is everything while signals may
//! be on their way: they arrive when a thread is set going. `--verify` compares an execution with one in which the
//! processor does everything.

use super::code::Insn;
use super::managed::{Accesses, gpr_mut};
use super::registers::gpr;
use super::run::Run;
use super::thread::PartKind;
use crate::engine::EngineError;
use crate::engine::execution::Execution as _;
use crate::os::ptrace::Regs;
use wmtrace_decoder::x86::simple::{State, Touch};
use wmtrace_model::strategy::Strategy;

/// Steps after which a thread runs by itself, to receive a signal that may have come.
const UNHEARD: u64 = 64;

impl<S: Strategy> Run<'_, S> {
    /// Does an instruction that is no event, if it is simple. False if the thread has to run it.
    pub(super) fn does(
        &mut self,
        index: usize,
        insn: &Insn,
        accesses: &Accesses,
    ) -> Result<bool, EngineError> {
        let Some(simple) = insn.simple.filter(|_| self.may_do(index)) else { return Ok(false) };
        if accesses.faults || !accesses.code.is_empty() {
            return Ok(false);
        }
        if !accesses.told.is_empty() {
            // Under PSO and PSLO what is told goes to memory directly.
            self.flush(index)?;
        }
        let mut state = state_of(&self.threads[index].regs);
        let touch = simple.touches(&state);
        let Some(old) = touch.map_or(Some(0), |touch| self.load(touch)) else { return Ok(false) };
        let stored = simple.run(&mut state, old);
        if let (Some(touch), Some(new)) = (touch, stored) {
            let (old, new) = (old.to_le_bytes(), new.to_le_bytes());
            let (old, new) = (&old[..usize::from(touch.width)], &new[..usize::from(touch.width)]);
            if !self.memory.store(touch.addr, new) {
                return Ok(false);
            }
            self.threads[index].rewrites(touch.addr, old, new);
        }
        self.done(index, insn.effect.len, &state);
        self.tell(index, &accesses.told);
        Ok(true)
    }

    /// Does the instruction under way, of which the model decides the access, if it is simple. What it writes is in its
    /// parts then. False if the thread has to run it.
    pub(super) fn does_flight(&mut self, index: usize) -> bool {
        let flight = self.threads[index].flight.as_ref().expect("an instruction is under way");
        let insn = flight.insn.clone();
        let Some(simple) = insn.simple.filter(|_| self.may_do(index)) else { return false };
        let mut state = state_of(&self.threads[index].regs);
        let Some(touch) = simple.touches(&state) else { return false };
        let flight = self.threads[index].flight.as_ref().expect("an instruction is under way");
        let here = |place: wmtrace_model::op::Place| place.addr.0 == touch.addr && place.width == touch.width;
        if !flight.told.is_empty() || !flight.parts.iter().all(|part| here(part.at)) {
            return false;
        }
        let decided = flight.parts.iter().find(|part| part.kind != PartKind::Store);
        let decided = decided.and_then(|part| part.value);
        let Some(old) = self.load(touch) else { return false };
        let read = decided.map_or(old, |value| value as u64);
        let stored = simple.run(&mut state, read);
        // Whether it may write there, is found out by writing what is there.
        if touch.stores && !self.memory.may_store(touch.addr, &old.to_le_bytes()[..usize::from(touch.width)])
        {
            return false;
        }
        self.done(index, insn.effect.len, &state);
        let flight = self.threads[index].flight.as_mut().expect("an instruction is under way");
        let place = flight.parts[0].at;
        // What stores nothing, and is a read-modify-write at the source, writes what it has read.
        flight.ran(&[(place, u128::from(stored.unwrap_or(read)))]);
        true
    }

    /// Does the instruction under a breakpoint in native code, if it is simple: the breakpoint need not be taken away for
    /// the thread to pass. False if the thread has to run it.
    pub(super) fn does_first(&mut self, index: usize, at: u64) -> bool {
        let found = self.sea.under(at).and_then(|bytes| self.engine.code.native(at, bytes));
        let Some((simple, len)) = found.filter(|_| self.may_do(index)) else { return false };
        let mut state = state_of(&self.threads[index].regs);
        let touch = simple.touches(&state);
        let Some(old) = touch.map_or(Some(0), |touch| self.load(touch)) else { return false };
        if let (Some(new), Some(touch)) = (simple.run(&mut state, old), touch)
            && !self.memory.store(touch.addr, &new.to_le_bytes()[..usize::from(touch.width)])
        {
            return false;
        }
        // It is not the program's.
        let last = self.threads[index].last_pc;
        self.done(index, len, &state);
        self.threads[index].last_pc = last;
        true
    }

    /// Whether the engine may do simple instructions for the thread now.
    fn may_do(&self, index: usize) -> bool {
        if !self.engine.shortcuts {
            return false;
        }
        let thread = &self.threads[index];
        // Signals of children come at any time, but not never.
        let signals =
            !self.course.children.is_empty() && self.course.steps.saturating_sub(thread.ran_at) >= UNHEARD;
        let signals = signals || thread.may_be_hit || thread.signal != 0;
        // The first thread may have ended.
        self.memory.look_through(self.threads[index].tid);
        !signals
    }

    /// What memory holds where an instruction touches it, if the program may read it.
    fn load(&self, touch: Touch) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory
            .load(touch.addr, &mut bytes[..usize::from(touch.width)])
            .then(|| u64::from_le_bytes(bytes))
    }

    /// The thread is behind the instruction.
    fn done(&mut self, index: usize, len: u8, state: &State) {
        let thread = &mut self.threads[index];
        for (number, &value) in (0..).zip(&state.general) {
            *gpr_mut(&mut thread.regs, number) = value;
        }
        thread.regs.eflags = state.flags;
        let next = thread.regs.rip + u64::from(len);
        thread.last_pc = next - 1;
        thread.jump(next);
    }
}

pub(super) fn state_of(regs: &Regs) -> State {
    State {
        general: std::array::from_fn(|number| gpr(regs, number as u8)),
        flags: regs.eflags,
        fs_base: regs.fs_base,
        gs_base: regs.gs_base,
    }
}
