//! An execution under way, as far as it is the same to all engines.
//!
//! Engines differ in how they stop threads and reach their registers. What happens then is one thing: the machine is
//! asked who goes on ([`super::schedule`]), futexes and time are emulated ([`super::futex`], [`super::answers`]), the C
//! runtime's functions mean something to the model ([`super::library`]). That code is written once, over [`Execution`].

use super::aliases::Aliases;
use super::busy::Busy;
use super::calls::Told;
use super::expiring::Expirations;
use super::joins::Lives;
use super::journal::Journal;
use super::locks::Locks;
use super::misuse::Misuses;
use super::modules::Module;
use super::private::Private;
use super::sites::{SiteTable, StackId, What};
use super::stuck::Rounds;
use super::thread::{Mode, Pending, Thread};
use super::time::{Clock, mix};
use super::timers::Timers;
use super::waits::Waits;
use super::world::Streams;
use super::{End, EngineError, EngineOptions};
use crate::os::Tid;
use crate::os::memory::ProcessMemory;
use crate::os::proc::Mapping;
use std::collections::{HashMap, HashSet};
use std::ops::DerefMut;
use std::path::PathBuf;
use std::time::Instant;
use wmtrace_model::machine::Machine;
use wmtrace_model::op::{Addr, How, Op, Place, Site, Step, ThreadId};
use wmtrace_model::strategy::Strategy;

/// The most warnings of an execution: a program must not fill the memory with them.
const MAX_WARNINGS: usize = 100;

/// Steps after which the only thread that is left runs natively, although it has not joined the others.
const LONELY: u64 = 50_000;

/// What has happened in an execution so far, and how long it may go on.
pub(super) struct Course {
    pub(super) clock: Clock,
    /// Blocks of memory that the program has allocated since it has threads.
    pub(super) heap: HashMap<u64, u64>,
    /// Processes that the program has made; they run natively.
    pub(super) children: HashSet<Tid>,
    pub(super) warnings: Vec<String>,
    /// What `--verify` compares.
    pub(super) journal: Option<Journal>,
    pub(super) end: Option<End>,
    /// How often a thread has run for long without an operation.
    pub(super) turns: u64,
    /// Events, and instructions in between as far as the engine sees them.
    pub(super) steps: u64,
    /// Where threads were, now and then.
    pub(super) busy: Busy,
    /// How many there were at the last event, and at the last one at which there were several threads.
    pub(super) last_event: u64,
    pub(super) last_company: u64,
    /// How often threads that seem to spin for ever have been set going again.
    pub(super) second_looks: u32,
    /// The file of the program that made the first thread.
    pub(super) executes: Option<PathBuf>,
    /// How often all slept, and a timer changed nothing.
    pub(super) stuck: Rounds,
    /// Whether the program believes that it may be dumped.
    pub(super) dumpable: u64,
    /// The kernel has done something for the program: it may have woken a thread.
    pub(super) stirred: bool,
    pub(super) timers: Timers,
    /// Signals after whose handlers system calls begin anew (SA_RESTART), a bit each, by the program's numbers.
    pub(super) restarting: u64,
    /// Signals that have handlers, likewise.
    pub(super) caught: u64,
    /// Timers that are descriptors.
    pub(super) expirations: Expirations,
    /// Threads that wait for descriptors.
    pub(super) waits: Waits,
    /// Signals may come while threads sleep.
    pub(super) expects_signals: bool,
    /// When the execution has taken too long.
    pub(super) deadline: Instant,
    /// Every process of it is gone.
    pub(super) reaped: bool,
    /// Synchronisation objects of the C library, and threads that were joined or detached.
    pub(super) locks: Locks,
    pub(super) lives: Lives,
    pub(super) misuses: Misuses,
    pub(super) aliases: Aliases,
    /// What the kernel has refused, and whether the program itself may have sent the signal that kills it.
    pub(super) lacks: Option<String>,
    pub(super) may_be_killed: bool,
    /// Threads run natively until the function of `--from` is entered; whose turn it is, and whether the one that runs
    /// has had its turn.
    pub(super) prelude: bool,
    pub(super) turn: usize,
    pub(super) turn_is_over: bool,
}

impl Course {
    pub(super) fn new(clock: Clock, options: &EngineOptions) -> Course {
        Course {
            clock,
            heap: HashMap::new(),
            children: HashSet::new(),
            warnings: Vec::new(),
            journal: options.verify.then(Journal::default),
            end: None,
            turns: 0,
            steps: 0,
            busy: Busy::default(),
            last_event: 0,
            last_company: 0,
            second_looks: 0,
            executes: None,
            stuck: Rounds::default(),
            dumpable: 1,
            stirred: false,
            timers: Timers::default(),
            restarting: 0,
            caught: 0,
            expirations: Expirations::default(),
            waits: Waits::default(),
            expects_signals: false,
            deadline: Instant::now() + options.timeout,
            reaped: false,
            locks: Locks::default(),
            lives: Lives::default(),
            misuses: Misuses::default(),
            aliases: Aliases::default(),
            lacks: None,
            may_be_killed: false,
            prelude: false,
            turn: 0,
            turn_is_over: false,
        }
    }

    /// Something that wmtrace does not do, or not well, is said once.
    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The user may have had enough, or the time may be over.
    pub(super) fn check_limits(&mut self) -> Result<(), EngineError> {
        if crate::os::interrupt::requested() {
            return Err(EngineError::Interrupted);
        }
        if self.deadline <= Instant::now() {
            self.end.get_or_insert(End::TimedOut);
        }
        Ok(())
    }

    /// What has been going on since then was wmtrace reading files, which may be large: not the program's time.
    pub(super) fn not_counted(&mut self, since: Instant) {
        self.deadline += since.elapsed();
    }
}

/// What the shared code looks at and changes, all at once.
pub(super) struct Parts<'a, S: Strategy, T> {
    pub(super) machine: &'a mut Machine<S>,
    pub(super) course: &'a mut Course,
    /// By [`ThreadId`].
    pub(super) threads: &'a mut [T],
    pub(super) memory: &'a ProcessMemory,
    pub(super) process: Tid,
    pub(super) modules: &'a [Module],
    pub(super) sites: &'a mut SiteTable,
    pub(super) options: &'a EngineOptions,
    pub(super) streams: &'a mut Streams,
    pub(super) private: &'a mut Private,
    /// The processors that the program believes to have.
    pub(super) affinity: &'a nix::sched::CpuSet,
}

/// What an engine can do with an execution of its own.
pub(super) trait Execution: Sized {
    type Strategy: Strategy;
    type Thread: DerefMut<Target = Thread>;

    fn parts(&mut self) -> Parts<'_, Self::Strategy, Self::Thread>;

    /// The mappings of the program's memory.
    fn mappings(&self) -> Vec<Mapping>;

    /// Where the thread is for the program: at an instruction under the model, or at the call that led elsewhere.
    fn here(&mut self, index: usize) -> (u64, StackId);

    /// The last jump that was taken in each function that the thread is in, innermost first, as far as that is known: where
    /// from, and where to.
    fn last_jumps(&mut self, _: usize) -> Vec<Option<(u64, u64)>> {
        Vec::new()
    }

    /// The registers of a thread that sleeps, as far as they decide what it does next, and its stack pointer.
    fn registers(&mut self, index: usize) -> (Vec<u64>, u64);

    /// A thread goes on until it stops before an operation, sleeps, leaves or ends.
    fn advance(&mut self, index: usize) -> Result<(), EngineError>;

    /// The thread is about to stop before an operation: what is counted between two of them begins anew.
    fn begins_operation(&mut self, index: usize);

    /// Performs the part of an instruction that the thread has stopped before.
    fn perform_part(&mut self, index: usize, how: How) -> Result<(), EngineError>;

    /// Performs the fence instruction that the thread is at.
    fn perform_fence(&mut self, index: usize) -> Result<(), EngineError>;

    /// Tells the machine of accesses that have been made.
    fn tell(&mut self, index: usize, told: &[Told]);

    /// The system call that the thread is in does not happen: this is its result.
    fn skip(&mut self, index: usize, result: u64) -> Result<(), EngineError>;

    /// The kernel does it. `may_block`: it may wait there for somebody.
    fn pass(&mut self, index: usize, may_block: bool) -> Result<(), EngineError>;

    /// A sleeper is about to go on, for a signal.
    fn interrupts(&mut self, index: usize);

    /// The number that the kernel has for a signal of the program's, if that is known.
    fn real_signal(&mut self, signal: i32) -> Option<i32>;

    /// Whether the kernel shows which signals wait for a thread that blocks them.
    fn shows_blocked_signals(&self) -> bool;

    /// A sleeper goes on, and makes its system call once more when the handler of a signal is over.
    fn begins_anew(&mut self, index: usize);

    /// A signal has been sent to one of the threads, whatever it is doing.
    fn may_be_hit(&mut self);

    /// The thread is about to end: others may look at what it leaves behind.
    fn about_to_end(&mut self, index: usize);

    /// The kernel clears the thread's number, and others may take its stack: it needs that no more.
    fn leaves_for_good(&mut self, index: usize) -> Result<(), EngineError>;

    /// The thread goes, and is waited for.
    fn has_ended(&mut self, index: usize) -> Result<(), EngineError>;

    /// Deals with one stop, whoever's it is, without waiting. False if there is none yet.
    fn poll(&mut self) -> Result<bool, EngineError>;

    /// Waits until a thread that is away comes back, or a signal comes for one that is not.
    fn wait_for_any(&mut self) -> Result<(), EngineError>;

    /// Threads that were away in the kernel and are back run again.
    fn look_for_returned(&mut self) -> Result<(), EngineError>;

    /// Whether the program's code is under the model now, not before its first thread or after its last one.
    fn is_watched(&self) -> bool;

    /// Where the thread is while it is not; nothing if that is not known.
    fn site_unwatched(&mut self, index: usize) -> Option<Site>;

    /// The site of something that the thread does, or has done by a library.
    fn site_here(&mut self, index: usize, what: What) -> Site {
        let (pc, stack) = self.here(index);
        let it = self.parts();
        it.sites.site(pc, stack, what, it.modules, String::new)
    }

    /// How many threads have not ended.
    fn alive(&mut self) -> usize {
        self.parts().threads.iter().filter(|thread| thread.mode != Mode::Ended).count()
    }

    /// Whether all other threads have ended, and this one knows it: it has joined them, or has gone on without them
    /// for so long (they may be detached) that what they did last no longer matters.
    fn others_are_over(&mut self, index: usize) -> bool {
        let Parts { threads, course, .. } = self.parts();
        let others = || threads.iter().enumerate().filter(|&(other, _)| other != index).map(|(_, it)| it);
        if threads.len() < 2 || others().any(|other| other.mode != Mode::Ended) {
            course.last_company = course.last_event;
            return false;
        }
        course.last_event - course.last_company > LONELY || others().all(|other| other.joined)
    }

    /// An address that nothing else has: the thread's own.
    fn own_place(&mut self, index: usize) -> Place {
        Place::new(Addr(self.parts().threads[index].stack.start | 1), 1)
    }

    /// Something that wmtrace does not do, or not well, is said once.
    fn warn(&mut self, warning: impl Into<String>) {
        self.parts().course.warn(warning);
    }

    /// The thread's state has changed in a way that its fingerprint does not cover.
    fn new_state(&mut self, index: usize) {
        let it = self.parts();
        it.course.clock.event();
        let written = &mut it.threads[index].written;
        *written = mix(*written, it.course.clock.now());
    }

    /// The thread stops before an operation.
    fn pend(&mut self, index: usize, pending: Pending, op: Op, site: Site, state: u64) {
        self.begins_operation(index);
        let it = self.parts();
        let thread = &mut it.threads[index];
        thread.pending = Some(pending);
        thread.mode = Mode::Ready;
        it.machine.pending(thread.id, op, site, state);
    }

    /// The operation has happened.
    fn retired(&mut self, id: ThreadId, read: u128, written: u128) -> Result<(), EngineError> {
        Ok(self.parts().machine.retired(id, read, written)?)
    }

    /// Under PSO and PSLO: everything that the thread has stored becomes visible.
    fn flush(&mut self, index: usize) -> Result<(), EngineError> {
        let it = self.parts();
        let id = it.threads[index].id;
        while let Some(Step::Commit { at, value, .. }) = it.machine.flush(id, &mut &*it.memory) {
            it.memory.set_value(at, value)?;
        }
        Ok(())
    }

    /// The same of everything that anybody has stored there.
    fn flush_range(&mut self, start: u64, len: u64) -> Result<(), EngineError> {
        let it = self.parts();
        while let Some(Step::Commit { at, value, .. }) =
            it.machine.flush_range(Addr(start), len, &mut &*it.memory)
        {
            it.memory.set_value(at, value)?;
        }
        Ok(())
    }
}
