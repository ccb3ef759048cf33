//! One execution: its threads and processes, and how they are resumed and waited for. The loop between them and the
//! machine is [`crate::engine::schedule`]'s.

use super::StepEngine;
use super::afterwards::Kept;
use super::calls::Kind;
use super::from::Prelude;
use super::modules::Module;
use super::native::Patience;
use super::sea::Sea;
use super::sites::StackId;
use super::thread::{FIRST_TID, Mode, Syscall, Thread};
use super::time::Clock;
pub(super) use super::time::mix;
use crate::engine::answers::Answers as _;
use crate::engine::busy::Busyness as _;
use crate::engine::ending::Ending as _;
use crate::engine::execution::{Course, Execution as _};
use crate::engine::journal::{Noting as _, Observed};
use crate::engine::ringing::Ringing as _;
use crate::engine::schedule::Schedule as _;
use crate::engine::{End, EngineError, Outcome};
use crate::os::memory::ProcessMemory;
use crate::os::ptrace::{self, Regs, Resume, Stop, Stopped};
use crate::os::{Tid, proc};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};
use wmtrace_model::machine::Machine;
use wmtrace_model::op::{Site, ThreadId};
use wmtrace_model::strategy::Strategy;

/// Instructions that a thread may run without an operation before others get a turn. Each time that it does so again it is
/// half as many, six times: it waits, it seems.
const QUANTUM: u64 = 100_000;

fn quantum(idle: u32) -> u64 {
    QUANTUM >> idle.min(6)
}

pub(super) struct Run<'e, S: Strategy> {
    pub(super) engine: &'e mut StepEngine,
    pub(super) machine: &'e mut Machine<S>,
    pub(super) course: Course,
    pub(super) process: Tid,
    pub(super) memory: ProcessMemory,
    pub(super) sea: Sea,
    pub(super) modules: Vec<Module>,
    /// Entries of library functions that the engine knows.
    pub(super) entries: HashMap<u64, Kind>,
    /// Functions of the C runtime that were called through registers, as far as their names say something.
    pub(super) names: HashMap<u64, Option<Rc<str>>>,
    /// Where `operator new` is: what calls `malloc` from there calls it for the program.
    pub(super) allocators: Vec<(u64, u64)>,
    /// Where the data segment ends, which grows and shrinks (`brk`).
    pub(super) data_end: u64,
    /// By [`ThreadId`].
    pub(super) threads: Vec<Thread>,
    pub(super) by_tid: HashMap<Tid, usize>,
    /// Stops that nobody has asked for yet.
    pub(super) arrived: BTreeMap<Tid, Stop>,
    /// Their system calls that name processes.
    pub(super) children_calls: HashMap<Tid, Syscall>,
    /// Bytes of stacks that other threads have touched, in units of eight.
    pub(super) shared: HashSet<u64>,
    /// Bytes of stacks that their owners have written in ways that might be atomic, likewise.
    pub(super) unsure: HashSet<u64>,
    /// Threads, by what the C library calls them.
    pub(super) handles: HashMap<u64, ThreadId>,
    /// Functions that the last thread is still stopped at.
    pub(super) kept: Kept,
    /// How long native code that others may wait for may run.
    pub(super) patience: Option<Patience>,
    /// What is watched until the function of `--from` is entered.
    pub(super) prelude: Prelude,
}

impl<'e, S: Strategy> Run<'e, S> {
    /// An execution that begins with a process that has stopped before its first instruction.
    pub(super) fn new(
        engine: &'e mut StepEngine,
        machine: &'e mut Machine<S>,
        process: Tid,
    ) -> Result<Run<'e, S>, EngineError> {
        let id = machine.spawn(None, Site::default()).map_err(|error| EngineError::Os(error.to_string()))?;
        let first = Stopped::new(process);
        let mut thread = Thread::new(process, id, FIRST_TID, first.regs()?);
        thread.stopped = Some(first);
        let course = Course::new(Clock::new(engine.options.entropy), &engine.options);
        let mut run = Run::with(engine, machine, process, thread, course)?;
        run.tame(0)?;
        run.begin_prelude()?;
        Ok(run)
    }

    /// An execution with one thread so far.
    pub(super) fn with(
        engine: &'e mut StepEngine,
        machine: &'e mut Machine<S>,
        process: Tid,
        thread: Thread,
        course: Course,
    ) -> Result<Run<'e, S>, EngineError> {
        engine.code.begin();
        Ok(Run {
            memory: ProcessMemory::open(process)?,
            course,
            engine,
            machine,
            process,
            sea: Sea::default(),
            modules: Vec::new(),
            entries: HashMap::new(),
            names: HashMap::new(),
            allocators: Vec::new(),
            data_end: 0,
            threads: vec![thread],
            by_tid: HashMap::from([(process, 0)]),
            arrived: BTreeMap::new(),
            children_calls: HashMap::new(),
            shared: HashSet::new(),
            unsure: HashSet::new(),
            handles: HashMap::new(),
            kept: Kept::default(),
            patience: None,
            prelude: Prelude::default(),
        })
    }

    /// Runs the execution to its end, whatever that is, and leaves no process behind.
    pub(super) fn finish(mut self) -> Result<Outcome, EngineError> {
        let outcome = self.run_to_end()?;
        if outcome.untested {
            self.check_found()?;
        }
        Ok(outcome)
    }

    /// A thread goes on until it stops before an operation, sleeps, leaves or ends.
    pub(super) fn advance(&mut self, index: usize) -> Result<(), EngineError> {
        let start = self.course.steps;
        while self.course.end.is_none() && self.threads[index].mode == Mode::Running {
            self.course.check_limits()?;
            if self.course.end.is_some() || std::mem::take(&mut self.course.turn_is_over) {
                break;
            }
            if let Some(result) = self.threads[index].result.take() {
                self.skip(index, result)?;
            }
            if !self.sea.is_empty() && self.is_alone(index) {
                self.let_go(index)?;
            }
            self.next_signal(index);
            let pc = self.threads[index].regs.rip;
            // In a system call (it has just made a thread, say) its registers are not what it will find.
            let in_kernel = self.threads[index].syscall.is_some() || self.threads[index].leaves_kernel;
            if self.threads[index].signal != 0 || in_kernel || !self.sea.covers(pc) {
                self.native(index)?;
                continue;
            }
            let calls = self.threads[index].calls.len();
            self.came_back(index)?;
            if self.threads[index].mode != Mode::Running {
                break;
            }
            // The last other thread may have ended during the call that is over now.
            if self.threads[index].calls.len() < calls && self.is_alone(index) {
                continue;
            }
            if self.course.steps - start >= quantum(self.threads[index].idle) {
                self.let_others(index)?;
                break;
            }
            self.notes_place(index);
            self.managed(index)?;
        }
        Ok(())
    }

    /// A signal that was kept is delivered now.
    fn next_signal(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        if thread.signal == 0
            && let Some((signal, info)) = thread.kept_signals.pop_front()
        {
            thread.signal = signal;
            thread.signal_info = info;
            thread.fault = None;
            self.note(index, Observed::Signal(signal));
            self.new_state(index);
        }
    }

    /// Where the thread is for the program: at a managed instruction, or at the call that led into native code.
    pub(super) fn here(&self, index: usize) -> (u64, StackId) {
        let thread = &self.threads[index];
        if self.sea.covers(thread.regs.rip) {
            return (thread.regs.rip, thread.calls_made);
        }
        if let Some(jump) = thread.tail {
            return (jump.pc, thread.calls_made);
        }
        let call = self.engine.sites.last_call(thread.calls_made);
        call.unwrap_or((
            if thread.last_pc == 0 { thread.regs.rip } else { thread.last_pc },
            thread.calls_made,
        ))
    }

    /// Resumes a thread and waits for its next stop. Whatever had surfaced goes down.
    pub(super) fn resume(&mut self, index: usize, how: Resume, signal: i32) -> Result<Stop, EngineError> {
        let thread = &mut self.threads[index];
        let stopped = thread.stopped.take().expect("a thread that goes on has stopped");
        if std::mem::take(&mut thread.dirty) {
            stopped.set_regs(&thread.regs)?;
        }
        thread.ran_at = self.course.steps;
        let tid = thread.tid;
        self.memory.changes();
        // Before a system call (which does not happen: it was answered) a signal would be lost, behind it it is not.
        let early = signal != 0 && stopped.entered_call()?.is_some();
        stopped.resume(if early { Resume::ToSyscall } else { how }, if early { 0 } else { signal })?;
        let mut stop = self.wait_for(tid)?;
        if early && stop == Stop::Syscall {
            Stopped::new(tid).resume(how, signal)?;
            stop = self.wait_for(tid)?;
        }
        // A system call, the end of a handler too, may have let signals in that were blocked.
        let called = matches!(stop, Stop::Filtered | Stop::Syscall);
        self.threads[index].may_be_hit = called && self.course.expects_signals;
        if stop == Stop::Exec {
            // Whoever executes another program is the process's first thread from then on.
            self.threads[index].tid = self.process;
        }
        self.stopped(index, stop)?;
        Ok(stop)
    }

    /// A thread has stopped: its registers are read, and what had surfaced goes down.
    pub(super) fn stopped(&mut self, index: usize, stop: Stop) -> Result<(), EngineError> {
        if matches!(stop, Stop::Exited(_) | Stop::Killed(_)) {
            return Ok(());
        }
        let stopped = Stopped::new(self.threads[index].tid);
        self.memory.changes();
        let submerged = self.sea.submerge(&self.memory);
        // A thread that was killed stops once more, with its memory gone.
        if !matches!(stop, Stop::Exiting(_)) {
            submerged?;
        }
        self.threads[index].regs = stopped.regs()?;
        let thread = &mut self.threads[index];
        (thread.dirty, thread.leaves_kernel, thread.stopped) = (false, false, Some(stopped));
        Ok(())
    }

    /// Waits for the next stop of this thread. Others' stops are kept.
    pub(super) fn wait_for(&mut self, tid: Tid) -> Result<Stop, EngineError> {
        if let Some(stop) = self.arrived.remove(&tid) {
            return Ok(stop);
        }
        let mut interrupted = false;
        let mut since = None;
        loop {
            let stop = ptrace::wait_any(true);
            self.course.busy.native += u32::from(stop.is_none());
            match stop {
                Some((other, stop)) if other == tid => return Ok(stop),
                Some((other, Stop::Exec)) if other == self.process => return Ok(Stop::Exec),
                Some((other, stop)) => self.arrives(other, stop)?,
                None if crate::os::interrupt::requested() => return Err(EngineError::Interrupted),
                None if self.course.deadline <= Instant::now() => {
                    self.course.end = Some(End::TimedOut);
                    if interrupted || !self.by_tid.contains_key(&tid) {
                        return Err(EngineError::Os("a thread that cannot be stopped".to_owned()));
                    }
                    // One more stop, to see where it is.
                    ptrace::interrupt(tid);
                    interrupted = true;
                    self.course.deadline += Duration::from_secs(2);
                }
                None if self.rings_meanwhile(tid, &mut since) => {}
                None if self.patience.as_mut().is_some_and(|it| it.is_over(self.process, tid)) => {
                    self.patience = None;
                    ptrace::interrupt(tid);
                }
                None => {}
            }
        }
    }

    /// Whether a timer rings while the thread runs natively.
    fn rings_meanwhile(&mut self, tid: Tid, since: &mut Option<(Duration, Instant)>) -> bool {
        let index = self.by_tid.get(&tid).copied();
        index.is_some_and(|index| self.rings_by_work(index, since))
    }

    /// A stop that nobody waits for: of a thread that is away, of a new one, or of another process.
    pub(super) fn arrives(&mut self, tid: Tid, stop: Stop) -> Result<(), EngineError> {
        if self.course.children.contains(&tid) {
            return self.serve_child(tid, stop);
        }
        if matches!(stop, Stop::Exiting(_)) {
            // Somebody else ends the process, or replaces it: nobody may have to wait for this thread.
            return Ok(Stopped::new(tid).resume(Resume::Free, 0)?);
        }
        self.arrived.insert(tid, stop);
        Ok(())
    }

    /// Waits until a thread that is away comes back, or a signal comes for one that is not.
    pub(super) fn wait_for_any(&mut self) -> Result<(), EngineError> {
        let mut since = None;
        while self.arrived.keys().all(|tid| !self.by_tid.contains_key(tid)) {
            self.course.expects_signals |= !self.course.children.is_empty();
            if self.course.expects_signals && self.look_for_signals() {
                return Ok(());
            }
            let stop = ptrace::wait_any(true);
            self.course.busy.waiting += u32::from(stop.is_none());
            match stop {
                Some((tid, stop)) => self.arrives(tid, stop)?,
                None if crate::os::interrupt::requested() => return Err(EngineError::Interrupted),
                None if self.course.deadline <= Instant::now() => {
                    self.course.end = Some(End::TimedOut);
                    return Ok(());
                }
                None if self.rings_by_real_time(&mut since) => return Ok(()),
                None => {}
            }
        }
        self.look_for_returned()
    }

    /// Threads that were away in the kernel and are back run again.
    pub(super) fn look_for_returned(&mut self) -> Result<(), EngineError> {
        let stirred = std::mem::take(&mut self.course.stirred);
        if stirred {
            self.children_settle()?;
        }
        for index in 0..self.threads.len() {
            if self.threads[index].mode != Mode::Away {
                continue;
            }
            let tid = self.threads[index].tid;
            let stop = match self.arrived.remove(&tid) {
                Some(stop) => stop,
                // One that the kernel has woken is on its way: which it is, must not depend on our luck. Nobody
                // but the program itself wakes it at a moment that could be the same each time. (Or it sleeps again:
                // what it was woken for was another's.)
                None if stirred && proc::sleeps(self.process, tid) == Some(false) => {
                    match self.settles(tid)? {
                        Some(stop) => stop,
                        None => continue,
                    }
                }
                None => continue,
            };
            self.machine.back(self.threads[index].id);
            self.threads[index].mode = Mode::Running;
            self.stopped(index, stop)?;
            self.dispatch(index, stop)?;
            if self.course.end.is_some() {
                break;
            }
        }
        Ok(())
    }
}

impl<S: Strategy> Drop for Run<'_, S> {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// Registers with another program counter.
pub(super) fn at(regs: &Regs, pc: u64) -> Regs {
    Regs { rip: pc, ..*regs }
}
