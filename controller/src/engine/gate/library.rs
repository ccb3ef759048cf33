//! Functions of the C runtime under way: what their entries and returns mean to the model. As in the step engine; but a
//! function whose return matters returns to a gate of ours, which knows where it was to return to.

use super::run::Run;
use super::thread::{Pending, Slot};
use crate::engine::EngineError;
use crate::engine::calls::{Call, Kind, Told, ranges};
use crate::engine::sites::What;
use wmtrace_decoder::orders::{Atomic, Source};
use wmtrace_model::op::{Addr, Op, Place, Site, Step};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::Strategy;

/// The longest string that is looked at.
const LONGEST_STRING: u64 = 1 << 20;

/// Functions that only say that the thread waits: their calls are not a change of its state.
const YIELDS: [&str; 4] = ["sched_yield", "pthread_yield", "thrd_yield", "__sched_yield"];

/// `operator new` in its variants, which call `malloc` for the program.
const NEW: [&str; 2] = ["_Znw", "_Zna"];

/// What the readers of a readers-writer lock release: an object of its own, inside the lock.
fn readers_of(lock: u64) -> u64 {
    lock.wrapping_add(1)
}

impl<S: Strategy> Run<'_, S> {
    /// Code under the model calls other code: a function of this name, if that is known.
    pub(super) fn leaves(&mut self, index: usize, name: Option<&str>) -> Result<(), EngineError> {
        // The library reads memory as it is.
        self.flush(index)?;
        if name.is_some_and(|name| YIELDS.contains(&name)) {
            return Ok(());
        }
        self.new_state(index);
        let Some(name) = name else { return Ok(()) };
        let regs = &self.threads[index].regs;
        let args = [regs.x(0), regs.x(1), regs.x(2)];
        let string =
            |addr: u64, max: u64| self.memory.c_string(addr, max.min(LONGEST_STRING) as usize).len() as u64;
        let Some(found) = ranges(name, args, &string) else { return Ok(()) };
        let mut told = Vec::new();
        for (addr, len, store) in found {
            let op = if store { "store" } else { "load" };
            let what = What { op, order: Some((Order::Na, Source::Isa)), atomic: Atomic::No };
            let site = self.site_here(index, what);
            told.push(Told { pc: 0, site, addr, len, store, private: false });
        }
        let (stores, loads): (Vec<Told>, Vec<Told>) = told.into_iter().partition(|it| it.store);
        self.tell(index, &loads);
        if !stores.is_empty() {
            self.begin_call(index, Kind::Ranges, stores)?;
        }
        Ok(())
    }

    /// A function is called whose return matters: it returns to us.
    fn begin_call(&mut self, index: usize, kind: Kind, told: Vec<Told>) -> Result<(), EngineError> {
        let regs = &self.threads[index].regs;
        let (ret, sp, args) = (regs.x(30), regs.sp(), [regs.x(0), regs.x(1), regs.x(2)]);
        let direct = self.is_managed(ret) || self.is_new(ret);
        let child = if kind == Kind::Join { self.by_handle(args[0]) } else { None };
        // An initialiser may throw an exception through `pthread_once`, where nobody must stand in between.
        let watched = kind != Kind::Once;
        let call = Call { kind, args, ret, sp, watched, child, told, direct };
        let file = self.engine.files.gates[self.threads[index].gate].file;
        let to = self.engine.files.copies[file].returns.wrapping_add(self.biases[&file]);
        let thread = &mut self.threads[index];
        if watched {
            thread.regs.set_x(30, to);
            thread.dirty = true;
        }
        thread.calls.push(call);
        Ok(())
    }

    /// Whether the address is in `operator new`.
    fn is_new(&self, addr: u64) -> bool {
        let module = self.modules.iter().find(|module| module.contains(addr));
        let symbol = module.and_then(|module| module.binary.image.symbol_at(module.offset(addr)));
        symbol.is_some_and(|symbol| NEW.iter().any(|new| symbol.name.starts_with(new)))
    }

    /// The thread is at the entry of a function that we know.
    pub(super) fn enters(&mut self, index: usize, kind: Kind) -> Result<(), EngineError> {
        self.threads[index].slot = Some(Slot::Exec);
        // One that is part of another is the other's business.
        let calls = &self.threads[index].calls;
        if kind.allocates() && calls.iter().any(|call| call.kind.allocates()) {
            return Ok(());
        }
        let ret = self.threads[index].regs.x(30);
        // What the C library locks for itself orders nothing of the program's.
        let library = self.modules.iter().any(|module| module.binary.core && module.contains(ret));
        if kind.synchronises() && library {
            return Ok(());
        }
        self.flush(index)?;
        self.new_state(index);
        let object = self.threads[index].regs.x(0);
        // The site is the caller's: before the return address is ours.
        let site = self.site_here(index, What::call(kind.name()));
        self.begin_call(index, kind, Vec::new())?;
        if !kind.synchronises() {
            return self.enter_call(index);
        }
        let at = Place::new(Addr(object.min(u64::MAX - 1)), 1);
        self.pend(index, Pending::Call, Op::Sync { at }, site, 0);
        Ok(())
    }

    /// Calls that have been left, by an exception or a `longjmp`, and those whose return nobody watches, are over.
    pub(super) fn left(&mut self, index: usize) -> Result<(), EngineError> {
        let sp = self.threads[index].regs.sp();
        while let Some(call) = self.threads[index].calls.last()
            && (sp > call.sp
                || !call.watched && sp == call.sp && self.is_managed(self.threads[index].regs.pc))
        {
            let call = self.threads[index].calls.pop().expect("there is a last one");
            if !call.watched && !call.kind.allocates() {
                self.leave_call(index, &call, 0)?;
            }
        }
        Ok(())
    }

    /// A signal comes while functions are under way that return to us. Its handler may look up who called whom, or never
    /// come back (a thread that is cancelled): the functions return where they were called from, and what they return
    /// is not known. They are taken for successful: what is acquired too much hides races, and makes none.
    pub(super) fn give_back_returns(&mut self, index: usize) {
        /// Functions that wait keep their return address this near.
        const FRAMES: u64 = 4096;
        let ours: Vec<u64> = self
            .biases
            .iter()
            .map(|(&file, bias)| self.engine.files.copies[file].returns.wrapping_add(*bias))
            .collect();
        let mut end = u64::MAX;
        for at in (0..self.threads[index].calls.len()).rev() {
            let Call { sp, ret, watched, .. } = self.threads[index].calls[at];
            if !watched {
                continue;
            }
            let start = sp.saturating_sub(FRAMES);
            let bytes = self.memory.read_some(start, (sp.min(end) - start) as usize);
            let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            // The outermost place: what lies deeper may be left from before.
            let found = bytes.chunks_exact(8).rposition(|bytes| ours.contains(&word(bytes)));
            if let Some(found) = found {
                let place = start + 8 * found as u64;
                if self.memory.write(place, &ret.to_le_bytes()).is_ok() {
                    self.threads[index].calls[at].watched = false;
                    end = place;
                }
            }
        }
    }

    /// A function has returned to us: the thread goes on where it was to return to.
    pub(super) fn returned(&mut self, index: usize) -> Result<(), EngineError> {
        let sp = self.threads[index].regs.sp();
        let result = self.threads[index].regs.x(0);
        loop {
            let Some(call) = self.threads[index].calls.pop() else {
                return Err(EngineError::Os("a function returned that nobody has called".to_owned()));
            };
            if !call.watched || call.sp != sp {
                if !call.watched && call.sp <= sp {
                    self.leave_call(index, &call, 0)?;
                }
                continue;
            }
            let thread = &mut self.threads[index];
            thread.regs.set_x(30, call.ret);
            thread.regs.pc = call.ret;
            (thread.dirty, thread.slot, thread.place) = (true, Some(Slot::Exec), None);
            return self.leave_call(index, &call, result);
        }
    }

    /// What the entry of the function means.
    pub(super) fn enter_call(&mut self, index: usize) -> Result<(), EngineError> {
        let id = self.threads[index].id;
        let Some(Call { kind, args, ret, .. }) = self.threads[index].calls.last().cloned() else {
            return Ok(());
        };
        let site = self.site_here(index, What::call(kind.name()));
        if kind.synchronises() {
            self.flush(index)?;
        }
        match kind {
            // What a reader of a lock did, only writers wait for.
            Kind::Unlock => {
                let reading = &mut self.threads[index].reading;
                let reader = reading.iter().rposition(|&lock| lock == args[0]).map(|at| reading.remove(at));
                self.machine.release(id, reader.map_or(args[0], readers_of), site);
            }
            Kind::Signal | Kind::Barrier => self.machine.release(id, args[0], site),
            Kind::CondWait => self.machine.release(id, args[1], site),
            Kind::Free => self.free(index, args[0], ret, site)?,
            Kind::Realloc if args[0] != 0 && args[1] == 0 => self.free(index, args[0], ret, site)?,
            _ => {}
        }
        Ok(())
    }

    /// What the return of the function means.
    fn leave_call(&mut self, index: usize, call: &Call, result: u64) -> Result<(), EngineError> {
        const OWNER_DIED: u32 = libc::EOWNERDEAD as u32;
        let id = self.threads[index].id;
        let site = self.site_here(index, What::call(call.kind.name()));
        let [first, second, third] = call.args;
        let status = result as u32;
        match call.kind {
            Kind::Lock if matches!(status, 0 | OWNER_DIED) => self.machine.acquire(id, first, site),
            Kind::WriteLock if status == 0 => {
                self.threads[index].reading.retain(|&lock| lock != first);
                self.machine.acquire(id, first, site);
                self.machine.acquire(id, readers_of(first), site);
            }
            Kind::ReadLock if status == 0 => {
                self.threads[index].reading.push(first);
                self.machine.acquire(id, first, site);
            }
            Kind::SemWait if status == 0 => self.machine.acquire(id, first, site),
            Kind::Barrier => self.machine.acquire(id, first, site),
            Kind::CondWait => {
                self.machine.acquire(id, first, site);
                self.machine.acquire(id, second, site);
            }
            Kind::Once => self.machine.acquire(id, first, site),
            Kind::Join if status == 0 && call.watched => {
                if let Some(child) = call.child {
                    self.pend(index, Pending::Join { child }, Op::Join { child }, site, 0);
                }
            }
            Kind::Malloc => self.allocated(index, result, first, !call.direct, site)?,
            Kind::Calloc => self.allocated(index, result, first.saturating_mul(second), true, site)?,
            Kind::Aligned => self.allocated(index, result, second, !call.direct, site)?,
            Kind::PosixMemalign if status == 0 => {
                let block = self.memory.read_u64(first).unwrap_or(0);
                self.allocated(index, block, third, !call.direct, site)?;
            }
            Kind::Realloc if result != 0 => {
                if first != 0 && first != result {
                    self.free(index, first, call.ret, site)?;
                }
                // What was copied counts as written; so does the rest, of which nothing is known.
                self.allocated(index, result, second, true, site)?;
            }
            Kind::Ranges => self.tell(index, &call.told),
            _ => {}
        }
        Ok(())
    }

    fn allocated(
        &mut self,
        index: usize,
        block: u64,
        len: u64,
        written: bool,
        site: Site,
    ) -> Result<(), EngineError> {
        if block == 0 || len == 0 {
            return Ok(());
        }
        self.flush_range(block, len)?;
        self.heap.insert(block, len);
        // Instructions do not tell what is meant to be read: copies of structures read what lies between members.
        let written = written || !self.is_c11();
        self.machine.alloc(self.threads[index].id, site, Addr(block), len, written);
        Ok(())
    }

    fn free(&mut self, index: usize, block: u64, ret: u64, site: Site) -> Result<(), EngineError> {
        // One that was allocated before there were threads has the size that the C library has noted. (The library
        // frees blocks twice itself: a thread that ends gives those back that it has kept for its next `malloc`.)
        let library = self.modules.iter().any(|module| module.binary.core && module.contains(ret));
        let noted = || if library { None } else { self.noted_size(block) };
        if let Some(len) = self.heap.get(&block).copied().or_else(noted) {
            self.heap.remove(&block);
            self.flush_range(block, len)?;
            self.machine.free(self.threads[index].id, site, Addr(block), len);
        }
        Ok(())
    }

    /// The size of a block as glibc's `malloc` keeps it, in the word before the block (its `malloc/malloc.c`, "Chunk
    /// representation"). `None` for other libraries, and for what does not look like one.
    fn noted_size(&self, block: u64) -> Option<u64> {
        const FLAGS: u64 = 7;
        const MAPPED: u64 = 2;
        if !self.modules.iter().any(|module| module.binary.core && module.is_glibc()) {
            return None;
        }
        let word = self.memory.read_u64(block.checked_sub(8)?)?;
        let (chunk, overhead) = (word & !FLAGS, if word & MAPPED != 0 { 16 } else { 8 });
        let fits = block.is_multiple_of(16) && chunk.is_multiple_of(16) && (32..1 << 40).contains(&chunk);
        fits.then(|| chunk - overhead)
    }

    pub(super) fn flush_range(&mut self, start: u64, len: u64) -> Result<(), EngineError> {
        while let Some(Step::Commit { at, value, .. }) =
            self.machine.flush_range(Addr(start), len, &mut &self.memory)
        {
            self.memory.set_value(at, value)?;
        }
        Ok(())
    }
}
