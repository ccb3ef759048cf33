//! Whether an interleaving of the threads explains an execution, and if none does, why not.
//!
//! An execution is sequentially consistent exactly if program order, reads-from, modification order, from-read and
//! synchronisation have no cycle together (Shasha and Snir; Lamport): in any order that agrees with all of them, every load
//! reads the newest store. A cycle is what no interleaving can do, and shows where the orders are too weak.

use super::graph::Graph;
use crate::events::sources;
use std::collections::{BTreeMap, VecDeque};
use wmtrace_model::execution::{EventId, Label, Source};

/// Why one event comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Why {
    /// Program order.
    Po,
    /// The second reads what the first has stored.
    Rf,
    /// The second's store replaces the first's.
    Mo,
    /// The second's store replaces what the first has read.
    Fr,
    /// The second waits for the first: threads' beginnings and ends, locks.
    Sw,
}

/// One step of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) from: EventId,
    pub(super) why: Why,
    pub(super) to: EventId,
}

/// From how many of the events that are in cycles a shortest one is looked for.
const STARTS: usize = 64;

/// A cycle with as little communication as possible; `None` if an interleaving explains the execution.
pub(super) fn find(graph: &Graph<'_>) -> Option<Vec<Step>> {
    let edges = edges(graph);
    let left = in_cycles(&edges);
    let starts = (0..edges.len()).filter(|event| left[*event]).take(STARTS);
    let shortest = starts.filter_map(|start| shortest(&edges, &left, start)).min_by_key(|(cost, _)| *cost)?;
    Some(merged(graph, &shortest.1))
}

/// What comes directly after each event.
fn edges(graph: &Graph<'_>) -> Vec<Vec<(Why, usize)>> {
    let execution = graph.execution;
    let mut edges: Vec<Vec<(Why, usize)>> = vec![Vec::new(); execution.events.len()];
    let mut last = BTreeMap::new();
    let mut next_store = BTreeMap::new();
    for stores in graph.mo.values() {
        for pair in stores.windows(2) {
            edges[pair[0].index()].push((Why::Mo, pair[1].index()));
            next_store.insert(pair[0], pair[1]);
        }
    }
    for (id, event) in execution.iter() {
        // When a store becomes visible is no event of the program: modification order says it.
        if matches!(event.label, Label::Commit { .. }) {
            continue;
        }
        if let Some(before) = last.insert(event.thread, id.index()) {
            edges[before].push((Why::Po, id.index()));
        }
        for source in sources(execution, id) {
            let next = match source {
                Source::Init => graph.stores(id).first(),
                Source::Store(store) => {
                    if execution.event(store).thread != event.thread {
                        edges[store.index()].push((Why::Rf, id.index()));
                    }
                    next_store.get(&store)
                }
            };
            if let Some(next) = next.filter(|next| **next != id) {
                edges[id.index()].push((Why::Fr, next.index()));
            }
        }
    }
    for (from, to) in &graph.sw {
        edges[from.index()].push((Why::Sw, to.index()));
    }
    edges
}

/// Which events are left when all that nothing comes before, and all that nothing comes after, are taken away again and
/// again.
fn in_cycles(edges: &[Vec<(Why, usize)>]) -> Vec<bool> {
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (from, next) in edges.iter().enumerate() {
        for (_, to) in next {
            back[*to].push(from);
        }
    }
    let forth: Vec<Vec<usize>> = edges.iter().map(|next| next.iter().map(|(_, to)| *to).collect()).collect();
    let mut left = vec![true; edges.len()];
    for (comes, goes) in [(&back, &forth), (&forth, &back)] {
        let mut count: Vec<usize> =
            comes.iter().map(|comes| comes.iter().filter(|it| left[**it]).count()).collect();
        let mut ready: Vec<usize> =
            (0..count.len()).filter(|event| left[*event] && count[*event] == 0).collect();
        while let Some(event) = ready.pop() {
            left[event] = false;
            for next in goes[event].iter().filter(|next| left[**next]) {
                count[*next] -= 1;
                if count[*next] == 0 {
                    ready.push(*next);
                }
            }
        }
    }
    left
}

/// The cycle through an event with the fewest steps from thread to thread.
fn shortest(edges: &[Vec<(Why, usize)>], left: &[bool], start: usize) -> Option<(usize, Vec<(usize, Why)>)> {
    let mut came: BTreeMap<usize, (usize, Why, usize)> = BTreeMap::new();
    let mut queue = VecDeque::from([(0, start)]);
    while let Some((cost, event)) = queue.pop_front() {
        if event != start && came.get(&event).is_some_and(|(known, ..)| *known < cost) {
            continue;
        }
        for (why, next) in edges[event].iter().filter(|(_, next)| left[*next]) {
            let cost = cost + usize::from(*why != Why::Po);
            if came.get(next).is_some_and(|(known, ..)| *known <= cost) {
                continue;
            }
            came.insert(*next, (cost, *why, event));
            if *next == start {
                continue;
            }
            if *why == Why::Po { queue.push_front((cost, *next)) } else { queue.push_back((cost, *next)) }
        }
    }
    let cost = came.get(&start)?.0;
    let mut path = Vec::new();
    let mut at = start;
    loop {
        let (_, why, from) = came.get(&at)?;
        path.push((*from, *why));
        at = *from;
        if at == start {
            break;
        }
    }
    path.reverse();
    Some((cost, path))
}

/// The cycle as steps: what one thread does in a row is one of them.
fn merged(graph: &Graph<'_>, path: &[(usize, Why)]) -> Vec<Step> {
    let thread = |id: EventId| graph.execution.event(id).thread;
    let mut steps: Vec<Step> = Vec::new();
    for (number, (from, why)) in path.iter().enumerate() {
        let id = |index: usize| EventId(index as u32);
        let (from, to) = (id(*from), id(path[(number + 1) % path.len()].0));
        // What a thread does to its own stores is program order too.
        let why = if thread(from) == thread(to) && from < to { Why::Po } else { *why };
        match steps.last_mut().filter(|last| last.why == Why::Po && why == Why::Po) {
            Some(last) => last.to = to,
            None => steps.push(Step { from, why, to }),
        }
    }
    // Where the search began is nothing special.
    if let [first, .., last] = steps[..]
        && (first.why, last.why) == (Why::Po, Why::Po)
    {
        steps[0].from = last.from;
        steps.pop();
    }
    steps
}
