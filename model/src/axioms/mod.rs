//! Certificates: whether a recorded [`Execution`] is one that its model's axioms allow.
//!
//! Nothing here knows how the machine came to the execution. It is judged as the papers define executions, by
//! relations between its events: `po` (one thread's events in list order), `rf` and `mo` (from the labels), and
//! what follows from them (`fr`, `sw`, `hb`, …). The definitions are those of RC11 (Lahav et al., PLDI 2017) as
//! amended by C++20 for [C11](ModelKind::C11), and of Alglave et al. ("Herding cats", TOPLAS 2014) for the
//! [hardware models](ModelKind::Tso). Each module states the axioms it checks.
//!
//! The relations are quadratic in the number of events, so none of them is ever written down: a transitive
//! relation is a graph with a linear number of edges, or vector clocks. Certifying takes
//! `O(n · threads · log n)` time.
//!
//! Invariants: every function is total, whatever the execution contains (a reference to nowhere is
//! [`Violation::Malformed`]), and the verdict, with the events it names, is a function of the execution alone.

mod c11;
mod graph;
mod hardware;
mod hb;
mod locations;
mod mo;
mod race;
mod sc;
mod threads;
mod unsure;
mod violation;

#[cfg(test)]
mod tests;

pub use violation::{Coherence, Defect, NoConflict, Violation};

use crate::execution::{EventId, Execution, Race};
use crate::op::{ModelKind, Site};
use alloc::vec::Vec;
use hb::Sequences;

/// Graph nodes are numbered with `u32`: up to 7 per event and 1 for each of its 16 bytes, for the SC axiom.
const MAX_EVENTS: usize = 1 << 27;

/// Certifies a finished or interrupted execution against the axioms of its model.
pub fn certify(execution: &Execution) -> Result<(), Violation> {
    in_range(execution)?;
    match execution.model {
        ModelKind::C11 => c11::certify(execution),
        ModelKind::Sc | ModelKind::Tso | ModelKind::Pso | ModelKind::Pslo => hardware::certify(execution),
    }
}

/// Certifies that a race is one: the accesses conflict, and C11's happens-before, by the orders in the labels
/// whatever the model, leaves them unordered. Whether the execution is allowed at all is for [`certify`].
///
/// The execution should be the one up to the moment when the race was found. With a longer one the answer can
/// be [`Violation::Unplaced`] for an access that is not in the list: its epoch does not tell whether it came
/// before or after what its thread acquired in the same epoch.
pub fn certify_race(execution: &Execution, race: &Race) -> Result<(), Violation> {
    in_range(execution)?;
    race::certify(execution, race, Sequences::Short)
}

/// Whether a race is one by C++20's rules alone: C11, and C++ up to C++17, have longer release sequences, which order the
/// two accesses.
pub fn is_ordered_by_longer_sequences(execution: &Execution, race: &Race) -> bool {
    let longer = race::certify(execution, race, Sequences::Longer);
    in_range(execution).is_ok() && matches!(longer, Err(Violation::Ordered { .. }))
}

/// Races of accesses that may be plain, `most` at most: none of them is one if the accesses are atomic after all. Each
/// passes [`certify_race`].
pub fn possible_races(
    execution: &Execution,
    is_unsure: &dyn Fn(Site) -> bool,
    most: usize,
) -> Result<Vec<Race>, Violation> {
    in_range(execution)?;
    unsure::races(execution, is_unsure, most)
}

fn in_range(execution: &Execution) -> Result<(), Violation> {
    if execution.events.len() > MAX_EVENTS {
        return Err(Violation::Malformed { event: EventId(MAX_EVENTS as u32), why: Defect::TooLong });
    }
    Ok(())
}
