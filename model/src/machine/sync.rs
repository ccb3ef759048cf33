//! Synchronisation that is told, not asked: objects that are released and acquired (locks, joins, what the kernel hands
//! over), and barriers inside other operations.

use super::Machine;
use crate::execution::Label;
use crate::memory::clock::Msg;
use crate::models::Model;
use crate::op::{Site, ThreadId};
use crate::order::Order;
use crate::strategy::Strategy;
use alloc::vec::Vec;

impl<S: Strategy> Machine<S> {
    /// The thread releases a synchronisation object: later acquirers know what it knows now.
    ///
    /// Under the hardware models this, like [`Machine::acquire`], is a full barrier: under PSO and PSLO the engine
    /// first makes the thread's stores visible with [`Machine::flush`].
    pub fn release(&mut self, thread: ThreadId, object: u64, site: Site) {
        self.tell(thread);
        self.push(thread, site, Label::Release { object });
        match &mut self.model {
            Model::Sc => {}
            Model::Tso(tso) => tso.barrier(thread),
            Model::Buffered(buffered) => buffered.load_barrier(thread, self.stamp),
            Model::C11(c11) => {
                let msg = c11.publish(thread);
                let all = self.objects.entry(object).or_insert(Msg::NOTHING);
                c11.add_to(all, msg);
                c11.forget(msg);
            }
        }
        self.end_epoch(thread);
    }

    /// A full barrier of the thread's that is part of another operation, as of x86-64's locked instructions: an SC fence
    /// at which nobody else is scheduled. The hardware models know such instructions without being told.
    pub fn barrier(&mut self, thread: ThreadId, site: Site) {
        if !matches!(self.model, Model::C11(_)) {
            return;
        }
        self.push(thread, site, Label::Fence { order: Order::SeqCst });
        if let Model::C11(c11) = &mut self.model {
            c11.fence(thread, Order::SeqCst);
        }
        self.end_epoch(thread);
    }

    /// A full barrier in every thread at once, which one thread has asked the kernel for (`membarrier`): for each, as if it
    /// had a fence where it is, at which nobody is scheduled. The thread itself has one before and one behind the others'.
    ///
    /// # Panics
    /// Under PSO and PSLO: see [`Machine::holds_stores_apart`].
    pub fn barrier_everywhere(&mut self, thread: ThreadId, site: Site) {
        let others = (0..self.threads.len() as u32).map(ThreadId).filter(|&other| other != thread);
        let (ended, others): (Vec<ThreadId>, Vec<ThreadId>) =
            others.partition(|&other| self.has_ended(other));
        // A thread that has ended holds nothing back.
        ended.into_iter().for_each(|other| self.join_ended(thread, other, site));
        for each in core::iter::once(thread).chain(others).chain([thread]) {
            self.push(each, site, Label::Fence { order: Order::SeqCst });
            match &mut self.model {
                Model::Sc => {}
                // All stores so far are visible to all.
                Model::Tso(tso) => {
                    tso.barrier(each);
                    tso.catch_up(each, self.stamp);
                }
                Model::Buffered(_) => panic!("stores are held back"),
                Model::C11(c11) => c11.fence(each, Order::SeqCst),
            }
            self.end_epoch(each);
        }
    }

    /// Whether the model holds back each location's stores by themselves (PSO, PSLO).
    #[must_use]
    pub fn holds_stores_apart(&self) -> bool {
        matches!(self.model, Model::Buffered(_))
    }

    /// The thread may make a fence here: nobody knows for sure. What the fence would give is given, so that no behaviour is
    /// shown that the fence would rule out, and nobody is scheduled. An acquire fence counts at once, if it tells the thread
    /// anything; a release fence when the thread stores something that it would be the fence of. Under the other models a
    /// fence that has no instruction is none.
    pub fn maybe_fence(&mut self, thread: ThreadId, order: Order, site: Site) {
        let Model::C11(c11) = &mut self.model else { return };
        if order.acquires() && c11.would_learn(thread) {
            c11.fence(thread, Order::Acquire);
            self.push(thread, site, Label::Fence { order: Order::Acquire });
        }
        if order.releases() {
            self.threads[thread.index()].may_have_released = Some(site);
        }
    }

    /// A store of the thread's is about to be performed: the release fence that may be before it comes first.
    pub(super) fn release_if_maybe(&mut self, thread: ThreadId, order: Order) {
        let Some(site) = self.threads[thread.index()].may_have_released.take() else { return };
        if order.releases() || !order.is_atomic() {
            self.threads[thread.index()].may_have_released = Some(site);
            return;
        }
        self.push(thread, site, Label::Fence { order: Order::Release });
        if let Model::C11(c11) = &mut self.model {
            c11.fence(thread, Order::Release);
        }
        self.end_epoch(thread);
    }

    /// The thread acquires a synchronisation object: it knows what every releaser knew. See [`Machine::release`].
    pub fn acquire(&mut self, thread: ThreadId, object: u64, site: Site) {
        self.threads[thread.index()].watch.looked(self.told);
        self.push(thread, site, Label::Acquire { object });
        self.learn_everything(thread);
        if let (Model::C11(c11), Some(&msg)) = (&mut self.model, self.objects.get(&object)) {
            c11.receive(thread, msg);
        }
    }

    /// The thread knows all that one knew which has ended.
    pub(super) fn join_ended(&mut self, thread: ThreadId, child: ThreadId, site: Site) {
        self.push(thread, site, Label::Join { child });
        self.learn_everything(thread);
        if let Model::C11(c11) = &mut self.model {
            c11.join(thread, child);
        }
    }

    /// The thread has told something that others may wait for.
    #[inline]
    pub(super) fn tell(&mut self, thread: ThreadId) {
        self.threads[thread.index()].watch.told(self.told);
        self.told += 1;
    }

    /// Under the models without clocks, synchronising means to see memory as it is.
    pub(super) fn learn_everything(&mut self, thread: ThreadId) {
        match &mut self.model {
            Model::Sc | Model::C11(_) => {}
            Model::Tso(tso) => tso.catch_up(thread, self.stamp),
            Model::Buffered(buffered) => buffered.load_barrier(thread, self.stamp),
        }
    }
}
