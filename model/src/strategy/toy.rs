//! A machine for the tests of strategies: straight-line threads over the five models, in their simplest form.
//!
//! Each model is written from its rules in a few lines, for places that are equal or disjoint, and knows no
//! values, races or blocking: what a run *did* is which store each read took and the modification order of
//! each location. That is enough to ask whether the reduced exploration misses anything that the plain one
//! finds.

use super::{Choice, Pick, ReadChoice, Strategy};
use crate::op::{Addr, Agent, ModelKind, Op, Place, ThreadId};
use crate::order::Order;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// Locations 0 to 3, well apart.
const LOCATIONS: usize = 4;

/// The place of a location.
pub(crate) const fn at(location: u64) -> Place {
    Place::new(Addr(location * 64), 4)
}

/// A relaxed load.
pub(crate) const fn load(location: u64) -> Op {
    Op::Load { at: at(location), order: Order::Relaxed }
}

/// A relaxed store.
pub(crate) const fn store(location: u64) -> Op {
    Op::Store { at: at(location), order: Order::Relaxed }
}

/// A relaxed weak compare-and-swap. The toy asks whether it fails, and then goes on as if it had not.
pub(crate) const fn weak_cas(location: u64) -> Op {
    let (order, failure) = (Order::Relaxed, Order::Relaxed);
    Op::Cas { at: at(location), order, failure, expected: 0, weak: true }
}

/// A store, by thread and serial; `None` is the initial value.
type StoreId = Option<(u32, u32)>;

/// By location, the position in its history.
type View = [usize; LOCATIONS];

/// `a ⊔= b`
fn join(a: &mut View, b: View) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = (*a).max(b);
    }
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum End {
    /// Every thread and buffer is done.
    Finished,
    /// By [`Pick::Abandon`] or [`Pick::Diverged`].
    Stopped(Pick),
}

/// What every read took, by its thread and serial, and every modification order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Outcome {
    pub(crate) rf: BTreeMap<(u32, u32), StoreId>,
    pub(crate) mo: Vec<Vec<StoreId>>,
}

/// What a run did.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Ran {
    /// The steps: who, and its serial.
    pub(crate) steps: Vec<(Agent, u32)>,
    /// The answers to questions other than [`Strategy::pick`]: alternatives, and the one taken.
    pub(crate) values: Vec<(usize, usize)>,
    /// What it did to memory.
    pub(crate) outcome: Outcome,
    /// How it ended.
    pub(crate) end: End,
}

impl Ran {
    /// The threads in the order of the steps.
    pub(crate) fn threads(&self) -> Vec<u32> {
        self.steps.iter().map(|(agent, _)| agent.thread().0).collect()
    }
}

/// A program under a model.
#[derive(Clone, Debug)]
pub(crate) struct Toy {
    model: ModelKind,
    program: Vec<Vec<Op>>,
}

impl Toy {
    pub(crate) fn new(model: ModelKind, program: &[&[Op]]) -> Toy {
        Toy { model, program: program.iter().map(|ops| ops.to_vec()).collect() }
    }

    /// Runs the program to its end, or to where the strategy stops it.
    pub(crate) fn run(&self, strategy: &mut dyn Strategy) -> Ran {
        let threads = self.program.len();
        let mut memory = Memory::new(self.model, threads);
        let mut serials = vec![0; threads];
        let mut steps = Vec::new();
        (0..threads).for_each(|thread| strategy.started(ThreadId(thread as u32)));
        let end = loop {
            let mut enabled: Vec<Choice> = (0..threads)
                .filter_map(|thread| {
                    let serial = serials[thread];
                    let op = *self.program[thread].get(serial as usize)?;
                    Some(Choice { agent: Agent::Thread(ThreadId(thread as u32)), op, serial })
                })
                .collect();
            enabled.extend(memory.buffers());
            if enabled.is_empty() {
                break End::Finished;
            }
            let pick = strategy.pick(&enabled);
            let Pick::Take(index) = pick else { break End::Stopped(pick) };
            let choice = enabled[index];
            memory.perform(&choice, strategy);
            if let Agent::Thread(thread) = choice.agent {
                serials[thread.index()] += 1;
            }
            steps.push((choice.agent, choice.serial));
            strategy.taken(&choice, &enabled);
        };
        let mo = memory.history.iter().map(|stores| stores.iter().map(|s| s.id).collect()).collect();
        Ran { steps, values: memory.values, outcome: Outcome { rf: memory.rf, mo }, end }
    }
}

/// A store in a history.
#[derive(Clone, Copy)]
struct Stored {
    id: StoreId,
    /// C11: the view it publishes.
    msg: View,
    /// TSO: its position in the log, from 1; the initial values are at 0.
    position: usize,
}

struct Memory {
    model: ModelKind,
    history: Vec<Vec<Stored>>,
    /// C11's `cur`, PSLO's oldest readable store.
    cur: Vec<View>,
    acq: Vec<View>,
    rel: Vec<View>,
    sc: View,
    /// TSO: the length of the log, each thread's position in it, and that of its own last store.
    log: usize,
    seen: Vec<usize>,
    own: Vec<usize>,
    /// PSO, PSLO: held stores, and how many each buffer has committed.
    held: BTreeMap<(u32, u64), (u32, Vec<StoreId>)>,
    rf: BTreeMap<(u32, u32), StoreId>,
    values: Vec<(usize, usize)>,
}

impl Memory {
    fn new(model: ModelKind, threads: usize) -> Memory {
        let init = Stored { id: None, msg: [0; LOCATIONS], position: 0 };
        let (views, positions) = (vec![[0; LOCATIONS]; threads], vec![0; threads]);
        Memory {
            model,
            history: vec![vec![init]; LOCATIONS],
            cur: views.clone(),
            acq: views.clone(),
            rel: views,
            sc: [0; LOCATIONS],
            log: 0,
            seen: positions.clone(),
            own: positions,
            held: BTreeMap::new(),
            rf: BTreeMap::new(),
            values: Vec::new(),
        }
    }

    fn buffers(&self) -> impl Iterator<Item = Choice> {
        self.held.iter().filter(|(_, (_, stores))| !stores.is_empty()).map(|(&(thread, x), (serial, _))| {
            Choice { agent: Agent::Buffer(ThreadId(thread), at(x)), op: store(x), serial: *serial }
        })
    }

    fn perform(&mut self, choice: &Choice, strategy: &mut dyn Strategy) {
        let thread = choice.agent.thread();
        let (t, id) = (thread.index(), (thread.0, choice.serial));
        let location = choice.op.place().map(|place| place.addr.0 / 64);
        if let (Agent::Buffer(..), Some(x)) = (choice.agent, location) {
            return self.commit(thread.0, x);
        }
        match (choice.op, location) {
            (Op::Load { order, .. }, Some(x)) => {
                let source = self.read(choice, order, x as usize, strategy);
                self.rf.insert(id, source);
            }
            (Op::Store { order, .. }, Some(x)) => self.write(t, Some(id), order, x),
            (Op::Rmw { order, .. } | Op::Cas { order, .. }, Some(x)) => {
                if matches!(choice.op, Op::Cas { weak: true, .. }) {
                    let fails = strategy.spurious(choice);
                    self.values.push((2, usize::from(fails)));
                }
                self.update(t, id, order, x);
            }
            (Op::Fence { order }, _) => self.fence(t, order),
            _ => unreachable!("the toy has no such operation"),
        }
    }

    /// Chooses among `history[x][from..]`.
    fn choose(&mut self, choice: &Choice, x: usize, from: usize, strategy: &mut dyn Strategy) -> usize {
        let count = self.history[x].len() - from;
        if count == 1 {
            return from;
        }
        let chosen = strategy.read(&ReadChoice { choice: *choice, count });
        self.values.push((count, chosen));
        from + chosen
    }

    fn read(&mut self, choice: &Choice, order: Order, x: usize, strategy: &mut dyn Strategy) -> StoreId {
        let t = choice.agent.thread().index();
        let last = self.history[x].len() - 1;
        let index = match self.model {
            ModelKind::Sc => last,
            ModelKind::Tso => {
                // The newest store that the thread's position or its own store forces on it, or a newer one.
                let forced =
                    |s: &Stored| s.position <= self.seen[t] || s.id.is_some_and(|id| id.0 as usize == t);
                let from = self.history[x].iter().rposition(forced).expect("the initial value");
                let index = self.choose(choice, x, from, strategy);
                if index > from {
                    self.seen[t] = self.history[x][index].position;
                }
                index
            }
            ModelKind::Pso | ModelKind::Pslo => {
                let held = self.held.get(&(t as u32, x as u64)).and_then(|(_, stores)| stores.last());
                if let Some(&own) = held {
                    return own;
                }
                let from = if self.model == ModelKind::Pso { last } else { self.cur[t][x] };
                let index = self.choose(choice, x, from, strategy);
                self.cur[t][x] = index;
                if order.acquires() {
                    self.reset(t);
                }
                index
            }
            ModelKind::C11 => {
                let from = if order.is_sc() { self.cur[t][x].max(self.sc[x]) } else { self.cur[t][x] };
                let index = self.choose(choice, x, from, strategy);
                self.observe(t, order, x, index);
                index
            }
        };
        self.history[x][index].id
    }

    /// C11: the thread has read `history[x][index]`.
    fn observe(&mut self, t: usize, order: Order, x: usize, index: usize) {
        self.cur[t][x] = self.cur[t][x].max(index);
        let msg = self.history[x][index].msg;
        join(if order.acquires() { &mut self.cur[t] } else { &mut self.acq[t] }, msg);
    }

    /// Appends to `history[x]` what thread `t` writes; `msg` is what an RMW goes on publishing.
    fn append(&mut self, t: usize, id: StoreId, order: Order, x: usize, msg: View) {
        let n = self.history[x].len();
        self.cur[t][x] = n;
        let mut published = if order.releases() { self.cur[t] } else { self.rel[t] };
        published[x] = n;
        join(&mut published, msg);
        if order.is_sc() {
            self.sc[x] = n;
        }
        self.log += 1;
        self.own[t] = self.log;
        self.history[x].push(Stored { id, msg: published, position: self.log });
    }

    fn write(&mut self, t: usize, id: StoreId, order: Order, x: u64) {
        if matches!(self.model, ModelKind::Pso | ModelKind::Pslo) {
            if order.releases() {
                self.flush(t);
            }
            self.held.entry((t as u32, x)).or_default().1.push(id);
        } else {
            self.append(t, id, order, x as usize, [0; LOCATIONS]);
        }
        if order.is_sc() && self.model != ModelKind::C11 {
            self.fence(t, order);
        }
    }

    fn update(&mut self, t: usize, id: (u32, u32), order: Order, x: u64) {
        self.flush_location(t as u32, x);
        if matches!(self.model, ModelKind::Pso | ModelKind::Pslo) && order.releases() {
            self.flush(t);
        }
        let x = x as usize;
        let last = self.history[x].len() - 1;
        self.rf.insert(id, self.history[x][last].id);
        if self.model == ModelKind::C11 {
            self.observe(t, order, x, last);
        }
        self.append(t, Some(id), order, x, self.history[x][last].msg);
        self.seen[t] = self.log;
        if self.model == ModelKind::Pslo && order.acquires() {
            self.reset(t);
        }
    }

    fn fence(&mut self, t: usize, order: Order) {
        match self.model {
            ModelKind::Sc => {}
            ModelKind::Tso if order.is_sc() => self.seen[t] = self.seen[t].max(self.own[t]),
            ModelKind::Tso => {}
            ModelKind::Pso | ModelKind::Pslo => {
                if order.releases() {
                    self.flush(t);
                }
                if order.acquires() {
                    self.reset(t);
                }
            }
            ModelKind::C11 => {
                if order.acquires() {
                    join(&mut self.cur[t], self.acq[t]);
                }
                if order.is_sc() {
                    join(&mut self.cur[t], self.sc);
                    self.sc = self.cur[t];
                }
                if order.releases() {
                    self.rel[t] = self.cur[t];
                }
            }
        }
    }

    /// PSO, PSLO: the oldest held store of the thread to the location becomes visible.
    fn commit(&mut self, thread: u32, x: u64) {
        let (committed, stores) = self.held.get_mut(&(thread, x)).expect("a buffer");
        *committed += 1;
        let id = stores.remove(0);
        self.append(thread as usize, id, Order::Relaxed, x as usize, [0; LOCATIONS]);
    }

    /// PSO, PSLO: all held stores of the thread become visible.
    fn flush(&mut self, t: usize) {
        for x in 0..LOCATIONS as u64 {
            self.flush_location(t as u32, x);
        }
    }

    /// PSO, PSLO: all held stores of the thread to the location become visible.
    fn flush_location(&mut self, thread: u32, x: u64) {
        while self.held.get(&(thread, x)).is_some_and(|(_, stores)| !stores.is_empty()) {
            self.commit(thread, x);
        }
    }

    /// PSLO: the thread's later loads read nothing older than what is visible now.
    fn reset(&mut self, t: usize) {
        for (floor, stores) in self.cur[t].iter_mut().zip(&self.history) {
            *floor = stores.len() - 1;
        }
    }
}
