//! Native code: the C runtime runs by itself until it stops, and every stop has a reason.

use super::run::Run;
use super::sites::What;
use super::thread::Mode;
use crate::engine::execution::Execution as _;
use crate::engine::journal::{Begun, Noting as _, Observed};
use crate::engine::prelude::Prelude as _;
use crate::engine::ringing::Ringing as _;
use crate::engine::schedule::Schedule as _;
use crate::engine::{End, EngineError};
use crate::os::ptrace::{Regs, Resume, Stop};
use crate::os::{Tid, proc};
use std::time::{Duration, Instant};
use wmtrace_model::strategy::Strategy;

/// How much processor time native code may use while other threads could go on. It may be waiting for one of them.
const PATIENCE: Duration = Duration::from_secs(1);

/// When native code has run for too long. What counts is the thread's own time: on a busy machine, real time is no
/// measure of what it has done.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// Its time is looked at then.
    from: Instant,
    /// How much it had used when it was looked at first.
    used: Option<Duration>,
}

impl Patience {
    fn new() -> Patience {
        Patience { from: Instant::now() + PATIENCE, used: None }
    }

    pub(super) fn is_over(&mut self, process: Tid, tid: Tid) -> bool {
        if Instant::now() < self.from {
            return false;
        }
        self.from = Instant::now() + PATIENCE;
        let used = proc::used(process, tid);
        used.saturating_sub(*self.used.get_or_insert(used)) >= PATIENCE
    }
}

impl<S: Strategy> Run<'_, S> {
    /// The thread goes on in native code, or receives a signal, until its next stop.
    pub(super) fn native(&mut self, index: usize) -> Result<(), EngineError> {
        let thread = &self.threads[index];
        let pc = thread.regs.rip;
        if self.sea.watches(pc) && thread.signal == 0 && !thread.leaves_kernel {
            if thread.passed != Some(pc) {
                self.threads[index].passed = Some(pc);
                return self.breakpoint(index, pc);
            }
            if self.does_first(index, pc) {
                return Ok(());
            }
            self.sea.surface_breakpoint(&self.memory, pc)?;
        }
        let thread = &mut self.threads[index];
        let signal = std::mem::take(&mut thread.signal);
        if let (Some(info), Some(stopped)) = (thread.signal_info.take(), &thread.stopped) {
            stopped.set_signal_info(&info)?;
        }
        let how = if thread.syscall.is_some() { Resume::ToSyscall } else { Resume::Free };
        let waits = |other: usize| match self.threads[other].mode {
            Mode::Ready => true,
            Mode::Running => self.course.prelude && other != index,
            Mode::Asleep | Mode::Away | Mode::Ended => false,
        };
        let others = (0..self.threads.len()).any(waits);
        self.patience = others.then(Patience::new);
        let stop = self.resume(index, how, signal)?;
        let lost = others && self.patience.take().is_none();
        self.threads[index].passed = None;
        if lost && stop == Stop::Other {
            self.warn(
                "native code ran for long without a system call: others went on, at a moment that was left to chance",
            );
            self.note_source(index, None, Begun::Interrupted);
            if self.course.prelude {
                self.yields_in_prelude(index);
                return Ok(());
            }
            return self.let_others(index);
        }
        self.dispatch(index, stop)?;
        if self.sea.covers(self.threads[index].regs.rip) {
            self.threads[index].is_back();
        }
        if stop == Stop::Signal(libc::SIGTRAP) && self.course.journal.is_some() {
            self.note_returned(index);
        }
        Ok(())
    }

    /// The thread has come from native code into managed code: what it brings with it is the result, mostly.
    fn note_returned(&mut self, index: usize) {
        let thread = &self.threads[index];
        let result = match &self.course.journal {
            // Which numbers the processes have that it makes is nothing that it should care about.
            Some(journal) if journal.is_process(thread.regs.rax) => 0,
            _ => thread.regs.rax,
        };
        if self.sea.covers(thread.regs.rip)
            && let Some((pc, stack)) = self.engine.sites.last_call(thread.calls_made)
        {
            let what = What::call("returns");
            let site = self.engine.sites.site(pc, stack, what, &self.modules, String::new);
            self.note_at(index, Some(site), Observed::Native(result));
        }
    }

    /// A thread has stopped: whatever the reason is, is dealt with.
    pub(super) fn dispatch(&mut self, index: usize, stop: Stop) -> Result<(), EngineError> {
        match stop {
            Stop::Signal(libc::SIGTRAP) if self.is_breakpoint(index)? => {
                let pc = self.threads[index].regs.rip - 1;
                self.threads[index].jump(pc);
                self.threads[index].passes = self.modules.iter().any(|module| module.is_stub(pc));
                Ok(())
            }
            Stop::Signal(signal) => self.signalled(index, signal),
            Stop::Filtered => self.syscall_entered(index),
            Stop::Syscall => self.syscall_left(index),
            Stop::Clone(child) => self.cloned(index, child),
            Stop::Fork(child) => self.forked(index, child, false),
            Stop::Vfork(child) => self.forked(index, child, true),
            Stop::VforkDone => self.vfork_done(),
            Stop::Exec => self.executed_another(index),
            Stop::Exiting(status) => self.exiting(index, status),
            Stop::Exited(_) | Stop::Killed(_) => self.gone(index, stop),
            Stop::Group => {
                self.warn("the program was stopped by a signal (SIGSTOP or the like), and goes on at once");
                Ok(())
            }
            Stop::Other => Ok(()),
        }
    }

    /// Whether the trap is one of ours.
    fn is_breakpoint(&self, index: usize) -> Result<bool, EngineError> {
        let thread = &self.threads[index];
        let at = thread.regs.rip.wrapping_sub(1);
        if !self.sea.covers(at) && !self.sea.watches(at) {
            return Ok(false);
        }
        // Not if somebody has sent the signal.
        let info = thread.stopped.as_ref().expect("a thread that has stopped").signal_info()?;
        Ok(info.si_code > 0)
    }

    /// The thread is about to receive a signal.
    pub(super) fn signalled(&mut self, index: usize, signal: i32) -> Result<(), EngineError> {
        if signal == libc::SIGSEGV && self.reads_counter(index)? {
            return Ok(());
        }
        let stopped = self.threads[index].stopped.as_ref().expect("a thread that has stopped");
        let mut info = stopped.signal_info()?;
        if self.sign(&mut info) | self.tells_overrun(&mut info) {
            let stopped = self.threads[index].stopped.as_ref().expect("a thread that has stopped");
            stopped.set_signal_info(&info)?;
        }
        let thread = &mut self.threads[index];
        thread.fault = crate::os::ptrace::fault(signal, &info);
        thread.signal_info = None;
        thread.signal = signal;
        self.note(index, Observed::Signal(signal));
        self.new_state(index);
        Ok(())
    }

    /// RDTSC and RDTSCP fault, so that we can say what they give.
    fn reads_counter(&mut self, index: usize) -> Result<bool, EngineError> {
        let pc = self.threads[index].regs.rip;
        let bytes = match self.sea.bytes(pc) {
            Some(bytes) => bytes[..bytes.len().min(3)].to_vec(),
            None => self.memory.read_some(pc, 3),
        };
        let mut regs = self.threads[index].regs;
        if !self.answer_counter(&mut regs, &bytes) {
            return Ok(false);
        }
        self.threads[index].regs = regs;
        self.threads[index].jump(regs.rip);
        self.new_state(index);
        Ok(true)
    }

    /// What RDTSC or RDTSCP gives, if the instruction is one of them.
    pub(super) fn answer_counter(&mut self, regs: &mut Regs, bytes: &[u8]) -> bool {
        let len = match bytes {
            [0x0f, 0x31, ..] => 2,
            [0x0f, 0x01, 0xf9, ..] => 3,
            _ => return false,
        };
        let counter = self.course.clock.counter();
        regs.rax = counter & 0xffff_ffff;
        regs.rdx = counter >> 32;
        if len == 3 {
            // The processor's number.
            regs.rcx = 0;
        }
        regs.rip += len;
        true
    }

    /// A thread is no more, and nobody had announced it.
    fn gone(&mut self, index: usize, stop: Stop) -> Result<(), EngineError> {
        let whole = self.threads[index].tid == self.process || self.alive() <= 1;
        if whole {
            self.course.end.get_or_insert(match stop {
                Stop::Exited(status) => End::Exited(status),
                Stop::Killed(signal) => End::Killed { signal, thread: None, fault: None },
                _ => unreachable!("the two ways to end"),
            });
        }
        self.threads[index].mode = Mode::Ended;
        Ok(())
    }
}
