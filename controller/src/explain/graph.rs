//! The relations of an execution that an explanation talks about: modification order, which reads are stale, what
//! synchronises with what, and what happens before what.
//!
//! Only for showing: verdicts come from `model`'s machine and its axioms. Synchronisation is C11's (as amended by C++20),
//! whatever the model: it is what the programmer asked for.

use crate::events::sources;
use crate::litmus::events::{Location, locations, modification_order};
use std::collections::BTreeMap;
use wmtrace_model::execution::{EventId, Execution, Label, Source};
use wmtrace_model::op::ThreadId;
use wmtrace_model::order::Order;

/// Clocks of more entries than this are not kept: then nothing is known to happen before anything else.
const MAX_CLOCKS: usize = 1 << 26;

/// A read that could have read a newer store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stale {
    pub(super) read: EventId,
    /// The newest store that was there.
    pub(super) missed: EventId,
}

pub(super) struct Graph<'a> {
    pub(super) execution: &'a Execution,
    pub(super) threads: Vec<ThreadId>,
    /// Where each event's access goes.
    pub(super) locations: Vec<Option<Location>>,
    /// The stores to each location, oldest first.
    pub(super) mo: BTreeMap<Location, Vec<EventId>>,
    /// Synchronises-with, between events of different threads.
    pub(super) sw: Vec<(EventId, EventId)>,
    pub(super) stale: Vec<Stale>,
    /// For each event, how many events of the list each thread has that happen before it (as a position), or nothing.
    clocks: Vec<Vec<u32>>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(execution: &'a Execution) -> Graph<'a> {
        let mut threads: Vec<ThreadId> = execution.events.iter().map(|event| event.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let locations = locations(execution);
        let mo = modification_order(execution, &locations);
        let (sw, clocks) = Synchronisation::of(execution, &threads);
        let mut graph = Graph { execution, threads, locations, mo, sw, stale: Vec::new(), clocks };
        graph.stale = stale(&graph);
        graph
    }

    /// The stores to the location that an event accesses, oldest first.
    pub(super) fn stores(&self, id: EventId) -> &[EventId] {
        let location = self.locations[id.index()];
        location.and_then(|location| self.mo.get(&location)).map_or(&[], Vec::as_slice)
    }

    /// Whether `a` happens before `b`, or is it.
    pub(super) fn before(&self, a: EventId, b: EventId) -> bool {
        let thread = self.execution.event(a).thread;
        let Ok(column) = self.threads.binary_search(&thread) else { return false };
        self.clocks.get(b.index()).is_some_and(|clock| clock[column] > a.0)
    }

    /// What the read missed, if it is stale.
    pub(super) fn missed(&self, read: EventId) -> Option<EventId> {
        self.stale.iter().find(|stale| stale.read == read).map(|stale| stale.missed)
    }
}

/// Reads of stores that were not the newest when they were read.
fn stale(graph: &Graph<'_>) -> Vec<Stale> {
    let execution = graph.execution;
    let mut visible: BTreeMap<EventId, EventId> = BTreeMap::new();
    for (id, event) in execution.iter() {
        if let Label::Commit { store } = event.label {
            visible.insert(store, id);
        }
    }
    let held = |id: EventId| {
        let label = &execution.event(id).label;
        label.mo() == Some(wmtrace_model::execution::Mo::Held)
    };
    let seen_at = |store: EventId| if held(store) { visible.get(&store).copied() } else { Some(store) };
    let mut found = Vec::new();
    for (id, event) in execution.iter() {
        let Label::Load { .. } = event.label else { continue };
        let stores = graph.stores(id);
        let [source] = sources(execution, id)[..] else { continue };
        let after = match source {
            Source::Init => 0,
            Source::Store(store) => {
                stores.iter().position(|it| *it == store).map_or(stores.len(), |at| at + 1)
            }
        };
        let newer = stores[after..].iter().rev().find(|store| seen_at(**store).is_some_and(|at| at < id));
        found.extend(newer.map(|missed| Stale { read: id, missed: *missed }));
    }
    found
}

/// What a store publishes: from which event, and what was known there.
type Message = (EventId, Vec<u32>);

/// Walks the events once and follows what each thread knows.
struct Synchronisation {
    now: Vec<Vec<u32>>,
    /// The last release fence of each thread.
    fence: Vec<Option<Message>>,
    /// What each thread has read without acquiring: the next acquire fence will.
    pending: Vec<Vec<Message>>,
    messages: BTreeMap<EventId, Message>,
    objects: BTreeMap<u64, Message>,
    created: BTreeMap<ThreadId, Message>,
    ended: BTreeMap<ThreadId, Message>,
    sw: Vec<(EventId, EventId)>,
}

impl Synchronisation {
    fn of(execution: &Execution, threads: &[ThreadId]) -> (Vec<(EventId, EventId)>, Vec<Vec<u32>>) {
        let count = threads.len();
        let mut walk = Synchronisation {
            now: vec![vec![0; count]; count],
            fence: vec![None; count],
            pending: vec![Vec::new(); count],
            messages: BTreeMap::new(),
            objects: BTreeMap::new(),
            created: BTreeMap::new(),
            ended: BTreeMap::new(),
            sw: Vec::new(),
        };
        if execution.events.len().saturating_mul(count) > MAX_CLOCKS {
            return (Vec::new(), Vec::new());
        }
        let mut clocks = Vec::with_capacity(execution.events.len());
        for (id, event) in execution.iter() {
            let Ok(me) = threads.binary_search(&event.thread) else { continue };
            if walk.now[me][me] == 0
                && let Some(parent) = walk.created.remove(&event.thread)
            {
                walk.receive(me, id, &parent);
            }
            walk.now[me][me] = id.0 + 1;
            walk.event(execution, me, id);
            clocks.push(walk.now[me].clone());
        }
        (walk.sw, clocks)
    }

    fn receive(&mut self, me: usize, at: EventId, message: &Message) {
        let (from, known) = message;
        self.sw.push((*from, at));
        for (mine, theirs) in self.now[me].iter_mut().zip(known) {
            *mine = (*mine).max(*theirs);
        }
    }

    fn event(&mut self, execution: &Execution, me: usize, id: EventId) {
        let event = execution.event(id);
        let label = &event.label;
        let order = label.order();
        for source in sources(execution, id) {
            let Source::Store(store) = source else { continue };
            let Some(message) = self.messages.get(&store).cloned() else { continue };
            if execution.event(store).thread == event.thread {
                continue;
            }
            if order.is_some_and(Order::acquires) {
                self.receive(me, id, &message);
            } else {
                self.pending[me].push(message);
            }
        }
        match *label {
            Label::Store { order, .. } | Label::Rmw { order, .. } => {
                let own = match order.releases() {
                    true => Some((id, self.now[me].clone())),
                    false => self.fence[me].clone(),
                };
                // A read-modify-write continues the release sequence of what it read.
                let continued = match label {
                    Label::Rmw { .. } => match sources(execution, id)[..] {
                        [Source::Store(store)] => self.messages.get(&store).cloned(),
                        _ => None,
                    },
                    _ => None,
                };
                if let Some(message) = own.or(continued) {
                    self.messages.insert(id, message);
                }
            }
            Label::Fence { order } => {
                if order.acquires() {
                    for message in std::mem::take(&mut self.pending[me]) {
                        self.receive(me, id, &message);
                    }
                }
                if order.releases() {
                    self.fence[me] = Some((id, self.now[me].clone()));
                }
            }
            Label::Create { child } => {
                self.created.insert(child, (id, self.now[me].clone()));
            }
            Label::Exit => {
                self.ended.insert(event.thread, (id, self.now[me].clone()));
            }
            Label::Join { child } => {
                if let Some(message) = self.ended.get(&child).cloned() {
                    self.receive(me, id, &message);
                }
            }
            Label::Release { object } => {
                let mut known = self.now[me].clone();
                if let Some((_, earlier)) = self.objects.get(&object) {
                    known.iter_mut().zip(earlier).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
                }
                self.objects.insert(object, (id, known));
            }
            Label::Acquire { object } => {
                if let Some(message) = self.objects.get(&object).cloned()
                    && execution.event(message.0).thread != event.thread
                {
                    self.receive(me, id, &message);
                }
            }
            Label::Load { .. }
            | Label::Commit { .. }
            | Label::Sleep { .. }
            | Label::Wake { .. }
            | Label::Alloc { .. }
            | Label::Free { .. }
            | Label::Foreign { .. } => {}
        }
    }
}
