//! Clocks: who knows how much of whom. They stand for views *and* for happens-before.
//!
//! A thread's *epoch* advances each time it publishes what it knows. A clock maps every thread to the last of
//! its epochs that is known. Each clock has two halves: `view`, which travels with every message and through
//! SC fences, and `hb`, which travels with synchronisation only. They differ in nothing but SC fences.
//!
//! A view in the papers' sense (cell → store) is *derived*: each [cell](super::cell::Cell) remembers which of
//! its stores a thread had touched by which epoch, so a clock says for every cell what its owner must have
//! seen. Joining two views costs one maximum per thread, however many cells there are, and a release is a
//! shared reference.
//!
//! Threads are mapped to *slots*, which are reused once everybody alive knows everything of the old owner.
//! Slot 0 belongs to no thread: it counts SC accesses, as if one more thread had made them all.

use alloc::vec;
use alloc::vec::Vec;

/// A slot: a component of every clock.
pub(crate) type Slot = u16;

/// The pseudo-thread that makes the SC accesses.
pub(crate) const SC_SLOT: Slot = 0;

/// A reference-counted clock in a [`Clocks`] arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClockId(u32);

/// The clock that knows nothing. Never counted, never written.
pub(crate) const EMPTY: ClockId = ClockId(0);

/// What a store hands to whoever acquires it: a clock, and one more epoch (the publisher's own, so that the
/// publisher's clock can be shared rather than copied).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Msg {
    pub(crate) clock: ClockId,
    pub(crate) slot: Slot,
    pub(crate) epoch: u32,
}

impl Msg {
    /// The message that says nothing.
    pub(crate) const NOTHING: Msg = Msg { clock: EMPTY, slot: 0, epoch: 0 };

    #[inline]
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Msg::NOTHING
    }
}

/// The arena. Steady-state work allocates nothing: freed clocks are used again.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// Components in each half of each clock.
    slots: usize,
    /// `view` then `hb` of each clock, one after the other.
    data: Vec<u32>,
    refs: Vec<u32>,
    free: Vec<u32>,
}

impl Clocks {
    pub(crate) fn new() -> Clocks {
        let slots = 8;
        Clocks { slots, data: vec![0; 2 * slots], refs: vec![1], free: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.data.truncate(2 * self.slots);
        self.refs.truncate(1);
        self.free.clear();
    }

    /// Makes room for `slot` in every clock.
    pub(crate) fn reserve(&mut self, slot: Slot) {
        let needed = usize::from(slot) + 1;
        if needed <= self.slots {
            return;
        }
        let wider = needed.next_power_of_two();
        let mut data = vec![0; self.refs.len() * 2 * wider];
        for (old, new) in self.data.chunks(self.slots).zip(data.chunks_mut(wider)) {
            new[..self.slots].copy_from_slice(old);
        }
        self.data = data;
        self.slots = wider;
    }

    #[inline]
    fn start(&self, id: ClockId) -> usize {
        id.0 as usize * 2 * self.slots
    }

    /// The view half.
    #[inline]
    pub(crate) fn view(&self, id: ClockId) -> &[u32] {
        &self.data[self.start(id)..][..self.slots]
    }

    /// The happens-before half.
    #[inline]
    pub(crate) fn hb(&self, id: ClockId) -> &[u32] {
        &self.data[self.start(id) + self.slots..][..self.slots]
    }

    /// One more reference to the clock.
    #[inline]
    pub(crate) fn share(&mut self, id: ClockId) -> ClockId {
        if id != EMPTY {
            self.refs[id.0 as usize] += 1;
        }
        id
    }

    /// One reference less.
    #[inline]
    pub(crate) fn release(&mut self, id: ClockId) {
        if id == EMPTY {
            return;
        }
        let refs = &mut self.refs[id.0 as usize];
        *refs -= 1;
        if *refs == 0 {
            self.free.push(id.0);
        }
    }

    fn copy_of(&mut self, id: ClockId) -> ClockId {
        let (from, width) = (self.start(id), 2 * self.slots);
        let new = if let Some(index) = self.free.pop() {
            self.refs[index as usize] = 1;
            ClockId(index)
        } else {
            self.refs.push(1);
            self.data.resize(self.data.len() + width, 0);
            ClockId(self.refs.len() as u32 - 1)
        };
        let to = self.start(new);
        self.data.copy_within(from..from + width, to);
        new
    }

    /// Makes `id` the only reference to its clock, copying it if need be.
    fn own(&mut self, id: &mut ClockId) {
        if *id == EMPTY || self.refs[id.0 as usize] > 1 {
            let new = self.copy_of(*id);
            self.release(*id);
            *id = new;
        }
    }

    fn join_halves(&mut self, into: &mut ClockId, from: ClockId, width: usize) {
        if from == EMPTY || from == *into {
            return;
        }
        let (a, b) = (self.start(*into), self.start(from));
        if self.data[a..a + width].iter().zip(&self.data[b..b + width]).all(|(x, y)| x >= y) {
            return;
        }
        self.own(into);
        let a = self.start(*into);
        let (low, high) = (a.min(b), a.max(b));
        let (left, right) = self.data.split_at_mut(high);
        let (left, right) = (&mut left[low..low + width], &mut right[..width]);
        let (to, from) = if a < b { (left, right) } else { (right, left) };
        for (x, y) in to.iter_mut().zip(from.iter()) {
            *x = (*x).max(*y);
        }
    }

    /// `into ⊔= from`, both halves.
    pub(crate) fn join(&mut self, into: &mut ClockId, from: ClockId) {
        self.join_halves(into, from, 2 * self.slots);
    }

    /// `into ⊔= from`, views only: what an SC fence exchanges.
    pub(crate) fn join_view(&mut self, into: &mut ClockId, from: ClockId) {
        self.join_halves(into, from, self.slots);
    }

    /// Learns an epoch in the view half.
    pub(crate) fn learn_view(&mut self, into: &mut ClockId, slot: Slot, epoch: u32) {
        if self.view(*into)[usize::from(slot)] < epoch {
            self.own(into);
            let at = self.start(*into) + usize::from(slot);
            self.data[at] = epoch;
        }
    }

    /// `into ⊔= msg`, both halves.
    #[inline]
    pub(crate) fn receive(&mut self, into: &mut ClockId, msg: Msg) {
        // A message with an epoch is all that its publisher knew then: whoever knows the epoch knows the rest.
        if msg.epoch > 0 && self.hb(*into)[usize::from(msg.slot)] >= msg.epoch {
            return;
        }
        self.join(into, msg.clock);
        self.learn_view(into, msg.slot, msg.epoch);
        let slot = usize::from(msg.slot);
        if self.hb(*into)[slot] < msg.epoch {
            self.own(into);
            let at = self.start(*into) + self.slots + slot;
            self.data[at] = msg.epoch;
        }
    }

    /// Whether the clock of the thread in `slot` has all that the message says.
    pub(crate) fn includes(&self, clock: ClockId, slot: Slot, msg: Msg) -> bool {
        let has = |half: &[u32], of: Slot, epoch: u32| of == slot || half[usize::from(of)] >= epoch;
        let covers =
            |mine: &[u32], theirs: &[u32]| (0..).zip(theirs).all(|(of, &epoch)| has(mine, of, epoch));
        covers(self.view(clock), self.view(msg.clock))
            && covers(self.hb(clock), self.hb(msg.clock))
            && has(self.hb(clock), msg.slot, msg.epoch)
    }

    /// The join of two messages, as a new reference; neither argument is released.
    pub(crate) fn merge(&mut self, a: Msg, b: Msg) -> Msg {
        if b.is_nothing() || a == b {
            self.share(a.clock);
            return a;
        }
        if a.is_nothing() {
            self.share(b.clock);
            return b;
        }
        let mut clock = EMPTY;
        self.receive(&mut clock, a);
        self.receive(&mut clock, b);
        Msg { clock, slot: 0, epoch: 0 }
    }

    /// How many clocks are in use, for tests of boundedness.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.refs.len() - 1 - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sharing_is_invisible() {
        let mut clocks = Clocks::new();
        let mut a = EMPTY;
        clocks.receive(&mut a, Msg { clock: EMPTY, slot: 3, epoch: 7 });
        let snapshot = clocks.share(a);
        clocks.receive(&mut a, Msg { clock: EMPTY, slot: 4, epoch: 1 });
        assert_eq!(clocks.hb(snapshot)[4], 0);
        assert_eq!((clocks.hb(a)[3], clocks.hb(a)[4]), (7, 1));
        clocks.release(snapshot);
        clocks.release(a);
        assert_eq!(clocks.in_use(), 0);
    }

    #[test]
    fn views_travel_without_happens_before() {
        let mut clocks = Clocks::new();
        let (mut a, mut b) = (EMPTY, EMPTY);
        clocks.receive(&mut a, Msg { clock: EMPTY, slot: 2, epoch: 5 });
        clocks.join_view(&mut b, a);
        assert_eq!((clocks.view(b)[2], clocks.hb(b)[2]), (5, 0));
    }

    #[test]
    fn more_slots_keep_what_is_known() {
        let mut clocks = Clocks::new();
        let mut a = EMPTY;
        clocks.receive(&mut a, Msg { clock: EMPTY, slot: 2, epoch: 5 });
        clocks.reserve(100);
        clocks.receive(&mut a, Msg { clock: EMPTY, slot: 100, epoch: 9 });
        assert_eq!((clocks.hb(a)[2], clocks.view(a)[100]), (5, 9));
        assert_eq!(clocks.hb(EMPTY), &[0; 128][..]);
    }
}
