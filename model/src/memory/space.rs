//! Addresses to what is known of them: a page table of eight-byte granules, each with the cell that lives
//! there, the race shadow, and whether the bytes are fresh from the allocator or already given back.
//!
//! **Mixed sizes.** An access that overlaps cells without being exactly one of them dissolves these cells into
//! single *mixed* bytes, which have a last store and no history: everybody reads the last. That loses weak
//! behaviour and never invents any. A byte stays mixed until its memory is freed.

use super::cell::{Cell, Stored};
use super::clock::Msg;
use super::shadow::{Shadow, Shadows};
use crate::execution::{Access, Source};
use crate::op::{Addr, Place};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::hash::{BuildHasherDefault, Hasher};
use hashbrown::HashMap;

const GRANULE: u64 = 8;
/// Granules in a page.
const PAGE: u64 = 64;

/// An index into the cells.
pub(crate) type CellId = u32;

const NO_CELL: u32 = u32::MAX;
/// Several cells, or mixed bytes: see [`Space::crowds`] and [`Space::mixed`].
const CROWD: u32 = u32::MAX - 1;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Granule {
    cell: u32,
    /// Bytes that were allocated and never written.
    fresh: u8,
    /// Some of it may be in a block of [`Space::owned`].
    owned: bool,
    /// Bytes that the engine has marked, and that nobody has written since.
    marked: u8,
    /// Bytes that a thread has written since they became what they are.
    stored: u8,
    freed: bool,
    pub(crate) shadow: Shadow,
}

const BLANK: Granule = Granule {
    cell: NO_CELL,
    fresh: 0,
    owned: false,
    marked: 0,
    stored: 0,
    freed: false,
    shadow: Shadow::EMPTY,
};

/// A byte that accesses of different sizes share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MixedByte {
    pub(crate) source: Source,
    pub(crate) msg: Msg,
    pub(crate) stamp: u64,
    /// What it holds.
    pub(crate) value: u8,
    pub(crate) uninitialised: bool,
}

/// What an exact access meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Exactly this cell.
    Cell(CellId),
    /// Mixed bytes, or cells that it must dissolve first.
    Clash,
    /// Nothing yet.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
enum Heap {
    Fresh,
    Freed(Access),
}

/// Multiplicative hashing: page numbers are small integers, and the table is never iterated.
#[derive(Clone, Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31);
    }
}

/// Pages that were used last, by their low bits, before the table is asked.
const RECENT: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Space {
    granules: Vec<Granule>,
    /// The page number of each page of `granules`.
    pages: Vec<u64>,
    /// In how many granules of each page cells live: such a page stays.
    occupied: Vec<u8>,
    index: HashMap<u64, u32, BuildHasherDefault<PageHasher>>,
    recent: [(u64, u32); RECENT],
    page_limit: usize,
    /// The page to look at next when one must go.
    hand: usize,
    pub(crate) cells: Vec<Cell>,
    free_cells: Vec<CellId>,
    /// Granules with more than one cell.
    crowds: BTreeMap<u64, Vec<CellId>>,
    mixed: BTreeMap<u64, MixedByte>,
    /// Heap memory whose state is not (only) in pages: start → (end, state).
    heap: BTreeMap<u64, (u64, Heap)>,
    /// Blocks whose allocation others must know of: start → allocation.
    owned: BTreeMap<u64, Access>,
    pub(crate) shadows: Shadows,
}

/// The most blocks of [`Space::owned`].
const MOST_OWNED: usize = 1 << 16;

impl Space {
    pub(crate) fn new(page_limit: usize) -> Space {
        Space {
            granules: Vec::new(),
            pages: Vec::new(),
            occupied: Vec::new(),
            index: HashMap::default(),
            recent: [(u64::MAX, 0); RECENT],
            page_limit: page_limit.max(1),
            hand: 0,
            cells: Vec::new(),
            free_cells: Vec::new(),
            crowds: BTreeMap::new(),
            mixed: BTreeMap::new(),
            heap: BTreeMap::new(),
            owned: BTreeMap::new(),
            shadows: Shadows::default(),
        }
    }

    /// Forgets everything but the memory it uses.
    pub(crate) fn clear(&mut self) {
        self.granules.clear();
        self.pages.clear();
        self.occupied.clear();
        self.index.clear();
        self.recent = [(u64::MAX, 0); RECENT];
        self.hand = 0;
        // Old cells are used again: their histories keep their capacity.
        self.free_cells.clear();
        self.free_cells.extend((0..self.cells.len() as u32).rev());
        self.crowds.clear();
        self.mixed.clear();
        self.heap.clear();
        self.owned.clear();
        self.shadows.clear();
    }

    /// The granule and mask of a range that lies in one granule, as most accesses do.
    #[inline]
    pub(crate) fn one_granule(addr: Addr, len: u64) -> Option<(u64, u8)> {
        let offset = addr.0 % GRANULE;
        (len > 0 && len <= GRANULE - offset)
            .then(|| (addr.0 / GRANULE, ((((1u16 << len) - 1) << offset) as u8)))
    }

    /// The granules of a range, as (number, mask of the bytes inside the range).
    pub(crate) fn granules(addr: Addr, len: u64) -> impl Iterator<Item = (u64, u8)> {
        let (start, end) = (addr.0, addr.0.saturating_add(len));
        let last = if len == 0 { 0 } else { (end - 1) / GRANULE + 1 };
        (start / GRANULE..last).map(move |number| {
            let low = start.saturating_sub(number * GRANULE).min(GRANULE);
            let high = (end - number * GRANULE).min(GRANULE);
            let mask = ((1u16 << high) - (1u16 << low)) as u8;
            (number, mask)
        })
    }

    /// Whether a range has more pages than it makes sense to make for one access.
    pub(crate) fn is_huge(&self, len: u64) -> bool {
        len / (PAGE * GRANULE) > self.page_limit as u64 / 2
    }

    /// The pages of a range that exist, in order of address: walks those, or the range, whichever is shorter.
    fn pages_in(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        let (first, last) = (start / (PAGE * GRANULE), end.saturating_sub(1) / (PAGE * GRANULE));
        let few = start < end && (last - first) < 4.max(self.pages.len() as u64 / 16);
        let mut many = Vec::new();
        if start < end && !few {
            let pages = (0..).zip(&self.pages).filter(|(_, page)| (first..=last).contains(page));
            many.extend(pages.map(|(at, &page)| (page, at)));
            many.sort_unstable();
        }
        let few = if few { first..last + 1 } else { 0..0 };
        few.filter_map(|page| Some((page, *self.index.get(&page)?))).chain(many)
    }

    /// The part of a range that lies on a page of it.
    fn part_on(page: u64, start: u64, end: u64) -> (Addr, u64) {
        let from = start.max(page * PAGE * GRANULE);
        let to = end.min((page + 1).saturating_mul(PAGE * GRANULE));
        (Addr(from), to - from)
    }

    /// The granules of a range in pages that exist, as (number, mask of the bytes inside the range).
    pub(crate) fn known_granules(&self, addr: Addr, len: u64) -> impl Iterator<Item = (u64, u8)> + '_ {
        let (start, end) = (addr.0, addr.0.saturating_add(len));
        self.pages_in(start, end).flat_map(move |(page, _)| {
            let (addr, len) = Space::part_on(page, start, end);
            Space::granules(addr, len)
        })
    }

    /// The granule's index, making its page if need be.
    #[inline]
    fn granule_index(&mut self, number: u64) -> usize {
        let (page, offset) = (number / PAGE, (number % PAGE) as usize);
        let way = (page % RECENT as u64) as usize;
        let (cached, at) = self.recent[way];
        let at = if cached == page { at } else { self.page_index(page, way) };
        at as usize * PAGE as usize + offset
    }

    #[cold]
    fn page_index(&mut self, page: u64, way: usize) -> u32 {
        let at = match self.index.get(&page) {
            Some(&at) => at,
            None => self.make_page(page),
        };
        self.recent[way] = (page, at);
        at
    }

    fn make_page(&mut self, page: u64) -> u32 {
        let at = match self.victim() {
            Some(at) => at,
            None => {
                self.pages.push(page);
                self.occupied.push(0);
                self.granules.resize(self.granules.len() + PAGE as usize, BLANK);
                self.pages.len() as u32 - 1
            }
        };
        let range = at as usize * PAGE as usize..(at as usize + 1) * PAGE as usize;
        self.granules[range].fill(BLANK);
        self.pages[at as usize] = page;
        self.index.insert(page, at);
        self.inherit_heap_state(page, at);
        at
    }

    /// A page to give up, when there are as many as allowed: one that holds no cell, if one of the next few is
    /// such. Losing a race shadow can only lose a race.
    fn victim(&mut self) -> Option<u32> {
        if self.pages.len() < self.page_limit {
            return None;
        }
        let count = self.pages.len();
        // Only a few are looked at each time, so that this does not cost more the more pages there are.
        let (hand, some) = (self.hand, count.min(64));
        self.hand = (hand + some) % count;
        let at = (hand..hand + some).map(|at| at % count).find(|&at| self.occupied[at] == 0)?;
        self.hand = (at + 1) % count;
        for index in at * PAGE as usize..(at + 1) * PAGE as usize {
            let mut granule = self.granules[index];
            self.shadows.drop_shadow(&mut granule.shadow);
        }
        let page = self.pages[at];
        self.index.remove(&page);
        self.recent[(page % RECENT as u64) as usize] = (u64::MAX, 0);
        // Which of its fresh bytes were written is lost with the page: call them all written.
        let bytes = page * PAGE * GRANULE..(page + 1).saturating_mul(PAGE * GRANULE);
        self.cut_heap(bytes.start, bytes.end, |state| matches!(state, Heap::Fresh));
        Some(at as u32)
    }

    fn inherit_heap_state(&mut self, page: u64, at: u32) {
        let (start, end) = (page * PAGE * GRANULE, (page + 1).saturating_mul(PAGE * GRANULE));
        let before = self.heap.range(..=start).next_back().map(|(&from, &it)| (from, it));
        let inside = self.heap.range(start..end).map(|(&from, &it)| (from, it));
        for (from, (to, state)) in before.into_iter().chain(inside) {
            let (from, to) = (from.max(start), to.min(end));
            if from >= to {
                continue;
            }
            for (number, mask) in Space::granules(Addr(from), to - from) {
                let granule = &mut self.granules[(u64::from(at) * PAGE + number % PAGE) as usize];
                match state {
                    Heap::Fresh => granule.fresh |= mask,
                    Heap::Freed(_) => granule.freed = true,
                }
            }
        }
        let owned: Vec<Access> = self.owned_in(start, end).collect();
        for block in owned {
            let (from, to) = (block.addr.0.max(start), (block.addr.0 + block.len).min(end));
            for (number, _) in Space::granules(Addr(from), to - from) {
                self.granules[(u64::from(at) * PAGE + number % PAGE) as usize].owned = true;
            }
        }
    }

    /// The owned blocks that share a byte with a range, from the last to the first. (Blocks do not overlap.)
    fn owned_in(&self, start: u64, end: u64) -> impl Iterator<Item = Access> + '_ {
        let blocks = self.owned.range(..end).rev().map(|(_, block)| *block);
        blocks.take_while(move |block| block.addr.0 + block.len > start)
    }

    /// A block of memory that nobody may touch who does not know of its allocation.
    pub(crate) fn set_owned(&mut self, by: Access) {
        let (start, end) = (by.addr.0, by.addr.0 + by.len);
        self.disown(start, end);
        if self.owned.len() == MOST_OWNED || by.len == 0 {
            return;
        }
        self.owned.insert(start, by);
        let pages: Vec<(u64, u32)> = self.pages_in(start, end).collect();
        for (page, at) in pages {
            let (addr, len) = Space::part_on(page, start, end);
            for (number, _) in Space::granules(addr, len) {
                self.granules[(u64::from(at) * PAGE + number % PAGE) as usize].owned = true;
            }
        }
    }

    /// Blocks in a range are somebody else's, or are not followed any more. (Marks of granules may stay: they only say
    /// where to look.)
    fn disown(&mut self, start: u64, end: u64) {
        let gone: Vec<u64> = self.owned_in(start, end).map(|block| block.addr.0).collect();
        for start in gone {
            self.owned.remove(&start);
        }
    }

    /// The allocation that somebody who touches the byte must know of.
    pub(crate) fn owned_at(&self, addr: Addr) -> Option<Access> {
        self.owned_in(addr.0, addr.0.saturating_add(1)).next()
    }

    /// Removes `start..end` from the heap ranges whose state `which` accepts.
    fn cut_heap(&mut self, start: u64, end: u64, which: impl Fn(&Heap) -> bool) {
        let before = self.heap.range(..start).next_back().map(|(&from, _)| from);
        let touched: Vec<u64> =
            before.into_iter().chain(self.heap.range(start..end).map(|(&from, _)| from)).collect();
        for from in touched {
            let (to, state) = self.heap[&from];
            if to <= start || !which(&state) {
                continue;
            }
            self.heap.remove(&from);
            if from < start {
                self.heap.insert(from, (start, state));
            }
            if to > end {
                self.heap.insert(end, (to, state));
            }
        }
    }

    /// What an access to exactly `place` meets.
    #[inline]
    pub(crate) fn find(&mut self, place: Place) -> Found {
        let first = self.granule_index(place.addr.0 / GRANULE);
        match self.granules[first].cell {
            CROWD => {}
            NO_CELL if place.addr.0 % GRANULE + u64::from(place.width) <= GRANULE => return Found::Nothing,
            NO_CELL => {}
            cell if self.cells[cell as usize].place == place => return Found::Cell(cell),
            _ => {}
        }
        let mut clash = false;
        for (number, _) in Space::granules(place.addr, u64::from(place.width)) {
            let index = self.granule_index(number);
            match self.granules[index].cell {
                NO_CELL => {}
                CROWD => {
                    for &cell in self.crowds.get(&number).into_iter().flatten() {
                        let other = self.cells[cell as usize].place;
                        if other == place {
                            return Found::Cell(cell);
                        }
                        clash |= other.overlaps(place);
                    }
                    clash |= self.mixed.range(place.addr.0..place.end()).next().is_some();
                }
                cell => clash |= self.cells[cell as usize].place.overlaps(place),
            }
        }
        if clash { Found::Clash } else { Found::Nothing }
    }

    /// Makes a cell where [`Space::find`] found nothing.
    pub(crate) fn make_cell(&mut self, place: Place, init: Stored) -> CellId {
        let mut uninitialised = false;
        for (number, mask) in Space::granules(place.addr, u64::from(place.width)) {
            let index = self.granule_index(number);
            uninitialised |= self.granules[index].fresh & mask != 0;
        }
        let cell = match self.free_cells.pop() {
            Some(cell) => {
                self.cells[cell as usize].renew(place, init, uninitialised);
                cell
            }
            None => {
                self.cells.push(Cell::new(place, init, uninitialised));
                self.cells.len() as u32 - 1
            }
        };
        for (number, _) in Space::granules(place.addr, u64::from(place.width)) {
            let index = self.granule_index(number);
            match self.granules[index].cell {
                NO_CELL => self.set_cell(index, cell),
                CROWD => self.crowds.entry(number).or_default().push(cell),
                other => {
                    self.set_cell(index, CROWD);
                    self.crowds.insert(number, vec![other, cell]);
                }
            }
        }
        cell
    }

    /// How many cells there are.
    pub(crate) fn live_cells(&self) -> usize {
        self.cells.len() - self.free_cells.len()
    }

    /// Every cell.
    pub(crate) fn cell_ids(&self) -> Vec<CellId> {
        let mut live = vec![true; self.cells.len()];
        for &cell in &self.free_cells {
            live[cell as usize] = false;
        }
        (0..).zip(live).filter_map(|(cell, live)| live.then_some(cell)).collect()
    }

    /// Says what lives in a granule, and keeps count of the page's.
    fn set_cell(&mut self, index: usize, cell: u32) {
        let old = core::mem::replace(&mut self.granules[index].cell, cell);
        let occupied = &mut self.occupied[index / PAGE as usize];
        *occupied -= u8::from(old != NO_CELL);
        *occupied += u8::from(cell != NO_CELL);
    }

    /// The cells that share a byte with the range, by address. (A page with cells exists: it is never given up.)
    pub(crate) fn cells_in(&self, addr: Addr, len: u64, into: &mut Vec<CellId>) {
        into.clear();
        let (start, end) = (addr.0, addr.0.saturating_add(len));
        for (page, at) in self.pages_in(start, end) {
            let (part, len) = Space::part_on(page, start, end);
            for (number, _) in Space::granules(part, len) {
                let index = (u64::from(at) * PAGE + number % PAGE) as usize;
                let crowd = match self.granules[index].cell {
                    NO_CELL => continue,
                    CROWD => self.crowds.get(&number).map_or(&[][..], Vec::as_slice),
                    ref one => core::slice::from_ref(one),
                };
                for &cell in crowd {
                    let place = self.cells[cell as usize].place;
                    // One that began in an earlier granule of the range is in the list already.
                    let first = (place.addr.0 / GRANULE).max(start / GRANULE);
                    if place.addr.0 < end && start < place.end() && first == number {
                        into.push(cell);
                    }
                }
            }
        }
    }

    /// Takes a cell away; its stores go to `gone`.
    pub(crate) fn remove_cell(&mut self, cell: CellId, mut gone: impl FnMut(&Stored)) {
        let place = self.cells[cell as usize].place;
        self.cells[cell as usize].stores().for_each(&mut gone);
        for (number, _) in Space::granules(place.addr, u64::from(place.width)) {
            let index = self.granule_index(number);
            if self.granules[index].cell == CROWD {
                if let Some(crowd) = self.crowds.get_mut(&number) {
                    crowd.retain(|&other| other != cell);
                }
                self.disperse(number);
            } else {
                self.set_cell(index, NO_CELL);
            }
        }
        self.free_cells.push(cell);
    }

    /// A crowded granule with at most one cell left and no mixed byte is an ordinary one again.
    fn disperse(&mut self, number: u64) {
        let bytes = number * GRANULE..=number * GRANULE + (GRANULE - 1);
        let crowd = self.crowds.get(&number).map_or(&[][..], Vec::as_slice);
        let left = match *crowd {
            [] => NO_CELL,
            [one] => one,
            _ => return,
        };
        if self.mixed.range(bytes).next().is_none() {
            self.crowds.remove(&number);
            let index = self.granule_index(number);
            self.set_cell(index, left);
        }
    }

    /// Makes bytes mixed, or gives mixed bytes a new store.
    pub(crate) fn set_mixed(&mut self, at: u64, byte: MixedByte) -> Option<MixedByte> {
        let number = at / GRANULE;
        let index = self.granule_index(number);
        let cell = self.granules[index].cell;
        if cell != CROWD {
            let crowd = if cell == NO_CELL { Vec::new() } else { vec![cell] };
            self.crowds.insert(number, crowd);
            self.set_cell(index, CROWD);
        }
        self.mixed.insert(at, byte)
    }

    /// The mixed byte at an address.
    pub(crate) fn mixed(&self, at: u64) -> Option<MixedByte> {
        self.mixed.get(&at).copied()
    }

    /// The mixed bytes of a range.
    pub(crate) fn mixed_in(&self, start: u64, end: u64) -> impl Iterator<Item = u64> + '_ {
        self.mixed.range(start..end).map(|(&at, _)| at)
    }

    /// The stamp of the newest store to any mixed byte of the place.
    pub(crate) fn newest_mixed(&self, at: Place) -> u64 {
        self.mixed.range(at.addr.0..at.end()).map(|(_, byte)| byte.stamp).max().unwrap_or(0)
    }

    /// Whether the byte was allocated and never written.
    pub(crate) fn is_fresh(&mut self, at: Addr) -> bool {
        let index = self.granule_index(at.0 / GRANULE);
        self.granules[index].fresh & (1 << (at.0 % GRANULE)) != 0
    }

    /// Remembers that the bytes are written from now on, if they are.
    pub(crate) fn mark(&mut self, addr: Addr, len: u64) {
        for (number, mask) in Space::granules(addr, len) {
            let index = self.granule_index(number);
            self.granules[index].marked |= mask;
        }
    }

    /// Whether all bytes are marked, and none of them was written since.
    pub(crate) fn is_marked(&mut self, addr: Addr, len: u64) -> bool {
        Space::granules(addr, len).all(|(number, mask)| {
            let index = self.granule_index(number);
            self.granules[index].marked & mask == mask
        })
    }

    /// Whether a thread has written all bytes since they were allocated, or written by somebody unknown.
    pub(crate) fn is_stored(&mut self, addr: Addr, len: u64) -> bool {
        Space::granules(addr, len).all(|(number, mask)| {
            let index = self.granule_index(number);
            self.granules[index].stored & mask == mask
        })
    }

    /// Takes away the mixed bytes of a range.
    pub(crate) fn remove_mixed(&mut self, start: u64, end: u64, mut gone: impl FnMut(MixedByte)) {
        while let Some((&at, &byte)) = self.mixed.range(start..end).next() {
            self.mixed.remove(&at);
            gone(byte);
            self.disperse(at / GRANULE);
        }
    }

    /// The granule with this number, for race checks.
    #[inline]
    pub(crate) fn granule(&mut self, number: u64) -> (&mut Granule, &mut Shadows) {
        let index = self.granule_index(number);
        (&mut self.granules[index], &mut self.shadows)
    }

    /// The bytes of a granule from the first to the last in the mask.
    pub(crate) fn bytes_of(granule: u64, mask: u8) -> (Addr, u64) {
        let first = u64::from(mask.trailing_zeros());
        (Addr(granule * GRANULE + first), 8 - u64::from(mask.leading_zeros()) - first)
    }

    /// Who freed the bytes, if the range touches freed memory.
    pub(crate) fn freed_by(&self, addr: Addr, len: u64) -> Option<Access> {
        let end = addr.0.saturating_add(len);
        self.heap
            .range(..end)
            .rev()
            .take_while(|(_, (to, _))| *to > addr.0)
            .find_map(|(_, (_, state))| if let Heap::Freed(by) = state { Some(*by) } else { None })
    }

    /// The freed range that the byte is in: where it begins, and its length.
    pub(crate) fn freed_at(&self, addr: Addr) -> Option<(Addr, u64)> {
        let (&from, &(to, state)) = self.heap.range(..=addr.0).next_back()?;
        (to > addr.0 && matches!(state, Heap::Freed(_))).then_some((Addr(from), to - from))
    }

    /// Whether some of the bytes are freed, and some are not.
    pub(crate) fn is_partly_freed(&self, addr: Addr, len: u64) -> bool {
        let end = addr.0.saturating_add(len);
        let met = self.heap.range(..end).rev().take_while(|(_, (to, _))| *to > addr.0);
        let freed = met.filter(|(_, (_, state))| matches!(state, Heap::Freed(_)));
        let freed: u64 = freed.map(|(&from, &(to, _))| to.min(end) - from.max(addr.0)).sum();
        freed > 0 && freed < len
    }

    /// The range is memory from the allocator now, or (`freed`) given back. The caller has removed its cells.
    pub(crate) fn set_heap(&mut self, addr: Addr, len: u64, zeroed: bool, freed: Option<Access>) {
        if len == 0 {
            return;
        }
        let (start, end) = (addr.0, addr.0.saturating_add(len));
        self.cut_heap(start, end, |_| true);
        self.disown(start, end);
        match freed {
            Some(by) => {
                self.heap.insert(start, (end, Heap::Freed(by)));
            }
            None if !zeroed => {
                self.heap.insert(start, (end, Heap::Fresh));
            }
            None => {}
        }
        // Only pages that exist hold state of their own.
        let pages: Vec<(u64, u32)> = self.pages_in(start, end).collect();
        for (page, at) in pages {
            let (addr, len) = Space::part_on(page, start, end);
            for (number, mask) in Space::granules(addr, len) {
                let granule = &mut self.granules[(u64::from(at) * PAGE + number % PAGE) as usize];
                self.shadows.drop_shadow(&mut granule.shadow);
                granule.marked &= !mask;
                granule.stored &= !mask;
                // One freed byte is enough for the mark: who freed which is in `heap`.
                granule.freed = freed.is_some() || (granule.freed && mask != u8::MAX);
                granule.fresh =
                    if freed.is_some() || zeroed { granule.fresh & !mask } else { granule.fresh | mask };
            }
        }
    }

    /// Somebody unknown has written the range: that is no race, and its bytes are no longer fresh. The caller has
    /// removed its cells.
    pub(crate) fn set_foreign(&mut self, addr: Addr, len: u64) {
        self.all_written(addr, len);
        let (start, end) = (addr.0, addr.0.saturating_add(len));
        self.disown(start, end);
        let pages: Vec<(u64, u32)> = self.pages_in(start, end).collect();
        for (page, at) in pages {
            let (addr, len) = Space::part_on(page, start, end);
            for (number, mask) in Space::granules(addr, len) {
                let granule = &mut self.granules[(u64::from(at) * PAGE + number % PAGE) as usize];
                self.shadows.drop_shadow(&mut granule.shadow);
                granule.written(mask);
                granule.stored &= !mask;
            }
        }
    }

    /// A range too long to be remembered byte by byte has been written.
    pub(crate) fn all_written(&mut self, addr: Addr, len: u64) {
        self.cut_heap(addr.0, addr.0.saturating_add(len), |state| matches!(state, Heap::Fresh));
    }
}

impl Granule {
    /// Whether atomic accesses were seen here.
    pub(crate) fn has_cells(&self) -> bool {
        self.cell != NO_CELL
    }

    pub(crate) fn is_owned(&self) -> bool {
        self.owned
    }

    pub(crate) fn is_freed(&self) -> bool {
        self.freed
    }

    /// The bytes in `mask` have been written.
    pub(crate) fn written(&mut self, mask: u8) {
        self.fresh &= !mask;
        self.marked &= !mask;
        self.stored |= mask;
    }
}
