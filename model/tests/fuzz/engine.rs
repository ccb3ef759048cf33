//! A random program and the engine that runs it, one in the other: whenever a thread runs, the generator draws
//! what it does next. The engine keeps memory of its own, does exactly what the machine says, and writes down
//! what it did in words of its own.
//!
//! Every store writes its own number into each of its bytes, so that a byte that is read says which store it is
//! from: the log needs nothing from the machine.

use wmtrace_model::execution::{Execution, Label};
use wmtrace_model::machine::{Config, Finding, Limits, Machine, Memory};
use wmtrace_model::op::{Addr, How, ModelKind, Op, Place, Site, Step, Stuck, ThreadId, Value};
use wmtrace_model::order::Order;
use wmtrace_model::rng::Rng;
use wmtrace_model::strategy::{Parameters, Strategy, StrategyKind, build};

/// What kind of program, and how it is run.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) model: ModelKind,
    pub(crate) insertion: bool,
    pub(crate) limits: Limits,
    pub(crate) strategy: StrategyKind,
    /// Places overlap, and plain accesses cover parts of them.
    pub(crate) mixed: bool,
    /// Memory is allocated and freed.
    pub(crate) heap: bool,
    /// Every operation has a site of its own. Otherwise there are few, and threads seem to go round in loops.
    pub(crate) sites: bool,
    /// Memory is also written without telling the machine.
    pub(crate) foreign: bool,
    pub(crate) seed: u64,
}

/// What a thread did.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum What {
    /// `read`: its bytes, least significant first. `wrote`: the number in each of its bytes.
    Access {
        addr: u64,
        len: u64,
        order: Order,
        read: Option<[u8; 16]>,
        wrote: Option<u8>,
        /// Exactly one place, with a history: an operation, not a range.
        exact: bool,
        loads: bool,
    },
    Fence(Order),
    Create(u32),
    Exit,
    Join(u32),
    Release(u64),
    Acquire(u64),
    Alloc {
        addr: u64,
        len: u64,
        zeroed: bool,
    },
    Free {
        addr: u64,
        len: u64,
    },
    /// Memory was written by somebody else, and the machine was told.
    Foreign {
        addr: u64,
        len: u64,
    },
    /// The same, but the machine was not told.
    Behind {
        addr: u64,
        len: u64,
    },
    /// All others had ended.
    Alone,
}

/// A line of the engine's log.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Entry {
    pub(crate) thread: u32,
    pub(crate) site: Site,
    pub(crate) what: What,
}

/// What came of it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Run {
    pub(crate) execution: Execution,
    pub(crate) findings: Vec<Finding>,
    pub(crate) log: Vec<Entry>,
    pub(crate) end: Step,
}

/// The program's memory: everything it touches is in here.
struct Ram(Vec<u8>);

const RAM: u64 = 0x800;

impl Memory for Ram {
    fn read(&mut self, at: Place) -> Value {
        let bytes = &self.0[at.addr.0 as usize..at.end() as usize];
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | Value::from(byte))
    }
}

impl Ram {
    fn write(&mut self, at: Place, value: Value) {
        let bytes = &mut self.0[at.addr.0 as usize..at.end() as usize];
        bytes.iter_mut().enumerate().for_each(|(index, byte)| *byte = (value >> (8 * index)) as u8);
    }
}

/// A value with this number in each of its bytes.
fn filled(width: u8, number: u8) -> Value {
    (0..width).fold(0, |value, _| value << 8 | Value::from(number))
}

fn bytes_of(value: Value) -> [u8; 16] {
    value.to_le_bytes()
}

/// Places that share no byte; some cross granules of eight bytes, the last one a page of 512.
const APART: [(u64, u8); 10] = [
    (0x100, 4),
    (0x104, 4),
    (0x108, 8),
    (0x110, 1),
    (0x111, 1),
    (0x113, 2),
    (0x116, 8),
    (0x120, 16),
    (0x134, 8),
    (0x1f8, 16),
];

/// Places that share bytes in every way.
const OVERLAPPING: [(u64, u8); 12] = [
    (0x100, 4),
    (0x100, 8),
    (0x104, 4),
    (0x102, 4),
    (0x106, 4),
    (0x107, 1),
    (0x104, 8),
    (0x100, 16),
    (0x10c, 2),
    (0x1fc, 8),
    (0x200, 4),
    (0x1f8, 16),
];

/// Blocks of the allocator, around those places; neighbours in one granule too, and one over two pages.
const BLOCKS: [(u64, u64); 6] =
    [(0x100, 0x20), (0x100, 4), (0x104, 0xc), (0x120, 0x30), (0x1f0, 0x20), (0x106, 3)];

const LOADS: [Order; 4] = [Order::Na, Order::Relaxed, Order::Acquire, Order::SeqCst];
const STORES: [Order; 4] = [Order::Na, Order::Relaxed, Order::Release, Order::SeqCst];
const UPDATES: [Order; 5] = [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];

#[derive(Clone, Copy, PartialEq, Debug)]
enum Status {
    Running,
    Ready { op: Op, number: u8 },
    Asleep,
    Away,
    Ended,
}

struct Engine<'m, S> {
    machine: &'m mut Machine<S>,
    setup: &'m Setup,
    rng: Rng,
    ram: Ram,
    threads: Vec<(Status, Site)>,
    log: Vec<Entry>,
    places: Vec<Place>,
    /// Percent of the scheduled accesses that are atomic.
    atomic: usize,
    site: u32,
    number: u8,
    /// How much the program still does before its threads end.
    budget: u32,
    /// Who sleeps on which futex word, if it is one, in the order of falling asleep.
    sleeping: Vec<(u32, Option<Addr>)>,
    /// How often all were stuck and somebody was interrupted.
    alarms: u32,
}

/// A machine for the setup.
pub(crate) fn machine<S: Strategy>(setup: &Setup, strategy: S) -> Machine<S> {
    let mut config = Config::new(setup.model);
    config.insertion = setup.insertion;
    config.foreign = setup.foreign;
    config.limits = setup.limits;
    Machine::new(config, strategy)
}

/// The strategy of the setup.
pub(crate) fn strategy(setup: &Setup) -> Box<dyn Strategy + Send> {
    let mut rng = Rng::new(!setup.seed);
    let parameters = Parameters {
        depth: rng.below(5) as u32,
        k: 20 + rng.below(80) as u32,
        k_com: 5 + rng.below(40) as u32,
        history: rng.below(4) as u32,
        eager: rng.below(2) == 0,
        aim: None,
    };
    build(setup.strategy, &parameters, setup.seed)
}

/// Runs the program of this seed. The machine may have run another one before, but its strategy is new.
pub(crate) fn run<S: Strategy>(setup: &Setup, machine: &mut Machine<S>) -> Run {
    machine.reset();
    let mut rng = Rng::new(setup.seed);
    let table: &[(u64, u8)] = if setup.mixed { &OVERLAPPING } else { &APART };
    let count = 1 + rng.below(4);
    let places = (0..count).map(|_| table[rng.below(table.len())]);
    let places = places.map(|(addr, width)| Place::new(Addr(addr), width)).collect();
    let atomic = [60, 80, 95][rng.below(3)];
    // Histories are first cut at 16 stores: tiny limits need longer programs to matter.
    let longest = if setup.limits.history < 16 { 300 } else { 100 };
    let budget = 20 + rng.below(longest) as u32;
    let mut engine = Engine {
        machine,
        setup,
        ram: Ram(vec![0; RAM as usize]),
        threads: Vec::new(),
        log: Vec::new(),
        places,
        atomic,
        site: 0,
        number: 0,
        budget,
        sleeping: Vec::new(),
        alarms: 0,
        rng,
    };
    let end = engine.run();
    let Engine { log, machine, .. } = engine;
    Run { execution: machine.execution().clone(), findings: machine.findings().to_vec(), log, end }
}

impl<S: Strategy> Engine<'_, S> {
    fn chance(&mut self, percent: usize) -> bool {
        self.rng.below(100) < percent
    }

    fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.below(from.len())]
    }

    fn place(&mut self) -> Place {
        self.places[self.rng.below(self.places.len())]
    }

    fn next_site(&mut self) -> Site {
        self.site += 1;
        Site(if self.setup.sites { self.site } else { self.site % 3 })
    }

    /// The number of a new store, unless they have run out: each names one store.
    fn next_number(&mut self) -> Option<u8> {
        (self.number < 250).then(|| {
            self.number += 1;
            self.number
        })
    }

    fn write_down(&mut self, thread: u32, site: Site, what: What) {
        self.log.push(Entry { thread, site, what });
    }

    fn run(&mut self) -> Step {
        for _ in 0..1 + self.rng.below(3) {
            self.spawn(None);
        }
        loop {
            while let Some(thread) = self.running() {
                self.advance(thread);
            }
            for thread in 0..self.threads.len() as u32 {
                if self.threads[thread as usize].0 == Status::Away && self.chance(30) {
                    self.come_back(thread);
                }
            }
            if !self.sleeping.is_empty() && self.chance(2) {
                self.interrupt();
            }
            if self.running().is_some() {
                continue;
            }
            match self.machine.next(&mut self.ram) {
                Step::Run { thread, how } => self.perform(thread.0, how),
                step @ Step::Commit { .. } => self.commit(step),
                Step::Idle => {
                    let away = self.threads.iter().position(|(status, _)| *status == Status::Away);
                    self.come_back(away.expect("somebody is away") as u32);
                }
                end => {
                    self.check_end(end);
                    if let Step::Stuck(_) = end
                        && !self.sleeping.is_empty()
                        && self.alarms < 10
                    {
                        assert_eq!(self.machine.next(&mut self.ram), end, "asked again");
                        self.alarms += 1;
                        self.interrupt();
                        continue;
                    }
                    return end;
                }
            }
        }
    }

    /// The machine says that nobody goes on: is that so?
    fn check_end(&self, end: Step) {
        let ended = |thread: ThreadId| self.threads[thread.index()].0 == Status::Ended;
        let stuck = |status: &Status| match *status {
            Status::Asleep => true,
            Status::Ready { op: Op::Join { child }, .. } => !ended(child),
            _ => false,
        };
        let mut left = self.threads.iter().map(|(status, _)| status).filter(|it| **it != Status::Ended);
        match end {
            Step::Finished => assert_eq!(left.next(), None),
            Step::Stuck(Stuck::Deadlock) => assert!(left.all(stuck), "{:?}", self.threads),
            other => panic!("{other:?}"),
        }
    }

    fn running(&self) -> Option<u32> {
        self.threads.iter().position(|(status, _)| *status == Status::Running).map(|index| index as u32)
    }

    /// A sleeper goes on without being woken.
    fn interrupt(&mut self) {
        let (thread, _) = self.sleeping.remove(self.rng.below(self.sleeping.len()));
        self.machine.interrupt(ThreadId(thread));
        self.threads[thread as usize].0 = Status::Running;
    }

    fn requeue(&mut self) {
        let (from, to) = (self.place().addr, self.place().addr);
        let count = self.one_of(&[0, 1, 2, u32::MAX]);
        let slept: Vec<ThreadId> =
            self.sleeping.iter().filter(|it| it.1 == Some(from)).map(|it| ThreadId(it.0)).collect();
        assert_eq!(self.machine.sleepers(from), slept);
        let moves = self.sleeping.iter_mut().filter(|it| it.1 == Some(from)).take(count as usize);
        let moved = moves.map(|it| it.1 = Some(to)).count();
        assert_eq!(self.machine.requeue(from, to, count) as usize, moved);
    }

    fn come_back(&mut self, thread: u32) {
        self.machine.back(ThreadId(thread));
        self.threads[thread as usize].0 = Status::Running;
    }

    fn spawn(&mut self, parent: Option<u32>) {
        let site = self.next_site();
        if let Some(parent) = parent {
            self.flush(parent);
        }
        let child = self.machine.spawn(parent.map(ThreadId), site).expect("room for a few threads");
        assert_eq!(child.index(), self.threads.len());
        self.threads.push((Status::Running, site));
        if let Some(parent) = parent {
            self.write_down(parent, site, What::Create(child.0));
        }
    }

    /// Before anything that does not go through the thread's buffer of held stores.
    fn flush(&mut self, thread: u32) {
        while let Some(step) = self.machine.flush(ThreadId(thread), &mut self.ram) {
            self.commit(step);
        }
    }

    fn commit(&mut self, step: Step) {
        let Step::Commit { at, value, .. } = step else { panic!("{step:?}") };
        self.ram.write(at, value);
    }

    /// The thread runs up to its next operation, its end, or into the kernel.
    fn advance(&mut self, thread: u32) {
        let id = ThreadId(thread);
        loop {
            self.budget = self.budget.saturating_sub(1);
            if self.budget == 0 || self.chance(2) {
                if self.chance(50) {
                    self.flush(thread);
                }
                let site = self.next_site();
                self.machine.exit(id, site);
                self.threads[thread as usize].0 = Status::Ended;
                self.write_down(thread, site, What::Exit);
                return;
            }
            match self.rng.below(100) {
                0..2 if self.threads.len() < 8 => {
                    // Now and then one that nobody created.
                    let parent = if self.chance(85) { Some(thread) } else { None };
                    self.spawn(parent);
                }
                2..20 => self.plain(thread),
                20..24 => self.hand_over(thread),
                24..26 => self.machine.hint(id),
                26..28 => self.flush(thread),
                28..32 => {
                    self.flush(thread);
                    if self.chance(30) {
                        self.machine.sleep(id);
                        self.sleeping.push((thread, None));
                        self.threads[thread as usize].0 = Status::Asleep;
                    } else {
                        self.machine.away(id);
                        self.threads[thread as usize].0 = Status::Away;
                    }
                    return;
                }
                40..42 => self.requeue(),
                42..44 => self.foreign(thread),
                44..46 if self.setup.foreign => self.behind(thread),
                46..54 if self.is_alone(thread) => self.alone(thread),
                32..40 if self.setup.heap => self.allocate(thread),
                _ => return self.stop(thread),
            }
        }
    }

    /// A range that meets the places somehow.
    fn range(&mut self) -> (u64, u64) {
        let at = self.place();
        if !self.setup.mixed {
            // Whole places only.
            return (at.addr.0, u64::from(at.width));
        }
        let start = at.addr.0 - 4 + self.rng.below(12) as u64;
        let len = [0, 1, 2, 4, 8, 16, 24, 100, 600][self.rng.below(9)];
        (start, len)
    }

    fn plain(&mut self, thread: u32) {
        self.flush(thread);
        let (addr, len) = self.range();
        let site = self.next_site();
        let number = if self.chance(50) { self.next_number() } else { None };
        if let Some(number) = number {
            self.ram.0[addr as usize..(addr + len) as usize].fill(number);
        }
        let before = self.machine.execution().events.len();
        self.machine.plain(ThreadId(thread), site, Addr(addr), len, number.is_some(), &mut self.ram);
        // It has read, or written, what memory holds, whatever the model.
        for event in &self.machine.execution().events[before..] {
            if let Label::Load { at, value, .. } | Label::Store { at, value, .. } = event.label {
                assert_eq!(self.ram.read(at), value);
            }
        }
        let what = What::Access {
            addr,
            len,
            order: Order::Na,
            read: None,
            wrote: number,
            exact: false,
            loads: number.is_none(),
        };
        self.write_down(thread, site, what);
    }

    /// Somebody else writes a range, or only might have.
    fn foreign(&mut self, thread: u32) {
        let (addr, len) = self.range();
        let number = if self.chance(50) { self.next_number() } else { None };
        if let Some(number) = number {
            self.ram.0[addr as usize..(addr + len) as usize].fill(number);
        }
        let site = self.next_site();
        self.machine.foreign(ThreadId(thread), site, Addr(addr), len);
        self.write_down(thread, site, What::Foreign { addr, len });
    }

    /// Somebody else writes memory, and the machine is to find out. Where places overlap, all of it: if only a part
    /// of a place has changed, the machine forgets the rest, too, and the log does not know of that.
    fn behind(&mut self, thread: u32) {
        let Some(number) = self.next_number() else { return };
        let (addr, len) = if self.setup.mixed { (0, RAM) } else { self.range() };
        self.ram.0[addr as usize..(addr + len) as usize].fill(number);
        self.write_down(thread, Site(0), What::Behind { addr, len });
    }

    fn is_alone(&self, thread: u32) -> bool {
        (0..).zip(&self.threads).all(|(id, (status, _))| id == thread || *status == Status::Ended)
    }

    /// The thread runs natively for a while.
    fn alone(&mut self, thread: u32) {
        (0..self.threads.len() as u32).for_each(|other| self.flush(other));
        let site = self.next_site();
        self.machine.alone(ThreadId(thread), site);
        self.write_down(thread, site, What::Alone);
        if let Some(number) = self.next_number() {
            self.ram.0.fill(number);
        }
        // So that there is something to come.
        while self.threads.len() < 8 && self.chance(70) {
            self.spawn(Some(thread));
        }
    }

    fn hand_over(&mut self, thread: u32) {
        self.flush(thread);
        let object = self.rng.below(2) as u64;
        let site = self.next_site();
        if self.chance(50) {
            self.machine.release(ThreadId(thread), object, site);
            self.write_down(thread, site, What::Release(object));
        } else {
            self.machine.acquire(ThreadId(thread), object, site);
            self.write_down(thread, site, What::Acquire(object));
        }
    }

    fn allocate(&mut self, thread: u32) {
        let (addr, len) = if self.chance(90) { self.one_of(&BLOCKS) } else { self.range() };
        while let Some(step) = self.machine.flush_range(Addr(addr), len, &mut self.ram) {
            self.commit(step);
        }
        let site = self.next_site();
        if self.chance(40) {
            self.machine.free(ThreadId(thread), site, Addr(addr), len);
            self.write_down(thread, site, What::Free { addr, len });
        } else {
            let zeroed = self.chance(30);
            if zeroed {
                self.ram.0[addr as usize..(addr + len) as usize].fill(0);
            }
            self.machine.alloc(ThreadId(thread), site, Addr(addr), len, zeroed);
            self.write_down(thread, site, What::Alloc { addr, len, zeroed });
        }
    }

    /// Draws an operation, and stops before it.
    fn stop(&mut self, thread: u32) {
        let at = self.place();
        let atomic = self.chance(self.atomic);
        let of =
            |orders: &[Order], draw: usize| orders[if atomic { 1 + draw % (orders.len() - 1) } else { 0 }];
        let draw = self.rng.below(100);
        let number = self.next_number();
        let wanted = if self.chance(60) { self.ram.read(at) } else { 0 };
        let (op, number) = match (self.rng.below(100), number) {
            (0..35, Some(number)) => (Op::Store { at, order: of(&STORES, draw) }, number),
            (35..45, Some(number)) => (Op::Rmw { at, order: self.one_of(&UPDATES) }, number),
            (45..55, Some(number)) => {
                let order = self.one_of(&UPDATES);
                let failure = self.one_of(&LOADS[1..]);
                (Op::Cas { at, order, failure, expected: wanted, weak: draw < 50 }, number)
            }
            (55..65, _) => (Op::Fence { order: self.one_of(&UPDATES[1..]) }, 0),
            (65..67, _) => (Op::Wait { at, expected: wanted }, 0),
            (67..71, _) => (Op::Wake { at, count: self.one_of(&[0, 1, 2, u32::MAX]) }, 0),
            (73..76, _) => (Op::Sync { at }, 0),
            (76..78, _) => (Op::Yield, 0),
            (71..73, _) => (Op::Join { child: ThreadId(self.rng.below(self.threads.len()) as u32) }, 0),
            _ => (Op::Load { at, order: of(&LOADS, draw) }, 0),
        };
        let site = self.next_site();
        let state = if self.chance(50) { 0 } else { u64::from(self.site) };
        self.machine.pending(ThreadId(thread), op, site, state);
        self.threads[thread as usize] = (Status::Ready { op, number }, site);
    }

    /// Performs the operation exactly as told.
    fn perform(&mut self, thread: u32, how: How) {
        let (Status::Ready { op, number }, site) = self.threads[thread as usize] else {
            panic!("{:?}", self.threads[thread as usize]);
        };
        if how.sleeps {
            assert!(matches!(op, Op::Wait { at, expected } if self.ram.read(at) == expected));
            assert_eq!(self.machine.pending_op(ThreadId(thread)), Some(op));
            if self.chance(2) {
                self.threads[thread as usize].0 = Status::Running;
                return self.machine.faulted(ThreadId(thread));
            }
            self.threads[thread as usize].0 = Status::Asleep;
            self.sleeping.push((thread, op.place().map(|at| at.addr)));
            return;
        }
        self.threads[thread as usize].0 = Status::Running;
        if self.chance(2) {
            return self.machine.faulted(ThreadId(thread));
        }
        let (mut read, mut written) = (0, 0);
        let mut what = None;
        match op {
            Op::Load { .. } | Op::Store { .. } | Op::Rmw { .. } | Op::Cas { .. } | Op::Wait { .. } => {
                let at = op.place().expect("an access has a place");
                let mut order = op.order();
                let mut writes = op.writes();
                if op.reads() {
                    read = how.read.unwrap_or_else(|| self.ram.read(at));
                }
                if let Op::Cas { failure, expected, weak, .. } = op {
                    assert!(if how.succeeds { read == expected } else { weak || read != expected });
                    writes = how.succeeds;
                    order = if writes { order } else { failure };
                }
                if let Op::Wait { expected, .. } = op {
                    assert_ne!(read, expected);
                }
                if writes {
                    written = filled(at.width, number);
                    if !how.hold {
                        self.ram.write(at, written);
                    }
                }
                what = Some(What::Access {
                    addr: at.addr.0,
                    len: u64::from(at.width),
                    order,
                    read: op.reads().then(|| bytes_of(read)),
                    wrote: writes.then_some(number),
                    exact: true,
                    loads: op.reads(),
                });
            }
            Op::Fence { order } => what = Some(What::Fence(order)),
            Op::Join { child } => {
                assert_eq!(self.threads[child.index()].0, Status::Ended);
                what = Some(What::Join(child.0));
            }
            Op::Sync { .. } | Op::Yield => assert_eq!(how, How::default()),
            Op::Wake { .. } => {}
        }
        if let Err(mismatch) = self.machine.retired(ThreadId(thread), read, written) {
            panic!("{mismatch} by {op:?}");
        }
        if let Some(what) = what {
            self.write_down(thread, site, what);
        }
        if let Op::Wake { count, .. } = op {
            let woken = self.machine.woken().to_vec();
            let word = op.place().map(|at| at.addr);
            let before = self.sleeping.iter().filter(|(_, at)| *at == word).count();
            assert_eq!(woken.len(), before.min(count as usize));
            for sleeper in woken {
                let index = self.sleeping.iter().position(|it| *it == (sleeper.0, word));
                self.sleeping.remove(index.expect("it slept there"));
                let status = &mut self.threads[sleeper.index()].0;
                assert_eq!(*status, Status::Asleep);
                *status = Status::Running;
            }
        }
    }
}
