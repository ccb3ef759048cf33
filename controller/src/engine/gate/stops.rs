//! Stops of the program's threads: at gates, for signals, and at their beginning and end.

use super::block::{Block, SIZE};
use super::run::Run;
use super::thread::{Mode, Slot};
use crate::engine::execution::Execution as _;
use crate::engine::journal::{Noting as _, Observed};
use crate::engine::ringing::Ringing as _;
use crate::engine::sites::What;
use crate::engine::thread::FIRST_TID;
use crate::engine::{End, EngineError, Fault};
use crate::os::ptrace::{self, Resume, Stop, Stopped};
use crate::os::{Tid, proc, signals};
use wmtrace_model::strategy::Strategy;

/// How much of a stack is read together with the registers.
const STACK: usize = 2048;

impl<S: Strategy> Run<'_, S> {
    /// Deals with one stop, whoever's it is. False if there is none (yet).
    pub(super) fn pump(&mut self, block: bool) -> Result<bool, EngineError> {
        let Some((tid, stop)) = ptrace::wait_any(block) else { return Ok(false) };
        self.arrives(tid, stop)?;
        Ok(true)
    }

    fn arrives(&mut self, tid: Tid, stop: Stop) -> Result<(), EngineError> {
        if self.course.children.contains(&tid) {
            return self.serve_child(tid, stop);
        }
        let index = self.by_tid.get(&tid).copied();
        if index.is_none() && !self.others.contains(&tid) {
            if matches!(stop, Stop::Exited(_) | Stop::Killed(_)) {
                return Ok(());
            }
            // Whoever made it will say so.
            self.strangers.insert(tid, stop);
            return Ok(());
        }
        let stopped = Stopped::new(tid);
        match stop {
            Stop::Filtered => self.filtered(tid, index, stopped),
            Stop::Signal(signal) => {
                let delivered = match index {
                    Some(index) => self.signalled(index, &stopped, signal)?,
                    None => true,
                };
                Ok(stopped.resume(Resume::Free, if delivered { signal } else { 0 })?)
            }
            Stop::Clone(child) => {
                self.others.insert(child);
                stopped.resume(Resume::Free, 0)?;
                self.introduced(child)
            }
            Stop::Fork(child) | Stop::Vfork(child) => {
                self.course.children.insert(child);
                self.engine.private.forks();
                if let Some(index) = index {
                    self.note_child(index, child);
                }
                self.inherits(child, self.process);
                stopped.resume(Resume::Free, 0)?;
                self.introduced(child)
            }
            Stop::Exec => self.executed_another(stopped),
            Stop::Exiting(status) => {
                if let Some(index) = index {
                    self.threads[index].exiting = true;
                }
                if libc::WIFSIGNALED(status) {
                    let signal = libc::WTERMSIG(status);
                    // All threads go at once: whose end is seen first is chance. It is the one that ran.
                    let thread = &self.threads[self.current];
                    // SIGKILL comes from outside or from us, and hits everybody.
                    let id = (signal != libc::SIGKILL).then_some(thread.id);
                    let fault = thread.fault;
                    self.course.end.get_or_insert(End::Killed { signal, thread: id, fault });
                }
                Ok(stopped.resume(Resume::Free, 0)?)
            }
            Stop::Exited(_) | Stop::Killed(_) => {
                self.others.remove(&tid);
                if tid == self.process {
                    self.course.end.get_or_insert(match stop {
                        Stop::Exited(status) => End::Exited(status),
                        Stop::Killed(signal) => End::Killed { signal, thread: None, fault: None },
                        _ => unreachable!("the two ways to end"),
                    });
                }
                if let Some(index) = index {
                    self.by_tid.remove(&tid);
                    if self.course.end.is_none() {
                        self.vanished(index);
                    }
                }
                Ok(())
            }
            Stop::Group => {
                self.warn("the program was stopped by a signal (SIGSTOP or the like), and goes on at once");
                Ok(stopped.resume(Resume::Free, 0)?)
            }
            Stop::Syscall | Stop::VforkDone | Stop::Other => Ok(stopped.resume(Resume::Free, 0)?),
        }
    }

    /// A thread is no more. If it has not asked for that, another one has executed a program.
    fn vanished(&mut self, index: usize) {
        let (id, mode) = (self.threads[index].id, self.threads[index].mode);
        if mode == Mode::Ended || self.threads[index].gone {
            return;
        }
        if mode == Mode::Asleep {
            self.machine.interrupt(id);
        }
        let site = self.site_here(index, What::call("exit"));
        self.machine.exit(id, site);
        self.course.clock.cancel(index);
        self.threads[index].mode = Mode::Ended;
    }

    /// A thread or process whose maker has told of it: its first stop may have come before.
    fn introduced(&mut self, tid: Tid) -> Result<(), EngineError> {
        match self.strangers.remove(&tid) {
            Some(stop) => self.arrives(tid, stop),
            None => Ok(()),
        }
    }

    /// A system call that the filter points out: a gate, or a file is opened.
    fn filtered(&mut self, tid: Tid, index: Option<usize>, stopped: Stopped) -> Result<(), EngineError> {
        let call = stopped.filtered_call()?;
        match call.number {
            libc::SYS_write => {}
            libc::SYS_execve | libc::SYS_execveat => {
                self.executes(index, &stopped, &call, tid)?;
                return Ok(stopped.resume(Resume::Free, 0)?);
            }
            _ => {
                self.opens(index, &stopped, &call)?;
                return Ok(stopped.resume(Resume::Free, 0)?);
            }
        }
        let Some(number) = crate::os::launch::gate(call.args[0]) else {
            return Ok(stopped.resume(Resume::Free, 0)?);
        };
        let number = number as usize;
        let known = self.engine.files.gates.get(number).map(|gate| gate.file);
        let (Some(file), Some(at)) = (known, call.args[1].checked_sub(self.engine.host.window().base)) else {
            return Err(EngineError::Unsupported("a write to a descriptor that is a gate's".to_owned()));
        };
        let bytes = self.memory.read_some(at, SIZE + STACK);
        let Some((block, on_stack)) = bytes.split_first_chunk::<SIZE>() else {
            return Err(EngineError::Os("the registers of a thread cannot be read".to_owned()));
        };
        let mut block = Block::new(block);
        let bias = block.next().wrapping_sub(self.engine.files.gates[number].exec);
        if block.address() != at {
            return Err(EngineError::Unsupported("a write to a descriptor that is a gate's".to_owned()));
        }
        self.biases.insert(file, bias);
        block.pc = self.engine.files.gates[number].at.wrapping_add(bias);
        let index = match index {
            Some(index) => index,
            // A thread at its first gate.
            None => self.born(tid, &block)?,
        };
        let thread = &mut self.threads[index];
        (thread.regs, thread.gate, thread.stopped) = (block, number, Some(stopped));
        (thread.slot, thread.dirty, thread.place) = (None, false, None);
        thread.on_stack.clear();
        thread.on_stack.extend_from_slice(on_stack);
        Ok(())
    }

    /// A thread is about to receive a signal. Whether it does now.
    fn signalled(&mut self, index: usize, stopped: &Stopped, signal: i32) -> Result<bool, EngineError> {
        let mut info = stopped.signal_info()?;
        if self.tells_overrun(&mut info) {
            stopped.set_signal_info(&info)?;
        }
        let caught = self.handlers.contains_key(&(self.shown_signal(signal) as u64));
        let thread = &mut self.threads[index];
        // One that has waited comes from us: what it was, is told.
        let ours = ptrace::sender(&info) == Some(std::process::id() as i32);
        let held = thread.held.iter().position(|&(held, _)| ours && held == signal);
        if let Some(held) = held {
            (_, info) = thread.held.remove(held);
            stopped.set_signal_info(&info)?;
        }
        // The program knows itself by other numbers.
        if ptrace::sender(&info) == Some(self.process.0) {
            ptrace::set_sender(&mut info, FIRST_TID);
            stopped.set_signal_info(&info)?;
        }
        if signals::unmask(&mut info) {
            stopped.set_signal_info(&info)?;
        }
        let faults = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE);
        let waits = thread.executing || thread.passing && caught;
        if waits && !(faults && info.si_code > 0) {
            thread.held.push((signal, info));
            return Ok(false);
        }
        let base = self.engine.host.window().base;
        let fault = ptrace::fault(signal, &info);
        self.threads[index].fault = fault.map(|it| Fault { address: it.address.wrapping_sub(base), ..it });
        if faults {
            self.threads[index].must_fault = false;
        } else {
            self.note(index, Observed::Signal(signal));
            self.give_back_returns(index);
        }
        self.new_state(index);
        Ok(true)
    }

    /// Whether a signal waits for the thread: then that comes first, and the gate again after it. Not while a part of an
    /// instruction that has run is yet to be performed: the other parts have been.
    pub(super) fn signal_first(&mut self, index: usize) -> bool {
        let has_run = self.threads[index].flight.as_ref().is_some_and(|flight| flight.executed);
        if has_run || !self.course.expects_signals || !proc::has_signal(self.process, self.threads[index].tid)
        {
            return false;
        }
        self.give_back_returns(index);
        let thread = &mut self.threads[index];
        thread.flight = None;
        thread.slot = Some(Slot::Retry);
        true
    }
}
