//! How a thread performs its operation: what is decided before ([`Machine::run`]) and what follows from it
//! ([`Machine::retired`]).

use super::config::Mismatch;
use super::{Machine, Memory, Status};
use crate::execution::{Label, Mo, Rf, Source};
use crate::memory::cell::Stored;
use crate::memory::clock::Msg;
use crate::memory::space::{CellId, Found};
use crate::models::Model;
use crate::models::buffered::Held;
use crate::models::mutant::{Mutant, is};
use crate::op::{How, Op, Place, Site, Step, ThreadId, Value};
use crate::order::Order;
use crate::strategy::{Choice, ReadChoice, Strategy};

/// A step that the engine is performing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    thread: ThreadId,
    deed: Deed,
}

/// What was decided about it.
#[derive(Clone, Copy, Debug)]
enum Deed {
    /// Reads this store of the cell.
    Read { cell: CellId, index: u32 },
    /// Reads its thread's own held store: [`Machine::forwarded`].
    Forward,
    /// Writes; the store takes this place in the cell.
    Write { cell: CellId, index: u32 },
    /// Writes into its thread's buffer.
    Hold,
    /// Reads store `index` and writes, taking place `to`.
    Update { cell: CellId, index: u32, to: u32 },
    /// Reads, writes or both, bytes that have no history; a compare-and-swap knows whether it writes.
    Mixed { reads: bool, writes: bool },
    /// Anything else.
    Other,
}

impl<S: Strategy> Machine<S> {
    /// The thread performs its operation, once nothing that it holds is in the way.
    pub(super) fn run(&mut self, thread: ThreadId, memory: &mut impl Memory) -> Step {
        let choice = *self.choice(thread);
        if let Model::Buffered(buffered) = &self.model
            && let Some(place) = buffered.in_the_way(thread, &choice.op, self.config.limits.held)
        {
            self.picked = Some(thread);
            return self.commit(thread, place, memory);
        }
        self.woken.clear();
        self.made = None;
        let mut how = How::default();
        let deed = match choice.op {
            Op::Load { at, order } => self.decide_load(&choice, at, order, memory, &mut how),
            Op::Store { at, order } => self.decide_store(&choice, at, order, memory, &mut how),
            Op::Rmw { at, .. } => self.decide_update(&choice, at, None, memory, &mut how),
            Op::Cas { at, expected, .. } => self.decide_update(&choice, at, Some(expected), memory, &mut how),
            Op::Wait { at, expected } => return self.wait(thread, at, expected, memory),
            Op::Fence { .. } | Op::Wake { .. } | Op::Sync { .. } | Op::Yield | Op::Join { .. } => Deed::Other,
        };
        self.flight = Some(Flight { thread, deed });
        self.set_status(thread, Status::Running);
        Step::Run { thread, how }
    }

    /// The cell at exactly this place for an operation of the thread: see [`Machine::cell_at`]. What others have
    /// written there is noticed first.
    fn cell_for(&mut self, thread: ThreadId, at: Place, memory: &mut impl Memory) -> Option<CellId> {
        if self.config.foreign {
            let site = self.threads[thread.index()].site;
            self.notice_foreign(thread, site, at, memory);
        }
        self.cell_at(at, memory)
    }

    /// The cell at exactly this place, if the bytes there have a history. Dissolves what is in the way.
    pub(super) fn cell_at(&mut self, at: Place, memory: &mut impl Memory) -> Option<CellId> {
        match self.space.find(at) {
            Found::Cell(cell) => Some(cell),
            Found::Nothing => {
                self.sweep();
                let mut init = Stored::initial(memory.read(at));
                init.stamp = self.unlogged.newest(at.addr.0, at.end());
                let cell = self.space.make_cell(at, init);
                self.made = Some(cell);
                Some(cell)
            }
            Found::Clash => {
                self.dissolve(at, memory.read(at));
                None
            }
        }
    }

    /// Among `count` candidates, which the read takes. A spinning thread takes the newest, and so does one that has read
    /// an old store here too often.
    fn choose_read(&mut self, choice: &Choice, at: Place, count: usize) -> usize {
        if count < 2 {
            return 0;
        }
        let thread = &self.threads[choice.agent.thread().index()];
        if thread.spinning != super::Spinning::No || thread.stale.is_enough(at) {
            self.strategy.forced(choice);
            return count - 1;
        }
        let chosen = self.strategy.read(&ReadChoice { choice: *choice, count });
        assert!(chosen < count, "the strategy chose a candidate that does not exist");
        chosen
    }

    /// Keeps count of reads of old stores, where there was a choice: of the store that is read, and of the one by which it is
    /// known that the next read is no other.
    fn note_stale(
        &mut self,
        thread: ThreadId,
        at: Place,
        cell: CellId,
        (index, same): (u32, u32),
        choice: bool,
    ) {
        if choice && self.config.spin {
            let it = &self.space.cells[cell as usize];
            let old = index < it.last_index();
            self.threads[thread.index()].stale.read(at, it.store(same).stamp, old);
        }
    }

    fn decide_load(
        &mut self,
        choice: &Choice,
        at: Place,
        order: Order,
        memory: &mut impl Memory,
        how: &mut How,
    ) -> Deed {
        let thread = choice.agent.thread();
        if let Model::Buffered(buffered) = &self.model
            && let Some(held) = buffered.forwarded(thread, at)
        {
            how.read = Some(held.value);
            self.forwarded = Some(held);
            return Deed::Forward;
        }
        let Some(cell) = self.cell_for(thread, at, memory) else {
            return Deed::Mixed { reads: true, writes: false };
        };
        let it = &self.space.cells[cell as usize];
        let last = it.last_index();
        // Under c11, what a non-atomic load reads is determined, or it races.
        let determined = !order.is_atomic() && matches!(self.model, Model::C11(_));
        let floor = if determined { last } else { self.model.floor(it, thread, order) };
        let index = floor + self.choose_read(choice, at, (last - floor) as usize + 1) as u32;
        self.note_stale(thread, at, cell, (index, index), floor < last);
        if index < last {
            how.read = Some(self.space.cells[cell as usize].store(index).value());
        }
        Deed::Read { cell, index }
    }

    fn decide_store(
        &mut self,
        choice: &Choice,
        at: Place,
        order: Order,
        memory: &mut impl Memory,
        how: &mut How,
    ) -> Deed {
        let thread = choice.agent.thread();
        if let Model::Buffered(buffered) = &self.model
            && !buffered.writes_through(order)
        {
            how.hold = true;
            return Deed::Hold;
        }
        let Some(cell) = self.cell_for(thread, at, memory) else {
            return Deed::Mixed { reads: false, writes: true };
        };
        let last = self.space.cells[cell as usize].last_index();
        let mut index = last + 1;
        if self.config.insertion && order.is_atomic() && matches!(self.model, Model::C11(_)) {
            let floor = self.model.floor(&self.space.cells[cell as usize], thread, order);
            let first =
                if is(self.config.mutant, Mutant::InsertBeforeSeen) { floor.max(1) } else { floor + 1 };
            let count = (first..=last + 1).filter(|&at| self.has_room(cell, at)).count();
            if count > 1 {
                let place = self.strategy.place(choice, count);
                let room = (first..=last + 1).filter(|&at| self.has_room(cell, at)).nth(place);
                index = room.expect("the strategy chose a place that does not exist");
            }
        }
        how.hold = index <= last;
        Deed::Write { cell, index }
    }

    /// Whether a store may go to `index`, before the store that is there: not if that is an RMW, which
    /// belongs right behind the store it read.
    fn has_room(&self, cell: CellId, index: u32) -> bool {
        let it = &self.space.cells[cell as usize];
        index > it.last_index()
            || index == 0
            || !it.store(index).rmw
            || is(self.config.mutant, Mutant::InsertIntoRmw)
    }

    fn decide_update(
        &mut self,
        choice: &Choice,
        at: Place,
        expected: Option<Value>,
        memory: &mut impl Memory,
        how: &mut How,
    ) -> Deed {
        let thread = choice.agent.thread();
        let Some(cell) = self.cell_for(thread, at, memory) else {
            how.succeeds = expected.is_none_or(|expected| memory.read(at) == expected);
            return Deed::Mixed { reads: true, writes: how.succeeds };
        };
        let it = &self.space.cells[cell as usize];
        let last = it.last_index();
        // A success must satisfy the success order, a failure the other; since C++17 either may be the weaker.
        let (order, failure) = match choice.op {
            Op::Cas { order, failure, .. } => (order, failure),
            _ => (choice.op.order(), choice.op.order()),
        };
        let floor_to_succeed = self.update_floor(cell, thread, order);
        let floor_to_fail = self.update_floor(cell, thread, failure);
        let floor = floor_to_succeed.min(floor_to_fail);
        let equal = |machine: &Self, index: u32| {
            let value = machine.space.cells[cell as usize].store(index).value();
            expected.is_none_or(|expected| value == expected)
        };
        // A weak one that fails for no reason is a load of the expected value, which may be a stale one (LL/SC).
        // That is decided first: otherwise a strategy that likes old stores would have it fail for ever.
        let spurious = matches!(choice.op, Op::Cas { weak: true, .. })
            && (floor_to_fail..=last).any(|index| equal(self, index))
            && self.strategy.spurious(choice);
        let fits = |machine: &Self, index: u32| {
            if spurious || !equal(machine, index) {
                return index >= floor_to_fail && spurious == equal(machine, index);
            }
            // To write, it must come right behind what it reads.
            let next = machine.space.cells[cell as usize].after(index);
            let room = index == last || machine.config.insertion && next.is_none_or(|next| !next.rmw);
            index >= floor_to_succeed && room || is(machine.config.mutant, Mutant::RmwReadsOld)
        };
        let count = (floor..=last).filter(|&index| fits(self, index)).count();
        let chosen = self.choose_read(choice, at, count);
        let index = (floor..=last).filter(|&index| fits(self, index)).nth(chosen).unwrap_or(last);
        how.succeeds = !spurious && equal(self, index);
        // One that writes makes what it reads another store each time; what it does not see stays the same.
        let unseen = if how.succeeds { last.min(index + 1) } else { index };
        self.note_stale(thread, at, cell, (index, unseen), count > 1);
        let it = &self.space.cells[cell as usize];
        how.read = (index < last).then_some(it.store(index).value());
        if !how.succeeds {
            return Deed::Read { cell, index };
        }
        let to = if is(self.config.mutant, Mutant::RmwReadsOld) { last + 1 } else { index + 1 };
        how.hold = to <= last;
        Deed::Update { cell, index, to }
    }

    /// The oldest store that a read-modify-write may look at: under c11 a stale one can make a compare-and-swap
    /// fail (and with insertion, succeed); a locked instruction sees memory.
    fn update_floor(&self, cell: CellId, thread: ThreadId, order: Order) -> u32 {
        let it = &self.space.cells[cell as usize];
        match &self.model {
            Model::C11(c11) => c11.floor(it, thread, order),
            _ if is(self.config.mutant, Mutant::RmwReadsOld) => it.base(),
            _ => it.last_index(),
        }
    }

    /// The engine has performed the step: what the operation read and wrote, where it did.
    ///
    /// # Errors
    /// When the value read is not the one that the model decided on.
    ///
    /// # Panics
    /// When no step of this thread is under way.
    pub fn retired(&mut self, thread: ThreadId, read: Value, written: Value) -> Result<(), Mismatch> {
        let flight = self.flight.take().expect("no step is under way");
        assert_eq!(flight.thread, thread, "another thread's step is under way");
        let deed = flight.deed;
        let op = self.choice(thread).op;
        let it = &mut self.threads[thread.index()];
        it.serial += 1;
        let (site, state) = (it.site, it.state);
        if let Op::Sync { .. } = op {
            // What the call finds is told, or not at all: whoever makes it in a loop may have missed something.
            self.threads[thread.index()].watch.looked(self.told);
            return Ok(());
        }
        if op == Op::Yield {
            return Ok(());
        }
        let Some(at) = op.place() else {
            self.retire_other(thread, site, &op);
            return Ok(());
        };
        let expected = match deed {
            Deed::Read { cell, index } | Deed::Update { cell, index, .. } => {
                Some(self.space.cells[cell as usize].store(index).value())
            }
            Deed::Forward => self.forwarded.map(|held| held.value),
            _ => None,
        };
        if let Some(expected) = expected.filter(|&expected| expected != read) {
            return Err(Mismatch { thread, at, expected, found: read });
        }
        let order = match (op, deed) {
            (Op::Cas { failure, .. }, Deed::Read { .. } | Deed::Mixed { writes: false, .. }) => failure,
            (op, _) => op.order(),
        };
        let writes = match deed {
            Deed::Write { .. } | Deed::Hold | Deed::Update { .. } => true,
            Deed::Mixed { writes, .. } => writes,
            Deed::Read { .. } | Deed::Forward | Deed::Other => false,
        };
        let reads_too = !matches!(deed, Deed::Write { .. } | Deed::Hold | Deed::Mixed { reads: false, .. });
        if writes {
            self.release_if_maybe(thread, order);
        }
        let doer = self.doer(thread, site);
        let stamp = match deed {
            Deed::Read { cell, index } => {
                let locked = matches!(op, Op::Cas { .. });
                self.retire_read(thread, site, cell, index, order, locked)
            }
            Deed::Forward => {
                let held = self.forwarded.take().expect("a held store was forwarded");
                let rf = Rf::One(Source::Store(held.event));
                self.push(thread, site, Label::Load { at, order, value: read, rf, locked: false });
                self.after_load(thread, order);
                self.stamp
            }
            Deed::Write { cell, index } => self.retire_write(thread, site, cell, index, order, written, None),
            Deed::Hold => self.retire_hold(thread, site, at, order, written),
            Deed::Update { cell, index, to } => {
                self.retire_write(thread, site, cell, to, order, written, Some(index))
            }
            Deed::Mixed { reads, writes } => {
                self.retire_mixed(thread, site, at, order, reads.then_some(read), writes.then_some(written))
            }
            Deed::Other => {
                let woken = self.wake(at, &op);
                self.threads[thread.index()].watch.woke(at.addr);
                self.push(thread, site, Label::Wake { at, woken });
                return Ok(());
            }
        };
        // After what the access acquires, which happens before it; in the epoch in which it was made.
        if self.has_heap || self.finds_races() {
            let cell = match deed {
                Deed::Read { cell, .. } | Deed::Write { cell, .. } | Deed::Update { cell, .. } => Some(cell),
                Deed::Forward | Deed::Hold | Deed::Mixed { .. } | Deed::Other => None,
            };
            self.check_access(doer, at, cell, order, writes);
        }
        if self.config.spin {
            let watch = &mut self.threads[thread.index()].watch;
            if let (Op::Cas { expected, .. }, false) = (op, writes)
                && read == expected
            {
                // It failed for no reason: going round again is no repetition.
                watch.news();
                return Ok(());
            }
            if reads_too {
                watch.did(site, at, false, read, stamp, state);
            }
            if writes {
                watch.did(site, at, true, written, stamp, state);
            }
        }
        Ok(())
    }

    /// The operation that [`Step::Run`] said to perform did not happen: its instruction faulted. The thread runs
    /// (a signal handler, or to its end), and nothing has happened in the model. Only the strategy has seen the step,
    /// so the thread's next operation is another one to it.
    ///
    /// # Panics
    /// When no step of this thread is under way.
    pub fn faulted(&mut self, thread: ThreadId) {
        self.threads[thread.index()].watch.left();
        if self.is_asleep(thread) {
            // A futex wait, which went to sleep at once. That is an event, but one that orders nothing.
            return self.set_status(thread, Status::Running);
        }
        let flight = self.flight.take().expect("no step is under way");
        assert_eq!(flight.thread, thread, "another thread's step is under way");
        self.forwarded = None;
        self.threads[thread.index()].serial += 1;
        // What was read to make a cell may be no memory at all.
        if let Some(cell) = self.made.take() {
            self.space.remove_cell(cell, |_| {});
        }
    }

    fn retire_other(&mut self, thread: ThreadId, site: Site, op: &Op) {
        match *op {
            Op::Fence { order } => {
                self.push(thread, site, Label::Fence { order });
                let end = self.stamp;
                match &mut self.model {
                    Model::Tso(tso) if order.is_sc() => tso.barrier(thread),
                    Model::Buffered(buffered) if order.acquires() => buffered.load_barrier(thread, end),
                    Model::C11(c11) => c11.fence(thread, order),
                    Model::Sc | Model::Tso(_) | Model::Buffered(_) => {}
                }
                if order.releases() {
                    self.end_epoch(thread);
                }
            }
            Op::Join { child } => self.join_ended(thread, child, site),
            _ => unreachable!("every other operation has a place"),
        }
    }

    pub(super) fn retire_read(
        &mut self,
        thread: ThreadId,
        site: Site,
        cell: CellId,
        index: u32,
        order: Order,
        locked: bool,
    ) -> u64 {
        let it = &self.space.cells[cell as usize];
        let stored = *it.store(index);
        let at = it.place;
        if index == 0 && it.uninitialised && order.is_atomic() {
            self.found_uninitialised(thread, site, at);
        }
        let rf = Rf::One(stored.source);
        self.push(thread, site, Label::Load { at, order, value: stored.value(), rf, locked });
        let it = &mut self.space.cells[cell as usize];
        match &mut self.model {
            Model::Sc => {}
            Model::Tso(tso) => {
                tso.load(it, thread, index);
                if locked {
                    tso.catch_up(thread, self.stamp);
                }
            }
            Model::Buffered(buffered) => buffered.load(it, thread, index),
            Model::C11(c11) => c11.load(it, thread, order, index),
        }
        self.after_load(thread, order);
        stored.stamp
    }

    /// PSLO's load-load barrier after an acquire load.
    pub(super) fn after_load(&mut self, thread: ThreadId, order: Order) {
        if let Model::Buffered(buffered) = &mut self.model
            && order.acquires()
        {
            buffered.load_barrier(thread, self.stamp);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one event")]
    pub(super) fn retire_write(
        &mut self,
        thread: ThreadId,
        site: Site,
        cell: CellId,
        index: u32,
        order: Order,
        value: Value,
        read: Option<u32>,
    ) -> u64 {
        let it = &self.space.cells[cell as usize];
        let at = it.place;
        let mo = if index > it.last_index() { Mo::Last } else { Mo::After(it.store(index - 1).source) };
        let label = match read {
            None => Label::Store { at, order, value, mo },
            Some(read) => {
                let from = it.store(read);
                let (read, rf) = (from.value(), Rf::One(from.source));
                Label::Rmw { at, order, read, rf, written: value, mo }
            }
        };
        if let Some(0) = read
            && it.uninitialised
        {
            self.found_uninitialised(thread, site, at);
        }
        let event = self.push(thread, site, label);
        self.stamp += 1;
        let stored = Stored::new(value, self.stamp, Source::Store(event), read.is_some());
        let it = &mut self.space.cells[cell as usize];
        match &mut self.model {
            Model::Sc => {
                it.append(stored);
            }
            Model::Tso(tso) => {
                it.append(stored);
                tso.store(it, thread, index);
                if read.is_some() {
                    tso.catch_up(thread, self.stamp);
                } else if order.is_sc() {
                    tso.barrier(thread);
                }
            }
            Model::Buffered(buffered) => {
                it.append(stored);
                buffered.committed(it, thread, index);
                let acquires = read.is_some() && order.acquires();
                if acquires || order.is_sc() {
                    buffered.load_barrier(thread, self.stamp);
                }
            }
            Model::C11(c11) => {
                let msg = read.map(|read| it.store(read).msg);
                if let Some(read) = read {
                    c11.load(it, thread, order, read);
                }
                c11.store(it, thread, order, index, stored, msg);
            }
        }
        if order.releases() {
            self.end_epoch(thread);
        }
        self.forget_old(cell);
        self.stamp
    }

    fn retire_hold(&mut self, thread: ThreadId, site: Site, at: Place, order: Order, value: Value) -> u64 {
        let event = self.push(thread, site, Label::Store { at, order, value, mo: Mo::Held });
        if order.releases() {
            self.end_epoch(thread);
        }
        let serial = self.held;
        self.held += 1;
        if let Model::Buffered(buffered) = &mut self.model {
            buffered.hold(thread, Held { place: at, value, event, serial });
        }
        self.stamp
    }

    /// The oldest held store of the buffer becomes visible.
    pub(super) fn commit(&mut self, thread: ThreadId, place: Place, memory: &mut impl Memory) -> Step {
        let cell = self.cell_at(place, memory);
        let Model::Buffered(buffered) = &mut self.model else { unreachable!("only buffers commit") };
        let held = buffered.take(thread, place).expect("a buffer that commits is not empty");
        let site = self.threads[thread.index()].site;
        self.push(thread, site, Label::Commit { store: held.event });
        self.stamp += 1;
        let source = Source::Store(held.event);
        match cell {
            Some(cell) => {
                let it = &mut self.space.cells[cell as usize];
                let index = it.append(Stored::new(held.value, self.stamp, source, false));
                if let Model::Buffered(buffered) = &mut self.model {
                    buffered.committed(it, thread, index);
                }
                self.forget_old(cell);
            }
            None => self.overwrite_mixed(place, held.value, source, Msg::NOTHING),
        }
        // A spinning thread does not wait for what it wrote itself.
        self.threads[thread.index()].watch.committed(place, self.stamp);
        Step::Commit { thread, at: place, value: held.value }
    }

    /// A futex wait: the kernel compares what memory holds, and the thread sleeps or goes on.
    fn wait(&mut self, thread: ThreadId, at: Place, expected: Value, memory: &mut impl Memory) -> Step {
        if memory.read(at) != expected {
            let deed = match self.cell_for(thread, at, memory) {
                Some(cell) => Deed::Read { cell, index: self.space.cells[cell as usize].last_index() },
                None => Deed::Mixed { reads: true, writes: false },
            };
            self.flight = Some(Flight { thread, deed });
            self.set_status(thread, Status::Running);
            return Step::Run { thread, how: How::default() };
        }
        let it = &mut self.threads[thread.index()];
        it.serial += 1;
        let site = it.site;
        self.push(thread, site, Label::Sleep { at });
        self.fall_asleep(thread, Some(at.addr), Some(Op::Wait { at, expected }));
        Step::Run { thread, how: How { sleeps: true, ..How::default() } }
    }

    fn wake(&mut self, at: Place, op: &Op) -> u32 {
        let &Op::Wake { count, .. } = op else { unreachable!("only a wake wakes") };
        for _ in 0..count {
            let asleep = |machine: &Self, index: &usize| {
                machine.threads[*index].status == Status::Asleep(Some(at.addr))
            };
            let sleepers = (0..self.threads.len()).filter(|index| asleep(self, index)).count();
            let which = match sleepers {
                0 => break,
                1 => 0,
                _ => self.strategy.wake(sleepers),
            };
            let index = (0..self.threads.len()).filter(|index| asleep(self, index)).nth(which);
            let thread = ThreadId(index.expect("the strategy chose a sleeper that does not exist") as u32);
            self.set_status(thread, Status::Running);
            self.threads[thread.index()].watch.news();
            self.woken.push(thread);
        }
        self.woken.len() as u32
    }
}
