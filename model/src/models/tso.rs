//! x86-TSO in the dual form (Abdulla, Atig, Bouajjani, Ngo 2016): the store buffers are gone, and each thread
//! instead lags behind the log of all stores. Same behaviours, but the choice is made at the load, whatever
//! the schedule was.
//!
//! The log is the stores' stamps. A load that reads a store moves its thread's position up to that store, and
//! no further: any later position that gives the same value allows less afterwards.

use super::mutant::{Mutant, is};
use crate::memory::cell::Cell;
use crate::memory::clock::Slot;
use crate::op::ThreadId;
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug)]
struct Thread {
    /// How much of the log the thread has seen.
    position: u64,
    /// The stamp of its own last store.
    own: u64,
    alive: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Tso {
    threads: Vec<Thread>,
    mutant: Option<Mutant>,
}

/// The slot of a thread in a cell's lanes. Slots are not reused here.
fn slot(thread: ThreadId) -> Slot {
    thread.0 as Slot
}

impl Tso {
    pub(crate) fn new(mutant: Option<Mutant>) -> Tso {
        Tso { threads: Vec::new(), mutant }
    }

    pub(crate) fn clear(&mut self) {
        self.threads.clear();
    }

    /// A new thread; it has seen what its parent has seen, or nothing. `end` is the length of the log.
    pub(crate) fn spawn(&mut self, parent: Option<ThreadId>, end: u64) -> Option<()> {
        // Creating a thread is a system call: the parent's stores are in memory.
        let position = parent.map_or(0, |parent| {
            self.barrier(parent);
            self.threads[parent.index()].position
        });
        debug_assert!(position <= end);
        Slot::try_from(self.threads.len()).ok()?;
        self.threads.push(Thread { position, own: 0, alive: true });
        Some(())
    }

    pub(crate) fn exit(&mut self, thread: ThreadId) {
        self.barrier(thread);
        self.threads[thread.index()].alive = false;
    }

    /// The thread sees all of the log: a locked instruction, a join, an acquired lock.
    pub(crate) fn catch_up(&mut self, thread: ThreadId, end: u64) {
        if !is(self.mutant, Mutant::TsoRmwStaysBehind) {
            self.threads[thread.index()].position = end;
        }
    }

    /// The thread has seen the log up to `stamp`.
    pub(crate) fn see(&mut self, thread: ThreadId, stamp: u64) {
        let it = &mut self.threads[thread.index()];
        it.position = it.position.max(stamp);
    }

    pub(crate) fn floor(&self, cell: &Cell, thread: ThreadId) -> u32 {
        let it = &self.threads[thread.index()];
        let own = if is(self.mutant, Mutant::TsoIgnoresOwnStore) { 0 } else { cell.seen_by(slot(thread)) };
        cell.at_stamp(it.position).max(own)
    }

    pub(crate) fn common_floor(&self, cell: &Cell) -> u32 {
        let alive = (0..).zip(&self.threads).filter(|(_, it)| it.alive);
        alive.map(|(id, _)| self.floor(cell, ThreadId(id))).min().unwrap_or(cell.last_index())
    }

    /// A load has read store `index`. Its own store a thread may read before it is in the log; any other one moves
    /// the thread up to there, also when that was the only store left to read.
    pub(crate) fn load(&mut self, cell: &Cell, thread: ThreadId, index: u32) {
        if !cell.touched_last(slot(thread), index) && !is(self.mutant, Mutant::TsoLoadStaysBehind) {
            self.see(thread, cell.store(index).stamp);
        }
    }

    /// The thread's store `index` has entered the log.
    pub(crate) fn store(&mut self, cell: &mut Cell, thread: ThreadId, index: u32) {
        cell.touch(slot(thread), 1, index);
        self.threads[thread.index()].own = cell.store(index).stamp;
    }

    /// The thread's store to mixed bytes has entered the log.
    pub(crate) fn store_mixed(&mut self, thread: ThreadId, stamp: u64) {
        self.threads[thread.index()].own = stamp;
    }

    /// MFENCE: the thread's own stores are in memory, so it has seen the log up to there.
    pub(crate) fn barrier(&mut self, thread: ThreadId) {
        if !is(self.mutant, Mutant::TsoFenceDoesNothing) {
            let it = &mut self.threads[thread.index()];
            it.position = it.position.max(it.own);
        }
    }
}
