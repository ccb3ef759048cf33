//! C11 with views: RC11 (Lahav et al. 2017) without load buffering, and C++20's SC order.
//!
//! Follows the view machine of the PCTWM paper (ASPLOS 2023, §5.2) with these deviations:
//! - A view is a [clock](crate::memory::clock): cells remember who touched which store by which epoch.
//! - An SC access joins no whole view (the paper's Algorithm 2, lines 6-8, would hide bugs that the standard
//!   allows). It reads no store older than what any SC access or fence before it had seen *of that cell*.
//! - An SC *load* also enters the SC view, not only an SC store. RC11 does not ask for that, C++20 does
//!   (coherence-ordered before is transitive through a store that is read): see
//!   `targets/litmus/SC-loads+cob.litmus`.
//! - Modification order is execution order, except with insertion. The single SC order is execution order.
//!
//! Never produced: load buffering (a cycle in po ∪ rf); what RC11 allows only if the SC order contradicts
//! po ∪ rf; without insertion, what needs a modification order other than execution order.

use super::mutant::{Mutant, is};
use crate::memory::cell::{Cell, Stored};
use crate::memory::clock::{ClockId, Clocks, EMPTY, Msg, SC_SLOT, Slot};
use crate::memory::shadow::Knower;
use crate::op::ThreadId;
use crate::order::Order;
use alloc::vec::Vec;

/// What the model knows of a thread.
#[derive(Clone, Copy, Debug)]
struct Thread {
    slot: Slot,
    /// Its first epoch: earlier ones of the slot are another thread's.
    born: u32,
    /// Everything since the last publication is of this epoch.
    epoch: u32,
    /// The view and happens-before of its next event (`cur`, `hb`), without its own slot: it knows itself.
    cur: ClockId,
    /// What relaxed loads have seen, for the next acquire fence (`acq`).
    acq: ClockId,
    /// What the last release fence published, for later relaxed stores (`rel`).
    rel: Msg,
    alive: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct C11 {
    clocks: Clocks,
    threads: Vec<Thread>,
    /// The SC view (its view half) of everything but the SC accesses themselves, which are in slot 0.
    sc: ClockId,
    sc_epoch: u32,
    next_slot: Slot,
    /// Slots of threads that have ended, with their last epochs.
    dead: Vec<(Slot, u32)>,
    mutant: Option<Mutant>,
}

impl C11 {
    pub(crate) fn new(mutant: Option<Mutant>) -> C11 {
        C11 {
            clocks: Clocks::new(),
            threads: Vec::new(),
            sc: EMPTY,
            sc_epoch: 1,
            next_slot: SC_SLOT + 1,
            dead: Vec::new(),
            mutant,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.clocks.clear();
        self.threads.clear();
        self.sc = EMPTY;
        self.sc_epoch = 1;
        self.next_slot = SC_SLOT + 1;
        self.dead.clear();
    }

    #[inline]
    fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.index()]
    }

    /// The slot and epoch in which the thread's next access happens.
    #[inline]
    pub(crate) fn now(&self, thread: ThreadId) -> (Slot, u32) {
        let it = self.thread(thread);
        (it.slot, it.epoch)
    }

    /// What happens before the thread's next access.
    #[inline]
    pub(crate) fn knower(&self, thread: ThreadId) -> Knower<'_> {
        let it = self.thread(thread);
        Knower { slot: it.slot, hb: self.clocks.hb(it.cur) }
    }

    /// The thread that was in the slot in that epoch.
    pub(crate) fn owner(&self, slot: Slot, epoch: u32) -> ThreadId {
        // Slots are reused by later threads with later epochs: the last one that had begun by then.
        let owner = self.threads.iter().enumerate().rfind(|(_, it)| it.slot == slot && it.born <= epoch);
        ThreadId(owner.map_or(0, |(index, _)| index as u32))
    }

    /// A new thread, in the order of ids. `None` when there are more threads than slots.
    pub(crate) fn spawn(&mut self, parent: Option<ThreadId>) -> Option<()> {
        let (slot, epoch) = self.take_slot(parent.is_some())?;
        self.clocks.reserve(slot);
        let mut cur = EMPTY;
        if let Some(parent) = parent {
            let msg = self.publish(parent);
            if !is(self.mutant, Mutant::ChildKnowsNothing) {
                self.clocks.receive(&mut cur, msg);
            }
            self.clocks.release(msg.clock);
        }
        self.threads.push(Thread {
            slot,
            born: epoch,
            epoch,
            cur,
            acq: EMPTY,
            rel: Msg::NOTHING,
            alive: true,
        });
        Some(())
    }

    /// A slot that is free, and its first epoch: one whose old owner everybody alive knows completely, so that
    /// a new owner's epochs can follow the old one's. A thread without a parent knows nobody, so it (`informed`
    /// is false) gets a new one: whoever knows its epochs must know the old owner too.
    fn take_slot(&mut self, informed: bool) -> Option<(Slot, u32)> {
        let known = |&(slot, epoch): &(Slot, u32)| {
            let alive = self.threads.iter().filter(|it| it.alive);
            alive.clone().all(|it| self.clocks.hb(it.cur)[usize::from(slot)] >= epoch)
        };
        let reusable = if informed { &self.dead[..self.dead.len().min(4)] } else { &[] };
        if let Some(index) = reusable.iter().position(known) {
            let (slot, epoch) = self.dead.remove(index);
            return Some((slot, epoch + 1));
        }
        // The largest slot number marks something else in the race shadow.
        if self.next_slot == Slot::MAX {
            return None;
        }
        self.next_slot += 1;
        Some((self.next_slot - 1, 1))
    }

    pub(crate) fn exit(&mut self, thread: ThreadId) {
        let msg = self.publish(thread);
        let it = &mut self.threads[thread.index()];
        it.alive = false;
        let (acq, rel, cur, dead) = (it.acq, it.rel.clock, it.cur, (it.slot, msg.epoch));
        (it.acq, it.rel) = (EMPTY, Msg::NOTHING);
        // `cur` stays for whoever joins the thread.
        debug_assert_eq!(cur, msg.clock);
        for clock in [acq, rel, msg.clock] {
            self.clocks.release(clock);
        }
        self.dead.push(dead);
    }

    /// `thread` has waited for the end of `child`.
    pub(crate) fn join(&mut self, thread: ThreadId, child: ThreadId) {
        if is(self.mutant, Mutant::JoinLearnsNothing) {
            return;
        }
        let ended = *self.thread(child);
        let it = &mut self.threads[thread.index()];
        let msg = Msg { clock: ended.cur, slot: ended.slot, epoch: ended.epoch - 1 };
        self.clocks.receive(&mut it.cur, msg);
    }

    /// What the thread knows now, as a message; whatever it does next is not in it.
    #[inline(always)]
    pub(crate) fn publish(&mut self, thread: ThreadId) -> Msg {
        let it = &mut self.threads[thread.index()];
        let clock = self.clocks.share(it.cur);
        let msg = Msg { clock, slot: it.slot, epoch: it.epoch };
        it.epoch += 1;
        msg
    }

    /// The thread learns what was published.
    pub(crate) fn receive(&mut self, thread: ThreadId, msg: Msg) {
        self.clocks.receive(&mut self.threads[thread.index()].cur, msg);
    }

    /// Joins `more` into `msg`, which keeps its reference.
    pub(crate) fn add_to(&mut self, msg: &mut Msg, more: Msg) {
        let merged = self.clocks.merge(*msg, more);
        self.clocks.release(msg.clock);
        *msg = merged;
    }

    /// Whether acquiring the message would tell no living thread anything.
    pub(crate) fn everybody_knows(&self, msg: Msg) -> bool {
        self.threads.iter().filter(|it| it.alive).all(|it| self.clocks.includes(it.cur, it.slot, msg))
    }

    /// One more reference to a message.
    pub(crate) fn share(&mut self, msg: Msg) -> Msg {
        self.clocks.share(msg.clock);
        msg
    }

    /// The message is not needed any more.
    pub(crate) fn forget(&mut self, msg: Msg) {
        self.clocks.release(msg.clock);
    }

    /// The oldest store that a load of this order may read; a store must come after it.
    #[inline]
    pub(crate) fn floor(&self, cell: &Cell, thread: ThreadId, order: Order) -> u32 {
        let it = self.thread(thread);
        if is(self.mutant, Mutant::LoadIgnoresView) {
            return cell.base();
        }
        let mut floor = cell.seen(self.clocks.view(it.cur), it.slot);
        if order.is_sc() && !is(self.mutant, Mutant::ScLoadIgnoresSc) {
            floor = floor.max(cell.seen(self.clocks.view(self.sc), SC_SLOT));
        }
        floor
    }

    pub(crate) fn common_floor(&self, cell: &Cell) -> u32 {
        let alive = self.threads.iter().filter(|it| it.alive);
        alive.map(|it| cell.seen(self.clocks.view(it.cur), it.slot)).min().unwrap_or(cell.last_index())
    }

    /// A load has read store `index`.
    #[inline]
    pub(crate) fn load(&mut self, cell: &mut Cell, thread: ThreadId, order: Order, index: u32) {
        self.touch(cell, thread, order, index, Mutant::LoadLeavesNoTrace);
        self.read(thread, order, cell.store(index).msg);
    }

    /// What reading a store's message does to the reader.
    #[inline]
    pub(crate) fn read(&mut self, thread: ThreadId, order: Order, msg: Msg) {
        if msg.is_nothing() || !order.is_atomic() {
            return;
        }
        let it = &mut self.threads[thread.index()];
        if msg.epoch > 0 && msg.slot == it.slot {
            // What the thread published itself it knows.
            return;
        }
        if order.acquires() {
            if !is(self.mutant, Mutant::AcquireJoinsNothing) {
                self.clocks.receive(&mut it.cur, msg);
            }
        } else if !is(self.mutant, Mutant::RelaxedLoadKeepsNothing) {
            self.clocks.receive(&mut it.acq, msg);
        }
    }

    /// A store enters modification order at `index`. `read` is the message of the store that an RMW read.
    #[inline]
    pub(crate) fn store(
        &mut self,
        cell: &mut Cell,
        thread: ThreadId,
        order: Order,
        index: u32,
        stored: Stored,
        read: Option<Msg>,
    ) {
        // The store's own touch is part of what it publishes, so it comes first.
        cell.insert(index, stored);
        self.touch(cell, thread, order, index, Mutant::StoreLeavesNoTrace);
        let msg = self.write(thread, order, read);
        cell.set_msg(index, msg);
    }

    /// The message of a store of this order.
    #[inline(always)]
    pub(crate) fn write(&mut self, thread: ThreadId, order: Order, read: Option<Msg>) -> Msg {
        if !order.is_atomic() {
            return Msg::NOTHING;
        }
        let mut msg = if order.releases() {
            let msg = self.publish(thread);
            if is(self.mutant, Mutant::ReleaseStorePublishesNothing) {
                self.clocks.release(msg.clock);
                Msg::NOTHING
            } else {
                msg
            }
        } else {
            let rel = self.thread(thread).rel;
            self.share(rel)
        };
        // An acquire-release RMW has joined what it read into the clock that it publishes.
        let included = order.acquires() && order.releases();
        if let Some(read) = read.filter(|_| !included && !is(self.mutant, Mutant::RmwEndsReleaseSequence)) {
            self.add_to(&mut msg, read);
        }
        msg
    }

    #[inline]
    fn touch(&mut self, cell: &mut Cell, thread: ThreadId, order: Order, index: u32, unless: Mutant) {
        let it = self.thread(thread);
        if !is(self.mutant, unless) {
            cell.touch(it.slot, it.epoch, index);
        }
        if order.is_sc() && !is(self.mutant, Mutant::ScAccessLeavesNoTrace) {
            cell.touch(SC_SLOT, self.sc_epoch, index);
        }
    }

    /// Whether an acquire fence would tell the thread anything.
    pub(crate) fn would_learn(&self, thread: ThreadId) -> bool {
        let it = self.thread(thread);
        let nobody = Msg { clock: it.acq, slot: it.slot, epoch: 0 };
        it.acq != EMPTY && !self.clocks.includes(it.cur, it.slot, nobody)
    }

    pub(crate) fn fence(&mut self, thread: ThreadId, order: Order) {
        let it = &mut self.threads[thread.index()];
        if order.acquires() && !is(self.mutant, Mutant::AcquireFenceJoinsNothing) {
            self.clocks.join(&mut it.cur, it.acq);
        }
        if order.is_sc() {
            if !is(self.mutant, Mutant::ScFenceJoinsNothing) {
                self.clocks.join_view(&mut it.cur, self.sc);
                self.clocks.learn_view(&mut it.cur, SC_SLOT, self.sc_epoch);
            }
            if !is(self.mutant, Mutant::ScFenceLeavesNoTrace) {
                self.clocks.join_view(&mut self.sc, it.cur);
                self.clocks.learn_view(&mut self.sc, it.slot, it.epoch);
            }
            self.sc_epoch += 1;
        }
        if order.releases() {
            let msg = self.publish(thread);
            if is(self.mutant, Mutant::ReleaseFencePublishesNothing) {
                self.clocks.release(msg.clock);
                return;
            }
            let old = core::mem::replace(&mut self.threads[thread.index()].rel, msg);
            self.clocks.release(old.clock);
        }
    }
}
