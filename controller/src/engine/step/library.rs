//! Functions of the C runtime under way: what their entries and returns mean to the model.

use super::calls::{Call, Kind, ranges};
use super::run::Run;
use super::sites::What;
use super::thread::{Pending, Told};
use crate::engine::EngineError;
use wmtrace_decoder::orders::{Atomic, Source};
use wmtrace_model::op::{Addr, Op, Place, Site, Step};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::Strategy;

/// The longest string that is looked at.
const LONGEST_STRING: u64 = 1 << 20;

/// Functions that only say that the thread waits: their calls are not a change of its state.
const YIELDS: [&str; 4] = ["sched_yield", "pthread_yield", "thrd_yield", "__sched_yield"];

/// What the readers of a readers-writer lock release: an object of its own, inside the lock.
fn readers_of(lock: u64) -> u64 {
    lock.wrapping_add(1)
}

impl<S: Strategy> Run<'_, S> {
    /// Managed code calls native code (its program counter is there now), through a slot of the dynamic linker's if
    /// that is known.
    pub(super) fn leaves(&mut self, index: usize, slot: Option<u64>) -> Result<(), EngineError> {
        // The library reads memory as it is.
        self.flush(index)?;
        // An initialiser that returns to `pthread_once`, which lets others through before it returns itself.
        if let Some(Call { kind: Kind::Once, args, .. }) = self.threads[index].calls.last() {
            let object = args[0];
            let site = self.site_here(index, What::call("once"));
            self.machine.release(self.threads[index].id, object, site);
        }
        let name = slot.and_then(|slot| self.modules.iter().find(|module| module.contains(slot))?.slot(slot));
        if !name.is_some_and(|name| YIELDS.contains(&name)) {
            let name = name.map(str::to_owned);
            self.new_state(index);
            if let Some(name) = name {
                self.touches_ranges(index, &name);
            }
        }
        Ok(())
    }

    /// Managed code calls a function that the dynamic linker has not found yet, and is on its way to it.
    pub(super) fn leaves_by_linker(&mut self, index: usize, from: u64, slot: u64) {
        let target = self.threads[index].regs.rip;
        let module = self.modules.iter().find(|module| module.contains(from) && module.contains(target));
        if let Some(name) = module.and_then(|module| module.slot(slot)).map(str::to_owned) {
            self.touches_ranges(index, &name);
        }
    }

    /// The function is one of those that copy, fill or compare memory.
    fn touches_ranges(&mut self, index: usize, name: &str) {
        let regs = &self.threads[index].regs;
        let args = [regs.rdi, regs.rsi, regs.rdx];
        let string =
            |addr: u64, max: u64| self.memory.c_string(addr, max.min(LONGEST_STRING) as usize).len() as u64;
        let Some(found) = ranges(name, args, &string) else { return };
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
            let mut call = self.call(index, Kind::Ranges, self.threads[index].regs.rsp);
            call.told = stores;
            self.threads[index].calls.push(call);
        }
    }

    /// A call whose entry the thread is at, or about to come to with this stack pointer.
    fn call(&self, index: usize, kind: Kind, sp: u64) -> Call {
        let regs = &self.threads[index].regs;
        let ret = self.memory.read_u64(sp).unwrap_or(0);
        let direct =
            self.sea.covers(ret) || self.allocators.iter().any(|&(start, end)| (start..end).contains(&ret));
        Call {
            kind,
            args: [regs.rdi, regs.rsi, regs.rdx],
            ret,
            sp,
            watched: false,
            child: None,
            told: Vec::new(),
            direct,
        }
    }

    /// A breakpoint in native code: the entry of a function that we know, or where one returns to.
    pub(super) fn breakpoint(&mut self, index: usize, at: u64) -> Result<(), EngineError> {
        self.returned(index)?;
        if self.threads[index].mode != super::thread::Mode::Running || self.threads[index].regs.rip != at {
            return Ok(());
        }
        let Some(&kind) = self.entries.get(&at) else { return Ok(()) };
        // One that is part of another is the other's business.
        let calls = &self.threads[index].calls;
        if kind.allocates() && calls.iter().any(|call| call.kind.allocates()) {
            return Ok(());
        }
        let mut call = self.call(index, kind, self.threads[index].regs.rsp);
        // What the C library locks for itself orders nothing of the program's.
        if kind.synchronises()
            && self.modules.iter().any(|module| module.binary.core && module.contains(call.ret))
        {
            return Ok(());
        }
        if !self.sea.covers(call.ret) {
            self.sea.watch(&self.memory, call.ret)?;
            call.watched = true;
        }
        if kind == Kind::Join {
            call.child = self.handles.get(&call.args[0]).copied();
        }
        let object = call.args[0];
        self.threads[index].calls.push(call);
        if !kind.synchronises() {
            return self.enter_call(index);
        }
        let site = self.site_here(index, What::call(kind.name()));
        let at = Place::new(Addr(object.min(u64::MAX - 1)), 1);
        self.pend(index, Pending::Call, Op::Sync { at }, site, 0);
        Ok(())
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

    /// The thread is back in managed code.
    pub(super) fn came_back(&mut self, index: usize) -> Result<(), EngineError> {
        self.threads[index].unwind();
        self.returned(index)
    }

    /// Functions that have returned to where the thread is now, or have been left in another way, are over.
    fn returned(&mut self, index: usize) -> Result<(), EngineError> {
        let regs = self.threads[index].regs;
        while let Some(call) = self.threads[index].calls.last()
            && regs.rsp > call.sp
        {
            let call = self.threads[index].calls.pop().expect("there is a last one");
            if call.watched {
                self.sea.unwatch(&self.memory, call.ret)?;
            }
            if regs.rip == call.ret && regs.rsp == call.sp + 8 {
                self.leave_call(index, &call, regs.rax)?;
            }
            if self.threads[index].mode != super::thread::Mode::Running {
                break;
            }
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
            Kind::Join if status == 0 => {
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
