//! Whether the two accesses of a race can meet on x86-64: a walk over an execution under tso.
//!
//! There every load acquires and every store releases, since only a store and a later load of a thread change places. So the
//! accesses meet if no chain of program order, reads, locks, and thread creation and end leads from one to the other. What the
//! second access itself reads is no such chain: that it reads the first one is the meeting.

use crate::events::sources;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use wmtrace_model::execution::{Execution, Label, Source};
use wmtrace_model::op::{Site, ThreadId};

/// Longer executions are not walked: a clock of each store is kept.
const MOST_EVENTS: usize = 200_000;

type Clock = Rc<BTreeMap<ThreadId, u32>>;

fn join(into: &mut Clock, other: &Clock) {
    for (thread, time) in other.iter() {
        if into.get(thread).is_none_or(|mine| mine < time) {
            Rc::make_mut(into).insert(*thread, *time);
        }
    }
}

/// The pairs of places, as `place` numbers them (sorted), of conflicting accesses that meet.
pub(super) fn meetings(
    execution: &Execution,
    mut place: impl FnMut(Site) -> Option<usize>,
) -> BTreeSet<(usize, usize)> {
    let mut met = BTreeSet::new();
    if execution.events.len() > MOST_EVENTS {
        return met;
    }
    let mut now: BTreeMap<ThreadId, Clock> = BTreeMap::new();
    let mut stored: BTreeMap<u32, Clock> = BTreeMap::new();
    let mut objects: BTreeMap<u64, Clock> = BTreeMap::new();
    let mut ended: BTreeMap<ThreadId, Clock> = BTreeMap::new();
    // When a thread last made an access: place, first byte, length, whether it writes.
    let mut last: BTreeMap<(ThreadId, usize, u64, u64, bool), u32> = BTreeMap::new();
    for (id, event) in execution.iter() {
        let thread = event.thread;
        let mut clock = now.remove(&thread).unwrap_or_default();
        let time = 1 + clock.get(&thread).copied().unwrap_or(0);
        Rc::make_mut(&mut clock).insert(thread, time);
        let writes = matches!(event.label, Label::Store { .. } | Label::Rmw { .. });
        if let (Some(at), Some(mine)) =
            (event.label.place(), event.label.place().and_then(|_| place(event.site)))
        {
            let (from, len) = (at.addr.0, u64::from(at.width));
            for (&(other, theirs, addr, size, wrote), then) in &last {
                let overlaps = addr < from.saturating_add(len) && from < addr.saturating_add(size);
                let knows = clock.get(&other).is_some_and(|known| known >= then);
                if other != thread && overlaps && (writes || wrote) && !knows {
                    met.insert((mine.min(theirs), mine.max(theirs)));
                }
            }
            last.insert((thread, mine, from, len, writes), time);
        }
        match event.label {
            Label::Load { .. } | Label::Rmw { .. } => {
                for source in sources(execution, id) {
                    if let Source::Store(store) = source
                        && let Some(theirs) = stored.get(&store.0)
                    {
                        join(&mut clock, theirs);
                    }
                }
            }
            Label::Join { child } => {
                if let Some(theirs) = ended.get(&child) {
                    join(&mut clock, theirs);
                }
            }
            Label::Acquire { object } => {
                if let Some(theirs) = objects.get(&object) {
                    join(&mut clock, theirs);
                }
            }
            Label::Create { child } => {
                now.insert(child, clock.clone());
            }
            Label::Release { object } => join(objects.entry(object).or_default(), &clock),
            Label::Exit => {
                ended.insert(thread, clock.clone());
            }
            _ => {}
        }
        if writes {
            stored.insert(id.0, clock.clone());
        }
        now.insert(thread, clock);
    }
    met
}
