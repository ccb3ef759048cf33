//! One execution: the loop between the machine and the threads.

use super::GateEngine;
use super::block::{Block, SIZE};
use super::patch::Kind;
use super::qemu::WINDOW;
use super::thread::{Mode, Pending, Slot, Thread};
use crate::engine::modules::Module;
use crate::engine::sites::{StackId, What};
use crate::engine::step::syscalls;
use crate::engine::time::{Clock, mix};
use crate::engine::{End, EngineError, Outcome, ThreadState};
use crate::os::memory::ProcessMemory;
use crate::os::proc::Mapping;
use crate::os::ptrace::{self, Resume, Stop, Stopped};
use crate::os::{Tid, proc};
use std::collections::{HashMap, HashSet};
use std::time::Instant;
use wmtrace_model::machine::Machine;
use wmtrace_model::op::{Addr, How, ModelKind, Op, Place, Site, Step, Stuck, ThreadId};
use wmtrace_model::strategy::Strategy;

/// What the program takes for its process number. Threads count on from there.
pub(super) const FIRST_TID: i32 = 5_000_000;

/// Gates that a thread may pass without an operation before others get a turn.
const QUANTUM: u32 = 20_000;

/// Turns without an operation after which an execution is given up, for each event that it may have.
const MAX_TURNS: u64 = 1000;

/// How often threads that seem to spin for ever are set going again before that is a livelock.
const SECOND_LOOKS: u32 = 2;

/// How much of a stack is read together with the registers.
const STACK: usize = 2048;

pub(super) struct Run<'e, S: Strategy> {
    pub(super) engine: &'e mut GateEngine,
    pub(super) machine: &'e mut Machine<S>,
    pub(super) process: Tid,
    /// The program's memory, by its own addresses.
    pub(super) memory: ProcessMemory,
    /// qemu's.
    pub(super) host: ProcessMemory,
    pub(super) modules: Vec<Module>,
    /// What is added to the addresses of each copy, as far as it has been loaded.
    pub(super) biases: HashMap<usize, u64>,
    /// The program has begun: what it opens from now on is its own business.
    pub(super) begun: bool,
    /// There is more than one thread, and gates are shut.
    pub(super) watching: bool,
    /// By [`ThreadId`].
    pub(super) threads: Vec<Thread>,
    pub(super) by_tid: HashMap<Tid, usize>,
    /// Threads of qemu's own, and new ones that have not come to a gate yet.
    pub(super) others: HashSet<Tid>,
    /// Stops of threads that nobody has announced yet.
    pub(super) strangers: HashMap<Tid, Stop>,
    /// Processes that the program has made; they run natively.
    pub(super) children: HashSet<Tid>,
    /// The thread that makes another one, and what it asked for.
    pub(super) making: Option<usize>,
    pub(super) clock: Clock,
    pub(super) heap: HashMap<u64, u64>,
    /// Bytes of stacks that other threads have touched, in units of eight.
    pub(super) shared: HashSet<u64>,
    /// Threads, by their thread pointers.
    pub(super) pointers: Vec<(u64, ThreadId)>,
    pub(super) warnings: Vec<String>,
    pub(super) trace: Vec<u64>,
    pub(super) end: Option<End>,
    turns: u64,
    /// How often threads that seem to spin for ever have been set going again.
    second_looks: u32,
    /// The kernel has done something for the program: it may have woken a thread.
    pub(super) stirred: bool,
    pub(super) expects_signals: bool,
    /// The thread that went on last.
    pub(super) current: usize,
    pub(super) deadline: Instant,
    reaped: bool,
}

impl<'e, S: Strategy> Run<'e, S> {
    /// An execution that begins with a qemu that is about to run.
    pub(super) fn new(
        engine: &'e mut GateEngine,
        machine: &'e mut Machine<S>,
        process: Tid,
    ) -> Result<Run<'e, S>, EngineError> {
        let id = machine.spawn(None, Site::default()).map_err(|error| EngineError::Os(error.to_string()))?;
        let deadline = Instant::now() + engine.options.timeout;
        let clock = Clock::new(engine.options.entropy);
        loop {
            match ptrace::wait_any(true) {
                Some((tid, Stop::Exec)) if tid == process => break,
                Some((tid, Stop::Exited(_) | Stop::Killed(_))) if tid == process => {
                    return Err(EngineError::Os("qemu was killed before it began".to_owned()));
                }
                Some((tid, _)) => Stopped::new(tid).resume(Resume::Free, 0)?,
                None if crate::os::interrupt::requested() => {
                    ptrace::kill(process);
                    let _ = ptrace::wait_one(process);
                    return Err(EngineError::Interrupted);
                }
                None => {}
            }
        }
        let mut run = Run {
            memory: ProcessMemory::open_window(process, WINDOW)?,
            host: ProcessMemory::open(process)?,
            engine,
            machine,
            process,
            modules: Vec::new(),
            biases: HashMap::new(),
            begun: false,
            watching: false,
            threads: vec![Thread::new(process, id, FIRST_TID)],
            by_tid: HashMap::from([(process, 0)]),
            others: HashSet::new(),
            strangers: HashMap::new(),
            children: HashSet::new(),
            making: None,
            clock,
            heap: HashMap::new(),
            shared: HashSet::new(),
            pointers: Vec::new(),
            warnings: Vec::new(),
            trace: Vec::new(),
            end: None,
            turns: 0,
            second_looks: 0,
            stirred: false,
            expects_signals: false,
            current: 0,
            deadline,
            reaped: false,
        };
        Stopped::new(process).resume(Resume::Free, 0)?;
        run.wait_for(0)?;
        Ok(run)
    }

    /// Runs the execution to its end, whatever that is, and leaves no process behind.
    pub(super) fn finish(mut self) -> Result<Outcome, EngineError> {
        let result = self.go();
        let threads = if result.is_ok() { self.thread_states() } else { Vec::new() };
        self.kill_all();
        let end = match (result, self.end.take()) {
            (Err(error), _) => return Err(error),
            (_, Some(end)) => end,
            (Ok(()), None) => return Err(EngineError::Os("an execution without an end".to_owned())),
        };
        let (stdout, mut stderr, truncated) = self.engine.streams.collect();
        if !self.begun && matches!(end, End::Exited(_) | End::Killed { .. }) {
            let said = String::from_utf8_lossy(&stderr);
            let said = said.lines().next().unwrap_or("nothing");
            return Err(EngineError::Unsupported(format!(
                "qemu did not start the program, and said: {said}"
            )));
        }
        remove_qemus_words(&mut stderr);
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
            // The last thread's end ends the process.
            Step::Finished => self.end = Some(End::Exited(0)),
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
            if self.look_for_signals() {
                return Ok(true);
            }
            if self.children.is_empty() {
                return Ok(false);
            }
            self.pump(true)?;
            self.check_limits()?;
        }
        Ok(true)
    }

    /// A thread goes on until it stops before an operation, sleeps, leaves or ends.
    fn advance(&mut self, index: usize) -> Result<(), EngineError> {
        while self.end.is_none() && self.threads[index].mode == Mode::Running {
            self.check_limits()?;
            if let Some(result) = self.threads[index].result.take() {
                self.skip(index, result)?;
            }
            if self.threads[index].slot.is_some() {
                self.resume(index)?;
                continue;
            }
            if self.watching && self.is_alone(index) {
                self.let_go(index)?;
            }
            self.threads[index].passed += 1;
            if self.threads[index].passed > QUANTUM && self.watching {
                self.let_others(index);
                break;
            }
            self.at_gate(index)?;
        }
        Ok(())
    }

    /// The thread has come to a gate, and has not been dealt with.
    fn at_gate(&mut self, index: usize) -> Result<(), EngineError> {
        if self.threads[index].must_fault {
            let what = "an access to memory that cannot be looked at";
            return Err(EngineError::Unsupported(format!("{}: before here, {what}", self.place_of(index))));
        }
        self.tell_passed(index);
        let gate = &self.engine.files.gates[self.threads[index].gate];
        let kind = gate.kind.clone();
        if !self.threads[index].calls.is_empty() && !matches!(kind, Kind::Return) {
            self.left(index)?;
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
                self.leaves(index, Some(&name))
            }
            Kind::Indirect => {
                self.threads[index].slot = Some(Slot::Exec);
                let register = self.engine.files.gates[self.threads[index].gate].word >> 5 & 31;
                let target = self.threads[index].regs.x(register);
                if self.is_managed(target) { Ok(()) } else { self.leaves(index, None) }
            }
        }
    }

    fn check_limits(&mut self) -> Result<(), EngineError> {
        if crate::os::interrupt::requested() {
            return Err(EngineError::Interrupted);
        }
        if self.deadline <= Instant::now() {
            self.end.get_or_insert(End::TimedOut);
        }
        Ok(())
    }

    /// A thread that has run for long without an operation lets others go on.
    fn let_others(&mut self, index: usize) {
        self.turns += 1;
        if self.turns > self.machine.config().max_events.clamp(MAX_TURNS, 1 << 20) {
            self.end = Some(End::TooManyEvents);
            return;
        }
        let site = self.site_here(index, What::call("runs"));
        self.machine.hint(self.threads[index].id);
        // An address that nothing else has: the thread's own.
        let at = Place::new(Addr(self.threads[index].stack.start | 1), 1);
        self.pend(index, Pending::Quantum, Op::Sync { at }, site, 0);
    }

    /// The thread stops before an operation.
    pub(super) fn pend(&mut self, index: usize, pending: Pending, op: Op, site: Site, state: u64) {
        let thread = &mut self.threads[index];
        thread.pending = Some(pending);
        thread.mode = Mode::Ready;
        thread.passed = 0;
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
            Pending::Fence => {
                self.threads[index].slot = Some(Slot::Exec);
                self.retired(id, 0, 0)?;
            }
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

    /// Where the thread is for the program: at an instruction under the model, or at the call that led elsewhere.
    pub(super) fn here(&mut self, index: usize) -> (u64, StackId) {
        if let Some(place) = self.threads[index].place {
            return place;
        }
        let thread = &self.threads[index];
        let (sp, on_stack, memory) = (thread.regs.sp(), &thread.on_stack, &self.memory);
        let read = |addr: u64| {
            let at = addr.checked_sub(sp).map(|at| at as usize);
            let bytes = at.and_then(|at| on_stack.get(at..at.checked_add(8)?));
            match bytes {
                Some(bytes) => Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes"))),
                None => memory.read_u64(addr),
            }
        };
        // Functions whose return matters return to us; who called them is known.
        let returns: Vec<u64> = self
            .biases
            .iter()
            .map(|(&file, bias)| self.engine.files.copies[file].returns.wrapping_add(*bias))
            .collect();
        let mut calls = thread.calls.iter().rev();
        let returns =
            |ret: u64| if returns.contains(&ret) { calls.next().map(|call| call.ret) } else { None };
        let callers = self.engine.unwind.callers(&thread.regs, read, returns);
        let pc = thread.regs.pc;
        let callers: Vec<u64> = callers.into_iter().filter(|&ret| self.is_managed(ret)).collect();
        let mut stack = StackId::default();
        for &ret in callers.iter().skip(usize::from(!self.is_managed(pc))).rev() {
            stack = self.engine.sites.called(stack, ret, &self.modules);
        }
        let place = match callers.first() {
            Some(&ret) if !self.is_managed(pc) => (ret.wrapping_sub(1), stack),
            _ => (pc, stack),
        };
        self.threads[index].place = Some(place);
        place
    }

    /// Whether the address is of code under the model.
    pub(super) fn is_managed(&self, addr: u64) -> bool {
        self.modules.iter().any(|module| module.binary.managed && module.contains(addr))
    }

    /// The site of something that the thread does, or has done by a library.
    pub(super) fn site_here(&mut self, index: usize, what: What) -> Site {
        let (pc, stack) = self.here(index);
        self.engine.sites.site(pc, stack, what, &self.modules, String::new)
    }

    /// Where the thread is, for messages.
    pub(super) fn place_of(&self, index: usize) -> String {
        let gate = &self.engine.files.gates[self.threads[index].gate];
        format!("{}+{:#x}", self.engine.files.copies[gate.file].binary.name, gate.at)
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
        while self.end.is_none()
            && self.threads[index].stopped.is_none()
            && self.threads[index].mode != Mode::Ended
        {
            if self.pump(true)? {
                continue;
            }
            if crate::os::interrupt::requested() {
                return Err(EngineError::Interrupted);
            }
            if self.deadline <= Instant::now() {
                if interrupted {
                    return Err(EngineError::Os("a thread that cannot be stopped".to_owned()));
                }
                interrupted = true;
                self.end.get_or_insert(End::TimedOut);
            }
        }
        Ok(())
    }

    /// Deals with one stop, whoever's it is. False if there is none (yet).
    pub(super) fn pump(&mut self, block: bool) -> Result<bool, EngineError> {
        let Some((tid, stop)) = ptrace::wait_any(block) else { return Ok(false) };
        self.arrives(tid, stop)?;
        Ok(true)
    }

    fn arrives(&mut self, tid: Tid, stop: Stop) -> Result<(), EngineError> {
        if self.children.contains(&tid) {
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
                if let Some(index) = index {
                    self.signalled(index, &stopped, signal)?;
                }
                Ok(stopped.resume(Resume::Free, signal)?)
            }
            Stop::Clone(child) => {
                self.others.insert(child);
                stopped.resume(Resume::Free, 0)?;
                self.introduced(child)
            }
            Stop::Fork(child) | Stop::Vfork(child) => {
                self.children.insert(child);
                stopped.resume(Resume::Free, 0)?;
                self.introduced(child)
            }
            Stop::Exec => {
                let what = "execve of another program while the engine is gate";
                Err(EngineError::Unsupported(what.to_owned()))
            }
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
                    self.end.get_or_insert(End::Killed { signal, thread: id, fault });
                }
                Ok(stopped.resume(Resume::Free, 0)?)
            }
            Stop::Exited(_) | Stop::Killed(_) => {
                self.others.remove(&tid);
                if tid == self.process {
                    self.end.get_or_insert(match stop {
                        Stop::Exited(status) => End::Exited(status),
                        Stop::Killed(signal) => End::Killed { signal, thread: None, fault: None },
                        _ => unreachable!("the two ways to end"),
                    });
                }
                if let Some(index) = index {
                    self.by_tid.remove(&tid);
                    if self.threads[index].mode != Mode::Ended {
                        // Not by a system call that we saw.
                        self.threads[index].mode = Mode::Ended;
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

    /// A thread or process whose maker has told of it: its first stop may have come before.
    fn introduced(&mut self, tid: Tid) -> Result<(), EngineError> {
        match self.strangers.remove(&tid) {
            Some(stop) => self.arrives(tid, stop),
            None => Ok(()),
        }
    }

    /// A system call that the filter points out: a gate, or a file is opened.
    fn filtered(&mut self, tid: Tid, index: Option<usize>, stopped: Stopped) -> Result<(), EngineError> {
        let regs = stopped.regs()?;
        if regs.orig_rax != libc::SYS_write as u64 {
            self.opens(index, &stopped, &regs)?;
            return Ok(stopped.resume(Resume::Free, 0)?);
        }
        let Some(number) = crate::os::launch::gate(regs.rdi) else {
            return Ok(stopped.resume(Resume::Free, 0)?);
        };
        let number = number as usize;
        let known = self.engine.files.gates.get(number).map(|gate| gate.file);
        let (Some(file), Some(at)) = (known, regs.rsi.checked_sub(WINDOW.base)) else {
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

    /// A thread is about to receive a signal.
    fn signalled(&mut self, index: usize, stopped: &Stopped, signal: i32) -> Result<(), EngineError> {
        let mut info = stopped.signal_info()?;
        // The program knows itself by other numbers.
        if ptrace::sender(&info) == Some(self.process.0) {
            ptrace::set_sender(&mut info, FIRST_TID);
            stopped.set_signal_info(&info)?;
        }
        let faults = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE);
        let fault = (faults && info.si_code > 0).then(|| ptrace::fault_address(&info));
        self.threads[index].fault = fault.map(|at| at.wrapping_sub(WINDOW.base));
        if faults {
            self.threads[index].must_fault = false;
        } else {
            self.trace.push(mix(0x516, signal as u64));
            self.give_back_returns(index);
        }
        self.new_state(index);
        Ok(())
    }

    /// Whether a signal waits for the thread: then that comes first, and the gate again after it.
    pub(super) fn signal_first(&mut self, index: usize) -> bool {
        if !self.expects_signals || !proc::has_signal(self.process, self.threads[index].tid) {
            return false;
        }
        self.give_back_returns(index);
        let thread = &mut self.threads[index];
        thread.flight = None;
        thread.slot = Some(Slot::Retry);
        true
    }

    /// Ends every process of this execution, and waits for their ends.
    pub(super) fn kill_all(&mut self) {
        if std::mem::replace(&mut self.reaped, true) {
            return;
        }
        ptrace::kill(self.process);
        for &child in &self.children {
            ptrace::kill(child);
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
            if self.threads[index].mode == Mode::Ended {
                continue;
            }
            let (pc, stack) = self.here(index);
            let stack = self.engine.sites.stack_of(pc, stack, &self.modules);
            states.push(ThreadState { thread: self.threads[index].id, doing: self.doing(index), stack });
        }
        states
    }

    /// In words.
    fn doing(&self, index: usize) -> String {
        let thread = &self.threads[index];
        let call = thread.calls.last().filter(|call| call.kind.synchronises());
        let syscall = || thread.syscall.map(|it| syscalls::name(it.number));
        match (thread.mode, call) {
            (Mode::Asleep, Some(call)) => format!("waits in {} of {:#x}", call.kind.name(), call.args[0]),
            (Mode::Asleep, None) => match thread.syscall {
                Some(it) if it.number == libc::SYS_futex as u64 => {
                    format!("waits for the futex word {:#x}", it.args[0])
                }
                Some(it) => format!("sleeps in {}", syscalls::name(it.number)),
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

    /// Waits until a thread that is away comes back.
    fn wait_for_any(&mut self) -> Result<(), EngineError> {
        while self.end.is_none()
            && !self.threads.iter().any(|thread| thread.mode == Mode::Away && thread.stopped.is_some())
        {
            self.pump(true)?;
            self.check_limits()?;
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
            // One that the kernel has woken is on its way: which it is, must not depend on our luck.
            if self.threads[index].stopped.is_none()
                && stirred
                && proc::sleeps(self.process, tid) == Some(false)
            {
                self.wait_for(index)?;
            }
            if self.threads[index].stopped.is_some() {
                self.machine.back(self.threads[index].id);
                self.threads[index].mode = Mode::Running;
            }
        }
        Ok(())
    }

    /// The mappings of the program's memory, by its own addresses, with the names of the files that were copied.
    pub(super) fn mappings(&self) -> Vec<Mapping> {
        let all = proc::mappings(self.memory.thread()).into_iter();
        all.filter(|mapping| mapping.start >= WINDOW.base && mapping.end <= WINDOW.base + WINDOW.len)
            .map(|mapping| {
                let copy = self.engine.files.mapped(&mapping);
                let (start, end) = (mapping.start - WINDOW.base, mapping.end - WINDOW.base);
                let name = copy.map_or_else(
                    || mapping.name.clone(),
                    |number| self.engine.files.copies[number].path.clone(),
                );
                Mapping { start, end, name, executable: copy.is_some(), ..mapping }
            })
            .collect()
    }
}

impl<S: Strategy> Drop for Run<'_, S> {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// What qemu itself says on the program's standard error when a signal ends the program.
fn remove_qemus_words(stderr: &mut Vec<u8>) {
    let words = b"qemu: uncaught target signal ";
    if let Some(at) = stderr.windows(words.len()).rposition(|bytes| bytes == words)
        && stderr[at..].iter().filter(|&&byte| byte == b'\n').count() <= 1
    {
        stderr.truncate(at);
    }
}
