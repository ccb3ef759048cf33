//! The machine: one execution in progress. Model, strategy, races and events meet here, and engines talk to
//! nothing else.
//!
//! ```text
//! engine                            machine
//!   thread t stops before an op  →  pending(t, op)
//!                                   next() → Run(t, how) | Commit … | Finished | Stuck …
//!   performs it as told          →  retired(t, what it read, what it wrote)
//! ```
//!
//! [`Machine::next`] may be called when every thread that can run has stopped before an operation. Between a
//! [`Step::Run`] and its `retired` (or [`Machine::faulted`]) nothing else happens. Things that are no choice are told, not asked:
//! [`Machine::spawn`], [`Machine::exit`], [`Machine::plain`] (non-atomic accesses), [`Machine::alloc`],
//! [`Machine::release`], [`Machine::sleep`], [`Machine::foreign`] (memory that others have written) and so on.
//!
//! The machine keeps no pointer into the engine and allocates only to grow: an engine may run it inside
//! another process, and reset it for the next execution.

mod config;
mod enabled;
mod forget;
#[cfg(test)]
mod mutants;
mod perform;
mod plain;
mod spin;
mod stale;
mod sync;

pub use config::{Config, Finding, Limits, Mismatch, TooManyThreads};

use crate::execution::{Event, EventId, Execution, Label};
use crate::memory::clock::Msg;
use crate::memory::space::{CellId, Space};
use crate::memory::unlogged::Unlogged;
use crate::models::Model;
use crate::models::buffered::Held;
use crate::op::{Addr, Agent, ModelKind, Op, Place, Site, Step, ThreadId, Value};
use crate::strategy::{Choice, Pick, Strategy};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use perform::Flight;
use spin::{Spinning, Watch};
use stale::Stale;

/// The program's memory, as the engine can read it.
pub trait Memory {
    /// The bytes at the place now.
    fn read(&mut self, at: Place) -> Value;
}

/// Events, epochs and places in modification order are numbered with `u32`, and none of them grows faster than
/// the number of events. What is told between two steps has room above this.
const MOST_EVENTS: u64 = u32::MAX as u64 - (1 << 28);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    /// The engine runs it.
    Running,
    /// It has stopped before an operation.
    Ready,
    /// It sleeps in the kernel: on a futex word, or for another reason.
    Asleep(Option<Addr>),
    /// It is in the kernel, and the engine says when it comes back.
    Away,
    Ended,
}

#[derive(Clone, Debug)]
struct Thread {
    status: Status,
    site: Site,
    state: u64,
    /// How many operations it has performed.
    serial: u32,
    /// Where it is in `ready`, if it is.
    listed: Option<u32>,
    /// If it sleeps: how many had gone to sleep before it, and what it does instead of going on.
    slept: u64,
    sleeps_in: Option<Op>,
    watch: Watch,
    stale: Stale,
    spinning: Spinning,
    /// Whether it is counted in [`Machine::doubtful`].
    doubtful: bool,
    /// Epochs for models that have no clocks, so that events carry one all the same.
    epoch: u32,
    /// It may have made a release fence ([`Machine::maybe_fence`]): its next store counts as if it had.
    may_have_released: Option<Site>,
}

/// One execution in progress.
#[derive(Clone, Debug)]
pub struct Machine<S> {
    config: Config,
    strategy: S,
    model: Model,
    space: Space,
    /// TSO: stores that are no events.
    unlogged: Unlogged,
    execution: Execution,
    findings: Vec<Finding>,
    threads: Vec<Thread>,
    /// Threads that are `Running`.
    running: u32,
    /// Threads that are `Ready` by id, then (PSO, PSLO) the buffers.
    ready: Vec<Choice>,
    /// How many of `ready` are threads.
    ready_threads: usize,
    /// How many ready threads may be unable to go on: they spin, or wait for another's end.
    doubtful: u32,
    /// What the strategy chooses from when that is not all of `ready`.
    enabled: Vec<Choice>,
    /// A thread that was picked, and whose held stores are being committed first.
    picked: Option<ThreadId>,
    flight: Option<Flight>,
    /// The cell that the step under way has made, if it has.
    made: Option<CellId>,
    /// The held store that the step under way reads, if it is that.
    forwarded: Option<Held>,
    woken: Vec<ThreadId>,
    /// How often a thread has gone to sleep.
    sleeps: u64,
    objects: BTreeMap<u64, Msg>,
    /// How many things that spinning threads may wait for were told: plain stores, and releases of locks.
    told: u64,
    /// Whether the program has told of any allocation: dead and fresh memory exist.
    has_heap: bool,
    scratch: Vec<CellId>,
    /// At how many cells to look for some to forget.
    sweep_at: usize,
    /// Stores so far: the next store's stamp is one more.
    stamp: u64,
    events: u64,
    /// Steps that the strategy has picked, and how many of them were communication events.
    steps: u64,
    communications: u64,
    /// Stores ever held back.
    held: u32,
}

impl<S: Strategy> Machine<S> {
    /// A machine in which nothing has happened yet.
    pub fn new(config: Config, strategy: S) -> Machine<S> {
        Machine {
            strategy,
            model: Model::new(config.model, config.mutant),
            space: Space::new(config.limits.pages),
            unlogged: Unlogged::default(),
            execution: Execution::new(config.model),
            findings: Vec::new(),
            threads: Vec::new(),
            running: 0,
            ready: Vec::new(),
            ready_threads: 0,
            doubtful: 0,
            enabled: Vec::new(),
            picked: None,
            flight: None,
            made: None,
            forwarded: None,
            woken: Vec::new(),
            sleeps: 0,
            objects: BTreeMap::new(),
            told: 0,
            has_heap: false,
            scratch: Vec::new(),
            sweep_at: config.limits.cells,
            stamp: 0,
            events: 0,
            steps: 0,
            communications: 0,
            held: 0,
            config,
        }
    }

    /// Makes it ready for another execution. The strategy stays as it is.
    pub fn reset(&mut self) {
        self.model.clear();
        self.space.clear();
        self.unlogged.clear();
        self.execution.events.clear();
        self.execution.bytes.clear();
        self.findings.clear();
        self.threads.clear();
        self.running = 0;
        self.ready.clear();
        self.ready_threads = 0;
        self.doubtful = 0;
        self.picked = None;
        self.flight = None;
        self.made = None;
        self.forwarded = None;
        self.woken.clear();
        self.objects.clear();
        self.has_heap = false;
        self.sweep_at = self.config.limits.cells;
        (self.stamp, self.events, self.held, self.told) = (0, 0, 0, 0);
        (self.steps, self.communications, self.sleeps) = (0, 0, 0);
    }

    /// The strategy.
    pub fn strategy(&self) -> &S {
        &self.strategy
    }

    /// The strategy, to move it on between executions.
    pub fn strategy_mut(&mut self) -> &mut S {
        &mut self.strategy
    }

    /// What has happened, if events are kept.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// What went wrong so far.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many steps the strategy has picked (PCT's `k`), and how many of them were communication events (PCTWM's
    /// `k_com`). Events that are told (allocations, new threads, what native code wrote) are neither.
    pub fn counts(&self) -> (u64, u64) {
        (self.steps, self.communications)
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A new thread exists; it is running until it stops before an operation. It knows what its parent knows,
    /// or, without one, nothing: the threads that exist from the start.
    ///
    /// Under PSO and PSLO the engine first makes the parent's stores visible with [`Machine::flush`].
    pub fn spawn(&mut self, parent: Option<ThreadId>, site: Site) -> Result<ThreadId, TooManyThreads> {
        let child = ThreadId(self.threads.len() as u32);
        if let Some(parent) = parent {
            self.push(parent, site, Label::Create { child });
        }
        let made = match &mut self.model {
            Model::Sc => Some(()),
            Model::Tso(tso) => tso.spawn(parent, self.stamp),
            Model::Buffered(buffered) => buffered.spawn(parent, self.stamp),
            Model::C11(c11) => c11.spawn(parent),
        };
        if made.is_none() {
            // Nothing was created after all.
            if parent.is_some() {
                self.events -= 1;
                self.execution.events.truncate(self.events as usize);
            }
            return Err(TooManyThreads);
        }
        if let Some(parent) = parent {
            self.end_epoch(parent);
        }
        self.threads.push(Thread {
            status: Status::Running,
            site,
            state: 0,
            serial: 0,
            listed: None,
            slept: 0,
            sleeps_in: None,
            watch: Watch::default(),
            stale: Stale::default(),
            spinning: Spinning::No,
            doubtful: false,
            epoch: 1,
            may_have_released: None,
        });
        self.running += 1;
        self.strategy.started(child);
        Ok(child)
    }

    /// The thread has ended.
    pub fn exit(&mut self, thread: ThreadId, site: Site) {
        self.push(thread, site, Label::Exit);
        match &mut self.model {
            Model::Sc => {}
            Model::Tso(tso) => tso.exit(thread),
            Model::Buffered(buffered) => buffered.exit(thread),
            Model::C11(c11) => c11.exit(thread),
        }
        self.end_epoch(thread);
        self.set_status(thread, Status::Ended);
    }

    /// The thread has stopped before an operation. `state` is a fingerprint of everything in the thread that
    /// decides what it does next, or 0 if the engine has none. (A counter on the stack, or a clock that the thread
    /// reads, decides too: an engine that cannot see these must not claim to know the state.)
    ///
    /// # Panics
    /// When the thread is not running, or the operation is none a program can do (a load that releases …).
    #[inline]
    pub fn pending(&mut self, thread: ThreadId, op: Op, site: Site, state: u64) {
        debug_assert!(op_is_sane(&op), "{op:?}");
        let spins = self.config.spin && op.reads();
        let it = &mut self.threads[thread.index()];
        assert_eq!(it.status, Status::Running, "{thread} has stopped twice");
        (it.site, it.state) = (site, state);
        it.spinning = match op.place() {
            Some(at) if spins => it.watch.about_to_read(site, at, state),
            _ => Spinning::No,
        };
        it.doubtful = it.spinning != Spinning::No || matches!(op, Op::Join { .. });
        self.doubtful += u32::from(it.doubtful);
        let choice = Choice { agent: Agent::Thread(thread), op, serial: it.serial };
        self.set_status(thread, Status::Ready);
        match self.threads[thread.index()].listed {
            Some(index) => self.ready[index as usize] = choice,
            None => self.list(thread, choice),
        }
    }

    /// The thread went into the kernel on its own and may stay there; [`Machine::back`] says when it returns.
    /// A thread that yields or sleeps only for a moment is better left running, with a [`Machine::hint`].
    pub fn away(&mut self, thread: ThreadId) {
        self.threads[thread.index()].watch.left();
        self.set_status(thread, Status::Away);
    }

    /// The thread is back from the kernel, and running.
    pub fn back(&mut self, thread: ThreadId) {
        self.set_status(thread, Status::Running);
    }

    /// The running thread sleeps in the kernel for a reason that is no futex word (a sleep, a futex that hands over
    /// priority): only [`Machine::interrupt`] sets it going again. To everything else it is like one that sleeps in
    /// [`Op::Wait`].
    ///
    /// # Panics
    /// When the thread is not running.
    pub fn sleep(&mut self, thread: ThreadId) {
        let it = &self.threads[thread.index()];
        assert_eq!(it.status, Status::Running, "{thread} does not run");
        let call = it.listed.map(|index| self.ready[index as usize].op);
        self.fall_asleep(thread, None, call.filter(|op| matches!(op, Op::Sync { .. })));
    }

    /// A sleeper goes on although nobody woke it (a timeout, a signal): it is running now.
    ///
    /// [`Machine::next`] knows no timers: it says that all are stuck, and can be asked again when one of the sleepers
    /// has been interrupted. A thread that sleeps in a loop and is interrupted each time is called a livelock only
    /// after as many rounds as [`Limits::patience`] says: who knows what the kernel tells it next time.
    ///
    /// # Panics
    /// When the thread does not sleep.
    pub fn interrupt(&mut self, thread: ThreadId) {
        assert!(self.is_asleep(thread), "{thread} does not sleep");
        self.threads[thread.index()].watch.interrupted();
        self.set_status(thread, Status::Running);
    }

    /// The threads that sleep on the futex word at `at`, in the order in which they fell asleep.
    pub fn sleepers(&self, at: Addr) -> Vec<ThreadId> {
        let asleep = (0..).zip(&self.threads).filter(|(_, it)| it.status == Status::Asleep(Some(at)));
        let mut sleepers: Vec<(u64, ThreadId)> = asleep.map(|(id, it)| (it.slept, ThreadId(id))).collect();
        sleepers.sort_unstable();
        sleepers.into_iter().map(|(_, thread)| thread).collect()
    }

    /// The first `count` [sleepers](Machine::sleepers) of `from` (or all, if they are fewer) sleep on `to` instead.
    /// Returns how many they are.
    pub fn requeue(&mut self, from: Addr, to: Addr, count: u32) -> u32 {
        let mut moved = 0;
        for thread in self.sleepers(from).into_iter().take(count as usize) {
            self.threads[thread.index()].status = Status::Asleep(Some(to));
            moved += 1;
        }
        moved
    }

    fn fall_asleep(&mut self, thread: ThreadId, at: Option<Addr>, op: Option<Op>) {
        self.sleeps += 1;
        let it = &mut self.threads[thread.index()];
        (it.slept, it.sleeps_in) = (self.sleeps, op);
        self.set_status(thread, Status::Asleep(at));
    }

    /// What a thread that is ready or asleep has stopped before: of one that [sleeps](Machine::sleep) for no futex
    /// word, the [`Op::Sync`] that it was in, if that was its last operation.
    pub fn pending_op(&self, thread: ThreadId) -> Option<Op> {
        let it = &self.threads[thread.index()];
        match it.status {
            Status::Ready => Some(self.choice(thread).op),
            Status::Asleep(_) => it.sleeps_in,
            Status::Running | Status::Away | Status::Ended => None,
        }
    }

    /// Whether the thread is ready and goes round a loop, learning nothing.
    pub fn is_spinning(&self, thread: ThreadId) -> bool {
        let it = &self.threads[thread.index()];
        it.status == Status::Ready && it.spinning != Spinning::No
    }

    /// Whether the thread has ended. (Under PSO and PSLO its held stores may still be to come.)
    pub fn has_ended(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].status == Status::Ended
    }

    /// The program says that the thread waits for others (yield, pause, a short sleep).
    pub fn hint(&mut self, thread: ThreadId) {
        self.threads[thread.index()].watch.hint();
    }

    /// The thread lets others go on before it does anything else: it yields, or it has run for long without an operation.
    pub fn yields(&mut self, thread: ThreadId) {
        self.hint(thread);
        self.strategy.yields(thread);
    }

    /// Something may happen to the thread that the model does not see (a signal, a store to memory that was its own):
    /// however it went round before, it may do something else now.
    pub fn disturb(&mut self, thread: ThreadId) {
        let it = &mut self.threads[thread.index()];
        it.watch.news();
        if it.status == Status::Ready && it.spinning != Spinning::No {
            // Only reads spin: it was counted for nothing else.
            it.spinning = Spinning::No;
            self.doubtful -= u32::from(core::mem::take(&mut it.doubtful));
        }
    }

    /// The threads that the last [`Op::Wake`] woke. They are running now.
    pub fn woken(&self) -> &[ThreadId] {
        &self.woken
    }

    /// The operation that a ready thread has stopped before.
    #[inline]
    fn choice(&self, thread: ThreadId) -> &Choice {
        let index = self.threads[thread.index()].listed.expect("a thread that has stopped is listed");
        &self.ready[index as usize]
    }

    #[inline]
    fn set_status(&mut self, thread: ThreadId, status: Status) {
        let it = &mut self.threads[thread.index()];
        let old = core::mem::replace(&mut it.status, status);
        self.running -= u32::from(old == Status::Running);
        self.running += u32::from(status == Status::Running);
        if old == Status::Ready {
            self.doubtful -= u32::from(core::mem::take(&mut it.doubtful));
        }
        // A thread that runs stays in the list: most of the time it is back at once.
        if matches!(status, Status::Asleep(_) | Status::Away | Status::Ended)
            && let Some(index) = it.listed.take()
        {
            self.ready.remove(index as usize);
            self.ready_threads -= 1;
            self.number_listed(index as usize);
        }
    }

    /// Puts the thread into the list of those that can be chosen.
    fn list(&mut self, thread: ThreadId, choice: Choice) {
        let threads = &self.ready[..self.ready_threads];
        let index = threads.partition_point(|other| other.agent.thread() < thread);
        self.ready.insert(index, choice);
        self.ready_threads += 1;
        self.number_listed(index);
    }

    fn number_listed(&mut self, from: usize) {
        for index in from..self.ready_threads {
            let thread = self.ready[index].agent.thread();
            self.threads[thread.index()].listed = Some(index as u32);
        }
    }

    /// What happens next.
    ///
    /// # Panics
    /// When a thread is still running, or the last step has not been retired.
    pub fn next(&mut self, memory: &mut impl Memory) -> Step {
        assert_eq!(self.running, 0, "a thread is still running");
        assert!(self.flight.is_none(), "the last step has not been retired");
        if let Some(thread) = self.picked.take() {
            return self.run(thread, memory);
        }
        if self.events >= self.config.max_events.min(MOST_EVENTS) {
            return Step::Limit;
        }
        if let Err(step) = self.find_enabled(memory) {
            return step;
        }
        let enabled = if self.enabled.is_empty() { &self.ready[..] } else { &self.enabled[..] };
        let choice = match self.strategy.pick(enabled) {
            Pick::Take(index) => &enabled[index],
            Pick::Abandon => return Step::Abandoned,
            Pick::Diverged(divergence) => return Step::Diverged(divergence),
        };
        self.strategy.taken(choice, enabled);
        self.steps += 1;
        match choice.agent {
            Agent::Thread(thread) => {
                // A thread that is alone has nobody to communicate with.
                self.communications += u64::from(choice.op.communicates() && self.threads.len() > 1);
                self.run(thread, memory)
            }
            Agent::Buffer(thread, place) => self.commit(thread, place, memory),
        }
    }

    /// Whether nobody is in the middle of a step.
    fn is_idle(&self) -> bool {
        self.flight.is_none() && self.picked.is_none()
    }

    fn is_asleep(&self, thread: ThreadId) -> bool {
        matches!(self.threads[thread.index()].status, Status::Asleep(_))
    }

    /// Whether the thread holds stores back.
    pub fn holds(&self, thread: ThreadId) -> bool {
        matches!(&self.model, Model::Buffered(buffered) if buffered.held(thread) > 0)
    }

    /// Makes the thread's held stores visible, one a call, before something that the kernel or another thread
    /// could see. `None` when there are none (left).
    pub fn flush(&mut self, thread: ThreadId, memory: &mut impl Memory) -> Option<Step> {
        let Model::Buffered(buffered) = &self.model else { return None };
        let place = buffered.oldest(thread)?;
        Some(self.commit(thread, place, memory))
    }

    /// Makes visible, one a call, what any thread holds back of a range that is about to be allocated or freed:
    /// a store must not arrive in memory that has begun another life. `None` when there is nothing (left).
    pub fn flush_range(&mut self, at: Addr, len: u64, memory: &mut impl Memory) -> Option<Step> {
        let Model::Buffered(buffered) = &self.model else { return None };
        let (thread, place) = buffered.held_in(at.0, at.0.saturating_add(len))?;
        Some(self.commit(thread, place, memory))
    }

    #[inline]
    fn epoch(&self, thread: ThreadId) -> u32 {
        match &self.model {
            Model::C11(c11) => c11.now(thread).1,
            _ => self.threads[thread.index()].epoch,
        }
    }

    fn end_epoch(&mut self, thread: ThreadId) {
        self.threads[thread.index()].epoch += 1;
    }

    /// Adds an event. Its epoch is the one that the thread is in, so this comes before what ends the epoch.
    #[inline]
    fn push(&mut self, thread: ThreadId, site: Site, label: Label) -> EventId {
        let id = EventId(self.events as u32);
        self.events += 1;
        if self.config.keep_events {
            let epoch = self.epoch(thread);
            self.execution.events.push(Event { thread, site, epoch, label });
        }
        id
    }

    /// Whether c11's race detection is on.
    fn finds_races(&self) -> bool {
        self.config.races && self.config.model == ModelKind::C11
    }

    fn found(&mut self, finding: Finding) {
        if self.findings.len() < self.config.limits.findings && !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// Whether a program can do this.
fn op_is_sane(op: &Op) -> bool {
    match *op {
        Op::Load { order, .. } => !order.releases() || order.is_sc(),
        Op::Store { order, .. } => !order.acquires() || order.is_sc(),
        Op::Rmw { order, .. } => order.is_atomic(),
        Op::Cas { order, failure, .. } => {
            order.is_atomic() && failure.is_atomic() && (!failure.releases() || failure.is_sc())
        }
        Op::Fence { order } => order.is_atomic(),
        Op::Wait { .. } | Op::Wake { .. } | Op::Sync { .. } | Op::Yield | Op::Join { .. } => true,
    }
}
