//! Functions of the C runtime under way: what their entries and returns mean to the model. How an engine learns of
//! them is its own affair.

use super::EngineError;
use super::calls::{Call, Kind, Object, Told, ranges};
use super::execution::Execution;
use super::joins::Joins as _;
use super::locks::LockChecks as _;
use super::modules::Module;
use super::sites::What;
use super::thread::Pending;
use crate::os::memory::ProcessMemory;
use std::rc::Rc;
use wmtrace_model::op::{Addr, Op, Place, Site};

/// The longest string that is looked at.
const LONGEST_STRING: u64 = 1 << 20;

/// Functions that only say that the thread waits: their calls are not a change of its state.
const YIELDS: [&str; 4] = ["sched_yield", "pthread_yield", "thrd_yield", "__sched_yield"];

/// What the readers of a readers-writer lock release: an object of its own, inside the lock.
fn readers_of(lock: u64) -> u64 {
    lock.wrapping_add(1)
}

/// Whether a function of this name only says that its thread waits.
pub(super) fn yields(name: Option<&str>) -> bool {
    name.is_some_and(|name| YIELDS.contains(&name))
}

/// Whether a function of this name means something, though it does not synchronise: it yields, or touches ranges.
pub(super) fn is_known(name: &str) -> bool {
    yields(Some(name)) || ranges(name, [0; 3], &|_, _| 0).is_some()
}

/// The name of the function of the C runtime that begins at an address, if it is one that says something: its symbol's, or
/// that by which the dynamic linker has found it for somebody (of several implementations of `memcpy` only that one has a
/// name).
pub(super) fn function_at(modules: &[Module], memory: &ProcessMemory, addr: u64) -> Option<Rc<str>> {
    let home = modules.iter().find(|module| module.contains(addr));
    let symbols = home.into_iter().flat_map(|module| {
        let own = module.binary.image.symbols().iter();
        own.filter(|symbol| symbol.function && symbol.addr == module.offset(addr)).map(|it| it.name.as_str())
    });
    let pointers = modules.iter().flat_map(|module| {
        let at = |(slot, name): (&u64, &'_ String)| (slot.wrapping_add(module.bias), name.clone());
        module.binary.image.imports().iter().map(at).collect::<Vec<_>>()
    });
    let pointers: Vec<String> =
        pointers.filter(|&(slot, _)| memory.read_u64(slot) == Some(addr)).map(|(_, name)| name).collect();
    symbols.chain(pointers.iter().map(String::as_str)).filter(|name| is_known(name)).min().map(Rc::from)
}

pub(super) trait LibraryCalls: Execution {
    /// The thread calls a function: if it is one of those that copy, fill or compare memory, what it reads is told. What
    /// it writes is returned, to be told when it has returned.
    fn touches_ranges(&mut self, index: usize, name: &str, args: [u64; 3]) -> Vec<Told> {
        let memory = self.parts().memory;
        let string =
            |addr: u64, max: u64| memory.c_string(addr, max.min(LONGEST_STRING) as usize).len() as u64;
        let Some(found) = ranges(name, args, &string) else { return Vec::new() };
        let told = self.told(index, found);
        let (stores, loads): (Vec<Told>, Vec<Told>) = told.into_iter().partition(|it| it.store);
        self.tell(index, &loads);
        stores
    }

    /// Plain accesses that the thread has made by somebody else: (address, length, whether written).
    fn told(&mut self, index: usize, ranges: Vec<(u64, u64, bool)>) -> Vec<Told> {
        let mut told = Vec::new();
        for (addr, len, store) in ranges {
            let op = if store { "store" } else { "load" };
            let site = self.site_here(index, What::plain(op));
            told.push(Told { pc: 0, site, addr, len, store, private: false });
        }
        told
    }

    /// Whether a function that is called, and returns to `ret`, means nothing: it is a part of another one, or the C
    /// library or an allocator locks something for itself, which orders nothing of the program's. `by_itself` is false if it is known
    /// that the program has jumped to the function.
    fn is_internal(&mut self, index: usize, kind: Kind, ret: u64, by_itself: bool) -> bool {
        let calls = &self.parts().threads[index].calls;
        kind.allocates() && calls.iter().any(|call| call.kind.allocates())
            || (kind.synchronises() || kind.is_of_life())
                && by_itself
                && (self.is_library(ret) || self.is_allocator(ret))
    }

    /// Whether an address is of an allocator that is not the C library's.
    fn is_allocator(&mut self, addr: u64) -> bool {
        self.parts().modules.iter().any(|module| module.is_allocator(addr))
    }

    /// Whether an address is of the C library.
    fn is_library(&mut self, addr: u64) -> bool {
        self.parts().modules.iter().any(|module| module.is_core(addr))
    }

    /// A function is called that we know, and its call is under way: others may go first if it synchronises.
    fn called(&mut self, index: usize, kind: Kind, object: u64, site: Site) -> Result<(), EngineError> {
        if !kind.synchronises() {
            return self.enter_call(index);
        }
        let at = Place::new(Addr(object.min(u64::MAX - 1)), 1);
        self.pend(index, Pending::Call, Op::Sync { at }, site, 0);
        Ok(())
    }

    /// What the entry of the function means.
    fn enter_call(&mut self, index: usize) -> Result<(), EngineError> {
        let Some(Call { kind, args, ret, glibc, direct, .. }) =
            self.parts().threads[index].calls.last().cloned()
        else {
            return Ok(());
        };
        let site = self.site_here(index, What::call(kind.name()));
        if kind.synchronises() {
            self.flush(index)?;
        }
        if let Some(call) = self.parts().threads[index].calls.last_mut() {
            call.site = site;
        }
        self.check_lock(index, site);
        self.check_join(index, site);
        let it = self.parts();
        let id = it.threads[index].id;
        match kind {
            // What a reader of a lock did, only writers wait for.
            Kind::Unlock | Kind::RwUnlock => {
                let reading = &mut it.threads[index].reading;
                let reader = reading.iter().rposition(|&lock| lock == args[0]).map(|at| reading.remove(at));
                it.machine.release(id, reader.map_or(args[0], readers_of), site);
            }
            Kind::Signal | Kind::Post | Kind::Barrier => it.machine.release(id, args[0], site),
            Kind::CondWait => it.machine.release(id, args[1], site),
            Kind::Free => self.free(index, args[0], (ret, direct), glibc, site)?,
            Kind::Realloc if args[0] != 0 && args[1] == 0 => {
                self.free(index, args[0], (ret, direct), glibc, site)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// An initialiser has returned to `pthread_once`, which lets others through before it returns itself.
    fn initialised(&mut self, index: usize) {
        if let Some(Call { kind: Kind::Once, args, .. }) = self.parts().threads[index].calls.last() {
            let object = args[0];
            let site = self.site_here(index, What::call("once"));
            let it = self.parts();
            it.machine.release(it.threads[index].id, object, site);
        }
    }

    /// What the return of the function means.
    fn leave_call(&mut self, index: usize, call: &Call, result: u64) -> Result<(), EngineError> {
        const OWNER_DIED: u32 = libc::EOWNERDEAD as u32;
        let site = self.site_here(index, What::call(call.kind.name()));
        let id = self.parts().threads[index].id;
        let [first, second, third] = call.args;
        let status = result as u32;
        if let Kind::Destroy(object @ (Object::Barrier | Object::Condition)) = call.kind {
            // The C library has waited until everybody has left it, in ways that nobody has seen: what they have looked at
            // on their way out may be freed now.
            self.parts().machine.foreign(id, site, Addr(first), object.len());
        }
        self.lock_returned(index, call, status);
        self.join_returned(index, call, status);
        let it = self.parts();
        match call.kind {
            Kind::Lock if matches!(status, 0 | OWNER_DIED) => it.machine.acquire(id, first, site),
            Kind::WriteLock if status == 0 => {
                it.threads[index].reading.retain(|&lock| lock != first);
                it.machine.acquire(id, first, site);
                it.machine.acquire(id, readers_of(first), site);
            }
            Kind::ReadLock if status == 0 => {
                it.threads[index].reading.push(first);
                it.machine.acquire(id, first, site);
            }
            Kind::SemWait if status == 0 => it.machine.acquire(id, first, site),
            Kind::Barrier => it.machine.acquire(id, first, site),
            Kind::CondWait => {
                it.machine.acquire(id, first, site);
                it.machine.acquire(id, second, site);
            }
            Kind::Once => it.machine.acquire(id, first, site),
            Kind::Join | Kind::TryJoin if status == 0 => {
                if let Some(child) = call.child {
                    self.pend(index, Pending::Join { child }, Op::Join { child }, site, 0);
                }
            }
            Kind::Malloc => self.allocated(index, result, first, !call.direct, site)?,
            Kind::Mallocx => {
                const ZERO: u64 = 0x40;
                self.allocated(index, result, first, !call.direct || second & ZERO != 0, site)?;
            }
            Kind::Zalloc => self.allocated(index, result, first, true, site)?,
            Kind::Calloc => self.allocated(index, result, first.saturating_mul(second), true, site)?,
            Kind::Aligned => self.allocated(index, result, second, !call.direct, site)?,
            Kind::AlignedZalloc => self.allocated(index, result, second, true, site)?,
            Kind::PosixMemalign if status == 0 => {
                let block = it.memory.read_u64(first).unwrap_or(0);
                self.allocated(index, block, third, !call.direct, site)?;
            }
            Kind::Realloc if result != 0 => self.reallocated(index, call, result, second, site)?,
            Kind::ReallocArray if result != 0 => {
                self.reallocated(index, call, result, second.saturating_mul(third), site)?;
            }
            Kind::Resize | Kind::Usable => self.grown(index, first, result, site)?,
            Kind::Unknown => self.handed_out(index, result, site)?,
            Kind::Ranges => self.tell(index, &call.told),
            _ => {}
        }
        self.is_from_program(index, call, result, site);
        Ok(())
    }

    /// A block that the program itself has asked for: whoever uses it must know of its allocation. What a library has
    /// allocated natively, it may also have handed over unseen.
    fn is_from_program(&mut self, index: usize, call: &Call, result: u64, site: Site) {
        use Kind::{Aligned, AlignedZalloc, Calloc, Malloc, Mallocx, PosixMemalign, Zalloc};
        let it = self.parts();
        let block = match call.kind {
            PosixMemalign if result as u32 == 0 => it.memory.read_u64(call.args[0]).unwrap_or(0),
            Malloc | Mallocx | Zalloc | Calloc | Aligned | AlignedZalloc => result,
            _ => return,
        };
        if let Some(&len) = it.course.heap.get(&block).filter(|_| call.direct) {
            it.machine.owned(it.threads[index].id, site, Addr(block), len);
        }
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
        // Instructions do not tell what is meant to be read: copies of structures read what lies between members.
        let it = self.parts();
        let written = written || !it.options.is_c11();
        it.course.heap.insert(block, len);
        it.machine.alloc(it.threads[index].id, site, Addr(block), len, written);
        Ok(())
    }

    /// A block has another size now, and perhaps another place.
    fn reallocated(
        &mut self,
        index: usize,
        call: &Call,
        block: u64,
        len: u64,
        site: Site,
    ) -> Result<(), EngineError> {
        let before = call.args[0];
        if before != 0 && before != block {
            self.free(index, before, (call.ret, call.direct), call.glibc, site)?;
        }
        // What was copied counts as written; so does the rest, of which nothing is known.
        self.allocated(index, block, len, true, site)
    }

    /// The program has been told that a block is so large: what lies behind the part that it has asked for may have been
    /// freed with an earlier, larger block in the same place.
    fn grown(&mut self, index: usize, block: u64, len: u64, site: Site) -> Result<(), EngineError> {
        let Some(known) = self.parts().course.heap.get_mut(&block) else { return Ok(()) };
        let before = std::mem::replace(known, len.max(*known));
        if len <= before {
            return Ok(());
        }
        let (start, more) = (block.saturating_add(before), len - before);
        self.flush_range(start, more)?;
        let it = self.parts();
        it.machine.alloc(it.threads[index].id, site, Addr(start), more, true);
        Ok(())
    }

    /// An allocator's function that nobody knows has returned an address. Memory there that was freed has been handed out
    /// again: it is the program's, though nobody knows how much of it.
    fn handed_out(&mut self, index: usize, addr: u64, site: Site) -> Result<(), EngineError> {
        let Some((start, len)) = self.parts().machine.freed_at(Addr(addr)) else { return Ok(()) };
        self.flush_range(start.0, len)?;
        let it = self.parts();
        it.machine.alloc(it.threads[index].id, site, start, len, true);
        Ok(())
    }

    /// `glibc`: by glibc's own function.
    fn free(
        &mut self,
        index: usize,
        block: u64,
        (ret, direct): (u64, bool),
        glibc: bool,
        site: Site,
    ) -> Result<(), EngineError> {
        // One that was allocated before there were threads has the size that glibc has noted. (The library frees blocks
        // twice itself: a thread that ends gives those back that it has kept for its next `malloc`.) Other allocators
        // keep sizes elsewhere: there, the word before a block is another block's.
        let known = self.parts().course.heap.remove(&block);
        let noted =
            if known.is_none() && glibc && !self.is_library(ret) { self.noted_size(block) } else { None };
        if let Some(len) = known.or(noted) {
            self.flush_range(block, len)?;
            let it = self.parts();
            let thread = it.threads[index].id;
            // A library that runs natively has synchronised before it frees something, in ways that nobody has seen: it
            // counts references to exceptions and strings.
            if !direct {
                it.machine.foreign(thread, site, Addr(block), len);
            }
            it.machine.free(thread, site, Addr(block), len);
        }
        Ok(())
    }

    /// The size of a block as glibc's `malloc` keeps it, in the word before the block (its `malloc/malloc.c`, "Chunk
    /// representation"). `None` for what does not look like one.
    fn noted_size(&mut self, block: u64) -> Option<u64> {
        const FLAGS: u64 = 7;
        const MAPPED: u64 = 2;
        let it = self.parts();
        let word = it.memory.read_u64(block.checked_sub(8)?)?;
        let (chunk, overhead) = (word & !FLAGS, if word & MAPPED != 0 { 16 } else { 8 });
        let fits = block.is_multiple_of(16) && chunk.is_multiple_of(16) && (32..1 << 40).contains(&chunk);
        fits.then(|| chunk - overhead)
    }
}

impl<E: Execution> LibraryCalls for E {}
