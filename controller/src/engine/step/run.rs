//! One execution: the loop between the machine and the threads.

use super::calls::Kind;
use super::modules::Module;
use super::native::Patience;
use super::sea::Sea;
use super::sites::{StackId, What};
use super::thread::{Mode, Pending, Syscall, Thread};
use super::time::Clock;
pub(super) use super::time::mix;
use super::{MAX_OUTPUT, StepEngine};
use crate::engine::{End, EngineError, Outcome, ThreadState};
use crate::os::memory::ProcessMemory;
use crate::os::ptrace::{self, Regs, Resume, Stop, Stopped};
use crate::os::{Tid, proc};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;
use wmtrace_model::machine::Machine;
use wmtrace_model::op::{Addr, How, ModelKind, Op, Place, Site, Step, Stuck, ThreadId};
use wmtrace_model::strategy::Strategy;

/// What the program takes for its process number. Threads count on from there. It is beyond what the kernel gives
/// to processes (4194304 at most), so that nobody else is meant by accident.
pub(super) const FIRST_TID: i32 = 5_000_000;

/// Instructions or stretches that a thread may run without an operation before others get a turn.
const QUANTUM: u32 = 100_000;

/// Turns without an operation after which an execution is given up, for each event that it may have.
const MAX_TURNS: u64 = 1000;

/// How often threads that seem to spin for ever are set going again before that is a livelock.
const SECOND_LOOKS: u32 = 2;

pub(super) struct Run<'e, S: Strategy> {
    pub(super) engine: &'e mut StepEngine,
    pub(super) machine: &'e mut Machine<S>,
    pub(super) process: Tid,
    pub(super) memory: ProcessMemory,
    pub(super) sea: Sea,
    pub(super) modules: Vec<Module>,
    /// Entries of library functions that the engine knows.
    pub(super) entries: HashMap<u64, Kind>,
    /// Where `operator new` is: what calls `malloc` from there calls it for the program.
    pub(super) allocators: Vec<(u64, u64)>,
    /// By [`ThreadId`].
    pub(super) threads: Vec<Thread>,
    pub(super) by_tid: HashMap<Tid, usize>,
    /// Stops that nobody has asked for yet.
    pub(super) arrived: BTreeMap<Tid, Stop>,
    /// Processes that the program has made; they run natively.
    pub(super) children: HashSet<Tid>,
    /// Their system calls that name processes.
    pub(super) children_calls: HashMap<Tid, Syscall>,
    pub(super) clock: Clock,
    /// Blocks of memory that the program has allocated since it has threads.
    pub(super) heap: HashMap<u64, u64>,
    /// Bytes of stacks that other threads have touched, in units of eight.
    pub(super) shared: HashSet<u64>,
    /// Bytes of stacks that their owners have written in ways that might be atomic, likewise.
    pub(super) unsure: HashSet<u64>,
    /// Threads, by what the C library calls them.
    pub(super) handles: HashMap<u64, ThreadId>,
    pub(super) warnings: Vec<String>,
    pub(super) trace: Vec<u64>,
    pub(super) end: Option<End>,
    pub(super) turns: u64,
    /// Whether the program believes that it may be dumped.
    pub(super) dumpable: u64,
    /// The kernel has done something for the program: it may have woken a thread.
    pub(super) stirred: bool,
    /// The program has asked for signals at times.
    pub(super) has_timers: bool,
    /// Signals may come while threads sleep.
    pub(super) expects_signals: bool,
    /// When the execution has taken too long.
    pub(super) deadline: Instant,
    /// How long native code that others may wait for may run.
    pub(super) patience: Option<Patience>,
    pub(super) reaped: bool,
    /// Turns of the only thread that is left, since the others have ended.
    pub(super) lonely: u32,
    /// How often threads that seem to spin for ever have been set going again.
    second_looks: u32,
}

impl<'e, S: Strategy> Run<'e, S> {
    /// An execution that begins with a process that is about to run the program.
    pub(super) fn new(
        engine: &'e mut StepEngine,
        machine: &'e mut Machine<S>,
        process: Tid,
    ) -> Result<Run<'e, S>, EngineError> {
        let id = machine.spawn(None, Site::default()).map_err(|error| EngineError::Os(error.to_string()))?;
        let first = Self::first_stop(process)?;
        let mut thread = Thread::new(process, id, FIRST_TID, first.regs()?);
        thread.stopped = Some(first);
        let clock = Clock::new(engine.options.entropy);
        let mut run = Run::with(engine, machine, process, thread, clock)?;
        run.tame()?;
        Ok(run)
    }

    /// An execution with one thread so far.
    pub(super) fn with(
        engine: &'e mut StepEngine,
        machine: &'e mut Machine<S>,
        process: Tid,
        thread: Thread,
        clock: Clock,
    ) -> Result<Run<'e, S>, EngineError> {
        let deadline = Instant::now() + engine.options.timeout;
        engine.code.begin();
        Ok(Run {
            memory: ProcessMemory::open(process)?,
            clock,
            engine,
            machine,
            process,
            sea: Sea::default(),
            modules: Vec::new(),
            entries: HashMap::new(),
            allocators: Vec::new(),
            threads: vec![thread],
            by_tid: HashMap::from([(process, 0)]),
            arrived: BTreeMap::new(),
            children: HashSet::new(),
            children_calls: HashMap::new(),
            heap: HashMap::new(),
            shared: HashSet::new(),
            unsure: HashSet::new(),
            handles: HashMap::new(),
            warnings: Vec::new(),
            trace: Vec::new(),
            end: None,
            turns: 0,
            dumpable: 1,
            stirred: false,
            has_timers: false,
            expects_signals: false,
            deadline,
            patience: None,
            reaped: false,
            lonely: 0,
            second_looks: 0,
        })
    }

    /// Waits for the stop of the new process after its `execve`.
    fn first_stop(process: Tid) -> Result<Stopped, EngineError> {
        loop {
            match ptrace::wait_any(true) {
                Some((tid, Stop::Exec)) if tid == process => return Ok(Stopped::new(tid)),
                Some((tid, Stop::Exited(_) | Stop::Killed(_))) if tid == process => {
                    return Err(EngineError::Os("the program was killed before it began".to_owned()));
                }
                Some((tid, _)) => Stopped::new(tid).resume(Resume::Free, 0)?,
                None if crate::os::interrupt::requested() => return Err(EngineError::Interrupted),
                None => {}
            }
        }
    }

    /// Runs the execution to its end, whatever that is, and leaves no process behind.
    pub(super) fn finish(mut self) -> Result<Outcome, EngineError> {
        let result = self.go();
        let threads = if result.is_ok() { self.thread_states() } else { Vec::new() };
        self.kill_all();
        // Somebody killed the process while we looked at it: that is its end.
        let end = match (result, self.end.take()) {
            (Err(error), None) => return Err(error),
            (_, Some(end)) => end,
            (Ok(()), None) => return Err(EngineError::Os("an execution without an end".to_owned())),
        };
        let (stdout, stderr, truncated) = self.engine.streams.collect();
        let threads = if matches!(end, End::Exited(_) | End::Abandoned) { Vec::new() } else { threads };
        let warnings = std::mem::take(&mut self.warnings);
        let trace = std::mem::take(&mut self.trace);
        Ok(Outcome { end, threads, stdout, stderr, truncated, warnings, trace })
    }

    fn go(&mut self) -> Result<(), EngineError> {
        while self.end.is_none() {
            // Threads may be made, woken or ended on the way: look again after each.
            while let Some(index) = self.threads.iter().position(|thread| thread.mode == Mode::Running) {
                self.advance(index)?;
                if self.end.is_some() {
                    return Ok(());
                }
            }
            self.look_for_returned()?;
            if self.threads.iter().any(|thread| thread.mode == Mode::Running) || self.fire_timer(false) {
                continue;
            }
            self.one_step()?;
        }
        Ok(())
    }

    fn one_step(&mut self) -> Result<(), EngineError> {
        if self.deadline <= Instant::now() {
            self.end = Some(End::TimedOut);
            return Ok(());
        }
        if crate::os::interrupt::requested() {
            return Err(EngineError::Interrupted);
        }
        match self.machine.next(&mut &self.memory) {
            Step::Run { thread, how } => self.perform(thread.index(), how)?,
            Step::Commit { at, value, .. } => self.memory.set_value(at, value)?,
            Step::Finished => {
                // The last thread's end ends the process.
                self.end = Some(End::Exited(0));
            }
            Step::Stuck(stuck) => {
                if !self.fire_timer(true) && !self.signal_comes()? && !self.looks_again(stuck) {
                    self.end = Some(match stuck {
                        Stuck::Deadlock => End::Deadlock,
                        Stuck::Livelock => End::Livelock,
                    });
                }
            }
            Step::Idle => {
                if !self.fire_timer(true) {
                    self.wait_for_any()?;
                }
            }
            Step::Abandoned => self.end = Some(End::Abandoned),
            Step::Diverged(divergence) => self.end = Some(End::Diverged(divergence)),
            Step::Limit => self.end = Some(End::TooManyEvents),
        }
        Ok(())
    }

    /// Whether all that spin go round some more before they are called stuck: whatever was written behind the
    /// machine's back, or after a thread had looked and before its round was over, they see then.
    fn looks_again(&mut self, stuck: Stuck) -> bool {
        if stuck != Stuck::Livelock || self.second_looks == SECOND_LOOKS {
            return false;
        }
        self.second_looks += 1;
        for thread in &self.threads {
            if thread.mode == Mode::Ready {
                self.machine.disturb(thread.id);
            }
        }
        true
    }

    /// Nobody can go on, but a signal may come (a child's end, a timer): then its receiver can.
    fn signal_comes(&mut self) -> Result<bool, EngineError> {
        if !self.expects_signals && self.children.is_empty() {
            return Ok(false);
        }
        self.expects_signals = true;
        while self.end.is_none() {
            if self.look_for_signals()? {
                return Ok(true);
            }
            if !self.has_timers && self.children.is_empty() {
                return Ok(false);
            }
            if let Some((tid, stop)) = ptrace::wait_any(false) {
                self.arrives(tid, stop)?;
            } else if self.deadline <= Instant::now() {
                self.end = Some(End::TimedOut);
            } else if crate::os::interrupt::requested() {
                return Err(EngineError::Interrupted);
            } else {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        Ok(true)
    }

    /// A thread goes on until it stops before an operation, sleeps, leaves or ends.
    fn advance(&mut self, index: usize) -> Result<(), EngineError> {
        let mut quantum = QUANTUM;
        while self.end.is_none() && self.threads[index].mode == Mode::Running {
            if crate::os::interrupt::requested() {
                return Err(EngineError::Interrupted);
            }
            if self.deadline <= Instant::now() {
                self.end = Some(End::TimedOut);
                break;
            }
            if let Some(result) = self.threads[index].result.take() {
                self.skip(index, result)?;
            }
            if !self.sea.is_empty() && self.is_alone(index) {
                self.let_go(index)?;
            }
            let pc = self.threads[index].regs.rip;
            // In a system call (it has just made a thread, say) its registers are not what it will find.
            let in_kernel = self.threads[index].syscall.is_some();
            if self.threads[index].signal != 0 || in_kernel || !self.sea.covers(pc) {
                self.native(index)?;
                continue;
            }
            self.came_back(index)?;
            if self.threads[index].mode != Mode::Running {
                break;
            }
            if quantum == 0 {
                self.let_others(index)?;
                break;
            }
            quantum -= 1;
            self.managed(index)?;
        }
        Ok(())
    }

    /// A thread that has run for long without an operation lets others go on.
    pub(super) fn let_others(&mut self, index: usize) -> Result<(), EngineError> {
        self.turns += 1;
        if self.turns > self.machine.config().max_events.clamp(MAX_TURNS, 1 << 20) {
            self.end = Some(End::TooManyEvents);
            return Ok(());
        }
        if self.deadline <= Instant::now() {
            self.end = Some(End::TimedOut);
            return Ok(());
        }
        let site = self.site_here(index, What::call("runs"));
        self.machine.hint(self.threads[index].id);
        self.pend(index, Pending::Quantum, Op::Sync { at: self.own_place(index) }, site, 0);
        Ok(())
    }

    /// An address that nothing else has.
    pub(super) fn own_place(&self, index: usize) -> Place {
        Place::new(Addr(self.threads[index].stack.start | 1), 1)
    }

    /// The thread stops before an operation.
    pub(super) fn pend(&mut self, index: usize, pending: Pending, op: Op, site: Site, state: u64) {
        let thread = &mut self.threads[index];
        thread.pending = Some(pending);
        thread.mode = Mode::Ready;
        thread.paused = false;
        thread.looked.clear();
        self.machine.pending(thread.id, op, site, state);
    }

    /// The machine wants this thread to perform its operation.
    fn perform(&mut self, index: usize, how: How) -> Result<(), EngineError> {
        let id = self.threads[index].id;
        self.clock.event();
        let pending =
            self.threads[index].pending.take().expect("a thread that is picked has stopped before something");
        self.threads[index].mode = Mode::Running;
        match pending {
            Pending::Part => self.perform_part(index, how)?,
            Pending::LostFence => {
                self.threads[index].fences += 1;
                self.retired(id, 0, 0)?;
            }
            Pending::Fence => self.perform_fence(index)?,
            Pending::Call => {
                self.retired(id, 0, 0)?;
                self.enter_call(index)?;
            }
            Pending::Join { child } => {
                self.threads[child.index()].joined = true;
                self.retired(id, 0, 0)?;
            }
            Pending::Quantum => self.retired(id, 0, 0)?,
            Pending::Wait { deadline } => self.perform_wait(index, how, deadline)?,
            Pending::Wake { then } => self.perform_wake(index, then)?,
            Pending::Clear { at } => self.perform_clear(index, at)?,
        }
        Ok(())
    }

    pub(super) fn retired(&mut self, id: ThreadId, read: u128, written: u128) -> Result<(), EngineError> {
        let mut hash = mix(u64::from(id.0) + 1, read as u64);
        hash = mix(hash, (read >> 64) as u64);
        hash = mix(hash, written as u64);
        self.trace.push(mix(hash, (written >> 64) as u64));
        Ok(self.machine.retired(id, read, written)?)
    }

    /// Under PSO and PSLO: everything that the thread has stored becomes visible.
    pub(super) fn flush(&mut self, index: usize) -> Result<(), EngineError> {
        let id = self.threads[index].id;
        while let Some(Step::Commit { at, value, .. }) = self.machine.flush(id, &mut &self.memory) {
            self.memory.set_value(at, value)?;
        }
        Ok(())
    }

    /// Where the thread is for the program: at a managed instruction, or at the call that led into native code.
    fn here(&self, index: usize) -> (u64, StackId) {
        let thread = &self.threads[index];
        if self.sea.covers(thread.regs.rip) {
            return (thread.regs.rip, thread.calls_made);
        }
        let call = self.engine.sites.last_call(thread.calls_made);
        call.unwrap_or((
            if thread.last_pc == 0 { thread.regs.rip } else { thread.last_pc },
            thread.calls_made,
        ))
    }

    /// The site of something that the thread does, or has done by a library.
    pub(super) fn site_here(&mut self, index: usize, what: What) -> Site {
        let (pc, stack) = self.here(index);
        self.engine.sites.site(pc, stack, what, &self.modules, String::new)
    }

    /// Something that wmtrace does not do, or not well, is said once.
    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if self.warnings.len() < 100 && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Whether the model looks at memory orders of the source.
    pub(super) fn is_c11(&self) -> bool {
        self.engine.options.model == ModelKind::C11
    }

    /// How many threads have not ended.
    pub(super) fn alive(&self) -> usize {
        self.threads.iter().filter(|thread| thread.mode != Mode::Ended).count()
    }

    /// Resumes a thread and waits for its next stop. Whatever had surfaced goes down.
    pub(super) fn resume(&mut self, index: usize, how: Resume, signal: i32) -> Result<Stop, EngineError> {
        let thread = &mut self.threads[index];
        let stopped = thread.stopped.take().expect("a thread that goes on has stopped");
        if std::mem::take(&mut thread.dirty) {
            stopped.set_regs(&thread.regs)?;
        }
        let tid = thread.tid;
        self.memory.changes();
        stopped.resume(how, signal)?;
        let stop = self.wait_for(tid)?;
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
        self.threads[index].dirty = false;
        self.threads[index].stopped = Some(stopped);
        Ok(())
    }

    /// Waits for the next stop of this thread. Others' stops are kept.
    pub(super) fn wait_for(&mut self, tid: Tid) -> Result<Stop, EngineError> {
        if let Some(stop) = self.arrived.remove(&tid) {
            return Ok(stop);
        }
        let mut interrupted = false;
        loop {
            match ptrace::wait_any(true) {
                Some((other, stop)) if other == tid => return Ok(stop),
                Some((other, Stop::Exec)) if other == self.process => return Ok(Stop::Exec),
                Some((other, stop)) => self.arrives(other, stop)?,
                None if crate::os::interrupt::requested() => return Err(EngineError::Interrupted),
                None if self.deadline <= Instant::now() => {
                    self.end = Some(End::TimedOut);
                    if interrupted || !self.by_tid.contains_key(&tid) {
                        return Err(EngineError::Os("a thread that cannot be stopped".to_owned()));
                    }
                    // One more stop, to see where it is.
                    ptrace::interrupt(tid);
                    interrupted = true;
                    self.deadline += std::time::Duration::from_secs(2);
                }
                None if self.patience.as_mut().is_some_and(|it| it.is_over(self.process, tid)) => {
                    self.patience = None;
                    ptrace::interrupt(tid);
                }
                None => {}
            }
        }
    }

    /// A stop that nobody waits for: of a thread that is away, of a new one, or of another process.
    pub(super) fn arrives(&mut self, tid: Tid, stop: Stop) -> Result<(), EngineError> {
        if self.children.contains(&tid) {
            return self.serve_child(tid, stop);
        }
        if matches!(stop, Stop::Exiting(_)) {
            // Somebody else ends the process, or replaces it: nobody may have to wait for this thread.
            return Ok(Stopped::new(tid).resume(Resume::Free, 0)?);
        }
        self.arrived.insert(tid, stop);
        Ok(())
    }

    /// Ends every process of this execution, and waits for their ends.
    pub(super) fn kill_all(&mut self) {
        if self.reaped {
            return;
        }
        self.reaped = true;
        ptrace::kill(self.process);
        for &child in &self.children {
            ptrace::kill(child);
        }
        // One that has stopped on its way out does not notice being killed.
        for thread in &mut self.threads {
            if let Some(stopped) = thread.stopped.take() {
                let _ = stopped.resume(Resume::Free, 0);
            }
        }
        let mut alive = true;
        while alive || !self.children.is_empty() {
            match ptrace::wait_any(true) {
                Some((tid, Stop::Exited(_) | Stop::Killed(_))) => {
                    alive &= tid != self.process;
                    self.children.remove(&tid);
                }
                Some((tid, Stop::Fork(child) | Stop::Vfork(child))) => {
                    ptrace::kill(child);
                    self.children.insert(child);
                    let _ = Stopped::new(tid).resume(Resume::Free, 0);
                }
                Some((tid, _)) => {
                    ptrace::kill(tid);
                    let _ = Stopped::new(tid).resume(Resume::Free, 0);
                }
                // Nobody is left, or the tick came.
                None if std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) => return,
                None => {}
            }
        }
    }

    /// What each thread was doing at the end.
    fn thread_states(&mut self) -> Vec<ThreadState> {
        let mut states = Vec::new();
        for index in 0..self.threads.len() {
            let thread = &self.threads[index];
            if thread.mode == Mode::Ended {
                continue;
            }
            let (pc, stack) = self.here(index);
            let stack = self.engine.sites.stack_of(pc, stack, &self.modules);
            states.push(ThreadState { thread: thread.id, doing: self.doing(index), stack });
        }
        states
    }

    /// In words.
    fn doing(&self, index: usize) -> String {
        let thread = &self.threads[index];
        let call = thread.calls.last().filter(|call| call.kind.synchronises());
        let syscall = || thread.syscall.map(|it| super::syscalls::name(it.number));
        match (thread.mode, call) {
            (Mode::Asleep, Some(call)) => format!("waits in {} of {:#x}", call.kind.name(), call.args[0]),
            (Mode::Asleep, None) => match thread.syscall {
                Some(it) if it.number == libc::SYS_futex as u64 => {
                    format!("waits for the futex word {:#x}", it.args[0])
                }
                Some(it) => format!("sleeps in {}", super::syscalls::name(it.number)),
                None => "sleeps".to_owned(),
            },
            (Mode::Away, _) => format!("waits in {}", syscall().unwrap_or_else(|| "the kernel".to_owned())),
            (Mode::Ready, _) if self.machine.is_spinning(thread.id) => "spins".to_owned(),
            (Mode::Ready, Some(call)) => format!("is about to {}", call.kind.name()),
            (Mode::Ready, None) => "runs".to_owned(),
            (Mode::Running, _) => match &self.end {
                Some(End::Killed { thread: Some(hit), .. }) if *hit == thread.id => "failed".to_owned(),
                _ => "runs".to_owned(),
            },
            (Mode::Ended, _) => "has ended".to_owned(),
        }
    }

    /// Whether more output is kept.
    pub(super) fn has_room(&self) -> bool {
        let len = |file: &std::fs::File| file.metadata().map_or(0, |data| data.len());
        len(&self.engine.streams.stdout) + len(&self.engine.streams.stderr) < MAX_OUTPUT
    }

    /// Waits until a thread that is away comes back, or a signal comes for one that is not.
    fn wait_for_any(&mut self) -> Result<(), EngineError> {
        while self.arrived.keys().all(|tid| !self.by_tid.contains_key(tid)) {
            self.expects_signals |= !self.children.is_empty();
            if self.expects_signals && self.look_for_signals()? {
                return Ok(());
            }
            match ptrace::wait_any(true) {
                Some((tid, stop)) => self.arrives(tid, stop)?,
                None if crate::os::interrupt::requested() => return Err(EngineError::Interrupted),
                None if self.deadline <= Instant::now() => {
                    self.end = Some(End::TimedOut);
                    return Ok(());
                }
                None => {}
            }
        }
        self.look_for_returned()
    }

    /// Threads that were away in the kernel and are back run again.
    fn look_for_returned(&mut self) -> Result<(), EngineError> {
        let stirred = std::mem::take(&mut self.stirred);
        for index in 0..self.threads.len() {
            if self.threads[index].mode != Mode::Away {
                continue;
            }
            let tid = self.threads[index].tid;
            let stop = match self.arrived.remove(&tid) {
                Some(stop) => stop,
                // One that the kernel has woken is on its way: which it is, must not depend on our luck. Nobody
                // but the program itself wakes it at a moment that could be the same each time.
                None if stirred && proc::sleeps(self.process, tid) == Some(false) => self.wait_for(tid)?,
                None => continue,
            };
            self.machine.back(self.threads[index].id);
            self.threads[index].mode = Mode::Running;
            self.stopped(index, stop)?;
            self.dispatch(index, stop)?;
            if self.end.is_some() {
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
