//! Threads: who did what when, and the synchronisation that is not by memory (`asw`): creating, ending and
//! joining threads, and the objects of `Release` and `Acquire` labels.
//!
//! Happens-before and the hardware models' global order both are graphs with two nodes per event: the event
//! itself, and one [`beside`] it that stands for what the event makes possible.

use super::violation::{Defect, Violation};
use crate::execution::{EventId, Execution, Label};
use crate::op::ThreadId;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// The node of an event.
pub(super) const fn node(event: u32) -> u32 {
    2 * event
}

/// The virtual node after an event. Nodes are in list order: an event, what is beside it, the next event.
pub(super) const fn beside(event: u32) -> u32 {
    2 * event + 1
}

/// The threads of an execution, numbered densely whatever their ids are.
pub(super) struct Threads {
    ids: Vec<ThreadId>,
    /// Per event, the number of its thread.
    pub(super) of: Vec<u32>,
    /// Per event, its number among its thread's events, from 1.
    pub(super) time: Vec<u32>,
    /// Per thread, the event that created it.
    pub(super) creator: Vec<Option<u32>>,
    /// Edges between nodes. All lead forward in the list. Each `Release` has beside it the node of all
    /// releases of its object so far, and every `Acquire` has an edge from the last of these.
    pub(super) asw: Vec<(u32, u32)>,
}

impl Threads {
    /// Numbers the threads and checks that they begin and end as their labels say.
    pub(super) fn of(execution: &Execution) -> Result<Threads, Violation> {
        let children = execution.events.iter().filter_map(|event| match event.label {
            Label::Create { child } | Label::Join { child } => Some(child),
            _ => None,
        });
        let mut ids: Vec<ThreadId> =
            execution.events.iter().map(|event| event.thread).chain(children).collect();
        ids.sort_unstable();
        ids.dedup();

        let count = ids.len();
        let mut threads =
            Threads { ids, of: Vec::new(), time: Vec::new(), creator: vec![None; count], asw: Vec::new() };
        let mut clock = vec![0; count];
        let mut exit: Vec<Option<u32>> = vec![None; count];
        let mut released: BTreeMap<u64, u32> = BTreeMap::new();
        for (id, event) in execution.iter() {
            let malformed = |why| Violation::Malformed { event: id, why };
            let thread = threads.number(event.thread).unwrap_or_default();
            // A commit is the buffer's doing, not the thread's: it may come when the thread has ended.
            if exit[thread].is_some() && !matches!(event.label, Label::Commit { .. }) {
                return Err(malformed(Defect::AfterExit));
            }
            clock[thread] += 1;
            threads.of.push(thread as u32);
            threads.time.push(clock[thread]);
            if let (1, Some(creator)) = (clock[thread], threads.creator[thread]) {
                threads.asw.push((node(creator), node(id.0)));
            }
            match event.label {
                Label::Create { child } => {
                    let number = threads.number(child).unwrap_or_default();
                    if clock[number] > 0 || threads.creator[number].is_some() {
                        return Err(malformed(Defect::CreatedTwice(child)));
                    }
                    threads.creator[number] = Some(id.0);
                }
                Label::Exit => exit[thread] = Some(id.0),
                Label::Join { child } => {
                    let ended = threads.number(child).and_then(|number| exit[number]);
                    let ended = ended.ok_or_else(|| malformed(Defect::NotEnded(child)))?;
                    threads.asw.push((node(ended), node(id.0)));
                }
                Label::Release { object } => {
                    threads.asw.push((node(id.0), beside(id.0)));
                    if let Some(before) = released.insert(object, id.0) {
                        threads.asw.push((beside(before), beside(id.0)));
                    }
                }
                Label::Acquire { object } => {
                    if let Some(&release) = released.get(&object) {
                        threads.asw.push((beside(release), node(id.0)));
                    }
                }
                Label::Load { .. }
                | Label::Store { .. }
                | Label::Rmw { .. }
                | Label::Fence { .. }
                | Label::Commit { .. }
                | Label::Sleep { .. }
                | Label::Wake { .. }
                | Label::Alloc { .. }
                | Label::Free { .. }
                | Label::Foreign { .. } => {}
            }
        }
        Ok(threads)
    }

    /// How many threads there are.
    pub(super) fn count(&self) -> usize {
        self.ids.len()
    }

    /// The number of a thread, if the execution mentions it.
    pub(super) fn number(&self, id: ThreadId) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// The event of a thread at a time.
    pub(super) fn event_at(&self, thread: u32, time: u32) -> Option<EventId> {
        let at = |(event, &of): (usize, &u32)| (of == thread && self.time[event] == time).then_some(event);
        self.of.iter().enumerate().find_map(at).map(|event| EventId(event as u32))
    }
}
