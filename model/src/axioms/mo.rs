//! Communication: the relations `rf`, `mo` and `fr` of an execution, location by location.
//!
//! The record says where each store entered modification order at the time; here these steps are replayed
//! into one list per location, held stores taking their place when they commit. Each location has a node for
//! its initial value too, so that reading it is no special case: `fr` of a read is always the node after its
//! source.
//!
//! A read's source must be earlier in the list. So `po` and `rf` both follow the list, and `po ∪ rf` has no
//! cycle: that axiom needs no check of its own.

use super::locations::{Locations, Piece};
use super::violation::{Defect, Violation};
use crate::execution::{EventId, Execution, Label, Mo, Rf, Source};
use crate::op::Value;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// `rf`, `mo` and `fr` over *nodes*: first the pieces of all accesses, then one initial value per location.
pub(super) struct Communication<'a> {
    execution: &'a Execution,
    locations: Locations,
    /// Per node that is in mo, the one after it.
    next: Vec<Option<u32>>,
    /// Per piece that reads, the node it reads from.
    source: Vec<Option<u32>>,
    /// Per node: see [`Communication::position`].
    position: Vec<u32>,
}

/// A relation between two accesses of one location.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// From a store to a load that reads it.
    Rf,
    /// From a write to the next one.
    Mo,
    /// From a load to the first write after the one it read.
    Fr,
}

impl<'a> Communication<'a> {
    /// Replays the record; fails on whatever contradicts itself, and on RMWs that are not atomic.
    pub(super) fn of(execution: &'a Execution) -> Result<Communication<'a>, Violation> {
        let locations = Locations::of(execution)?;
        let mut replay = Replay::new(execution, &locations);
        for (id, event) in execution.iter() {
            replay.event(id, &event.label)?;
        }
        replay.commit_the_rest();
        let Replay { next, source, .. } = replay;

        let pieces = locations.pieces.len();
        let mut position = vec![0; pieces + locations.count];
        for init in pieces..pieces + locations.count {
            let mut node = init;
            while let Some(after) = next[node] {
                position[after as usize] = position[node] + 1;
                node = after as usize;
            }
        }
        let mut communication = Communication { execution, locations, next, source, position };
        for piece in 0..pieces as u32 {
            if let (Some(source), false) = (communication.source(piece), communication.writes(piece)) {
                communication.position[piece as usize] = communication.position[source as usize];
            }
        }
        communication.atomicity()?;
        Ok(communication)
    }

    /// Atomicity: nothing comes between an RMW and what it read, `fr;mo` is empty on RMWs.
    fn atomicity(&self) -> Result<(), Violation> {
        for piece in 0..self.locations.pieces.len() as u32 {
            let Some(source) = self.source(piece).filter(|_| self.writes(piece)) else { continue };
            let next = self.next(source);
            if next != Some(piece) {
                return Err(Violation::Atomicity {
                    rmw: EventId(self.event(piece)),
                    from: if self.is_init(source) {
                        Source::Init
                    } else {
                        Source::Store(EventId(self.event(source)))
                    },
                    next: next.map(|piece| EventId(self.event(piece))),
                });
            }
        }
        Ok(())
    }

    /// The pieces of an event.
    pub(super) fn pieces(&self, event: u32) -> Range<u32> {
        self.locations.of_event(event)
    }

    /// How many pieces there are.
    pub(super) fn piece_count(&self) -> usize {
        self.locations.pieces.len()
    }

    /// How many locations there are.
    pub(super) fn location_count(&self) -> usize {
        self.locations.count
    }

    /// The location of a piece.
    pub(super) fn location(&self, piece: u32) -> u32 {
        self.locations.pieces[piece as usize].location
    }

    /// The access that a piece is of.
    pub(super) fn event(&self, piece: u32) -> u32 {
        self.locations.pieces[piece as usize].event
    }

    /// Whether a piece is of a store or RMW.
    pub(super) fn writes(&self, piece: u32) -> bool {
        self.execution.events[self.event(piece) as usize].label.mo().is_some()
    }

    /// Where a piece stands in modification order: a write at its own position (from 1), a load at that of
    /// the store it reads (the initial value's is 0).
    pub(super) fn position(&self, piece: u32) -> u32 {
        self.position[piece as usize]
    }

    /// The stores that an event reads from: an entry per piece, so there may be duplicates.
    pub(super) fn sources(&self, event: u32) -> impl Iterator<Item = u32> {
        self.pieces(event)
            .filter_map(|piece| self.source(piece))
            .filter(|&node| !self.is_init(node))
            .map(|node| self.event(node))
    }

    /// Edges between pieces whose transitive closure is that of `rf ∪ mo ∪ fr`. An RMW directly follows its
    /// source in mo, so it appears as a write only: its `rf` is that mo edge, its `fr` the way on from there.
    pub(super) fn relations(&self) -> impl Iterator<Item = (Relation, u32, u32)> {
        (0..self.locations.pieces.len() as u32).flat_map(|piece| {
            let (into, out) = match self.source(piece) {
                Some(source) if !self.writes(piece) => (
                    Some((Relation::Rf, source, piece)).filter(|_| !self.is_init(source)),
                    self.next(source).map(|next| (Relation::Fr, piece, next)),
                ),
                _ => (None, self.next(piece).map(|next| (Relation::Mo, piece, next))),
            };
            [into, out].into_iter().flatten()
        })
    }

    fn source(&self, piece: u32) -> Option<u32> {
        self.source[piece as usize]
    }

    fn next(&self, node: u32) -> Option<u32> {
        self.next[node as usize]
    }

    fn is_init(&self, node: u32) -> bool {
        node as usize >= self.locations.pieces.len()
    }
}

/// The state of all locations at one point of the list.
struct Replay<'a> {
    execution: &'a Execution,
    locations: &'a Locations,
    next: Vec<Option<u32>>,
    source: Vec<Option<u32>>,
    /// Per location, its mo-last node.
    last: Vec<u32>,
    /// The stores that wait for their commit.
    held: BTreeSet<u32>,
    /// Per location, the initial value and the first event that read it.
    initial: Vec<Option<(Value, EventId)>>,
}

impl<'a> Replay<'a> {
    fn new(execution: &'a Execution, locations: &'a Locations) -> Replay<'a> {
        let pieces = locations.pieces.len();
        Replay {
            execution,
            locations,
            next: vec![None; pieces + locations.count],
            source: vec![None; pieces],
            last: (pieces as u32..).take(locations.count).collect(),
            held: BTreeSet::new(),
            initial: vec![None; locations.count],
        }
    }

    fn event(&mut self, id: EventId, label: &Label) -> Result<(), Violation> {
        match *label {
            Label::Load { value, rf, .. } => self.read(id, value, rf),
            Label::Store { mo, .. } => self.write(id, mo),
            Label::Rmw { read, rf, mo, .. } => {
                self.read(id, read, rf)?;
                self.write(id, mo)
            }
            Label::Commit { store } => {
                let own =
                    |event: EventId| self.execution.event(event).thread == self.execution.event(id).thread;
                // What is in `held` is an event, so only then is it looked at.
                if !self.held.contains(&store.0) || !own(store) {
                    return Err(Violation::Malformed { event: id, why: Defect::NotHeld(store) });
                }
                self.held.remove(&store.0);
                self.append(store.0);
                Ok(())
            }
            Label::Fence { .. }
            | Label::Create { .. }
            | Label::Exit
            | Label::Join { .. }
            | Label::Release { .. }
            | Label::Acquire { .. }
            | Label::Sleep { .. }
            | Label::Wake { .. }
            | Label::Alloc { .. }
            | Label::Free { .. }
            | Label::Foreign { .. } => Ok(()),
        }
    }

    fn read(&mut self, id: EventId, value: Value, rf: Rf) -> Result<(), Violation> {
        let malformed = |why| Violation::Malformed { event: id, why };
        if matches!(rf, Rf::Bytes(index) if index as usize >= self.execution.bytes.len()) {
            return Err(malformed(Defect::NoSources));
        }
        for index in self.locations.of_event(id.0) {
            let piece = self.locations.pieces[index as usize];
            let from = self.execution.source(rf, usize::from(piece.offset));
            let bytes = usize::from(piece.offset)..usize::from(piece.offset + piece.width);
            if bytes.clone().any(|byte| self.execution.source(rf, byte) != from) {
                return Err(malformed(Defect::Torn));
            }
            let node = self.node(id, piece.location, from).map_err(malformed)?;
            let seen = extract(value, piece);
            match from {
                Source::Init => {
                    let (initial, first) = *self.initial[piece.location as usize].get_or_insert((seen, id));
                    if initial != seen {
                        return Err(Violation::Initial { first, second: id });
                    }
                }
                Source::Store(store) => {
                    let (Label::Store { value: written, .. } | Label::Rmw { written, .. }) =
                        self.execution.event(store).label
                    else {
                        return Err(malformed(Defect::NotAStore(store)));
                    };
                    if extract(written, self.locations.pieces[node as usize]) != seen {
                        return Err(Violation::Value { read: id, from });
                    }
                }
            }
            self.source[index as usize] = Some(node);
        }
        Ok(())
    }

    fn write(&mut self, id: EventId, mo: Mo) -> Result<(), Violation> {
        match mo {
            Mo::Last => self.append(id.0),
            Mo::After(source) => {
                let malformed = |why| Violation::Malformed { event: id, why };
                if let Source::Store(store) = source
                    && self.held.contains(&store.0)
                {
                    return Err(malformed(Defect::AfterHeld(store)));
                }
                for piece in self.locations.of_event(id.0) {
                    let location = self.locations.pieces[piece as usize].location;
                    let node = self.node(id, location, source).map_err(malformed)?;
                    self.insert(piece, location, node);
                }
            }
            Mo::Held => {
                self.held.insert(id.0);
            }
        }
        Ok(())
    }

    /// Held stores that never committed come after all others.
    fn commit_the_rest(&mut self) {
        while let Some(store) = self.held.pop_first() {
            self.append(store);
        }
    }

    fn append(&mut self, event: u32) {
        for piece in self.locations.of_event(event) {
            let location = self.locations.pieces[piece as usize].location;
            self.insert(piece, location, self.last[location as usize]);
        }
    }

    fn insert(&mut self, piece: u32, location: u32, after: u32) {
        self.next[piece as usize] = self.next[after as usize].replace(piece);
        if self.last[location as usize] == after {
            self.last[location as usize] = piece;
        }
    }

    /// The node of a source that event `id` refers to on a location.
    fn node(&self, id: EventId, location: u32, source: Source) -> Result<u32, Defect> {
        match source {
            Source::Init => Ok(self.locations.pieces.len() as u32 + location),
            Source::Store(store) if store >= id => Err(Defect::NotEarlier(store)),
            Source::Store(store) if self.execution.event(store).label.mo().is_none() => {
                Err(Defect::NotAStore(store))
            }
            Source::Store(store) => {
                self.locations.covering(store.0, location).ok_or(Defect::Elsewhere(store))
            }
        }
    }
}

/// The bytes of an access's value that fall on a piece of it.
fn extract(value: Value, piece: Piece) -> Value {
    // A piece lies within its access, so offset and width together are at most 16, and width at least 1.
    let unused = 8 * (16 - u32::from(piece.offset) - u32::from(piece.width));
    (value << unused) >> (unused + 8 * u32::from(piece.offset))
}
