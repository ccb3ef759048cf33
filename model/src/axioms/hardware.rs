//! The axioms of the hardware models (SC, TSO, PSO, PSLO):
//!
//! - SC per location: `po-loc ∪ rf ∪ mo ∪ fr` acyclic;
//! - atomicity, which [`Communication`] has checked;
//! - a global order of commits and loads: `ppo ∪ fences ∪ rfe ∪ mo ∪ fr` acyclic. A store's node stands for its
//!   commit, not for its place in the program.
//!
//! The models differ only in which pairs of one thread's accesses are ordered, and so in the table
//! [`Strength::of`]. Everywhere a load is ordered before later stores (stores never move before loads: for
//! PSLO that is stronger than SPARC's RMO, which PSLO comes from, needs it to be), accesses of one location
//! keep the order that SC per location gives them, and a full barrier orders everything across it. Beyond that:
//!
//! | | load → load | store → store | RMW, failed compare-and-swap |
//! | --- | --- | --- | --- |
//! | SC | every event is a full barrier | | |
//! | TSO | always | always | full barriers |
//! | PSO | always | across a release | as the load and store that they are |
//! | PSLO | same location, or across an acquire | across a release | as the load and store that they are |
//!
//! An SC store has a full barrier after it, an SC fence is one. "A release" is a fence ⊒ REL, or just before a
//! write ⊒ REL; "an acquire" a fence ⊒ ACQ, or just after a read ⊒ ACQ. So an RMW ⊒ ACQ_REL is a
//! full barrier everywhere: all before it is before its write, and its read before all after it.
//!
//! A store and a later load of the same location are *not* ordered (MODELS.md §4, "ppo keeps same-location
//! order", is too strong there): with store forwarding `x=1; r1=x; r2=y` may read `y` before `x=1` commits.
//! For the same reason `rf` within a thread is not global, except into a failed compare-and-swap: locked
//! instructions commit the buffer of their cell first.
//!
//! Creating, ending and joining threads, and the objects of `Release` and `Acquire`, are full barriers.

use super::c11::in_order;
use super::graph::Graph;
use super::mo::{Communication, Relation};
use super::threads::{Threads, beside, node};
use super::violation::Violation;
use crate::execution::{EventId, Execution, Label};
use crate::op::ModelKind;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// Certifies an execution of a hardware model.
pub(super) fn certify(execution: &Execution) -> Result<(), Violation> {
    let communication = Communication::of(execution)?;
    let threads = Threads::of(execution)?;
    let mut graph = Graph::new(2 * execution.events.len());
    per_location(execution, &communication, &threads, &mut graph)?;
    preserved_program_order(execution, &threads, &mut graph);
    for &(from, to) in &threads.asw {
        graph.edge(from, to);
    }
    for (relation, from, to) in communication.relations() {
        let (from, to) = (communication.event(from), communication.event(to));
        let forwarded = relation == Relation::Rf
            && threads.of[from as usize] == threads.of[to as usize]
            && !matches!(execution.events[to as usize].label, Label::Load { locked: true, .. });
        if !forwarded {
            graph.edge(node(from), node(to));
        }
    }
    match graph.cycle() {
        None => Ok(()),
        Some(cycle) => {
            let events = cycle.into_iter().filter(|&node| node % 2 == 0).map(|node| EventId(node / 2));
            Err(Violation::Global(events.collect()))
        }
    }
}

/// SC per location: the places of a thread's events in a location's modification order never go back, and a
/// write's is new. That is enough: along `rf`, `mo` and `fr` the places grow anyway, from write to read of it
/// to next write.
///
/// After that the global graph needs few edges for program order within a location: between writes `mo` implies
/// them, and loads before stores come with the rest of ppo. What is left is load → load.
fn per_location(
    execution: &Execution,
    communication: &Communication<'_>,
    threads: &Threads,
    graph: &mut Graph,
) -> Result<(), Violation> {
    let mut last_access: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut last_read: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for (id, event) in execution.iter() {
        for piece in communication.pieces(id.0) {
            let key = (communication.location(piece), threads.of[id.index()]);
            // Places never went back so far, so the last access has the furthest.
            if let Some(before) = last_access.insert(key, piece) {
                in_order(communication, before, piece)?;
            }
            if event.label.rf().is_some()
                && let Some(before) = last_read.insert(key, id.0)
            {
                graph.edge(node(before), node(id.0));
            }
        }
    }
    Ok(())
}

/// How an event orders others of its thread.
struct Strength {
    /// All before it (or it) before all after it.
    full: bool,
    /// Stores before it are ordered before it, if it is a store, and before those after it.
    store_store: bool,
    /// Loads before it and it, if it is a load, are ordered before loads after it.
    load_load: bool,
}

impl Strength {
    fn of(model: ModelKind, label: &Label) -> Strength {
        let tso = model == ModelKind::Tso;
        let pslo = model == ModelKind::Pslo;
        let (full, store_store, load_load) = match *label {
            Label::Load { order, locked, .. } => (tso && locked, false, !pslo || order.acquires()),
            Label::Store { order, .. } => (order.is_sc(), tso || order.releases(), false),
            Label::Rmw { order, .. } => (tso, order.releases(), !pslo || order.acquires()),
            Label::Fence { order } => (order.is_sc(), order.releases(), order.acquires()),
            Label::Create { .. }
            | Label::Exit
            | Label::Join { .. }
            | Label::Release { .. }
            | Label::Acquire { .. } => (true, false, false),
            Label::Commit { .. }
            | Label::Sleep { .. }
            | Label::Wake { .. }
            | Label::Alloc { .. }
            | Label::Free { .. }
            | Label::Foreign { .. } => (false, false, false),
        };
        Strength { full: full || model == ModelKind::Sc, store_store, load_load }
    }
}

/// `ppo ∪ fences`, without what holds within a location.
fn preserved_program_order(execution: &Execution, threads: &Threads, graph: &mut Graph) {
    let mut state: Vec<Thread> = vec![Thread::default(); threads.count()];
    for (thread, creator) in state.iter_mut().zip(&threads.creator) {
        thread.before_loads = creator.map(node);
        thread.before_stores = creator.map(node);
    }
    for (id, event) in execution.iter() {
        let (event_node, beside) = (node(id.0), beside(id.0));
        let thread = &mut state[threads.of[id.index()] as usize];
        let strength = Strength::of(execution.model, &event.label);
        if strength.full {
            // An SC store's barrier is after it, but as a release it waits for all before it anyway.
            thread.full_barrier(graph, event_node);
            continue;
        }
        match event.label {
            Label::Load { .. } => {
                thread.load(graph, event_node);
                if strength.load_load {
                    thread.load_load_barrier(graph, beside);
                }
            }
            Label::Store { .. } => thread.store(graph, event_node, beside, strength.store_store),
            Label::Rmw { .. } => {
                thread.store(graph, event_node, beside, strength.store_store);
                thread.load(graph, event_node);
                if strength.load_load {
                    // As a store it is after all earlier loads: it is its own barrier.
                    thread.before_loads = Some(event_node);
                }
            }
            Label::Fence { .. } => {
                // Two nodes: one node for both would also order stores before loads.
                if strength.load_load {
                    thread.load_load_barrier(graph, event_node);
                }
                if strength.store_store {
                    thread.store_barrier(graph, beside, true);
                }
            }
            _ => {}
        }
    }
}

/// What later events of a thread will be ordered after: nodes before all later loads (stores), and the
/// accesses that no such node is behind yet. Each access leaves each list once, so edges stay linear.
#[derive(Clone, Default)]
struct Thread {
    before_loads: Option<u32>,
    before_stores: Option<u32>,
    /// Loads not yet before all later loads.
    loads: Vec<u32>,
    /// Loads not yet before all later stores.
    loads_before_stores: Vec<u32>,
    /// Stores not yet before all later stores.
    stores: Vec<u32>,
}

impl Thread {
    fn load(&mut self, graph: &mut Graph, load: u32) {
        edges(graph, self.before_loads, load);
        self.loads.push(load);
        self.loads_before_stores.push(load);
    }

    /// A store: by its barrier it is after all earlier loads, and all earlier stores if it releases.
    fn store(&mut self, graph: &mut Graph, store: u32, barrier: u32, releases: bool) {
        self.store_barrier(graph, barrier, releases);
        graph.edge(barrier, store);
        self.stores.push(store);
    }

    /// Earlier loads, and earlier stores too if asked, before later stores.
    fn store_barrier(&mut self, graph: &mut Graph, barrier: u32, stores: bool) {
        edges(graph, self.before_stores.replace(barrier), barrier);
        edges(graph, self.loads_before_stores.drain(..), barrier);
        if stores {
            edges(graph, self.stores.drain(..), barrier);
        }
    }

    /// Earlier loads before later loads.
    fn load_load_barrier(&mut self, graph: &mut Graph, barrier: u32) {
        edges(graph, self.before_loads.replace(barrier), barrier);
        edges(graph, self.loads.drain(..), barrier);
    }

    /// Everything earlier before everything later.
    fn full_barrier(&mut self, graph: &mut Graph, barrier: u32) {
        self.load_load_barrier(graph, barrier);
        self.store_barrier(graph, barrier, true);
    }
}

fn edges(graph: &mut Graph, from: impl IntoIterator<Item = u32>, to: u32) {
    for from in from {
        graph.edge(from, to);
    }
}
