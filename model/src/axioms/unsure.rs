//! Races that there are if accesses are plain of which nobody knows whether they are atomic.
//!
//! The machine takes such accesses for atomic, with orders of the policy's, so they do not race with each other, and they
//! synchronise. Here they are looked at once more, one location at a time: if all accesses to it are unsure, and two of
//! different threads (one a store) are unordered by what their threads knew *before* they made them, then these race,
//! provided that they are plain. What other unsure accesses order stays ordered: this misses races, and accuses no data
//! that an unsure flag protects.

use super::hb::{HappensBefore, Sequences};
use super::mo::Communication;
use super::threads::Threads;
use super::violation::Violation;
use crate::execution::{Access, EventId, Execution, Label, Race};
use crate::op::Site;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

/// The last accesses of each thread to eight bytes: who, whether it stores, and which event it is.
type Last = BTreeMap<(u32, bool), EventId>;

/// The races of an execution, each pair of sites once, `most` at most.
pub(super) fn races(
    execution: &Execution,
    is_unsure: &dyn Fn(Site) -> bool,
    most: usize,
) -> Result<Vec<Race>, Violation> {
    let open = open(execution, is_unsure);
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let communication = Communication::of(execution)?;
    let threads = Threads::of(execution)?;
    let hb = HappensBefore::of(execution, &communication, &threads, Sequences::Short);
    // What each thread knew when it had made its last event, or when it was made.
    let mut known: Vec<Vec<u32>> = vec![Vec::new(); threads.count()];
    let mut memory: BTreeMap<u64, Last> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut races = Vec::new();
    let visited: Result<(), Infallible> = hb.clocks(|number, clock| {
        let id = EventId(number);
        let event = execution.event(id);
        let thread = threads.of[id.index()];
        match event.label {
            Label::Load { .. } | Label::Store { .. } if races.len() < most => {
                let second = access(execution, id);
                for granule in granules(&second).filter(|granule| open.contains(granule)) {
                    let last = memory.entry(granule).or_default();
                    for (&(other, store), &before) in last.iter() {
                        let first = access(execution, before);
                        let heard = known[thread as usize].get(other as usize).copied().unwrap_or(0);
                        if other != thread
                            && (store || second.store)
                            && threads.time[before.index()] > heard
                            && first.addr.0 < second.addr.0 + second.len
                            && second.addr.0 < first.addr.0 + first.len
                            && seen.insert((first.site, second.site))
                        {
                            races.push(Race { first, second, events: number });
                        }
                    }
                    last.insert((thread, second.store), id);
                }
            }
            // Another life of the memory.
            Label::Alloc { at, len } | Label::Free { at, len } | Label::Foreign { at, len } => {
                let end = at.0.saturating_add(len);
                let over: Vec<u64> =
                    memory.range(at.0 >> 3..=end >> 3).map(|(&granule, _)| granule).collect();
                over.into_iter().for_each(|granule| drop(memory.remove(&granule)));
            }
            Label::Create { child } => {
                if let Some(child) = threads.number(child) {
                    known[child] = clock.to_vec();
                }
            }
            _ => {}
        }
        known[thread as usize].clear();
        known[thread as usize].extend_from_slice(clock);
        Ok(())
    });
    let Ok(()) = visited;
    races.truncate(most);
    Ok(races)
}

/// Memory, in units of eight bytes, that all accesses to are unsure.
fn open(execution: &Execution, is_unsure: &dyn Fn(Site) -> bool) -> BTreeSet<u64> {
    let (mut open, mut sure) = (BTreeSet::new(), BTreeSet::new());
    for (id, event) in execution.iter() {
        let unsure = match event.label {
            Label::Load { locked, .. } => !locked && is_unsure(event.site),
            Label::Store { .. } => is_unsure(event.site),
            Label::Rmw { .. } => false,
            _ => continue,
        };
        let set = if unsure { &mut open } else { &mut sure };
        set.extend(granules(&access(execution, id)));
    }
    open.retain(|granule| !sure.contains(granule));
    open
}

/// The access of an event, as a plain one.
fn access(execution: &Execution, id: EventId) -> Access {
    let event = execution.event(id);
    let (addr, len) =
        event.label.place().map_or((crate::op::Addr(0), 0), |at| (at.addr, u64::from(at.width)));
    let store = !matches!(event.label, Label::Load { .. });
    Access { thread: event.thread, site: event.site, epoch: event.epoch, addr, len, store, atomic: false }
}

fn granules(access: &Access) -> impl Iterator<Item = u64> + use<> {
    access.addr.0 >> 3..=access.addr.0.saturating_add(access.len.max(1) - 1) >> 3
}
