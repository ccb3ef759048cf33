//! Threads at gates: what each gate means, where a thread goes on from there, and waiting for it at the next one.

use super::patch::Kind;
use super::run::Run;
use super::thread::{Mode, Slot};
use crate::engine::answers::Answers as _;
use crate::engine::ringing::Ringing as _;
use crate::engine::schedule::Schedule as _;
use crate::engine::syscalls::blocks;
use crate::engine::{End, EngineError};
use crate::os::proc;
use crate::os::ptrace::Resume;
use std::time::Instant;
use wmtrace_model::strategy::Strategy;

/// Gates that a thread may pass without an operation before others get a turn.
const QUANTUM: u32 = 20_000;

impl<S: Strategy> Run<'_, S> {
    /// A thread goes on until it stops before an operation, sleeps, leaves or ends.
    pub(super) fn advance(&mut self, index: usize) -> Result<(), EngineError> {
        while self.course.end.is_none() && self.threads[index].mode == Mode::Running {
            self.course.check_limits()?;
            if let Some(result) = self.threads[index].result.take() {
                self.skip(index, result);
            }
            if self.threads[index].slot.is_some() {
                self.leave_gate(index)?;
                continue;
            }
            if self.watching && self.is_alone(index) {
                self.let_go(index)?;
            }
            self.threads[index].passed += 1;
            if self.threads[index].passed > QUANTUM && self.watching {
                self.let_others(index)?;
                break;
            }
            self.at_gate(index)?;
        }
        Ok(())
    }

    /// The thread goes on from a gate that has been dealt with. In a handler that has interrupted a system call, it may
    /// come back to that, which begins anew without a gate, and sleep there.
    fn leave_gate(&mut self, index: usize) -> Result<(), EngineError> {
        match self.threads[index].syscall {
            Some(outer) if blocks(outer.number as i64) => self.resume_to_kernel(index),
            _ => self.resume(index),
        }
    }

    /// The thread has come to a gate, and has not been dealt with.
    fn at_gate(&mut self, index: usize) -> Result<(), EngineError> {
        if self.threads[index].must_fault {
            let what = "an access to memory that cannot be looked at";
            return Err(EngineError::Unsupported(format!("{}: before here, {what}", self.place_of(index))));
        }
        let kind = self.engine.files.gates[self.threads[index].gate].kind.clone();
        if let Kind::Handler = kind {
            return self.enters_handler(index);
        }
        self.tell_passed(index);
        if self.threads[index].comes_again() {
            self.threads[index].slot = Some(Slot::Exec);
            return Ok(());
        }
        if !self.threads[index].calls.is_empty() && !matches!(kind, Kind::Return) {
            self.left(index)?;
            if self.threads[index].mode != Mode::Running {
                return Ok(());
            }
        }
        let gate = &self.engine.files.gates[self.threads[index].gate];
        let file = gate.file;
        match kind {
            Kind::Entry => {
                if !self.begun {
                    self.begins(index)?;
                }
                self.threads[index].slot = Some(Slot::Exec);
                Ok(())
            }
            Kind::Svc => self.syscall_entered(index),
            Kind::Post => {
                self.threads[index].slot = Some(Slot::Exec);
                self.syscall_left(index)
            }
            Kind::Return => self.returned(index),
            Kind::Handler => unreachable!("dealt with above"),
            // Nothing counts while there is one thread.
            _ if !self.watching => {
                self.set_flag(file, false)?;
                self.threads[index].slot = Some(Slot::Exec);
                Ok(())
            }
            Kind::Insn | Kind::Exclusive(_) => self.managed(index),
            Kind::Function(kind) => self.enters(index, kind),
            Kind::Import(name) => {
                self.threads[index].slot = Some(Slot::Exec);
                self.leaves(index, &name)
            }
            Kind::Indirect => {
                self.threads[index].slot = Some(Slot::Exec);
                let register = self.engine.files.gates[self.threads[index].gate].word >> 5 & 31;
                let target = self.threads[index].regs.x(register);
                if self.is_managed(target) { Ok(()) } else { self.leaves_for(index, target) }
            }
        }
    }

    /// A thread goes on from its gate, and is waited for: at its next one, or at its end.
    pub(super) fn resume(&mut self, index: usize) -> Result<(), EngineError> {
        self.start(index)?;
        self.wait_for(index)
    }

    /// A thread goes on from its gate.
    pub(super) fn start(&mut self, index: usize) -> Result<(), EngineError> {
        let thread = &mut self.threads[index];
        let slot = thread.slot.take().expect("a thread that goes on knows where");
        let gate = &self.engine.files.gates[thread.gate];
        let to = match slot {
            Slot::Exec => gate.exec,
            Slot::Skip => gate.skip,
            Slot::Post => gate.post,
            Slot::Retry => gate.retry,
        };
        let bias = self.biases.get(&gate.file).copied().unwrap_or(0);
        let next = to.wrapping_add(bias);
        if std::mem::take(&mut thread.dirty) {
            thread.regs.set_next(next);
            self.memory.write(thread.regs.address(), &thread.regs.bytes())?;
        } else if thread.regs.next() != next {
            let at = thread.regs.address() + 8 * super::block::NEXT as u64;
            self.memory.write(at, &next.to_le_bytes())?;
        }
        self.current = index;
        let stopped = thread.stopped.take().expect("a thread that goes on has stopped");
        Ok(stopped.resume(Resume::Free, 0)?)
    }

    /// Waits until the thread has come to a gate, or is gone.
    pub(super) fn wait_for(&mut self, index: usize) -> Result<(), EngineError> {
        let mut interrupted = false;
        let mut since = None;
        while self.course.end.is_none()
            && self.threads[index].stopped.is_none()
            && self.threads[index].mode != Mode::Ended
        {
            if self.pump(true)? {
                continue;
            }
            if crate::os::interrupt::requested() {
                return Err(EngineError::Interrupted);
            }
            if self.rings_by_work(index, &mut since) {
                continue;
            }
            if self.course.deadline <= Instant::now() {
                if interrupted {
                    return Err(EngineError::Os("a thread that cannot be stopped".to_owned()));
                }
                interrupted = true;
                self.course.end.get_or_insert(End::TimedOut);
            }
        }
        Ok(())
    }

    /// Waits until a thread that is away comes back, or a signal comes for one that is not.
    pub(super) fn wait_for_any(&mut self) -> Result<(), EngineError> {
        let mut since = None;
        while self.course.end.is_none()
            && !self.threads.iter().any(|thread| thread.mode == Mode::Away && thread.stopped.is_some())
        {
            self.course.expects_signals |= !self.course.children.is_empty();
            if self.course.expects_signals && self.look_for_signals() {
                return Ok(());
            }
            if !self.pump(true)? && self.rings_by_real_time(&mut since) {
                return Ok(());
            }
            self.course.check_limits()?;
        }
        self.look_for_returned()
    }

    /// Threads that were away in the kernel and are back run again.
    pub(super) fn look_for_returned(&mut self) -> Result<(), EngineError> {
        if std::mem::take(&mut self.course.stirred) {
            self.settle_woken()?;
        }
        for index in 0..self.threads.len() {
            if self.threads[index].mode == Mode::Away && self.threads[index].stopped.is_some() {
                self.machine.back(self.threads[index].id);
                self.threads[index].mode = Mode::Running;
            }
        }
        Ok(())
    }

    /// Threads that the kernel has woken are on their way: which they are, must not depend on our luck. (Or they sleep
    /// again: what they were woken for was another's.)
    pub(super) fn settle_woken(&mut self) -> Result<(), EngineError> {
        for index in 0..self.threads.len() {
            let thread = &self.threads[index];
            if thread.mode == Mode::Away
                && thread.stopped.is_none()
                && proc::sleeps(self.process, thread.tid) == Some(false)
            {
                self.settles(index)?;
            }
        }
        Ok(())
    }
}
