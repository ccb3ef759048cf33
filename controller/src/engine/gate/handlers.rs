//! Handlers of signals. In the place of each stands a gate of ours: a thread that a signal has found in a stub is shown
//! to the handler as if it were in the program ([`super::frame`]), and so are calls that it is in the midst of.
//!
//! What the handler is shown is what the thread goes on with. If that is a gate which had been dealt with already, that is
//! remembered; a system call that is to begin anew does so with its gate; one that is over is told before the handler
//! runs.

use super::frame::{self, Context, Found, IN_FRAME, Point};
use super::patch::{HANDLER, Kind};
use super::run::Run;
use super::thread::{Slot, Thread};
use crate::engine::EngineError;
use crate::engine::syscalls::numbers;
use crate::engine::thread::Syscall;
use crate::os::Tid;
use crate::os::memory::ProcessMemory;
use std::collections::HashMap;
use wmtrace_model::strategy::Strategy;

/// Handlers of the program, by their signals.
pub(super) type Handlers = HashMap<u64, u64>;

/// `struct sigaction` as system calls have it: the handler, flags, a way back, a mask.
const ACTION: usize = 32;

/// How far below the stack pointer it is put: below a block, and what leaf functions leave there.
const BELOW: u64 = 1024;

/// Neither default nor ignored.
fn is_handler(handler: u64) -> bool {
    handler > 1
}

impl<S: Strategy> Run<'_, S> {
    /// The thread sets a handler: the kernel is told of a gate instead.
    pub(super) fn sets_handler(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let [_, action, ..] = call.args;
        let thread = &self.threads[index];
        let (place, file) =
            (thread.regs.sp().saturating_sub(BELOW) & !15, self.engine.files.gates[thread.gate].file);
        let mut bytes = [0; ACTION];
        let handler = (action != 0 && self.memory.read(action, &mut bytes))
            .then(|| u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")));
        self.threads[index].handler = handler;
        if handler.is_some_and(is_handler)
            && self.memory.may_write(place)
            && let Some(bias) = self.biases.get(&file)
        {
            let ours = self.engine.files.copies[file].own.handler.wrapping_add(*bias);
            bytes[..8].copy_from_slice(&ours.to_le_bytes());
            self.memory.write(place, &bytes)?;
            let thread = &mut self.threads[index];
            thread.regs.set_x(1, place);
            thread.dirty = true;
        }
        self.pass(index, false)
    }

    /// The thread has set a handler, or has not: it looks as if the kernel had been told of the program's.
    pub(super) fn has_set_handler(
        &mut self,
        index: usize,
        call: &Syscall,
        failed: bool,
    ) -> Result<(), EngineError> {
        let [signal, action, old, ..] = call.args;
        let thread = &mut self.threads[index];
        thread.regs.set_x(1, action);
        thread.dirty = true;
        let handler = thread.handler.take();
        if failed {
            return Ok(());
        }
        let before = match handler {
            Some(handler) if is_handler(handler) => self.handlers.insert(signal, handler),
            Some(_) => self.handlers.remove(&signal),
            None => self.handlers.get(&signal).copied(),
        };
        if let Some(before) = before
            && old != 0
            && self.memory.read_u64(old).is_some_and(|shown| self.is_own_handler(shown))
        {
            self.memory.write(old, &before.to_le_bytes())?;
        }
        Ok(())
    }

    fn is_own_handler(&self, at: u64) -> bool {
        let copies = &self.engine.files.copies;
        self.biases.iter().any(|(&file, bias)| copies[file].own.handler.wrapping_add(*bias) == at)
    }

    /// The thread is before the program's handler of a signal.
    pub(super) fn enters_handler(&mut self, index: usize) -> Result<(), EngineError> {
        let thread = &self.threads[index];
        let (signal, frame) = (thread.regs.x(0), thread.regs.sp());
        let Some(&handler) = self.handlers.get(&signal) else {
            let what = format!("a handler of signal {signal} that the program has not set");
            return Err(EngineError::Unsupported(format!("{}: {what}", self.place_of(index))));
        };
        self.shows_itself(index, frame.wrapping_add(IN_FRAME))?;
        self.tell_passed(index);
        let thread = &mut self.threads[index];
        thread.regs.set_x(HANDLER, handler);
        (thread.dirty, thread.slot) = (true, Some(Slot::Exec));
        Ok(())
    }

    /// Makes the context that a handler is shown, at this address, one of the program's.
    fn shows_itself(&mut self, index: usize, at: u64) -> Result<(), EngineError> {
        let mut bytes = [0; Context::LEN];
        if !self.memory.read(at, &mut bytes) {
            return Ok(());
        }
        let mut context = Context::new(&bytes);
        let (files, memory) = (&self.engine.files, &self.memory);
        let block = |at: u64| {
            let bytes = memory.read_some(at, super::block::SIZE);
            bytes.first_chunk().map(super::block::Block::new)
        };
        let found = self.biases.iter().find_map(|(&file, &bias)| {
            let mut shown = context.clone();
            let found = frame::find(&mut shown, &files.gates, file, &files.copies[file].own, bias, block)?;
            Some((found, bias, shown))
        });
        let Some((found, bias, shown)) = found else { return Ok(()) };
        context = shown;
        context.set_pc(found.shown.wrapping_add(bias));
        if self.takes_up(index, &found, &mut context)? {
            self.memory.write(at, &context.bytes())?;
        }
        Ok(())
    }

    /// What was under way at a gate when the signal came is finished, put off, or remembered. False if it cannot be.
    fn takes_up(&mut self, index: usize, found: &Found, context: &mut Context) -> Result<bool, EngineError> {
        let gate = &self.engine.files.gates[found.gate];
        let is_call = super::asm::is_svc(gate.word);
        match (&gate.kind, found.point) {
            // It has been made, and has not been told.
            (Kind::Post, Point::Before) if is_call => self.tell_call(index, found.gate, context)?,
            (Kind::Post, Point::Before) => return Ok(false),
            // It begins anew.
            (Kind::Svc, Point::Through | Point::Inside(_)) => {
                let thread = &mut self.threads[index];
                if let Some(from) = thread.asked.iter().rposition(|asked| asked.gate == found.gate) {
                    let call = thread.asked[from].call;
                    thread.has_asked(from);
                    for &at in numbers(&call) {
                        context.set_x(at as u32, call.args[at]);
                    }
                }
            }
            (_, Point::Through) if self.watching => {
                self.threads[index].decided = Some((found.gate, context.sp()));
            }
            // It has not happened, and comes to its gate again.
            (_, Point::Inside(_)) => {
                let pc = context.pc();
                self.threads[index].told.retain(|told| told.pc != pc);
            }
            (_, Point::Before | Point::Through | Point::Behind) => {}
        }
        Ok(true)
    }

    /// A system call is over, and a handler runs before its own gate: the engine learns of its end now.
    fn tell_call(&mut self, index: usize, gate: usize, context: &mut Context) -> Result<(), EngineError> {
        let thread = &mut self.threads[index];
        let (regs, handler_gate) = (thread.regs, thread.gate);
        let on_stack = std::mem::take(&mut thread.on_stack);
        (thread.regs, thread.gate, thread.place) = (context.block(), gate, None);
        self.syscall_left(index)?;
        let thread = &mut self.threads[index];
        for number in 0..31 {
            context.set_x(number, thread.regs.x(number));
        }
        (thread.regs, thread.gate, thread.place, thread.on_stack) = (regs, handler_gate, None, on_stack);
        Ok(())
    }

    /// A process that the program has made is before a handler that it has inherited.
    pub(super) fn child_enters_handler(&self, tid: Tid, block: u64) -> Result<(), EngineError> {
        let memory = ProcessMemory::open_window(tid, self.engine.host.window())?;
        let at = block.wrapping_sub(self.engine.host.window().base);
        let handlers = self.inherited.get(&tid).unwrap_or(&self.handlers);
        let handler = memory.read_u64(at).and_then(|signal| handlers.get(&signal));
        let Some(handler) = handler else {
            let what = "a process with a handler that it has not inherited";
            return Err(EngineError::Unsupported(what.to_owned()));
        };
        Ok(memory.write(at + 8 * u64::from(HANDLER), &handler.to_le_bytes())?)
    }
}

impl Thread {
    /// Whether the gate that it is at has been dealt with before, and a handler came in between. If it is at another one
    /// that is not the handler's, it does not come back.
    pub(super) fn comes_again(&mut self) -> bool {
        let Some((gate, sp)) = self.decided else { return false };
        let again = (gate, sp) == (self.gate, self.regs.sp());
        let elsewhere = self.regs.sp() >= sp && self.stack.contains(&self.regs.sp());
        if again || elsewhere {
            self.decided = None;
        }
        again
    }
}
