//! Candidate executions: every way in which the events of a program could read from and overwrite each other.
//!
//! For each choice of one path a thread, each location's reads are given every source (`rf`), and its writes
//! every order (`mo`). Values follow from `rf`: writes of constants are known, reads know what their sources
//! know, and so on. Where a value would justify itself (a cycle of `rf` and data, *out of thin air*) nothing is
//! ever known, and the candidate is dropped; a `po ∪ rf` cycle that needs no such value (LB) is a candidate.

use super::relation::{MAX_EVENTS, Relation, Set};
use super::walk::{End, Event, Kind, normal, paths, walk};
use wmtrace_model::litmus::program::{Location, Program, State};
use wmtrace_model::order::Order;

/// A candidate: events with their values, and the relations that the axioms speak of. The first events are the
/// initial writes, one a location; then the threads' events, thread by thread.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) events: Vec<Event>,
    /// Program order, transitive. Initial writes are not in it.
    pub(crate) po: Relation,
    /// From each read's source to the read.
    pub(crate) rf: Relation,
    /// Modification order, transitive, the initial write of each location first.
    pub(crate) mo: Relation,
    /// Registers and memory at the end.
    pub(crate) state: State,
}

impl Candidate {
    /// `fr`: from each read to the writes that overwrite what it read. An RMW does not overtake itself.
    pub(crate) fn fr(&self) -> Relation {
        from_reads(&self.rf, &self.mo)
    }

    /// Pairs of accesses to the same location.
    pub(crate) fn same_location(&self) -> Relation {
        self.pairs(|a, b| a.at.is_some() && a.at == b.at)
    }

    /// The events for which `which` says so.
    pub(crate) fn set(&self, which: impl Fn(&Event) -> bool) -> Set {
        let mut set = Set::default();
        for (index, event) in self.events.iter().enumerate() {
            if which(event) {
                set.insert(index);
            }
        }
        set
    }

    /// The pairs for which `which` says so.
    pub(crate) fn pairs(&self, which: impl Fn(&Event, &Event) -> bool) -> Relation {
        let mut pairs = Relation::default();
        for (a, first) in self.events.iter().enumerate() {
            for (b, second) in self.events.iter().enumerate() {
                if which(first, second) {
                    pairs.insert(a, b);
                }
            }
        }
        pairs
    }

    /// SC per location and atomicity, which every model has.
    pub(crate) fn is_coherent(&self) -> bool {
        coherent(&self.events, &(self.po & self.same_location()), &self.rf, &self.mo)
    }
}

/// Which candidates to visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// All of them, however absurd.
    All,
    /// Those that are SC per location and whose RMWs are atomic. Every model asks for both, and both can be
    /// checked location by location, before the locations are combined.
    Coherent,
}

/// The program has more candidates than the caller wants to see, or too many events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooLarge;

/// Where the reads of one location read from, and the orders of its writes that go with it.
struct Placement {
    /// Pairs of source and read.
    rf: Vec<(usize, usize)>,
    /// Each a sequence of the location's writes, without the initial one.
    orders: Vec<Vec<usize>>,
}

/// Calls `visit` with every candidate of the program, loops going back at most `unroll` times.
///
/// # Errors
/// When there are more than about `limit` candidates, possibly after some have been visited.
pub(crate) fn candidates(
    program: &Program,
    unroll: usize,
    which: Which,
    limit: usize,
    visit: &mut dyn FnMut(&Candidate),
) -> Result<(), TooLarge> {
    let paths: Vec<_> = (0..program.threads.len()).map(|thread| paths(program, thread, unroll)).collect();
    let mut budget = limit;
    for choice in product(&paths.iter().map(Vec::len).collect::<Vec<_>>()) {
        let chosen: Vec<_> = paths.iter().zip(&choice).map(|(paths, &index)| &paths[index]).collect();
        let path: Vec<&[bool]> = chosen.iter().map(|(path, _)| path.as_slice()).collect();
        let mut events = initial_writes(program);
        for (_, of_thread) in &chosen {
            events.extend(of_thread);
        }
        if events.len() > MAX_EVENTS {
            return Err(TooLarge);
        }
        let skeleton = Skeleton { program, unroll, path, events };
        skeleton.candidates(which, &mut budget, visit)?;
    }
    Ok(())
}

fn initial_writes(program: &Program) -> Vec<Event> {
    let write = |(at, location): (usize, &Location)| Event {
        thread: None,
        kind: Kind::Write,
        order: Order::Na,
        at: Some(at),
        read: None,
        written: Some(normal(program, at, location.init)),
    };
    program.locations.iter().enumerate().map(write).collect()
}

/// The events of one path a thread, before they read from and overwrite each other.
struct Skeleton<'a> {
    program: &'a Program,
    unroll: usize,
    path: Vec<&'a [bool]>,
    events: Vec<Event>,
}

impl Skeleton<'_> {
    fn candidates(
        &self,
        which: Which,
        budget: &mut usize,
        visit: &mut dyn FnMut(&Candidate),
    ) -> Result<(), TooLarge> {
        let locations = self.program.locations.len();
        let po = self.program_order();
        let mut placements = Vec::new();
        let mut count = 1usize;
        for at in 0..locations {
            let of_location = self.placements(at, &po, which, *budget)?;
            count = count.saturating_mul(of_location.iter().map(|p| p.orders.len()).sum());
            placements.push(of_location);
        }
        *budget = budget.checked_sub(count).ok_or(TooLarge)?;

        for sources in product(&placements.iter().map(Vec::len).collect::<Vec<_>>()) {
            let chosen: Vec<&Placement> =
                placements.iter().zip(&sources).map(|(placements, &index)| &placements[index]).collect();
            let mut rf = Relation::default();
            for &(source, read) in chosen.iter().flat_map(|placement| &placement.rf) {
                rf.insert(source, read);
            }
            let Some((events, registers)) = self.resolve(&rf) else { continue };
            for orders in product(&chosen.iter().map(|p| p.orders.len()).collect::<Vec<_>>()) {
                let orders: Vec<&[usize]> =
                    chosen.iter().zip(&orders).map(|(p, &index)| p.orders[index].as_slice()).collect();
                let mut mo = Relation::default();
                let mut memory = Vec::new();
                for (at, order) in orders.iter().enumerate() {
                    mo = mo | chain(at, order);
                    let last = order.last().copied().unwrap_or(at);
                    memory.push(events[last].written.expect("resolved"));
                }
                let state = State { registers: registers.clone(), memory };
                visit(&Candidate { events: events.clone(), po, rf, mo, state });
            }
        }
        Ok(())
    }

    fn program_order(&self) -> Relation {
        let mut po = Relation::default();
        for (a, first) in self.events.iter().enumerate() {
            for (b, second) in self.events.iter().enumerate().skip(a + 1) {
                if first.thread.is_some() && first.thread == second.thread {
                    po.insert(a, b);
                }
            }
        }
        po
    }

    /// Every `rf` and `mo` of one location.
    fn placements(
        &self,
        at: usize,
        po: &Relation,
        which: Which,
        limit: usize,
    ) -> Result<Vec<Placement>, TooLarge> {
        let here = |index: &usize| self.events[*index].at == Some(at) && self.events[*index].thread.is_some();
        let writes: Vec<usize> =
            (0..self.events.len()).filter(here).filter(|&e| self.events[e].writes()).collect();
        let reads: Vec<usize> =
            (0..self.events.len()).filter(here).filter(|&e| self.events[e].reads()).collect();
        let orders = permutations(&writes);
        let sources = writes.len() + 1;
        let attempts = (0..reads.len()).fold(orders.len(), |count, _| count.saturating_mul(sources));
        if attempts > limit.saturating_mul(20) {
            return Err(TooLarge);
        }

        let mut here = Set::default();
        for (index, event) in self.events.iter().enumerate() {
            if event.at == Some(at) {
                here.insert(index);
            }
        }
        let po_here = *po & here.times(here);
        let mut placements = Vec::new();
        for choice in product(&vec![sources; reads.len()]) {
            // Source number 0 is the initial write, whose index is the location's.
            let source = |&number: &usize| if number == 0 { at } else { writes[number - 1] };
            let rf: Vec<(usize, usize)> = choice.iter().map(source).zip(reads.iter().copied()).collect();
            if rf.iter().any(|(source, read)| source == read) {
                continue;
            }
            let mut relation = Relation::default();
            for &(source, read) in &rf {
                relation.insert(source, read);
            }
            let fits = |order: &&Vec<usize>| {
                which == Which::All || coherent(&self.events, &po_here, &relation, &chain(at, order))
            };
            let orders: Vec<Vec<usize>> = orders.iter().filter(fits).cloned().collect();
            if !orders.is_empty() {
                placements.push(Placement { rf, orders });
            }
        }
        Ok(placements)
    }

    /// The values of all events and registers when reads read from where `rf` says; `None` when a value comes
    /// out of thin air or contradicts the path.
    fn resolve(&self, rf: &Relation) -> Option<(Vec<Event>, Vec<Vec<i64>>)> {
        let mut events = self.events.clone();
        loop {
            let before = events.clone();
            for (source, from) in before.iter().enumerate() {
                for read in rf.successors(source).iter() {
                    events[read].read = from.written;
                }
            }
            let mut registers = Vec::new();
            let mut start = self.program.locations.len();
            for (thread, path) in self.path.iter().enumerate() {
                let reads: Vec<Option<i64>> =
                    events[start..].iter().take_while(|e| e.thread == Some(thread)).map(|e| e.read).collect();
                let walk = walk(self.program, thread, path, &reads, self.unroll);
                if walk.end == End::Contradiction {
                    return None;
                }
                assert_eq!(walk.end, End::Done, "the path was complete");
                assert_eq!(walk.events.len(), reads.len(), "the path fixes the events");
                events[start..start + reads.len()].copy_from_slice(&walk.events);
                start += reads.len();
                registers.push(walk.registers);
            }
            if events == before {
                let resolved = |e: &Event| e.reads() == e.read.is_some() && e.writes() == e.written.is_some();
                let registers: Option<Vec<Vec<i64>>> =
                    registers.into_iter().map(|of_thread| of_thread.into_iter().collect()).collect();
                return registers.filter(|_| events.iter().all(resolved)).map(|r| (events, r));
            }
        }
    }
}

/// The total order that begins with the initial write `at` and goes on with `order`.
fn chain(at: usize, order: &[usize]) -> Relation {
    let mut relation = Relation::default();
    for (position, &later) in order.iter().enumerate() {
        relation.insert(at, later);
        for &earlier in &order[..position] {
            relation.insert(earlier, later);
        }
    }
    relation
}

fn from_reads(rf: &Relation, mo: &Relation) -> Relation {
    let mut fr = rf.inverse().then(mo);
    for event in 0..MAX_EVENTS {
        fr.remove(event, event);
    }
    fr
}

/// SC per location (`po|loc ∪ rf ∪ mo ∪ fr` acyclic), and atomicity: an RMW comes immediately after the write
/// that it reads in modification order.
fn coherent(events: &[Event], po_same_location: &Relation, rf: &Relation, mo: &Relation) -> bool {
    let immediately_before = *mo - mo.then(mo);
    let atomic = events.iter().enumerate().all(|(index, event)| {
        event.kind != Kind::Rmw
            || !(0..events.len())
                .any(|source| rf.contains(source, index) && !immediately_before.contains(source, index))
    });
    atomic && (*po_same_location | *rf | *mo | from_reads(rf, mo)).is_acyclic()
}

/// Every sequence of numbers below the given sizes.
fn product(sizes: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let sizes = sizes.to_vec();
    let mut next = sizes.iter().all(|&size| size > 0).then(|| vec![0; sizes.len()]);
    std::iter::from_fn(move || {
        let current = next.clone()?;
        next = (0..sizes.len()).rev().find(|&i| current[i] + 1 < sizes[i]).map(|i| {
            let mut successor = current.clone();
            successor[i] += 1;
            successor[i + 1..].fill(0);
            successor
        });
        Some(current)
    })
}

/// Every order of the items.
fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    let Some((&first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in permutations(rest) {
        for position in 0..=order.len() {
            let mut order = order.clone();
            order.insert(position, first);
            all.push(order);
        }
    }
    all
}
