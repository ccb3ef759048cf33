//! Certifying data races: two accesses to common bytes, one a store, one not atomic, unordered by hb.
//!
//! Non-atomic accesses need not be in the list of events. The second is the last thing that happened when the
//! race was found, so what its thread knew then is what its last event knew. The first is placed among its
//! thread's events by its epoch, which advances after every event that publishes what the thread knows: others
//! learn of the access by the event that ends its epoch, or a later one.

use super::hb::{HappensBefore, Sequences};
use super::mo::Communication;
use super::threads::Threads;
use super::violation::{Defect, NoConflict, Violation};
use crate::execution::{Access, EventId, Execution, Label, Race};
use alloc::vec;
use core::convert::Infallible;

/// Certifies a race of an execution.
pub(super) fn certify(execution: &Execution, race: &Race, sequences: Sequences) -> Result<(), Violation> {
    let Race { first, second, events } = race;
    conflict(first, second).map_err(Violation::NoConflict)?;
    let events = execution.events.get(..*events as usize).ok_or(Violation::Unplaced { events: *events })?;
    let then = Execution { model: execution.model, events: events.to_vec(), bytes: execution.bytes.clone() };
    let communication = Communication::of(&then)?;
    let threads = Threads::of(&then)?;
    epochs(&then, &threads)?;
    let hb = HappensBefore::of(&then, &communication, &threads, sequences);
    match publisher(&then, &threads, first, known(&then, &threads, &hb, second, first)) {
        Some(by) => Err(Violation::Ordered { before: first.thread, by, after: second.thread }),
        None => Ok(()),
    }
}

/// Whether the two accesses would race if nothing ordered them.
fn conflict(first: &Access, second: &Access) -> Result<(), NoConflict> {
    let end = |access: &Access| match access.len {
        0 => Err(NoConflict::Range),
        len => access.addr.0.checked_add(len).ok_or(NoConflict::Range),
    };
    let (first_end, second_end) = (end(first)?, end(second)?);
    if first.thread == second.thread {
        Err(NoConflict::SameThread)
    } else if first.addr.0 >= second_end || second.addr.0 >= first_end {
        Err(NoConflict::Disjoint)
    } else if !first.store && !second.store {
        Err(NoConflict::NoStore)
    } else if first.atomic && second.atomic {
        Err(NoConflict::BothAtomic)
    } else {
        Ok(())
    }
}

/// Checks what placing accesses by epoch relies on: epochs never go back, and advance after every event from
/// which hb leads to other threads.
fn epochs(execution: &Execution, threads: &Threads) -> Result<(), Violation> {
    let mut least = vec![0u64; threads.count()];
    for (id, event) in execution.iter() {
        let least = &mut least[threads.of[id.index()] as usize];
        let epoch = u64::from(event.epoch);
        if epoch < *least {
            return Err(Violation::Malformed { event: id, why: Defect::Epoch });
        }
        let publishes = match event.label {
            Label::Store { order, .. } | Label::Rmw { order, .. } | Label::Fence { order } => {
                order.releases()
            }
            Label::Create { .. } | Label::Exit | Label::Release { .. } => true,
            Label::Load { .. }
            | Label::Commit { .. }
            | Label::Join { .. }
            | Label::Acquire { .. }
            | Label::Sleep { .. }
            | Label::Wake { .. }
            | Label::Alloc { .. }
            | Label::Free { .. }
            | Label::Foreign { .. } => false,
        };
        *least = epoch + u64::from(publishes);
    }
    Ok(())
}

/// Up to which time the thread of `access` knows the thread of `other`, at the end of the execution.
fn known(
    execution: &Execution,
    threads: &Threads,
    hb: &HappensBefore<'_>,
    access: &Access,
    other: &Access,
) -> u32 {
    let Some(other) = threads.number(other.thread) else { return 0 };
    let mut known = 0;
    let visited: Result<(), Infallible> = hb.clocks(|id, clock| {
        let event = &execution.events[id as usize];
        if event.thread == access.thread || event.label == (Label::Create { child: access.thread }) {
            known = clock[other];
        }
        Ok(())
    });
    let Ok(()) = visited;
    known
}

/// The event by which one who knows the access's thread up to a time knows of the access.
fn publisher(execution: &Execution, threads: &Threads, access: &Access, time: u32) -> Option<EventId> {
    let thread = threads.number(access.thread)? as u32;
    threads.event_at(thread, time).filter(|&event| execution.event(event).epoch >= access.epoch)
}
