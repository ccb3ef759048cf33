//! Functions of the C runtime under way: how the engine learns of their entries, by breakpoints, and of their returns, by
//! the stack pointer.

use super::calls::{Call, Kind};
use super::modules::Module;
use super::run::Run;
use super::sites::What;
use super::thread::Mode;
use crate::engine::EngineError;
use crate::engine::execution::Execution as _;
use crate::engine::library::{LibraryCalls as _, function_at, yields};
use crate::os::ptrace::Regs;
use std::rc::Rc;
use wmtrace_model::op::Addr;
use wmtrace_model::strategy::Strategy;

impl<S: Strategy> Run<'_, S> {
    /// Managed code calls native code (its program counter is there now), through a slot of the dynamic linker's if
    /// that is known.
    pub(super) fn leaves(&mut self, index: usize, slot: Option<u64>) -> Result<(), EngineError> {
        // The library reads memory as it is.
        self.flush(index)?;
        let tail = self.threads[index].tail;
        self.threads[index].jumped_to = tail.and_then(|tail| Some((tail.sp, self.memory.read_u64(tail.sp)?)));
        self.initialised(index);
        let target = self.threads[index].regs.rip;
        self.threads[index].calls_native();
        let name = slot.and_then(|slot| self.modules.iter().find(|module| module.contains(slot))?.slot(slot));
        // In a static program there is none of the dynamic linker's.
        let name = name.or_else(|| self.modules.iter().find_map(|module| module.known_function(target)));
        let name = match name {
            Some(name) => Some(Rc::from(name)),
            None => self.function_at(target),
        };
        if !yields(name.as_deref()) {
            self.new_state(index);
            if let Some(name) = name {
                self.copies(index, &name);
            }
        }
        if !self.entries.contains_key(&target)
            && self.modules.iter().any(|module| module.is_allocator(target))
        {
            let call = self.call(index, Kind::Unknown, self.threads[index].regs.rsp);
            self.threads[index].calls.push(call);
        }
        Ok(())
    }

    /// The name of the function of the C runtime that begins here, and is called through a register.
    fn function_at(&mut self, addr: u64) -> Option<Rc<str>> {
        let known = self.names.get(&addr).cloned();
        known.unwrap_or_else(|| {
            let name = function_at(&self.modules, &self.memory, addr);
            self.names.insert(addr, name.clone());
            name
        })
    }

    /// Managed code calls a function that the dynamic linker has not found yet, and is on its way to it.
    pub(super) fn leaves_by_linker(&mut self, index: usize, from: u64, slot: u64) {
        let target = self.threads[index].regs.rip;
        let module = self.modules.iter().find(|module| module.contains(from) && module.contains(target));
        if let Some(name) = module.and_then(|module| module.slot(slot)).map(str::to_owned) {
            self.copies(index, &name);
        }
    }

    /// The function may be one of those that copy, fill or compare memory.
    fn copies(&mut self, index: usize, name: &str) {
        let regs = &self.threads[index].regs;
        let (args, sp) = ([regs.rdi, regs.rsi, regs.rdx], regs.rsp);
        let stores = self.touches_ranges(index, name, args);
        if !stores.is_empty() {
            let call = Call { told: stores, ..self.call(index, Kind::Ranges, sp) };
            self.threads[index].calls.push(call);
        }
    }

    /// A call whose entry the thread is at, or about to come to with this stack pointer.
    pub(super) fn call(&self, index: usize, kind: Kind, sp: u64) -> Call {
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
            site: wmtrace_model::op::Site::default(),
            glibc: self.modules.iter().any(|module| module.is_glibc(regs.rip)),
        }
    }

    /// A breakpoint in native code: the entry of a function that we know, or where one returns to.
    pub(super) fn breakpoint(&mut self, index: usize, at: u64) -> Result<(), EngineError> {
        if self.course.prelude {
            return self.breakpoint_in_prelude(index, at);
        }
        if self.sea.is_empty() {
            return self.enters_alone(index, at);
        }
        let is_told = self.is_told_size(index, at);
        self.returned(index)?;
        if self.threads[index].mode != Mode::Running || self.threads[index].regs.rip != at {
            return Ok(());
        }
        let Some(&kind) = self.entries.get(&at) else { return Ok(()) };
        let mut call = self.call(index, kind, self.threads[index].regs.rsp);
        // A callback of the C library's may end with a jump to a function that returns to the C library.
        let by_itself = self.threads[index].jumped_to != Some((call.sp, call.ret));
        if self.is_internal(index, kind, call.ret, by_itself) {
            return Ok(());
        }
        if !is_told && self.asks_for_size(index, at, &call) {
            return Ok(());
        }
        // Its return says nothing; but if the breakpoint had to be taken away until then, others would pass unseen.
        if self.frees_nothing(&call) && self.does_first(index, at) {
            return Ok(());
        }
        if !self.sea.covers(call.ret) {
            self.sea.watch(&self.memory, call.ret)?;
            call.watched = true;
        }
        if matches!(kind, Kind::Join | Kind::TryJoin | Kind::Detach) {
            call.child = self.handles.get(&call.args[0]).copied();
        }
        let object = call.args[0];
        self.threads[index].calls.push(call);
        let site = self.site_here(index, What::call(kind.name()));
        self.called(index, kind, object, site)
    }

    /// A block of which nobody has seen the allocation (there were no other threads yet) is about to be freed: the thread
    /// asks its allocator for the block's size first, and comes back here. Whether it does. (glibc notes the size beside
    /// the block, where we find it.)
    fn asks_for_size(&mut self, index: usize, at: u64, call: &Call) -> bool {
        let frees = matches!(call.kind, Kind::Free | Kind::Realloc | Kind::ReallocArray);
        let block = call.args[0];
        if !frees || block == 0 || call.glibc || self.course.heap.contains_key(&block) {
            return false;
        }
        // Allocators do not like to be asked for what they do not have.
        if self.is_library(call.ret) || self.machine.freed_at(Addr(block)).is_some() {
            return false;
        }
        let module = self.modules.iter().find(|module| module.is_allocator(at));
        let Some(function) = module.and_then(Module::asks_for_size) else { return false };
        let regs = self.threads[index].regs;
        // The stack is aligned as at the entry of any function.
        let sp = regs.rsp.wrapping_sub(16);
        if self.memory.write(sp, &at.to_le_bytes()).is_err() {
            return false;
        }
        let thread = &mut self.threads[index];
        thread.asked = Some(regs);
        thread.regs.rsp = sp;
        thread.jump(function);
        thread.passed = Some(function);
        true
    }

    /// The thread has come back from asking for the size of a block. Whether it was asked.
    fn is_told_size(&mut self, index: usize, at: u64) -> bool {
        let thread = &mut self.threads[index];
        let back = |asked: &mut Regs| asked.rip == at && thread.regs.rsp == asked.rsp.wrapping_sub(8);
        let Some(regs) = thread.asked.take_if(back) else { return false };
        let size = thread.regs.rax;
        thread.regs = regs;
        thread.dirty = true;
        if size > 0 {
            self.course.heap.insert(regs.rdi, size);
        }
        true
    }

    /// Whether a call frees nothing that the model knows: no block at all, or one that the C library has made for itself,
    /// as a thread that ends does several times.
    fn frees_nothing(&mut self, call: &Call) -> bool {
        let block = call.args[0];
        call.kind == Kind::Free
            && (block == 0 || !self.course.heap.contains_key(&block) && self.is_library(call.ret))
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
            if self.threads[index].mode != Mode::Running {
                break;
            }
        }
        Ok(())
    }
}
