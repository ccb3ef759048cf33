//! Functions of the C runtime under way: how the engine learns of their entries and returns. A function whose return
//! matters returns to a gate of ours, which knows where it was to return to.

use super::run::Run;
use super::thread::{Mode, Slot};
use crate::engine::EngineError;
use crate::engine::calls::{Call, Kind, Told};
use crate::engine::execution::Execution as _;
use crate::engine::library::{LibraryCalls as _, function_at, yields};
use crate::engine::sites::What;
use std::rc::Rc;
use wmtrace_model::strategy::Strategy;

/// `operator new` in its variants, which call `malloc` for the program.
const NEW: [&str; 2] = ["_Znw", "_Zna"];

impl<S: Strategy> Run<'_, S> {
    /// Code under the model calls other code, a function of this name.
    pub(super) fn leaves(&mut self, index: usize, name: &str) -> Result<(), EngineError> {
        let stores = self.leaves_to(index, Some(name))?;
        if !stores.is_empty() {
            self.begin_call(index, Kind::Ranges, stores);
        }
        Ok(())
    }

    /// The same through a register. It returns to its own place, so what it has stored is told at the next gate.
    pub(super) fn leaves_for(&mut self, index: usize, target: u64) -> Result<(), EngineError> {
        let name = self.function_at(target);
        self.threads[index].told = self.leaves_to(index, name.as_deref())?;
        Ok(())
    }

    /// What the function stores, if it is known.
    fn leaves_to(&mut self, index: usize, name: Option<&str>) -> Result<Vec<Told>, EngineError> {
        // The library reads memory as it is.
        self.flush(index)?;
        if yields(name) {
            return Ok(Vec::new());
        }
        self.new_state(index);
        let Some(name) = name else { return Ok(Vec::new()) };
        let regs = &self.threads[index].regs;
        let args = [regs.x(0), regs.x(1), regs.x(2)];
        Ok(self.touches_ranges(index, name, args))
    }

    /// The name of the function of the C runtime that begins here.
    fn function_at(&mut self, addr: u64) -> Option<Rc<str>> {
        if let Some(known) = self.names.get(&addr) {
            return known.clone();
        }
        let name = function_at(&self.modules, &self.memory, addr);
        self.names.insert(addr, name.clone());
        name
    }

    /// A function is called whose return matters: it returns to us.
    fn begin_call(&mut self, index: usize, kind: Kind, told: Vec<Told>) {
        let regs = &self.threads[index].regs;
        let (ret, sp, args) = (regs.x(30), regs.sp(), [regs.x(0), regs.x(1), regs.x(2)]);
        let direct = self.is_managed(ret) || self.is_new(ret);
        let names_thread = matches!(kind, Kind::Join | Kind::TryJoin | Kind::Detach);
        let child = if names_thread { self.by_handle(args[0]) } else { None };
        // An initialiser may throw an exception through `pthread_once`, where nobody must stand in between.
        let watched = kind != Kind::Once;
        let file = self.engine.files.gates[self.threads[index].gate].file;
        let glibc = self.engine.files.copies[file].binary.glibc;
        let call = Call {
            kind,
            args,
            ret,
            sp,
            watched,
            child,
            told,
            direct,
            site: wmtrace_model::op::Site::default(),
            glibc,
        };
        let to = self.engine.files.copies[file].own.returns.wrapping_add(self.biases[&file]);
        let thread = &mut self.threads[index];
        if watched {
            thread.regs.set_x(30, to);
            thread.dirty = true;
        }
        thread.calls.push(call);
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
        // What the C library calls through a pointer (BLR) is the program's: a callback, which may end with a jump to a
        // function that returns to the C library.
        let ret = self.threads[index].regs.x(30);
        let call = self.memory.read_u32(ret.wrapping_sub(4));
        let by_itself = call.is_none_or(|word| word & 0xffff_fc1f != 0xd63f_0000);
        if self.is_internal(index, kind, ret, by_itself) {
            return Ok(());
        }
        self.flush(index)?;
        self.new_state(index);
        let object = self.threads[index].regs.x(0);
        // The site is the caller's: before the return address is ours.
        let site = self.site_here(index, What::call(kind.name()));
        self.begin_call(index, kind, Vec::new());
        self.called(index, kind, object, site)
    }

    /// Calls that have been left, by an exception or a `longjmp`, and those whose return nobody watches, are over.
    pub(super) fn left(&mut self, index: usize) -> Result<(), EngineError> {
        let sp = self.threads[index].regs.sp();
        while let Some(call) = self.threads[index].calls.last()
            && self.threads[index].mode == Mode::Running
            && (sp > call.sp
                || !call.watched && sp == call.sp && self.is_managed(self.threads[index].regs.pc))
        {
            let call = self.threads[index].calls.pop().expect("there is a last one");
            if !call.watched {
                self.leave_unwatched(index, &call)?;
            }
        }
        Ok(())
    }

    /// A function has returned, or has been left, and what it returned is not known. It is taken for successful: what is
    /// acquired too much hides races, and makes none. But nobody has joined a thread that has not ended.
    fn leave_unwatched(&mut self, index: usize, call: &Call) -> Result<(), EngineError> {
        let over = call.child.is_none_or(|child| self.threads[child.index()].mode == Mode::Ended);
        self.leave_call(index, call, if over { 0 } else { libc::EBUSY as u64 })
    }

    /// A signal comes while functions are under way that return to us. Its handler may look up who called whom, or never
    /// come back (a thread that is cancelled): functions that may wait return where they were called from.
    pub(super) fn give_back_returns(&mut self, index: usize) {
        /// Functions that wait keep their return address this near.
        const FRAMES: u64 = 4096;
        let ours: Vec<u64> = self
            .biases
            .iter()
            .map(|(&file, bias)| self.engine.files.copies[file].own.returns.wrapping_add(*bias))
            .collect();
        let mut end = u64::MAX;
        for at in (0..self.threads[index].calls.len()).rev() {
            let Call { kind, sp, ret, watched, .. } = self.threads[index].calls[at];
            if !watched || !kind.synchronises() {
                continue;
            }
            let start = sp.saturating_sub(FRAMES);
            let bytes = self.memory.read_some(start, (sp.min(end) - start) as usize);
            let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            // The outermost place: what lies deeper may be left from before. (So may this, if the function has not kept
            // its return address yet: then it returns to us all the same.)
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
        while let Some(call) = self.threads[index].calls.pop_if(|call| call.sp <= sp) {
            if call.sp < sp {
                // Left in another way.
                if !call.watched {
                    self.leave_unwatched(index, &call)?;
                }
                match self.threads[index].mode {
                    Mode::Running => continue,
                    // The rest comes when it goes on from here.
                    _ => return Ok(()),
                }
            }
            let thread = &mut self.threads[index];
            thread.regs.set_x(30, call.ret);
            thread.regs.pc = call.ret;
            (thread.dirty, thread.slot, thread.place) = (true, Some(Slot::Exec), None);
            return self.leave_call(index, &call, result);
        }
        Err(EngineError::Os("a function returned that nobody has called".to_owned()))
    }
}
