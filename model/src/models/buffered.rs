//! PSO and PSLO: the operational models of RELAXER (Burnim, Sen, Stergiou, ISSTA 2011, Figures 5 and 6).
//!
//! Each thread holds its stores back in one first-in-first-out buffer per place; a commit makes the oldest of
//! one buffer visible. A load takes the newest held store of its own thread, or else what memory holds (PSO),
//! or any store that was in memory since the thread last synchronised with it (PSLO's store history, which is
//! the cell's history from a floor on).
//!
//! C11's orders mean what a compiler for such a machine emits: a release is preceded by a store-store barrier,
//! an acquire followed by a load-load barrier, an SC store is a release store and a full barrier, an RMW is
//! locked and first commits the thread's stores to its own place only. As in the figures, a store-store
//! barrier commits everything, which is more than it must.

use super::mutant::{Mutant, is};
use crate::execution::EventId;
use crate::memory::cell::Cell;
use crate::memory::clock::Slot;
use crate::op::{Op, Place, ThreadId, Value};
use crate::order::Order;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A store that only its own thread can see.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Held {
    pub(crate) place: Place,
    pub(crate) value: Value,
    pub(crate) event: EventId,
    /// Names the held store among all of the execution.
    pub(crate) serial: u32,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// In program order.
    held: VecDeque<Held>,
    /// PSLO: loads may not go back behind this point of the log of commits.
    floor: u64,
    ended: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Buffered {
    threads: Vec<Thread>,
    /// Whether loads may be reordered too (PSLO).
    loads: bool,
    mutant: Option<Mutant>,
}

/// What must be committed before an operation.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Flush {
    Nothing,
    /// Stores to exactly this place.
    Place(Place),
    /// Stores that share bytes with this place without being exactly there.
    Clashing(Place),
    Everything,
}

fn slot(thread: ThreadId) -> Slot {
    thread.0 as Slot
}

impl Buffered {
    pub(crate) fn new(loads: bool, mutant: Option<Mutant>) -> Buffered {
        Buffered { threads: Vec::new(), loads, mutant }
    }

    pub(crate) fn clear(&mut self) {
        self.threads.clear();
    }

    /// A new thread; `end` is the length of the log of commits.
    pub(crate) fn spawn(&mut self, parent: Option<ThreadId>, end: u64) -> Option<()> {
        Slot::try_from(self.threads.len()).ok()?;
        // Creating a thread is a full barrier; the engine has flushed the parent's stores.
        if let Some(parent) = parent {
            self.load_barrier(parent, end);
        }
        let floor = parent.map_or(0, |_| end);
        self.threads.push(Thread { floor, ..Thread::default() });
        Some(())
    }

    pub(crate) fn exit(&mut self, thread: ThreadId) {
        self.threads[thread.index()].ended = true;
    }

    pub(crate) fn floor(&self, cell: &Cell, thread: ThreadId) -> u32 {
        if !self.loads {
            return cell.last_index();
        }
        let it = &self.threads[thread.index()];
        let own = if is(self.mutant, Mutant::PsloForgetsItsReads) { 0 } else { cell.seen_by(slot(thread)) };
        cell.at_stamp(it.floor).max(own)
    }

    pub(crate) fn common_floor(&self, cell: &Cell) -> u32 {
        let alive = (0..).zip(&self.threads).filter(|(_, it)| !it.ended);
        alive.map(|(id, _)| self.floor(cell, ThreadId(id))).min().unwrap_or(cell.last_index())
    }

    /// The thread's own newest held store to the place, which its loads see.
    pub(crate) fn forwarded(&self, thread: ThreadId, place: Place) -> Option<Held> {
        if is(self.mutant, Mutant::NoForwarding) {
            return None;
        }
        self.threads[thread.index()].held.iter().rev().find(|held| held.place == place).copied()
    }

    /// A load has read store `index`.
    pub(crate) fn load(&mut self, cell: &mut Cell, thread: ThreadId, index: u32) {
        cell.touch(slot(thread), 1, index);
    }

    /// A store of the thread has become store `index` of the cell.
    pub(crate) fn committed(&mut self, cell: &mut Cell, thread: ThreadId, index: u32) {
        cell.touch(slot(thread), 1, index);
    }

    /// The load-load barrier: later loads see what memory holds at this point of the log, or newer.
    pub(crate) fn load_barrier(&mut self, thread: ThreadId, end: u64) {
        if !is(self.mutant, Mutant::AcquireOrdersNothing) {
            self.threads[thread.index()].floor = end;
        }
    }

    /// Whether a store of this order goes to memory at once, because a full barrier follows it.
    pub(crate) fn writes_through(&self, order: Order) -> bool {
        order.is_sc() && !is(self.mutant, Mutant::BarrierCommitsNothing)
    }

    pub(crate) fn hold(&mut self, thread: ThreadId, held: Held) {
        self.threads[thread.index()].held.push_back(held);
    }

    /// How many stores the thread holds back.
    pub(crate) fn held(&self, thread: ThreadId) -> usize {
        self.threads[thread.index()].held.len()
    }

    /// The oldest held store of each buffer.
    pub(crate) fn heads(&self) -> impl Iterator<Item = (ThreadId, Held)> + '_ {
        (0..).zip(&self.threads).flat_map(|(id, it)| {
            let first = |&(index, held): &(usize, &Held)| {
                it.held.iter().take(index).all(|earlier| earlier.place != held.place)
            };
            it.held.iter().enumerate().filter(first).map(move |(_, held)| (ThreadId(id), *held))
        })
    }

    /// Takes the oldest held store of the buffer out of it.
    pub(crate) fn take(&mut self, thread: ThreadId, place: Place) -> Option<Held> {
        let held = &mut self.threads[thread.index()].held;
        let index = if is(self.mutant, Mutant::CommitsNewestFirst) {
            held.iter().rposition(|it| it.place == place)?
        } else {
            held.iter().position(|it| it.place == place)?
        };
        held.remove(index)
    }

    /// A held store that shares a byte with the range, the oldest of its thread.
    pub(crate) fn held_in(&self, start: u64, end: u64) -> Option<(ThreadId, Place)> {
        let within = |held: &&Held| held.place.addr.0 < end && start < held.place.end();
        (0..).zip(&self.threads).find_map(|(id, it)| {
            let held = it.held.iter().find(within)?;
            Some((ThreadId(id), held.place))
        })
    }

    /// The range, made longer where a held store lies across an end of it.
    pub(crate) fn widen(&self, mut start: u64, mut end: u64) -> (u64, u64) {
        let places = || self.threads.iter().flat_map(|it| &it.held).map(|held| held.place);
        while let Some(place) = places().find(|place| {
            place.addr.0 < end && start < place.end() && (place.addr.0 < start || end < place.end())
        }) {
            (start, end) = (start.min(place.addr.0), end.max(place.end()));
        }
        (start, end)
    }

    /// The memory begins a new life. What somebody still holds back of it never arrives.
    pub(crate) fn drop_range(&mut self, start: u64, end: u64) {
        for it in &mut self.threads {
            it.held.retain(|held| held.place.end() <= start || end <= held.place.addr.0);
        }
    }

    /// A held store that must be committed before the thread can perform the operation, oldest first; a thread
    /// that holds `limit` stores cannot hold another.
    pub(crate) fn in_the_way(&self, thread: ThreadId, op: &Op, limit: usize) -> Option<Place> {
        let flush = match *op {
            Op::Store { .. } if self.held(thread) >= limit => Flush::Everything,
            Op::Load { at, .. } => Flush::Clashing(at),
            Op::Store { at, order } => self.flush(order, Flush::Clashing(at)),
            Op::Rmw { at, order } | Op::Cas { at, order, .. } => {
                let own = if is(self.mutant, Mutant::RmwOvertakesOwnStore) {
                    Flush::Nothing
                } else {
                    Flush::Place(at)
                };
                self.flush(order, own)
            }
            Op::Fence { order } => self.flush(order, Flush::Nothing),
            Op::Yield => Flush::Nothing,
            // The kernel, or a library, reads memory, and what it tells others must be there.
            Op::Wait { .. } | Op::Wake { .. } | Op::Sync { .. } | Op::Join { .. } => Flush::Everything,
        };
        let mut held = self.threads[thread.index()].held.iter().map(|held| held.place);
        match flush {
            Flush::Nothing => None,
            Flush::Everything => held.next(),
            Flush::Place(at) => held.find(|place| place.overlaps(at)),
            Flush::Clashing(at) => held.find(|&place| place.overlaps(at) && place != at),
        }
    }

    fn flush(&self, order: Order, otherwise: Flush) -> Flush {
        let broken =
            if order.is_sc() { Mutant::BarrierCommitsNothing } else { Mutant::ReleaseCommitsNothing };
        if order.releases() && !is(self.mutant, broken) { Flush::Everything } else { otherwise }
    }

    /// The place of the thread's oldest held store.
    pub(crate) fn oldest(&self, thread: ThreadId) -> Option<Place> {
        self.threads[thread.index()].held.front().map(|held| held.place)
    }
}
