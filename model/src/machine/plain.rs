//! Accesses without a choice: race checks, non-atomic ranges, bytes shared by accesses of different sizes,
//! and the heap.

use super::config::Finding;
use super::{Machine, Memory};
use crate::execution::{Access, EventId, Label, Mo, Race, Rf, Source};
use crate::memory::cell::Touch;
use crate::memory::clock::Msg;
use crate::memory::shadow::{Conflict, When};
use crate::memory::space::{CellId, Found, MixedByte, Space};
use crate::models::Model;
use crate::models::mutant::{Mutant, is};
use crate::op::{Addr, Place, Site, ThreadId, Value};
use crate::order::Order;
use crate::strategy::Strategy;

/// Who makes an access, where in the code, and in which epoch: the one before what the access publishes.
#[derive(Clone, Copy)]
pub(super) struct Doer {
    pub(super) thread: ThreadId,
    pub(super) site: Site,
    pub(super) epoch: u32,
}

impl Doer {
    fn access(self, addr: Addr, len: u64, store: bool, atomic: bool) -> Access {
        Access { thread: self.thread, site: self.site, epoch: self.epoch, addr, len, store, atomic }
    }
}

impl<S: Strategy> Machine<S> {
    /// The thread has made a non-atomic access that is no scheduling point: any range, a copy or a plain
    /// variable. It is checked for races; where it meets atomic cells it takes part in their histories. Called
    /// once the access has been made, so that `memory` shows what a store wrote.
    ///
    /// It goes to memory directly: under PSO and PSLO the engine first makes the thread's stores visible with
    /// [`Machine::flush`].
    ///
    /// Under the hardware models, which know no races, that is one of the things that a range over shared data (a
    /// copy) may do, and the certificate takes part in it: a load reads the newest stores, and (TSO) its thread has
    /// seen the whole log from then on; a store is its thread's own store at the end of the log, which others see as
    /// late as any. The stale values that a load there might also have read are for accesses that are operations.
    pub fn plain(
        &mut self,
        thread: ThreadId,
        site: Site,
        addr: Addr,
        len: u64,
        store: bool,
        memory: &mut impl Memory,
    ) {
        if store {
            self.tell(thread);
        } else {
            self.threads[thread.index()].watch.looked(self.told);
        }
        self.plain_private(thread, site, addr, len, store, memory);
    }

    /// The same of memory that no other thread has touched (the thread's own stack): nobody who spins waits for it,
    /// and the thread's own loads of it are part of its state. An engine that says so must [disturb](Machine::disturb)
    /// the thread when another one touches that memory after all.
    pub fn plain_private(
        &mut self,
        thread: ThreadId,
        site: Site,
        addr: Addr,
        len: u64,
        store: bool,
        memory: &mut impl Memory,
    ) {
        let (doer, len) = (self.doer(thread, site), in_range(addr, len));
        if self.check_range(doer, addr, len, store) {
            self.check_cells(doer, addr, len, store);
            self.plain_on_cells(thread, site, addr, len, store, memory);
        }
        if let Model::Tso(tso) = &mut self.model {
            let end = addr.0 + len;
            if store {
                self.stamp += 1;
                tso.store_mixed(thread, self.stamp);
                self.unlogged.write(addr.0, end, self.stamp);
            } else {
                tso.see(thread, self.unlogged.newest(addr.0, end));
            }
        }
    }

    #[inline]
    pub(super) fn doer(&self, thread: ThreadId, site: Site) -> Doer {
        Doer { thread, site, epoch: self.epoch(thread) }
    }

    /// Looks for races and dead memory under a non-atomic access. Whether cells live there.
    fn check_range(&mut self, doer: Doer, addr: Addr, len: u64, store: bool) -> bool {
        if let Some((number, mask)) = Space::one_granule(addr, len) {
            return self.check_granule(doer, number, mask, store, true);
        }
        if self.space.is_huge(len) {
            return self.check_huge(doer, addr, len, store);
        }
        let must_live = !self.looks_beyond(addr, len, store);
        let mut cells = false;
        for (number, mask) in Space::granules(addr, len) {
            cells |= self.check_granule(doer, number, mask, store, must_live);
        }
        cells
    }

    /// Whether this may be a vector load that begins or ends outside what the program means to look at. Code that looks
    /// for a byte, or sums a buffer up, takes aligned blocks, which never fault, and ignores what it has not asked for:
    /// what lies there may be freed, as long as some of the block is not.
    pub fn looks_beyond(&self, addr: Addr, len: u64, store: bool) -> bool {
        let block = !store && (16..=64).contains(&len) && len.is_power_of_two() && addr.0.is_multiple_of(len);
        block && self.has_heap && self.space.is_partly_freed(addr, len)
    }

    /// A range of more pages than the limit allows to remember (a big mapping, cleared or given back): it is
    /// checked against what is remembered, and is itself remembered only there.
    #[cold]
    fn check_huge(&mut self, doer: Doer, addr: Addr, len: u64, store: bool) -> bool {
        if store {
            self.space.all_written(addr, len);
        }
        let mut cells = false;
        let known: alloc::vec::Vec<(u64, u8)> = self.space.known_granules(addr, len).collect();
        for (number, mask) in known {
            cells |= self.check_granule(doer, number, mask, store, true);
        }
        if let Some(freed) = self.space.freed_by(addr, len) {
            self.found(Finding::UseAfterFree { access: doer.access(addr, len, store, false), freed });
        }
        cells
    }

    /// `must_live`: freed memory there is a bug.
    fn check_granule(&mut self, doer: Doer, number: u64, mask: u8, store: bool, must_live: bool) -> bool {
        let races = self.config.races;
        let Machine { space, model, .. } = self;
        let (granule, shadows) = space.granule(number);
        if store {
            granule.written(mask);
        }
        let (cells, dead) = (granule.has_cells(), granule.is_freed() && must_live);
        let owned = granule.is_owned();
        let mut race = None;
        if let Model::C11(c11) = model
            && races
        {
            let knower = c11.knower(doer.thread);
            let now = When { slot: knower.slot, epoch: doer.epoch, site: doer.site };
            race = shadows.access(&mut granule.shadow, mask, now, store, knower);
        }
        if race.is_some() || dead {
            let (addr, len) = Space::bytes_of(number, mask);
            self.found_in_granule(doer.access(addr, len, store, false), race, dead);
        } else if owned {
            let (addr, len) = Space::bytes_of(number, mask);
            self.check_owned(doer.access(addr, len, store, false));
        }
        cells
    }

    /// Looks for races and dead memory under an operation that was scheduled. Comes after what the access
    /// acquires, which happens before it.
    pub(super) fn check_access(
        &mut self,
        doer: Doer,
        at: Place,
        cell: Option<CellId>,
        order: Order,
        store: bool,
    ) {
        let len = u64::from(at.width);
        if !order.is_atomic() {
            if self.check_range(doer, at.addr, len, store) {
                self.check_cells(doer, at.addr, len, store);
            }
            return;
        }
        let races = self.config.races;
        let must_live = !self.looks_beyond(at.addr, len, store);
        for (number, mask) in Space::granules(at.addr, len) {
            let Machine { space, model, .. } = self;
            let (granule, shadows) = space.granule(number);
            if store {
                granule.written(mask);
            }
            let (dead, owned) = (granule.is_freed() && must_live, granule.is_owned());
            let mut race = None;
            if let Model::C11(c11) = model
                && races
            {
                race = shadows.check(&granule.shadow, mask, store, c11.knower(doer.thread));
            }
            if race.is_some() || dead {
                let (addr, len) = Space::bytes_of(number, mask);
                self.found_in_granule(doer.access(addr, len, store, true), race, dead);
            } else if owned {
                let (addr, len) = Space::bytes_of(number, mask);
                self.check_owned(doer.access(addr, len, store, true));
            }
        }
        if let (true, Some(cell), Model::C11(c11)) = (races, cell, &self.model) {
            let (slot, _) = c11.now(doer.thread);
            let touch = Touch { slot, epoch: doer.epoch, site: doer.site, store };
            self.space.cells[cell as usize].note_access(touch);
        }
    }

    /// A non-atomic access against the atomic ones of the cells that it meets.
    fn check_cells(&mut self, doer: Doer, addr: Addr, len: u64, store: bool) {
        let Model::C11(c11) = &self.model else { return };
        if !self.config.races {
            return;
        }
        let mut cells = core::mem::take(&mut self.scratch);
        self.space.cells_in(addr, len, &mut cells);
        let knower = c11.knower(doer.thread);
        let mut race = None;
        for &cell in &cells {
            let it = &self.space.cells[cell as usize];
            let unknown = it.accesses().find(|touch| {
                let when = When { slot: touch.slot, epoch: touch.epoch, site: touch.site };
                (store || touch.store) && !knower.knows(when)
            });
            race = race.or(unknown.map(|touch| (touch, it.place)));
        }
        if let Some((touch, place)) = race {
            let thread = c11.owner(touch.slot, touch.epoch);
            let first = Doer { thread, site: touch.site, epoch: touch.epoch };
            let first = first.access(place.addr, u64::from(place.width), touch.store, true);
            self.found_race(first, doer.access(addr, len, store, false));
        }
        self.scratch = cells;
    }

    /// An access races with an earlier one, or touches memory that was freed.
    #[cold]
    fn found_in_granule(&mut self, second: Access, race: Option<Conflict>, dead: bool) {
        let Access { addr, len, .. } = second;
        if let (Some(conflict), Model::C11(c11)) = (race, &self.model) {
            // Where the first began and ended is not known: it shares at least one of these bytes.
            let When { slot, epoch, site } = conflict.earlier;
            let first = Doer { thread: c11.owner(slot, epoch), site, epoch };
            let first = first.access(addr, len, conflict.store, false);
            self.found_race(first, second);
        }
        if let Some(freed) = self.space.freed_by(addr, len).filter(|_| dead) {
            self.found(Finding::UseAfterFree { access: second, freed });
        }
    }

    /// An access to a block: whether its thread knows that the block was allocated.
    fn check_owned(&mut self, access: Access) {
        let Some(allocation) = self.space.owned_at(access.addr) else { return };
        let Model::C11(c11) = &self.model else { return };
        if allocation.thread == access.thread || !self.config.races {
            return;
        }
        let (slot, _) = c11.now(allocation.thread);
        let when = When { slot, epoch: allocation.epoch, site: allocation.site };
        if !c11.knower(access.thread).knows(when) {
            let events = self.events as u32;
            self.found(Finding::AllocationRace(Race { first: allocation, second: access, events }));
        }
    }

    fn found_race(&mut self, first: Access, second: Access) {
        self.found(Finding::Race(Race { first, second, events: self.events as u32 }));
    }

    #[cold]
    pub(super) fn found_uninitialised(&mut self, thread: ThreadId, site: Site, at: Place) {
        let access = self.doer(thread, site).access(at.addr, u64::from(at.width), false, true);
        self.found(Finding::Uninitialised { access });
    }

    /// A non-atomic access that was not scheduled, where cells live.
    fn plain_on_cells(
        &mut self,
        thread: ThreadId,
        site: Site,
        addr: Addr,
        len: u64,
        store: bool,
        memory: &mut impl Memory,
    ) {
        let end = addr.0.saturating_add(len);
        let mut cells = core::mem::take(&mut self.scratch);
        if self.config.foreign && !store {
            self.space.cells_in(addr, len, &mut cells);
            let places: alloc::vec::Vec<Place> =
                cells.iter().map(|&cell| self.space.cells[cell as usize].place).collect();
            for place in places {
                self.notice_foreign(thread, site, place, memory);
            }
        }
        self.space.cells_in(addr, len, &mut cells);
        for &cell in &cells {
            let place = self.space.cells[cell as usize].place;
            if place.addr.0 < addr.0 || place.end() > end {
                // Part of a cell: its bytes go on without a history.
                self.dissolve(place, 0);
            } else if store {
                let end = self.space.cells[cell as usize].last_index() + 1;
                self.retire_write(thread, site, cell, end, Order::Na, memory.read(place), None);
            } else {
                let newest = self.space.cells[cell as usize].last_index();
                self.retire_read(thread, site, cell, newest, Order::Na, false);
            }
        }
        self.scratch = cells;
        if store {
            let mixed: alloc::vec::Vec<u64> = self.space.mixed_in(addr.0, end).collect();
            for at in mixed {
                let place = Place::new(Addr(at), 1);
                let value = memory.read(place);
                let label = Label::Store { at: place, order: Order::Na, value, mo: Mo::Last };
                let event = self.push(thread, site, label);
                self.stamp += 1;
                if let Model::Tso(tso) = &mut self.model {
                    tso.store_mixed(thread, self.stamp);
                }
                self.overwrite_mixed(place, value, Source::Store(event), Msg::NOTHING);
            }
        } else if let Model::Tso(tso) = &mut self.model {
            // It has read the end of the log, where bytes without a history are too.
            tso.catch_up(thread, self.stamp);
        }
    }

    /// Makes every byte of the place, and of every cell that it meets, a mixed byte. `value` is what memory holds
    /// where no cell lives.
    pub(super) fn dissolve(&mut self, at: Place, value: Value) {
        let mut cells = alloc::vec::Vec::new();
        self.space.cells_in(at.addr, u64::from(at.width), &mut cells);
        for &cell in &cells {
            let it = &self.space.cells[cell as usize];
            let (place, last) = (it.place, *it.last());
            let untouched = it.uninitialised && it.last_index() == 0;
            for byte in place.addr.0..place.end() {
                // Perhaps only some of them were fresh when the cell was made.
                let uninitialised = untouched && self.space.is_fresh(Addr(byte));
                if let Model::C11(c11) = &mut self.model {
                    c11.share(last.msg);
                }
                let value = byte_of(last.value(), place, byte);
                let mixed =
                    MixedByte { source: last.source, msg: last.msg, stamp: last.stamp, value, uninitialised };
                self.space.set_mixed(byte, mixed);
            }
            let model = &mut self.model;
            self.space.remove_cell(cell, |stored| {
                if let Model::C11(c11) = model {
                    c11.forget(stored.msg);
                }
            });
        }
        for byte in at.addr.0..at.end() {
            if self.space.mixed(byte).is_none() {
                let uninitialised = self.space.is_fresh(Addr(byte));
                let value = byte_of(value, at, byte);
                let (source, msg) = (Source::Init, Msg::NOTHING);
                let mixed = MixedByte { source, msg, stamp: 0, value, uninitialised };
                self.space.set_mixed(byte, mixed);
            }
        }
    }

    /// Gives each mixed byte of the place a new last store, stamped now. Takes over one reference to `msg`.
    pub(super) fn overwrite_mixed(&mut self, at: Place, value: Value, source: Source, msg: Msg) {
        let stamp = self.stamp;
        for byte in at.addr.0..at.end() {
            if let Model::C11(c11) = &mut self.model {
                c11.share(msg);
            }
            let value = byte_of(value, at, byte);
            let mixed = MixedByte { source, msg, stamp, value, uninitialised: false };
            let old = self.space.set_mixed(byte, mixed);
            if let (Model::C11(c11), Some(old)) = (&mut self.model, old) {
                c11.forget(old.msg);
            }
        }
        if let Model::C11(c11) = &mut self.model {
            c11.forget(msg);
        }
    }

    /// An operation on mixed bytes: it reads their last stores, and is their last store if it writes.
    pub(super) fn retire_mixed(
        &mut self,
        thread: ThreadId,
        site: Site,
        at: Place,
        order: Order,
        read: Option<Value>,
        written: Option<Value>,
    ) -> u64 {
        let mut from = Msg::NOTHING;
        let mut rf = Rf::One(Source::Init);
        if read.is_some() {
            rf = self.rf_of_mixed(at);
            let mut bytes = at.addr.0..at.end();
            if order.is_atomic()
                && bytes.any(|byte| self.space.mixed(byte).is_some_and(|it| it.uninitialised))
            {
                self.found_uninitialised(thread, site, at);
            }
            for byte in at.addr.0..at.end() {
                if let (Model::C11(c11), Some(mixed)) = (&mut self.model, self.space.mixed(byte)) {
                    c11.add_to(&mut from, mixed.msg);
                }
            }
        }
        let seen = self.space.newest_mixed(at);
        let label = match (read, written) {
            (Some(read), Some(written)) => Label::Rmw { at, order, read, rf, written, mo: Mo::Last },
            (None, Some(value)) => Label::Store { at, order, value, mo: Mo::Last },
            (read, None) => Label::Load { at, order, value: read.unwrap_or(0), rf, locked: false },
        };
        let event = self.push(thread, site, label);
        if read.is_some() {
            match &mut self.model {
                Model::Sc | Model::Buffered(_) => {}
                Model::Tso(tso) => tso.catch_up(thread, self.stamp),
                Model::C11(c11) => c11.read(thread, order, from),
            }
            self.after_load(thread, order);
        }
        if let Some(value) = written {
            self.write_mixed(thread, at, order, value, event, read.map(|_| from));
        }
        if let Model::C11(c11) = &mut self.model {
            c11.forget(from);
        }
        if written.is_some() { self.stamp } else { seen }
    }

    fn write_mixed(
        &mut self,
        thread: ThreadId,
        at: Place,
        order: Order,
        value: Value,
        event: EventId,
        read: Option<Msg>,
    ) {
        self.stamp += 1;
        let msg = match &mut self.model {
            Model::C11(c11) => c11.write(thread, order, read),
            Model::Tso(tso) => {
                tso.store_mixed(thread, self.stamp);
                if read.is_some() || order.is_sc() {
                    tso.catch_up(thread, self.stamp);
                }
                Msg::NOTHING
            }
            Model::Buffered(buffered) => {
                if order.is_sc() {
                    buffered.load_barrier(thread, self.stamp);
                }
                Msg::NOTHING
            }
            Model::Sc => Msg::NOTHING,
        };
        self.overwrite_mixed(at, value, Source::Store(event), msg);
        if order.releases() {
            self.end_epoch(thread);
        }
    }

    fn rf_of_mixed(&mut self, at: Place) -> Rf {
        let mut sources = [Source::Init; 16];
        for (byte, source) in (at.addr.0..at.end()).zip(&mut sources) {
            *source = self.space.mixed(byte).map_or(Source::Init, |mixed| mixed.source);
        }
        let used = &sources[..usize::from(at.width)];
        if used.iter().all(|&source| source == used[0]) {
            return Rf::One(used[0]);
        }
        if !self.config.keep_events {
            return Rf::One(used[0]);
        }
        self.execution.bytes.push(sources);
        Rf::Bytes(self.execution.bytes.len() as u32 - 1)
    }

    /// Memory from the allocator: what was there before is forgotten.
    ///
    /// Under PSO and PSLO the engine first calls [`Machine::flush_range`], here and for [`Machine::free`].
    pub fn alloc(&mut self, thread: ThreadId, site: Site, at: Addr, len: u64, zeroed: bool) {
        let len = in_range(at, len);
        self.has_heap = true;
        self.push(thread, site, Label::Alloc { at, len });
        self.forget_range(at, len);
        self.space.set_heap(at, len, zeroed, None);
    }

    /// The thread has [allocated](Machine::alloc) a block for the program: whoever touches it must know of that. c11 only.
    pub fn owned(&mut self, thread: ThreadId, site: Site, at: Addr, len: u64) {
        if self.config.races && matches!(self.model, Model::C11(_)) {
            let doer = self.doer(thread, site);
            self.space.set_owned(doer.access(at, in_range(at, len), true, false));
        }
    }

    /// Memory goes back to the allocator: touching it from now on is a bug, and freeing it while another
    /// thread may still be using it is a race.
    pub fn free(&mut self, thread: ThreadId, site: Site, at: Addr, len: u64) {
        let (doer, len) = (self.doer(thread, site), in_range(at, len));
        if self.check_range(doer, at, len, true) {
            self.check_cells(doer, at, len, true);
        }
        self.has_heap = true;
        let by = doer.access(at, len, true, false);
        self.push(thread, site, Label::Free { at, len });
        self.forget_range(at, len);
        self.space.set_heap(at, len, true, Some(by));
    }

    /// The freed memory that an address is in: where it begins, and its length.
    #[must_use]
    pub fn freed_at(&self, at: Addr) -> Option<(Addr, u64)> {
        self.space.freed_at(at)
    }

    /// The engine wants to know whether anybody writes these bytes from now on, as far as the machine is told: see
    /// [`Machine::is_marked`].
    pub fn mark(&mut self, at: Addr, len: u64) {
        self.space.mark(at, in_range(at, len));
    }

    /// Whether the bytes were [marked](Machine::mark), and since then have neither been written nor allocated nor freed.
    /// False is also the answer where that is no longer known.
    pub fn is_marked(&mut self, at: Addr, len: u64) -> bool {
        self.space.is_marked(at, in_range(at, len))
    }

    /// Whether threads have written all of these bytes, as far as the machine is told and still knows, since they were
    /// allocated or somebody [foreign](Machine::foreign) wrote them.
    pub fn is_stored(&mut self, at: Addr, len: u64) -> bool {
        self.space.is_stored(at, in_range(at, len))
    }

    /// Whether all bytes were allocated, and none of them was written since, as far as the machine is told.
    pub fn is_fresh(&mut self, at: Addr, len: u64) -> bool {
        (at.0..at.0 + in_range(at, len)).all(|byte| self.space.is_fresh(Addr(byte)))
    }

    /// Somebody outside the model's view (a library that runs natively, the kernel) has written memory, or may have.
    /// From now on everybody sees what memory holds there, and only that: the range has no history, and what threads
    /// hold back of it never arrives. (A held store that lies across an end of the range takes the rest of its bytes
    /// with it.) That the range was freed is not forgotten; its bytes count as written; its races are forgotten.
    ///
    /// Nobody acquires anything by reading such a value: where the foreign code synchronises, that is told with
    /// [`Machine::release`] and [`Machine::acquire`]. Under TSO, who reads it has seen what was stored before.
    pub fn foreign(&mut self, thread: ThreadId, site: Site, at: Addr, len: u64) {
        let mut range = (at.0, at.0 + in_range(at, len));
        if let Model::Buffered(buffered) = &self.model {
            range = buffered.widen(range.0, range.1);
        }
        let (at, len) = (Addr(range.0), range.1 - range.0);
        self.push(thread, site, Label::Foreign { at, len });
        if !is(self.config.mutant, Mutant::ForeignForgetsNothing) {
            self.forget_range(at, len);
        }
        self.space.set_foreign(at, len);
        if matches!(self.model, Model::Tso(_)) {
            self.stamp += 1;
            self.unlogged.write(range.0, range.1, self.stamp);
        }
        // Nobody knows it yet, whoever caused it.
        self.told += 1;
    }

    /// Every other thread has ended, and this one will run natively for a while, unwatched. Everything so far happens
    /// before what it does next, and all that was known of memory is forgotten: histories, races, the heap, and what
    /// objects have released. Threads that it makes later find memory as it is then.
    ///
    /// # Panics
    /// When another thread has not ended, a step is under way, or a store is held back: under PSO and PSLO the engine
    /// first calls [`Machine::flush`] for every thread.
    pub fn alone(&mut self, thread: ThreadId, site: Site) {
        let others = (0..self.threads.len() as u32).map(ThreadId).filter(|&other| other != thread);
        let others: alloc::vec::Vec<ThreadId> = others.collect();
        assert!(others.iter().all(|&other| self.has_ended(other)), "{thread} is not alone");
        assert!(self.is_idle(), "a step is under way");
        if let Model::Buffered(buffered) = &self.model {
            assert_eq!(buffered.heads().count(), 0, "a store is held back");
        }
        // No access reaches the last byte of the address space.
        let (at, len) = (Addr(0), u64::MAX);
        self.push(thread, site, Label::Foreign { at, len });
        self.forget_range(at, len);
        self.space.clear();
        self.unlogged.clear();
        self.has_heap = false;
        self.sweep_at = self.config.limits.cells;
        self.told += 1;
        self.threads[thread.index()].watch.news();
        self.learn_everything(thread);
        let objects = core::mem::take(&mut self.objects);
        if let Model::C11(c11) = &mut self.model {
            others.iter().for_each(|&other| c11.join(thread, other));
            objects.into_values().for_each(|msg| c11.forget(msg));
        }
    }

    /// What others have written under the place since the machine last looked, it is told now.
    pub(super) fn notice_foreign(
        &mut self,
        thread: ThreadId,
        site: Site,
        at: Place,
        memory: &mut impl Memory,
    ) {
        for place in self.strange(at, memory) {
            self.foreign(thread, site, place.addr, u64::from(place.width));
        }
    }

    /// The cells and mixed bytes under the place that hold something else than the machine believes.
    pub(super) fn strange(&mut self, at: Place, memory: &mut impl Memory) -> alloc::vec::Vec<Place> {
        let mut strange = alloc::vec::Vec::new();
        match self.space.find(at) {
            Found::Nothing => {}
            Found::Cell(cell) => {
                if self.space.cells[cell as usize].last().value() != memory.read(at) {
                    strange.push(at);
                }
            }
            Found::Clash => {
                let mut cells = alloc::vec::Vec::new();
                self.space.cells_in(at.addr, u64::from(at.width), &mut cells);
                let places = cells.iter().map(|&cell| &self.space.cells[cell as usize]);
                strange.extend(
                    places.filter(|it| it.last().value() != memory.read(it.place)).map(|it| it.place),
                );
                let mixed = self.space.mixed_in(at.addr.0, at.end()).filter_map(|byte| {
                    let place = Place::new(Addr(byte), 1);
                    let value = self.space.mixed(byte).map(|mixed| Value::from(mixed.value));
                    (value != Some(memory.read(place))).then_some(place)
                });
                strange.extend(mixed);
            }
        }
        strange
    }

    fn forget_range(&mut self, at: Addr, len: u64) {
        let end = at.0.saturating_add(len);
        let mut cells = core::mem::take(&mut self.scratch);
        self.space.cells_in(at, len, &mut cells);
        for &cell in &cells {
            let place = self.space.cells[cell as usize].place;
            if place.addr.0 < at.0 || place.end() > end {
                // The bytes outside live on.
                self.dissolve(place, 0);
                continue;
            }
            let Machine { space, model, .. } = self;
            space.remove_cell(cell, |stored| {
                if let Model::C11(c11) = model {
                    c11.forget(stored.msg);
                }
            });
        }
        self.scratch = cells;
        let Machine { space, model, .. } = self;
        space.remove_mixed(at.0, end, |byte| {
            if let Model::C11(c11) = model {
                c11.forget(byte.msg);
            }
        });
        if let Model::Buffered(buffered) = model {
            buffered.drop_range(at.0, end);
        }
    }
}

/// The byte at an address, of a value at a place.
fn byte_of(value: Value, at: Place, byte: u64) -> u8 {
    (value >> (8 * (byte - at.addr.0))) as u8
}

/// The length of a range, cut off at the end of the address space.
fn in_range(addr: Addr, len: u64) -> u64 {
    len.min(u64::MAX - addr.0)
}
