//! Locations: the bytes of an execution, divided so that every axiom can be checked for each alone.
//!
//! All accesses' boundaries together cut the address space into *atoms*: byte intervals that no access splits.
//! Accesses of mixed sizes fall into several [`Piece`]s, one for each atom; where every access is exact, each
//! has one piece. An atom becomes another *location*, with an initial value of its own, at every `Alloc`,
//! `Free` or `Foreign` that covers it: what was stored in its earlier life can neither be read nor ordered afterwards.

use super::violation::{Defect, Violation};
use crate::execution::{EventId, Execution, Label};
use crate::op::{MAX_WIDTH, Place};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// The part of an access that falls on one location.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    /// The access.
    pub(super) event: u32,
    /// The location, numbered from 0.
    pub(super) location: u32,
    /// The first byte, counted from the access's own.
    pub(super) offset: u8,
    /// How many bytes.
    pub(super) width: u8,
}

/// The accesses of an execution, in pieces.
pub(super) struct Locations {
    /// In list order of the events, then by address.
    pub(super) pieces: Vec<Piece>,
    /// How many locations there are.
    pub(super) count: usize,
    /// Where each event's pieces start; one entry more than events.
    start: Vec<u32>,
}

impl Locations {
    /// Cuts all accesses into pieces.
    pub(super) fn of(execution: &Execution) -> Result<Locations, Violation> {
        let atoms = Atoms::of(execution)?;
        let mut lives = Lives::new(atoms.cuts.len());
        let mut located: Vec<Option<Located>> = vec![None; atoms.cuts.len()];
        let mut locations =
            Locations { pieces: Vec::new(), count: 0, start: Vec::with_capacity(execution.events.len() + 1) };
        for (id, event) in execution.iter() {
            locations.start.push(locations.pieces.len() as u32);
            let Some(range) = bytes(id, &event.label)? else { continue };
            if matches!(event.label, Label::Alloc { .. } | Label::Free { .. } | Label::Foreign { .. }) {
                lives.begin(atoms.within(&range), id.0 + 1);
                continue;
            }
            for atom in atoms.within(&range) {
                let life = lives.of(atom);
                let location = match located[atom] {
                    Some(known) if known.life == life => known.location,
                    _ => {
                        locations.count += 1;
                        locations.count as u32 - 1
                    }
                };
                located[atom] = Some(Located { life, location });
                // An atom within an access has no more bytes than the access: at most 16.
                let offset = (atoms.cuts[atom] - range.start) as u8;
                let width = (atoms.cuts[atom + 1] - atoms.cuts[atom]) as u8;
                locations.pieces.push(Piece { event: id.0, location, offset, width });
            }
        }
        locations.start.push(locations.pieces.len() as u32);
        Ok(locations)
    }

    /// The pieces of an event, as indices into [`Locations::pieces`].
    pub(super) fn of_event(&self, event: u32) -> Range<u32> {
        self.start[event as usize]..self.start[event as usize + 1]
    }

    /// The piece of an event on a location.
    pub(super) fn covering(&self, event: u32, location: u32) -> Option<u32> {
        self.of_event(event).find(|&piece| self.pieces[piece as usize].location == location)
    }
}

#[derive(Clone, Copy)]
struct Located {
    life: u32,
    location: u32,
}

/// The addresses at which some access, or life of memory, begins or ends; atom `i` lies between cut `i` and
/// the next.
struct Atoms {
    cuts: Vec<u64>,
}

impl Atoms {
    fn of(execution: &Execution) -> Result<Atoms, Violation> {
        let mut cuts = Vec::new();
        for (id, event) in execution.iter() {
            let range = bytes(id, &event.label)?;
            cuts.extend(range.iter().flat_map(|range| [range.start, range.end]));
        }
        cuts.sort_unstable();
        cuts.dedup();
        Ok(Atoms { cuts })
    }

    /// The atoms of a range, whose ends must be cuts.
    fn within(&self, range: &Range<u64>) -> Range<usize> {
        let index = |address| self.cuts.partition_point(|&cut| cut < address);
        index(range.start)..index(range.end)
    }
}

/// For each atom the latest allocation, free or foreign write that covers it: a segment tree, so that allocations of many
/// atoms cost no more than small ones.
struct Lives {
    /// Leaves in the second half. A node's entry counts for all leaves below it.
    latest: Vec<u32>,
}

impl Lives {
    fn new(atoms: usize) -> Lives {
        Lives { latest: vec![0; 2 * atoms] }
    }

    /// A new life, numbered above all earlier ones, for a range of atoms.
    fn begin(&mut self, atoms: Range<usize>, life: u32) {
        let leaves = self.latest.len() / 2;
        let (mut low, mut high) = (atoms.start + leaves, atoms.end + leaves);
        while low < high {
            if low % 2 == 1 {
                self.latest[low] = life;
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                self.latest[high] = life;
            }
            low /= 2;
            high /= 2;
        }
    }

    /// The life of an atom.
    fn of(&self, atom: usize) -> u32 {
        let mut node = atom + self.latest.len() / 2;
        let mut latest = 0;
        while node > 0 {
            latest = latest.max(self.latest[node]);
            node /= 2;
        }
        latest
    }
}

/// The bytes that an event accesses, or to which it gives a new life.
fn bytes(event: EventId, label: &Label) -> Result<Option<Range<u64>>, Violation> {
    let impossible = Violation::Malformed { event, why: Defect::Range };
    let (start, len) = match *label {
        Label::Load { at, .. } | Label::Store { at, .. } | Label::Rmw { at, .. } => {
            let Place { addr, width } = at;
            if width == 0 || width > MAX_WIDTH {
                return Err(impossible);
            }
            (addr.0, u64::from(width))
        }
        Label::Alloc { at, len } | Label::Free { at, len } | Label::Foreign { at, len } => (at.0, len),
        Label::Fence { .. }
        | Label::Commit { .. }
        | Label::Create { .. }
        | Label::Exit
        | Label::Join { .. }
        | Label::Release { .. }
        | Label::Acquire { .. }
        | Label::Sleep { .. }
        | Label::Wake { .. } => return Ok(None),
    };
    let end = start.checked_add(len).ok_or(impossible)?;
    Ok(Some(start..end))
}
