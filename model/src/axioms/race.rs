//! Certifying data races: two accesses to common bytes, one a store, one not atomic, unordered by hb.
//!
//! Non-atomic accesses need not be in the list of events: an [`Access`] is placed among its thread's events by
//! its epoch, which advances after every event that publishes what the thread knows. That says exactly whether
//! others learn of the access: they do by the event that ends its epoch, or a later one. It does not say
//! exactly what the thread knew at the access, since acquiring does not end an epoch; so what it knew for
//! certain and what it may have known are kept apart.

use super::hb::HappensBefore;
use super::mo::Communication;
use super::threads::Threads;
use super::violation::{Defect, NoConflict, Violation};
use crate::execution::{Access, Event, EventId, Execution, Label, Race};
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

/// Certifies a race of an execution.
pub(super) fn certify(execution: &Execution, race: &Race) -> Result<(), Violation> {
    let Race { first, second } = race;
    conflict(first, second).map_err(Violation::NoConflict)?;
    let communication = Communication::of(execution)?;
    let threads = Threads::of(execution)?;
    epochs(execution, &threads)?;
    let hb = HappensBefore::of(execution, &communication, &threads);

    let published = |access, time| publisher(execution, &threads, access, time);
    let (before, after) = (first.thread, second.thread);
    let at_second = Knowledge::of(execution, &threads, &hb, second, first);
    if let Some(by) = published(first, at_second.certain) {
        return Err(Violation::Ordered { before, by, after });
    }
    if let Some(by) = published(first, at_second.possible) {
        return Err(Violation::Unplaced { before, by, after });
    }
    // That the first did come first is the machine's word. If its thread learnt of the second later on in the
    // epoch, that is no contradiction; if it knew of it before, it is.
    let at_first = Knowledge::of(execution, &threads, &hb, first, second);
    match published(second, at_first.certain) {
        Some(by) => Err(Violation::Ordered { before: after, by, after: before }),
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
            | Label::Free { .. } => false,
        };
        *least = epoch + u64::from(publishes);
    }
    Ok(())
}

/// How much a thread knew of another's events at an access: up to which time.
struct Knowledge {
    certain: u32,
    possible: u32,
}

impl Knowledge {
    /// What `access`'s thread knew of `other`'s.
    fn of(
        execution: &Execution,
        threads: &Threads,
        hb: &HappensBefore<'_>,
        access: &Access,
        other: &Access,
    ) -> Knowledge {
        let mut around = Knowledge { certain: 0, possible: 0 };
        let Some(other) = threads.number(other.thread) else { return around };
        let mut exact: Vec<u32> = Vec::new();
        let visited: Result<(), Infallible> = hb.clocks(|id, clock| {
            let event = &execution.events[id as usize];
            let known = clock[other];
            if event.label == (Label::Create { child: access.thread }) {
                around = Knowledge { certain: known, possible: known };
            }
            if event.thread == access.thread {
                if event.epoch < access.epoch {
                    around.certain = known;
                }
                if event.epoch <= access.epoch {
                    around.possible = known;
                }
                if is(event, access) {
                    exact.push(known);
                }
            }
            Ok(())
        });
        let Ok(()) = visited;
        match (exact.first(), exact.last()) {
            (Some(&certain), Some(&possible)) => Knowledge { certain, possible },
            _ => around,
        }
    }
}

/// The event by which one who knows the access's thread up to a time knows of the access.
fn publisher(execution: &Execution, threads: &Threads, access: &Access, time: u32) -> Option<EventId> {
    let thread = threads.number(access.thread)? as u32;
    threads.event_at(thread, time).filter(|&event| execution.event(event).epoch >= access.epoch)
}

/// Whether an event of the list is the access.
fn is(event: &Event, access: &Access) -> bool {
    let Some((place, order)) = event.label.place().zip(event.label.order()) else { return false };
    event.thread == access.thread
        && event.site == access.site
        && event.epoch == access.epoch
        && (place.addr, u64::from(place.width)) == (access.addr, access.len)
        && event.label.mo().is_some() == access.store
        && order.is_atomic() == access.atomic
}
