//! Synchronisation that is told, not asked: objects that are released and acquired (locks, joins, what the kernel hands
//! over), and barriers inside other operations.

use super::Machine;
use crate::execution::Label;
use crate::memory::clock::Msg;
use crate::models::Model;
use crate::op::{Site, ThreadId};
use crate::order::Order;
use crate::strategy::Strategy;

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

    /// The thread acquires a synchronisation object: it knows what every releaser knew. See [`Machine::release`].
    pub fn acquire(&mut self, thread: ThreadId, object: u64, site: Site) {
        self.threads[thread.index()].watch.looked(self.told);
        self.push(thread, site, Label::Acquire { object });
        self.learn_everything(thread);
        if let (Model::C11(c11), Some(&msg)) = (&mut self.model, self.objects.get(&object)) {
            c11.receive(thread, msg);
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
