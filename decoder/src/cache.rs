//! What is known of an instruction, by its address: decode once, look up a hundred million times.
//!
//! A [`PcMap`] is a page table. The low bits of an address pick a slot of its page, the slot is a 16-bit index into
//! the entries of the page, and the page is found by a hash of the high bits. So sequential code stays in one page,
//! a look-up has no search in it and touches two places that are not in the processor's first cache, and a page costs
//! 9 KiB beside its entries, twice the code that it describes. It is generic: a step engine puts in what it derives
//! from an instruction; [`Decoded`] is a bare effect.
//!
//! Invariants:
//! - An entry is about one instruction, which is at most [`x86::MAX_LEN`] bytes long. [`PcMap::invalidate`] forgets
//!   every instruction that has a byte in the range, also one that begins before it.
//! - [`PcMap::memory`] exceeds the limit by at most one page with its entries. Beyond it the page that was made first
//!   goes, with all its entries: forgetting is always right, it only costs another decoding.
//! - What is forgotten and when depends on the calls alone, never on the order of a hash table.

use crate::effect::{InsnEffect, Unsupported};
use crate::x86;
use core::ops::Range;
use std::collections::VecDeque;

/// Addresses of one page.
const PAGE: usize = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 12;

/// The slot of an address that nothing is known of. A page has at most [`PAGE`] entries, so no index is this large.
const EMPTY: u16 = u16::MAX;

/// An instruction's effect, or why it has none: what is refused once is refused again, and as fast.
pub type Decoded = Result<InsnEffect, Box<Unsupported>>;

#[derive(Clone, Debug)]
struct Page<T> {
    number: u64,
    slots: Box<[u16; PAGE]>,
    entries: Vec<T>,
}

impl<T> Page<T> {
    fn new(number: u64) -> Page<T> {
        Page { number, slots: Box::new([EMPTY; PAGE]), entries: Vec::new() }
    }

    /// With its share of the table, which has at most 16 places for each page.
    fn memory(&self) -> usize {
        size_of::<[u16; PAGE]>() + 16 * size_of::<Page<T>>() + self.entries.capacity() * size_of::<T>()
    }

    /// Forgets a range of slots, and keeps the others' entries.
    fn forget(&mut self, range: Range<usize>) {
        if self.slots[range.clone()].iter().all(|&slot| slot == EMPTY) {
            return;
        }
        self.slots[range].fill(EMPTY);
        let mut old: Vec<Option<T>> = std::mem::take(&mut self.entries).into_iter().map(Some).collect();
        for slot in self.slots.iter_mut().filter(|slot| **slot != EMPTY) {
            let entry = old[usize::from(*slot)].take().expect("each entry has one slot");
            *slot = self.entries.len() as u16;
            self.entries.push(entry);
        }
    }
}

const fn number(pc: u64) -> u64 {
    pc >> PAGE_BITS
}

const fn offset(pc: u64) -> usize {
    pc as usize % PAGE
}

/// The pages, by number: open addressing. Pages are few and large, so they lie in the table itself, which spares an
/// indirection, and the table is at most an eighth full: that nearly every first try is right spares the processor
/// wrong guesses, and costs little beside the slots.
#[derive(Clone, Debug)]
struct Table<T> {
    /// A power of two.
    places: Vec<Option<Page<T>>>,
    used: usize,
}

impl<T> Table<T> {
    fn new() -> Table<T> {
        Table { places: vec_of_none(16), used: 0 }
    }

    /// Where a page is, or where it would be.
    #[inline]
    fn place(&self, number: u64) -> usize {
        let mask = self.places.len() - 1;
        // The high half of the product depends on all bits of the number.
        let mut at = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        // There are free places.
        while self.places[at].as_ref().is_some_and(|page| page.number != number) {
            at = (at + 1) & mask;
        }
        at
    }

    #[inline]
    fn get(&self, number: u64) -> Option<&Page<T>> {
        self.places[self.place(number)].as_ref()
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Page<T>> {
        let at = self.place(number);
        self.places[at].as_mut()
    }

    /// Adds a page that is not there.
    fn add(&mut self, page: Page<T>) {
        if (self.used + 1) * 8 > self.places.len() {
            let larger = vec_of_none(self.places.len() * 2);
            let old = std::mem::replace(&mut self.places, larger);
            self.used = 0;
            old.into_iter().flatten().for_each(|page| self.add(page));
        }
        let at = self.place(page.number);
        self.places[at] = Some(page);
        self.used += 1;
    }

    fn remove(&mut self, number: u64) -> Option<Page<T>> {
        let mut at = self.place(number);
        let removed = self.places[at].take()?;
        self.used -= 1;
        // Those behind it may be there only because it was in their way.
        loop {
            at = (at + 1) & (self.places.len() - 1);
            let Some(page) = self.places[at].take() else { break };
            let better = self.place(page.number);
            self.places[better] = Some(page);
        }
        Some(removed)
    }
}

fn vec_of_none<T>(len: usize) -> Vec<Option<Page<T>>> {
    std::iter::repeat_with(|| None).take(len).collect()
}

/// A map from the addresses of instructions to what is known of them.
#[derive(Clone, Debug)]
pub struct PcMap<T> {
    pages: Table<T>,
    /// The numbers of all pages, oldest first.
    order: VecDeque<u64>,
    memory: usize,
    limit: usize,
}

impl<T> PcMap<T> {
    /// An empty map that keeps to `limit` bytes. What entries own elsewhere (a vector's elements) does not count:
    /// who needs that to be bounded keeps it small.
    pub fn new(limit: usize) -> PcMap<T> {
        PcMap { pages: Table::new(), order: VecDeque::new(), memory: 0, limit }
    }

    /// What is known of the instruction at `pc`.
    #[inline]
    pub fn get(&self, pc: u64) -> Option<&T> {
        let page = self.pages.get(number(pc))?;
        // The index of an empty slot is beyond the end of every page's entries.
        page.entries.get(usize::from(page.slots[offset(pc)]))
    }

    /// The same, found out by `make` if nothing is known yet.
    pub fn get_or_insert_with(&mut self, pc: u64, make: impl FnOnce() -> T) -> &T {
        if self.get(pc).is_none() {
            self.insert(pc, make());
        }
        self.get(pc).expect("just inserted")
    }

    /// Says what is known of the instruction at `pc`, whatever was known before.
    pub fn insert(&mut self, pc: u64, value: T) {
        if self.pages.get(number(pc)).is_none() {
            let page = Page::new(number(pc));
            self.memory += page.memory();
            self.order.push_back(page.number);
            self.pages.add(page);
        }
        let page = self.pages.get_mut(number(pc)).expect("just added");
        let slot = &mut page.slots[offset(pc)];
        match page.entries.get_mut(usize::from(*slot)) {
            Some(old) => *old = value,
            None => {
                let before = page.entries.capacity();
                *slot = page.entries.len() as u16;
                page.entries.push(value);
                self.memory += (page.entries.capacity() - before) * size_of::<T>();
            }
        }
        while self.memory > self.limit && self.order.len() > 1 {
            let oldest = self.order.pop_front().expect("more than one");
            // The page in use stays: it becomes the newest instead.
            if oldest == number(pc) {
                self.order.push_back(oldest);
            } else {
                self.drop_page(oldest);
            }
        }
    }

    /// Forgets every instruction that has a byte in `range`: the code was changed, or is gone.
    pub fn invalidate(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        // An instruction that begins so much before the range may reach into it.
        let first = range.start.saturating_sub(x86::MAX_LEN as u64 - 1);
        let last = range.end - 1;
        let (from, to) = (number(first), number(last));
        // Whole pages go; of the two at the ends only a part, unless nothing else is in them.
        let whole = |page: u64| {
            let start = page << PAGE_BITS;
            first <= start && start + (PAGE as u64 - 1) <= last
        };
        for page in if from == to { vec![from] } else { vec![from, to] } {
            if !whole(page)
                && let Some(found) = self.pages.get_mut(page)
            {
                let start = if page == from { offset(first) } else { 0 };
                let end = if page == to { offset(last) + 1 } else { PAGE };
                self.memory -= found.memory();
                found.forget(start..end);
                self.memory += found.memory();
            }
        }
        if (from..=to).any(whole) {
            let gone: Vec<u64> = self
                .order
                .iter()
                .copied()
                .filter(|page| (from..=to).contains(page) && whole(*page))
                .collect();
            gone.into_iter().for_each(|page| self.drop_page(page));
            self.order.retain(|page| self.pages.get(*page).is_some());
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = PcMap::new(self.limit);
    }

    /// How many instructions are known.
    pub fn len(&self) -> usize {
        self.order.iter().filter_map(|&page| self.pages.get(page)).map(|page| page.entries.len()).sum()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all pages and entries, without what entries own elsewhere.
    pub fn memory(&self) -> usize {
        self.memory
    }

    fn drop_page(&mut self, page: u64) {
        if let Some(gone) = self.pages.remove(page) {
            self.memory -= gone.memory();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use wmtrace_model::rng::Rng;

    const PLENTY: usize = 1 << 24;

    #[test]
    fn what_was_put_in_is_found_there_only() {
        let mut map = PcMap::new(PLENTY);
        for pc in [0, 1, 0xfff, 0x1000, u64::MAX, u64::MAX - 1] {
            map.insert(pc, pc);
        }
        map.insert(1, 7);
        assert_eq!((map.get(0), map.get(1), map.get(2)), (Some(&0), Some(&7), None));
        assert_eq!((map.get(0xfff), map.get(0x1000)), (Some(&0xfff), Some(&0x1000)));
        assert_eq!((map.get(u64::MAX), map.len()), (Some(&u64::MAX), 6));
        assert_eq!(map.get_or_insert_with(0x1000, || panic!("it is known")), &0x1000);
        assert_eq!(map.get_or_insert_with(0x2000, || 9), &9);
        map.clear();
        assert!(map.is_empty() && map.memory() == 0 && map.get(0).is_none());
    }

    #[test]
    fn an_instruction_that_reaches_into_the_range_is_forgotten() {
        let mut map = PcMap::new(PLENTY);
        let fill = |map: &mut PcMap<u64>| (0x0fe0..0x1020).for_each(|pc| map.insert(pc, pc));
        fill(&mut map);
        // The 15 bytes from 0xff2 on have one in the range.
        map.invalidate(0x1000..0x1001);
        let left: Vec<u64> = (0x0fe0..0x1020).filter(|&pc| map.get(pc).is_some()).collect();
        assert_eq!(left, (0x0fe0..0x0ff2).chain(0x1001..0x1020).collect::<Vec<_>>());
        fill(&mut map);
        map.invalidate(0x1000..0x1000);
        assert_eq!(map.len(), 0x40, "an empty range is nothing");
        map.invalidate(0..u64::MAX);
        assert!(map.is_empty());
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_page_goes_first() {
        let page = Page::<u64>::new(0).memory();
        let mut map = PcMap::new(4 * (page + 1024));
        for pc in (0..1000).map(|n| n * PAGE as u64) {
            map.insert(pc, pc);
            assert!(map.memory() <= 4 * (page + 1024));
            assert_eq!(map.get(pc), Some(&pc));
        }
        let left: Vec<u64> = (0..1000).filter(|n| map.get(n * PAGE as u64).is_some()).collect();
        assert_eq!(left, [996, 997, 998, 999]);
        // Not even room for one page: the one in use stays.
        let mut map = PcMap::new(0);
        (0..100).for_each(|pc| map.insert(pc * 0x800, pc));
        assert_eq!(map.get(99 * 0x800), Some(&99));
        assert_eq!(map.len(), 2);
    }

    /// Against a tree, in few enough pages that everything meets everything; without a limit nothing is lost.
    #[test]
    fn it_agrees_with_a_tree() {
        let mut rng = Rng::new(1);
        let (mut map, mut tree) = (PcMap::new(usize::MAX), BTreeMap::new());
        let mut hits = 0;
        for round in 0..200_000_u64 {
            let pc = rng.bits() % (6 * PAGE as u64);
            match rng.bits() % 64 {
                0 => {
                    let end = pc + rng.bits() % (PAGE as u64 * 3 / 2);
                    map.invalidate(pc..end);
                    tree.retain(|&at: &u64, _| pc == end || at + 14 < pc || at >= end);
                    assert_eq!(map.len(), tree.len());
                }
                1..40 => {
                    map.insert(pc, round);
                    tree.insert(pc, round);
                }
                _ => {
                    hits += u32::from(tree.contains_key(&pc));
                    assert_eq!(map.get(pc), tree.get(&pc), "round {round}");
                }
            }
        }
        let counted: usize = map.pages.places.iter().flatten().map(Page::memory).sum();
        assert_eq!(map.memory(), counted);
        assert!(hits > 100, "only {hits} look-ups found anything");
    }
}
