//! The SC axiom, in the strong form that wmtrace's machine satisfies: the relation
//!
//! ```text
//! strong_psc = [SC];hb;[SC] ∪ ([Esc] ∪ [Fsc];hb?) ; eco ; ([Esc] ∪ hb?;[Fsc])
//! ```
//!
//! is acyclic, where `SC` are the SC accesses (`Esc`) and fences (`Fsc`), and `eco = (rf ∪ mo ∪ fr)⁺` within a
//! location. What passes here is allowed by both weaker definitions:
//!
//! - RC11's `psc` (Lahav et al. 2017) between accesses has `scb`, which is part of `hb ∪ eco`, where this has all;
//! - C++20 ([atomics.order] 4) asks for a total order that agrees with `eco` as here, but with
//!   strongly-happens-before only.
//!
//! The converse is not true (Z6.U), but the machine's SC order is the order of execution, and that agrees with
//! hb, and with eco between SC events as long as SC loads, too, leave in the `sc` view what they read.
//!
//! The relation is quadratic, but a cycle of it is a cycle of a graph in layers, with a linear number of edges:
//!
//! ```text
//!             ┌─> access walk: along hb ─────> SC event
//!  SC event ──┼─> fence walk:  along hb ──┬──> SC event
//!             │                           v
//!             └───────────────────────> eco, one step or more ─┬─> SC access
//!                                                              └─> final walk: along hb? ──> SC fence
//! ```
//!
//! Every cycle passes through an SC event: the layers between have none of their own, since hb and (after
//! atomicity) eco have none.

use super::graph::Graph;
use super::hb::HappensBefore;
use super::mo::Communication;
use super::threads::node;
use super::violation::Violation;
use crate::execution::{EventId, Execution, Label};
use crate::order::Order;

/// Numbers the nodes of the layers: SC events first, so that a cycle's are found by their number.
struct Layers {
    events: u32,
    /// Without SC fences the layers of walks from and to them stay empty.
    fences: bool,
}

impl Layers {
    fn access_walk(&self, hb_node: u32) -> u32 {
        self.events + hb_node
    }

    fn fence_walk(&self, hb_node: u32) -> u32 {
        3 * self.events + hb_node
    }

    fn final_walk(&self, hb_node: u32) -> u32 {
        5 * self.events + hb_node
    }

    fn eco(&self, piece: u32) -> u32 {
        7 * self.events + piece
    }
}

/// Certifies the SC axiom.
pub(super) fn certify(
    execution: &Execution,
    communication: &Communication<'_>,
    hb: &HappensBefore<'_>,
) -> Result<(), Violation> {
    let label = |event: u32| &execution.events[event as usize].label;
    let is_sc = |event: u32| label(event).order().is_some_and(Order::is_sc);
    let is_fence = |event: u32| matches!(label(event), Label::Fence { .. });
    let events = execution.events.len() as u32;
    if !(0..events).any(is_sc) {
        return Ok(());
    }
    let layers = Layers { events, fences: (0..events).any(|event| is_fence(event) && is_sc(event)) };
    let mut graph = Graph::new(7 * events as usize + communication.piece_count());

    for &(from, to) in &hb.edges {
        // A walk leaves its SC event by an edge: hb, not hb?, or it would find its own start.
        let start = from / 2;
        if from % 2 == 0 && is_sc(start) {
            let walk = if is_fence(start) { layers.fence_walk(to) } else { layers.access_walk(to) };
            graph.edge(start, walk);
        }
        graph.edge(layers.access_walk(from), layers.access_walk(to));
        if layers.fences {
            graph.edge(layers.fence_walk(from), layers.fence_walk(to));
            graph.edge(layers.final_walk(from), layers.final_walk(to));
        }
    }
    for event in (0..events).filter(|&event| is_sc(event)) {
        graph.edge(layers.access_walk(node(event)), event);
        graph.edge(layers.fence_walk(node(event)), event);
        if is_fence(event) {
            graph.edge(layers.final_walk(node(event)), event);
        }
    }
    for (_, from, to) in communication.relations() {
        graph.edge(layers.eco(from), layers.eco(to));
        let (start, end) = (communication.event(from), communication.event(to));
        if is_sc(start) {
            graph.edge(start, layers.eco(to));
        }
        if is_sc(end) {
            graph.edge(layers.eco(to), end);
        }
        if layers.fences {
            graph.edge(layers.fence_walk(node(start)), layers.eco(to));
            graph.edge(layers.eco(to), layers.final_walk(node(end)));
        }
    }
    match graph.cycle() {
        None => Ok(()),
        Some(cycle) => {
            Err(Violation::Sc(cycle.into_iter().filter(|&node| node < events).map(EventId).collect()))
        }
    }
}
