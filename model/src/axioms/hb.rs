//! Happens-before, after RC20 and C++20: `hb = (po ∪ sw ∪ asw)⁺`, where
//!
//! ```text
//! sw = [E⊒REL];([F];po)?;[W⊒RLX];(rf;[RMW])*;rf;[R⊒RLX];(po;[F])?;[E⊒ACQ]
//! ```
//!
//! As a graph it is linear in the execution: beside each atomic write `w` stands a node "what reading `w`
//! releases". It is entered from `w` if that is ⊒ REL, from the last fence ⊒ REL before `w`, and, for an
//! RMW, from the node beside the write it reads (the release sequence goes on through RMWs only). It is left
//! to the readers of `w` that are ⊒ ACQ, and to the next fence ⊒ ACQ after those that are not. Non-atomic
//! accesses take no part: nothing enters beside their writes, nothing leaves to their reads.
//!
//! C11, and C++ up to C++17, have longer release sequences ([`Sequences::Longer`]): a later store of the same thread to the
//! same place goes on with what a release store of it has published (RC11's rule, `[W⊒REL];po|loc;[W]`, which is a little
//! longer than the standards'). By them some races of C++20 are none.
//!
//! An access of several pieces has one such node for all: it passes on what any of its sources releases.
//!
//! All edges follow the list, so one pass gives every event its vector clock.

use super::graph::Rows;
use super::mo::Communication;
use super::threads::{Threads, beside, node};
use crate::execution::{Execution, Label};
use crate::op::Place;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// What continues a release sequence beside RMWs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sequences {
    /// C++20: nothing.
    Short,
    /// C11 and C++11 to C++17: stores of the thread that began it.
    Longer,
}

/// Happens-before as a graph over the nodes of [`threads`](super::threads).
pub(super) struct HappensBefore<'a> {
    threads: &'a Threads,
    /// Edges whose transitive closure, between event nodes, is hb. Each leads from a lower to a higher node.
    pub(super) edges: Vec<(u32, u32)>,
}

/// What a thread has done so far, as far as it matters for its later events.
#[derive(Clone, Default)]
struct Thread {
    last: Option<u32>,
    release_fence: Option<u32>,
    /// What a fence ⊒ ACQ would receive: nodes beside writes read since the last one.
    unfenced: Vec<u32>,
    /// Its last release store to each place, if later stores go on with it.
    releases: BTreeMap<(u64, u8), u32>,
}

impl<'a> HappensBefore<'a> {
    /// The graph of an execution.
    pub(super) fn of(
        execution: &Execution,
        communication: &Communication<'_>,
        threads: &'a Threads,
        sequences: Sequences,
    ) -> HappensBefore<'a> {
        let mut edges = threads.asw.clone();
        let mut state = vec![Thread::default(); threads.count()];
        for (id, event) in execution.iter() {
            let id = id.0;
            let thread = &mut state[threads.of[id as usize] as usize];
            edges.extend(thread.last.replace(id).map(|last| (node(last), node(id))));

            let released = || communication.sources(id).map(beside);
            match event.label {
                Label::Load { order, .. } | Label::Rmw { order, .. } if order.acquires() => {
                    edges.extend(released().map(|release| (release, node(id))));
                }
                Label::Load { order, .. } | Label::Rmw { order, .. } if order.is_atomic() => {
                    thread.unfenced.extend(released());
                }
                _ => {}
            }
            match event.label {
                Label::Store { at, order, .. } | Label::Rmw { at, order, .. } if order.is_atomic() => {
                    edges.extend(released().map(|release| (release, beside(id))));
                    edges.extend(thread.release_fence.map(|fence| (node(fence), beside(id))));
                    let Place { addr, width } = at;
                    if order.releases() {
                        edges.push((node(id), beside(id)));
                        if sequences == Sequences::Longer {
                            thread.releases.insert((addr.0, width), id);
                        }
                    } else if let Some(&head) = thread.releases.get(&(addr.0, width)) {
                        edges.push((node(head), beside(id)));
                    }
                }
                Label::Fence { order } => {
                    if order.acquires() {
                        edges.extend(thread.unfenced.drain(..).map(|release| (release, node(id))));
                    }
                    if order.releases() {
                        thread.release_fence = Some(id);
                    }
                }
                _ => {}
            }
        }
        HappensBefore { threads, edges }
    }

    /// Shows every event in list order with its clock: per thread, how many of its events happen before this
    /// one or are it.
    pub(super) fn clocks<E>(&self, mut visit: impl FnMut(u32, &[u32]) -> Result<(), E>) -> Result<(), E> {
        let events = self.threads.of.len() as u32;
        let nodes = 2 * events as usize;
        let predecessors = Rows::group(nodes, self.edges.iter().map(|&(from, to)| (to, from)));
        // How many successors have yet to see a node's clock: the last one takes it, so that only the clocks
        // at the frontier exist at any time, and a thread that only computes passes one and the same along.
        let mut awaited = vec![0u32; nodes];
        for &(from, _) in &self.edges {
            awaited[from as usize] += 1;
        }
        let mut clocks: Vec<Option<Box<[u32]>>> = vec![None; nodes];
        for current in 0..nodes as u32 {
            let mut clock: Option<Box<[u32]>> = None;
            for &before in predecessors.of(current) {
                let before = before as usize;
                awaited[before] -= 1;
                if clock.is_none() {
                    clock = if awaited[before] == 0 { clocks[before].take() } else { clocks[before].clone() };
                    continue;
                }
                if let (Some(mine), Some(theirs)) = (&mut clock, &clocks[before]) {
                    for (mine, &theirs) in mine.iter_mut().zip(theirs) {
                        *mine = theirs.max(*mine);
                    }
                }
                if awaited[before] == 0 {
                    clocks[before] = None;
                }
            }
            if current % 2 == 0 {
                let event = current / 2;
                let clock = clock.get_or_insert_with(|| vec![0; self.threads.count()].into());
                clock[self.threads.of[event as usize] as usize] = self.threads.time[event as usize];
                visit(event, clock)?;
            }
            if awaited[current as usize] > 0 {
                clocks[current as usize] = clock;
            }
        }
        Ok(())
    }
}
