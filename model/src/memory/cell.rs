//! A cell: an exact `(address, width)` that atomic accesses use, with its stores in modification order and
//! what each thread has touched of them.
//!
//! Stores are numbered by their place in modification order, from 0 for the value that memory held when the
//! cell was first seen. Only a window of them is kept, from `base` on: what no thread can read any more is
//! forgotten, and a limit can raise `base` further. Raising it is always sound: it only takes old candidates
//! away, as if the threads had happened to read newer stores.

use super::clock::{Msg, Slot};
use crate::execution::Source;
use crate::op::{Place, Site, Value};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// One store of a cell's history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    /// The value's halves: histories are what the machine touches most, and a `u128` would pad them.
    value: [u64; 2],
    /// When it became visible: a count over all stores of the execution. Under TSO, its position in the log.
    pub(crate) stamp: u64,
    /// What it hands to those who acquire it.
    pub(crate) msg: Msg,
    pub(crate) source: Source,
    /// Whether it belongs right behind its predecessor, which it read.
    pub(crate) rmw: bool,
}

impl Stored {
    /// What memory held before the cell was seen.
    pub(crate) fn initial(value: Value) -> Stored {
        Stored::new(value, 0, Source::Init, false)
    }

    #[inline]
    pub(crate) fn new(value: Value, stamp: u64, source: Source, rmw: bool) -> Stored {
        Stored { value: [value as u64, (value >> 64) as u64], stamp, msg: Msg::NOTHING, source, rmw }
    }

    #[inline]
    pub(crate) fn value(&self) -> Value {
        Value::from(self.value[1]) << 64 | Value::from(self.value[0])
    }
}

/// What one slot has touched of a cell.
#[derive(Clone, Debug)]
struct Lane {
    slot: Slot,
    /// The newest touch: by the end of that epoch the slot had read or written the store with that index.
    /// An index at or below `base` says nothing.
    last: (u32, u32),
    /// Earlier touches, both parts increasing. Those at or below `base` are dropped.
    earlier: Vec<(u32, u32)>,
    /// The last epoch in which it read, and wrote, atomically (0: never), for races; and where.
    read: (u32, Site),
    written: (u32, Site),
}

impl Lane {
    /// The newest store touched by the end of `epoch`; 0 when that is at or below the cell's base.
    #[inline]
    fn by(&self, epoch: u32) -> u32 {
        if self.last.0 <= epoch {
            return self.last.1;
        }
        match self.earlier.first() {
            Some(&(first, _)) if first <= epoch => {
                let n = self.earlier.partition_point(|&(when, _)| when <= epoch);
                self.earlier[n - 1].1
            }
            _ => 0,
        }
    }
}

/// An atomic access of a slot to a cell, as races see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) slot: Slot,
    pub(crate) epoch: u32,
    pub(crate) site: Site,
    pub(crate) store: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) place: Place,
    base: u32,
    stores: VecDeque<Stored>,
    lanes: Vec<Lane>,
    /// Memory that was allocated and not written when the cell was first seen: store 0 is no value.
    pub(crate) uninitialised: bool,
    /// At how many stores to look for what can be forgotten.
    prune_at: usize,
}

const FIRST_PRUNE: usize = 16;

impl Cell {
    pub(crate) fn new(place: Place, init: Stored, uninitialised: bool) -> Cell {
        let mut stores = VecDeque::with_capacity(4);
        stores.push_back(init);
        Cell { place, base: 0, stores, lanes: Vec::new(), uninitialised, prune_at: FIRST_PRUNE }
    }

    /// Becomes another cell, keeping the memory of this one.
    pub(crate) fn renew(&mut self, place: Place, init: Stored, uninitialised: bool) {
        self.place = place;
        self.base = 0;
        self.stores.clear();
        self.stores.push_back(init);
        self.lanes.clear();
        self.uninitialised = uninitialised;
        self.prune_at = FIRST_PRUNE;
    }

    /// The oldest store that is kept.
    pub(crate) fn base(&self) -> u32 {
        self.base
    }

    /// The newest store.
    #[inline]
    pub(crate) fn last_index(&self) -> u32 {
        self.base + self.stores.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn last(&self) -> &Stored {
        self.stores.back().expect("a cell has at least one store")
    }

    #[inline]
    pub(crate) fn store(&self, index: u32) -> &Stored {
        &self.stores[(index - self.base) as usize]
    }

    /// The store after `index`, if there is one.
    pub(crate) fn after(&self, index: u32) -> Option<&Stored> {
        self.stores.get((index - self.base) as usize + 1)
    }

    pub(crate) fn stores(&self) -> impl Iterator<Item = &Stored> {
        self.stores.iter()
    }

    /// The newest store whose stamp is at most `stamp`, or the oldest kept.
    #[inline]
    pub(crate) fn at_stamp(&self, stamp: u64) -> u32 {
        // Most questions are about the present.
        if self.last().stamp <= stamp {
            return self.last_index();
        }
        let n = self.stores.partition_point(|stored| stored.stamp <= stamp);
        self.base + n.saturating_sub(1) as u32
    }

    /// The newest store that a thread in `slot` with this view must have seen: the oldest it may read.
    #[inline]
    pub(crate) fn seen(&self, view: &[u32], slot: Slot) -> u32 {
        let mut floor = self.base;
        for lane in &self.lanes {
            let epoch = if lane.slot == slot { u32::MAX } else { view[usize::from(lane.slot)] };
            floor = floor.max(lane.by(epoch));
        }
        floor
    }

    /// The newest store that the slot itself has touched.
    #[inline]
    pub(crate) fn seen_by(&self, slot: Slot) -> u32 {
        self.lane(slot).map_or(self.base, |lane| lane.last.1.max(self.base))
    }

    /// Whether that is the store `index`.
    #[inline]
    pub(crate) fn touched_last(&self, slot: Slot, index: u32) -> bool {
        self.lane(slot).is_some_and(|lane| lane.last.1 == index)
    }

    #[inline]
    fn lane(&self, slot: Slot) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.slot == slot)
    }

    #[inline]
    fn lane_mut(&mut self, slot: Slot) -> &mut Lane {
        let index = match self.lanes.iter().position(|lane| lane.slot == slot) {
            Some(index) => index,
            None => {
                let never = (0, Site(0));
                self.lanes.push(Lane {
                    slot,
                    last: (0, 0),
                    earlier: Vec::new(),
                    read: never,
                    written: never,
                });
                self.lanes.len() - 1
            }
        };
        &mut self.lanes[index]
    }

    /// The slot has read or written store `index` in its epoch `epoch`.
    #[inline]
    pub(crate) fn touch(&mut self, slot: Slot, epoch: u32, index: u32) {
        let base = self.base;
        let lane = self.lane_mut(slot);
        if lane.last.1 >= index {
            return;
        }
        if lane.last.0 < epoch && lane.last.1 > base {
            lane.earlier.push(lane.last);
        }
        lane.last = (epoch, index);
    }

    /// Remembers an atomic access for later non-atomic ones to race with.
    #[inline]
    pub(crate) fn note_access(&mut self, touch: Touch) {
        let lane = self.lane_mut(touch.slot);
        let last = if touch.store { &mut lane.written } else { &mut lane.read };
        *last = (touch.epoch, touch.site);
    }

    /// Every slot's last atomic accesses.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = Touch> + '_ {
        self.lanes.iter().flat_map(|lane| {
            let one = |(epoch, site), store| Touch { slot: lane.slot, epoch, site, store };
            [one(lane.read, false), one(lane.written, true)].into_iter().filter(|touch| touch.epoch > 0)
        })
    }

    /// Appends a store: the newest in modification order. Returns its index.
    #[inline]
    pub(crate) fn append(&mut self, stored: Stored) -> u32 {
        self.stores.push_back(stored);
        self.last_index()
    }

    /// Puts a store at `index`, before the one that is there now.
    #[inline]
    pub(crate) fn insert(&mut self, index: u32, stored: Stored) {
        if index > self.last_index() {
            self.append(stored);
            return;
        }
        self.stores.insert((index - self.base) as usize, stored);
        for lane in &mut self.lanes {
            for (_, touched) in lane.earlier.iter_mut().chain([&mut lane.last]) {
                *touched += u32::from(*touched >= index);
            }
        }
    }

    /// Gives the store its message.
    #[inline]
    pub(crate) fn set_msg(&mut self, index: u32, msg: Msg) {
        self.stores[(index - self.base) as usize].msg = msg;
    }

    /// Whether it is time to look for stores to forget.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.stores.len() >= self.prune_at
    }

    /// Forgets the stores before `floor`, which nobody can read any more, and more if there are still more
    /// than `limit`. What is forgotten goes to `gone`.
    pub(crate) fn forget(&mut self, floor: u32, limit: usize, mut gone: impl FnMut(Stored)) {
        let keep = (limit / 2).max(1);
        let excess = if self.last_index() - floor.max(self.base) >= limit as u32 {
            self.last_index() + 1 - keep as u32
        } else {
            0
        };
        let base = floor.max(excess).max(self.base);
        for stored in self.stores.drain(..(base - self.base) as usize) {
            gone(stored);
        }
        self.base = base;
        for lane in &mut self.lanes {
            let old = lane.earlier.partition_point(|&(_, index)| index <= base);
            lane.earlier.drain(..old);
        }
        self.prune_at = (2 * self.stores.len()).clamp(FIRST_PRUNE, limit.max(FIRST_PRUNE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Addr;

    fn stored(stamp: u64) -> Stored {
        Stored::new(Value::from(stamp), stamp, Source::Init, false)
    }

    fn cell(stores: u64) -> Cell {
        let mut cell = Cell::new(Place::new(Addr(8), 4), stored(0), false);
        for stamp in 1..stores {
            cell.append(stored(stamp * 10));
        }
        cell
    }

    #[test]
    fn what_a_view_has_seen() {
        let mut cell = cell(6);
        cell.touch(1, 1, 2);
        cell.touch(1, 3, 4);
        let mut view = [0; 8];
        assert_eq!(cell.seen(&view, 2), 0);
        view[1] = 1;
        assert_eq!(cell.seen(&view, 2), 2);
        view[1] = 2;
        assert_eq!(cell.seen(&view, 2), 2);
        view[1] = 3;
        assert_eq!(cell.seen(&view, 2), 4);
        assert_eq!(cell.seen(&[0; 8], 1), 4, "a thread has seen what it touched itself");
    }

    #[test]
    fn touching_an_older_store_changes_nothing() {
        let mut cell = cell(6);
        cell.touch(1, 1, 4);
        cell.touch(1, 2, 3);
        assert_eq!(cell.seen_by(1), 4);
    }

    #[test]
    fn insertion_moves_what_comes_after() {
        let mut cell = cell(4);
        cell.touch(1, 1, 2);
        cell.touch(2, 1, 1);
        cell.insert(2, stored(99));
        assert_eq!((cell.seen_by(1), cell.seen_by(2)), (3, 1));
        assert_eq!((cell.store(2).stamp, cell.store(3).stamp), (99, 20));
    }

    #[test]
    fn forgetting_keeps_what_can_be_read() {
        let mut cell = cell(40);
        cell.touch(1, 1, 30);
        cell.forget(25, 1000, |_| {});
        assert_eq!((cell.base(), cell.seen_by(1), cell.last_index()), (25, 30, 39));
        cell.forget(0, 8, |_| {});
        assert_eq!((cell.base(), cell.last_index()), (36, 39), "the limit cuts deeper");
        assert_eq!(cell.seen_by(1), 36);
    }

    #[test]
    fn stamps_find_their_store() {
        let cell = cell(4);
        assert_eq!([0, 9, 10, 29, 30, 99].map(|stamp| cell.at_stamp(stamp)), [0, 0, 1, 2, 3, 3]);
    }
}
