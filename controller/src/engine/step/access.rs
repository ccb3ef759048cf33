//! Performing an access as the model says: loads that read an older store, stores that others do not see yet.
//!
//! An instruction may have several parts that the model decides on, one after the other; other threads may run
//! between them. Loads are decided first, without running anything: the value is put where the instruction will
//! look for it, just for the moment in which it runs. It runs when its first store is due (or its last load); what
//! it writes is taken away again and appears when the model says so, store by store.

use super::managed::writes_vectors;
use super::run::Run;
use super::thread::{Part, PartKind, Pending};
use crate::engine::EngineError;
use crate::engine::execution::Execution as _;
use crate::os::ptrace::{Resume, Stop};
use wmtrace_decoder::effect::Flow;
use wmtrace_model::op::{How, Value};
use wmtrace_model::strategy::Strategy;

impl<S: Strategy> Run<'_, S> {
    /// The thread stops before the next part of its instruction.
    pub(super) fn pend_part(&mut self, index: usize) {
        let state = self.state(index);
        let flight = self.threads[index].flight.as_ref().expect("an instruction is under way");
        let part = &flight.parts[flight.next];
        let (op, site, barrier) = (part.op(), part.site, part.barrier);
        if barrier {
            self.machine.barrier(self.threads[index].id, site);
        }
        self.pend(index, Pending::Part, op, site, state);
    }

    fn part(&mut self, index: usize) -> &mut Part {
        self.threads[index].flight.as_mut().expect("an instruction is under way").part()
    }

    /// Performs the part that the thread has stopped before.
    pub(super) fn perform_part(&mut self, index: usize, how: How) -> Result<(), EngineError> {
        let id = self.threads[index].id;
        let Part { kind, at, site, barrier, .. } = *self.part(index);
        let (mut read, mut written) = (0, 0);
        if kind != PartKind::Store {
            read = how.read.unwrap_or_else(|| self.memory.value(at));
            self.part(index).value = Some(read);
        }
        let flight = self.threads[index].flight.as_ref().expect("an instruction is under way");
        let last = flight.next + 1 == flight.parts.len();
        let transfer = flight.insn.transfer;
        let (must_run, executed) = (kind != PartKind::Load || last, flight.executed);
        let writes = match kind {
            PartKind::Load => false,
            PartKind::Cas { .. } => how.succeeds,
            PartKind::Store | PartKind::Rmw => true,
        };
        if must_run && !executed && transfer.is_none() && !self.execute(index)? {
            // It faulted: nothing has happened. The signal is delivered when the thread goes on.
            self.machine.faulted(id);
            self.threads[index].flight = None;
            return Ok(());
        }
        if writes {
            written = self.part(index).value.unwrap_or(0);
            if kind != PartKind::Store {
                written = self.updated(index);
            }
            if !how.hold {
                self.memory.set_value(at, written)?;
            }
        }
        self.check_part(index, at, site, kind != PartKind::Store);
        self.retired(id, read, written)?;
        if barrier {
            self.machine.barrier(id, site);
        }
        let flight = self.threads[index].flight.as_mut().expect("an instruction is under way");
        flight.next += 1;
        if flight.next < flight.parts.len() {
            self.pend_part(index);
            return Ok(());
        }
        let flight = self.threads[index].flight.take().expect("an instruction is under way");
        self.threads[index].new_vectors |= writes_vectors(&flight.insn);
        if let Some(transfer) = flight.insn.transfer {
            return self.follow(index, &flight.insn, transfer, &flight.told, Some(&flight.parts));
        }
        self.tell(index, &flight.told);
        Ok(())
    }

    /// What the read-modify-write that was just executed has written.
    fn updated(&mut self, index: usize) -> Value {
        let flight = self.threads[index].flight.as_ref().expect("an instruction is under way");
        flight.updated.unwrap_or(0)
    }

    /// Runs the instruction of the parts, with the values that its loads are to read. Afterwards memory is as it
    /// was; what the instruction wrote is in its parts. False if it faulted.
    fn execute(&mut self, index: usize) -> Result<bool, EngineError> {
        let flight = self.threads[index].flight.as_ref().expect("an instruction is under way");
        let (len, pc) = (u64::from(flight.insn.effect.len), self.threads[index].regs.rip);
        if flight.insn.effect.flow != Flow::Next {
            // What it writes would be taken away again from under its feet.
            let (place, text) = (self.place_of(pc), &flight.insn.text);
            return Err(EngineError::Unsupported(format!("{place}: {text}, on a stack that others look at")));
        }
        if self.does_flight(index) {
            return Ok(true);
        }
        let flight = self.threads[index].flight.as_ref().expect("an instruction is under way");
        let before = flight.prepare(&self.memory)?;
        let stop = self.run_one(index, pc, len)?;
        let wrote = before.put_back(&self.memory)?;
        if let Some(stop) = stop {
            self.dispatch(index, stop)?;
            return Ok(false);
        }
        let flight = self.threads[index].flight.as_mut().expect("an instruction is under way");
        flight.ran(&wrote);
        Ok(true)
    }

    /// An address of code, as messages show it.
    pub(super) fn place_of(&self, pc: u64) -> String {
        let module = self.modules.iter().find(|module| module.contains(pc));
        module.map_or(format!("{pc:#x}"), |it| format!("{}+{:#x}", it.binary.name, it.offset(pc)))
    }

    /// Runs the one instruction at the thread's program counter. The stop, if it did not get behind it. A signal that has
    /// nothing to do with the instruction waits until that is over; it may come before or behind it.
    fn run_one(&mut self, index: usize, pc: u64, len: u64) -> Result<Option<Stop>, EngineError> {
        if !self.sea.covers(pc) {
            let what = "a thread runs code that another one has just made changeable";
            return Err(EngineError::Unsupported(what.to_owned()));
        }
        loop {
            self.surface(pc, len, &[])?;
            let stop = self.resume(index, Resume::Free, 0)?;
            let rip = self.threads[index].regs.rip;
            let behind = rip == pc + len;
            match stop {
                Stop::Signal(libc::SIGTRAP) if rip == pc + len + 1 => {
                    self.threads[index].jump(pc + len);
                    return Ok(None);
                }
                Stop::Signal(signal) if behind || !is_fault(signal) && rip == pc => {
                    self.keeps_signal(index, signal);
                }
                Stop::Other | Stop::Group if behind || rip == pc && self.course.end.is_none() => {}
                stop => return Ok(Some(stop)),
            }
            if behind {
                self.threads[index].jump(pc + len);
                return Ok(None);
            }
        }
    }

    fn keeps_signal(&mut self, index: usize, signal: i32) {
        let stopped = self.threads[index].stopped.as_ref();
        let info = stopped.and_then(|stopped| stopped.signal_info().ok()).map(|mut info| {
            self.sign(&mut info);
            info
        });
        self.threads[index].kept_signals.push_back((signal, info));
    }

    /// Runs a fence instruction.
    pub(super) fn perform_fence(&mut self, index: usize) -> Result<(), EngineError> {
        let pc = self.threads[index].regs.rip;
        let insn = self.insn(pc)?;
        let stop = self.run_one(index, pc, u64::from(insn.effect.len))?;
        if let Some(stop) = stop {
            self.machine.faulted(self.threads[index].id);
            return self.dispatch(index, stop);
        }
        self.retired(self.threads[index].id, 0, 0)
    }
}

/// Whether a signal says that the instruction at the program counter cannot run.
fn is_fault(signal: i32) -> bool {
    matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGTRAP)
}
