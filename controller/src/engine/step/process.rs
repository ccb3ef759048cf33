//! Processes and threads: how they begin, what they make, and how they end.

use super::afterwards::Kept;
use super::calls::{Kind, operator};
use super::modules::Module;
use super::run::Run;
use super::sea::Sea;
use super::sites::{StackId, What};
use super::thread::{FIRST_TID, Frame, Jumps, Mode, Thread};
use super::unwind;
use crate::engine::ending::Ending as _;
use crate::engine::execution::Execution as _;
use crate::engine::journal::Noting as _;
use crate::engine::{End, EngineError};
use crate::os::memory::ProcessMemory;
use crate::os::ptrace::{Resume, Stop, Stopped};
use crate::os::{Tid, proc};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Instant;
use wmtrace_model::op::{Addr, Site};
use wmtrace_model::strategy::Strategy;

pub(super) const LOOSE: &str =
    "code that is in no file (made at run time) runs natively, out of the model's sight";

/// More processes than this is a fork bomb.
const MAX_CHILDREN: usize = 256;

impl<S: Strategy> Run<'_, S> {
    /// Makes a new program's world the same each time: no vdso, known random bytes.
    pub(super) fn tame(&mut self, index: usize) -> Result<(), EngineError> {
        const AT_NULL: u64 = 0;
        const AT_IGNORE: u64 = 1;
        const AT_RANDOM: u64 = 25;
        const AT_EXECFN: u64 = 31;
        const AT_SYSINFO_EHDR: u64 = 33;
        // The stack: argc, argv, 0, envp, 0, auxiliary vector (System V ABI, figure 3.9).
        let mut at = self.threads[index].regs.rsp;
        let argc = self.memory.read_u64(at).unwrap_or(0);
        at = at.wrapping_add(8 * argc.saturating_add(2));
        let mut left = 1 << 20;
        while self.memory.read_u64(at).is_some_and(|pointer| pointer != 0) && left > 0 {
            at += 8;
            left -= 1;
        }
        at += 8;
        while let (Some(kind), Some(value)) = (self.memory.read_u64(at), self.memory.read_u64(at + 8))
            && kind != AT_NULL
        {
            if kind == AT_SYSINFO_EHDR {
                self.memory.write(at, &AT_IGNORE.to_le_bytes())?;
            }
            if kind == AT_RANDOM {
                let bytes =
                    [self.course.clock.random(), self.course.clock.random()].map(u64::to_le_bytes).concat();
                self.memory.write(value, &bytes)?;
            }
            if kind == AT_EXECFN && self.engine.program.is_moved() {
                self.tell_path(value)?;
            }
            at += 16;
        }
        let stack = proc::mappings(self.process).into_iter().find(|mapping| mapping.name == "[stack]");
        if let Some(stack) = stack {
            // It grows downwards, by the usual limit at most.
            let stack = stack.end.saturating_sub(8 << 20)..stack.end;
            self.threads[index].stack_use = Self::first_frames(&stack);
            self.threads[index].stack = stack;
        }
        Ok(())
    }

    /// A program that was moved is told the path that it was recorded with.
    fn tell_path(&mut self, at: u64) -> Result<(), EngineError> {
        let by = &self.engine.executed_by;
        let told = self.engine.program.told.as_os_str().as_bytes();
        // Programs that it executes itself are told the truth.
        if told.len() == by.len() && self.memory.read_some(at, by.len()) == *by {
            self.memory.write(at, told)?;
        }
        Ok(())
    }

    /// The program is about to have a second thread: from now on everything counts.
    pub(super) fn take_control(&mut self) -> Result<(), EngineError> {
        if !self.sea.is_empty() {
            return Ok(());
        }
        self.release_entries()?;
        let mappings = proc::mappings(self.process);
        if self.course.executes.is_none() {
            self.course.executes = std::fs::read_link(format!("/proc/{}/exe", self.process)).ok();
        }
        let begun = Instant::now();
        self.modules = self.engine.library.modules(&mappings, &self.engine.options)?;
        self.course.not_counted(begun);
        for module in self.modules.clone() {
            if module.binary.managed {
                self.sea.add_module(&self.memory, &module)?;
            } else {
                for (start, end) in module.stepped() {
                    self.sea.add(&self.memory, start, end)?;
                }
            }
            self.allocators.extend(module.extents(|name| operator(name) == Some(Kind::Malloc)));
        }
        for (at, kind) in self.modules.clone().iter().flat_map(Module::entries) {
            if !self.sea.covers(at) && self.entries.insert(at, kind).is_none() {
                self.sea.watch(&self.memory, at)?;
            }
        }
        if let Some(index) = self.threads.iter().position(|thread| thread.mode == Mode::Running) {
            self.find_callers(index);
        }
        let data = mappings.iter().rfind(|mapping| mapping.name == "[heap]");
        self.data_end = data.map_or(0, |mapping| mapping.end);
        if let Some(warning) = self.engine.library.unread(&mappings) {
            self.warn(warning);
        }
        for mapping in mappings.iter().filter(|mapping| mapping.executable && mapping.writable) {
            if self.sea.lift(&self.memory, mapping.start, mapping.end)? {
                self.warn("code that the program may change runs natively, out of the model's sight");
            }
        }
        let loose = mappings
            .iter()
            .find(|mapping| mapping.executable && !mapping.is_file() && mapping.name.is_empty());
        if loose.is_some() {
            self.warn(LOOSE);
        }
        Ok(())
    }

    /// What a thread is in that was not watched: the first one when the engine takes over, or the last one when it fails.
    /// Reports show it.
    pub(super) fn find_callers(&mut self, index: usize) {
        let callers = unwind::callers(&self.threads[index].regs, &self.modules, &self.memory);
        let modules = self.modules.clone();
        let (mut stack, mut frames) = (StackId::default(), Vec::new());
        for caller in callers.into_iter().rev() {
            if modules.iter().any(|module| module.is_managed(caller.ret)) {
                frames.push(Frame { sp: caller.slot, before: stack, jumps: Jumps::default() });
                stack = self.engine.sites.called(stack, caller.ret, &self.modules);
            }
        }
        let thread = &mut self.threads[index];
        (thread.frames, thread.calls_made, thread.tail) = (frames, stack, None);
        thread.jumps = Jumps::default();
    }

    /// The thread has failed while it was alone, and nobody watched it.
    fn find_failure(&mut self, index: usize) {
        let mappings = proc::mappings(self.process);
        // Where this cannot be done the report is less exact, and no more.
        let Ok(modules) = self.engine.library.modules(&mappings, &self.engine.options) else { return };
        self.modules = modules;
        self.find_callers(index);
        // The place itself is shown like a call: as the innermost of them.
        let thread = &self.threads[index];
        let pc = thread.regs.rip;
        if self.modules.iter().any(|module| module.is_managed(pc)) {
            let stack = self.engine.sites.called(thread.calls_made, pc + 1, &self.modules);
            self.threads[index].calls_made = stack;
        }
    }

    /// The place in managed code that has called what the thread is in, while nobody watches it.
    pub(super) fn site_of_caller(&mut self, index: usize) -> Option<Site> {
        let mappings = proc::mappings(self.process);
        let modules = self.engine.library.modules(&mappings, &self.engine.options).ok()?;
        let callers = unwind::callers(&self.threads[index].regs, &modules, &self.memory);
        let managed = |at: u64| modules.iter().any(|module| module.is_managed(at));
        let call = callers.iter().map(|caller| caller.ret.wrapping_sub(1)).find(|&call| managed(call))?;
        let what = What::call("begins");
        Some(self.engine.sites.site(call, StackId::default(), what, &modules, String::new))
    }

    /// Whether all other threads have ended, and this one knows it.
    pub(super) fn is_alone(&mut self, index: usize) -> bool {
        self.threads[index].calls.is_empty() && self.others_are_over(index)
    }

    /// Only this thread is left: it runs natively until it makes another one.
    pub(super) fn let_go(&mut self, index: usize) -> Result<(), EngineError> {
        self.flush(index)?;
        let site = self.site_here(index, What::call("alone"));
        self.machine.alone(self.threads[index].id, site);
        self.sea.drain(&self.memory)?;
        self.sea = Sea::default();
        self.keep_entries()?;
        // Nobody sees what becomes of the stacks of threads that have ended.
        self.forget_stacks(0, u64::MAX);
        self.threads[index].tail = None;
        self.threads[index].reading.clear();
        self.course.locks.clear();
        self.entries.clear();
        self.allocators.clear();
        self.course.heap.clear();
        self.shared.clear();
        self.unsure.clear();
        Ok(())
    }

    /// The thread has made another one.
    pub(super) fn cloned(&mut self, index: usize, child: Tid) -> Result<(), EngineError> {
        let is_thread = self.threads[index].syscall.is_none_or(|call| self.clones_thread(&call));
        if !is_thread {
            return self.forked(index, child, false);
        }
        self.flush(index)?;
        let site = self.site_here(index, What::call("create"));
        let stop = self.wait_for(child)?;
        if matches!(stop, Stop::Exited(_) | Stop::Killed(_)) {
            return Ok(());
        }
        let stopped = Stopped::new(child);
        let mut regs = stopped.regs()?;
        let call = self.threads[index].syscall;
        if let Some(call) = call {
            self.asked_for_thread(index, &call)?;
            // It begins with its parent's registers.
            regs.rdi = self.threads[index].regs.rdi;
        }
        let parent = self.threads[index].id;
        let stack = self.stack_of(regs.rsp);
        // Whoever had this stack before is gone: what it did there is over.
        if !self.course.prelude {
            self.machine.foreign(parent, site, Addr(stack.start), stack.end - stack.start);
        }
        let id =
            self.machine.spawn(Some(parent), site).map_err(|error| EngineError::Os(error.to_string()))?;
        let mut thread = Thread::new(child, id, FIRST_TID + id.0 as i32, regs);
        thread.stopped = Some(stopped);
        thread.stack = stack;
        thread.dirty = true;
        let made = call.map(|call| self.clone_arguments(&call)).unwrap_or_default();
        thread.stack_use = self.frames_of(made.stack, thread.regs.rsp);
        if made.flags & libc::CLONE_CHILD_CLEARTID as u64 != 0 {
            thread.clear_tid = made.child_tid;
        }
        // The program reads its threads' numbers from memory.
        let number = thread.virtual_tid.to_le_bytes();
        for (flag, at) in
            [(libc::CLONE_PARENT_SETTID, made.parent_tid), (libc::CLONE_CHILD_SETTID, made.child_tid)]
        {
            if made.flags & flag as u64 != 0 {
                self.memory.write(at, &number)?;
            }
        }
        self.handles.insert(made.tls, id);
        self.by_tid.insert(child, self.threads.len());
        self.threads.push(thread);
        Ok(())
    }

    fn stack_of(&self, sp: u64) -> Range<u64> {
        // The word below the pointer: at the very top it may be another mapping's first.
        let inside = sp.saturating_sub(8);
        let mapping = proc::mappings(self.process).into_iter().find(|mapping| mapping.contains(inside));
        mapping.map_or(0..0, |mapping| mapping.start..mapping.end)
    }

    /// The thread has made another process. It runs natively: free of our breakpoints, but traced, so that it does
    /// not survive us.
    pub(super) fn forked(
        &mut self,
        index: usize,
        child: Tid,
        shares_memory: bool,
    ) -> Result<(), EngineError> {
        self.course.children.insert(child);
        self.note_child(index, child);
        if let (true, Some(journal)) = (self.engine.restless, &mut self.course.journal) {
            journal.child_runs_for_long(child);
        }
        if self.course.children.len() > MAX_CHILDREN {
            self.course.end = Some(End::Killed {
                signal: libc::SIGKILL,
                thread: Some(self.threads[index].id),
                fault: None,
            });
            self.warn(format!("the program made more than {MAX_CHILDREN} processes, and was stopped"));
            return Ok(());
        }
        let stop = match self.arrived.remove(&child) {
            Some(stop) => stop,
            None => {
                self.course.children.remove(&child);
                let stop = self.wait_for(child)?;
                self.course.children.insert(child);
                stop
            }
        };
        if matches!(stop, Stop::Exited(_) | Stop::Killed(_)) {
            self.course.children.remove(&child);
            return Ok(());
        }
        if !self.sea.has_none() {
            // A vfork's child uses our memory until it executes something: the sea comes back after that.
            let memory = if shares_memory { None } else { Some(ProcessMemory::open(child)?) };
            self.sea.drain(memory.as_ref().unwrap_or(&self.memory))?;
        }
        Stopped::new(child).resume(Resume::Free, 0)?;
        self.children_settle()
    }

    pub(super) fn vfork_done(&mut self) -> Result<(), EngineError> {
        Ok(self.sea.flood(&self.memory)?)
    }

    /// A process that the program has made has stopped: it goes on.
    pub(super) fn serve_child(&mut self, tid: Tid, stop: Stop) -> Result<(), EngineError> {
        let signal = match stop {
            Stop::Exited(_) | Stop::Killed(_) => {
                self.course.children.remove(&tid);
                // Of its end the program is told, if not of more.
                self.may_be_hit();
                self.children_calls.remove(&tid);
                return Ok(());
            }
            Stop::Filtered | Stop::Syscall => return self.serve_call(tid, stop == Stop::Filtered),
            Stop::Group => return Ok(Stopped::new(tid).resume(Resume::Listen, 0)?),
            Stop::Signal(libc::SIGSEGV) if self.answers_child(tid)? => 0,
            Stop::Signal(signal) => {
                let stopped = Stopped::new(tid);
                // One that was killed meanwhile has none.
                if let Ok(mut info) = stopped.signal_info()
                    && self.sign(&mut info)
                {
                    stopped.set_signal_info(&info)?;
                }
                signal
            }
            Stop::Clone(child) | Stop::Fork(child) | Stop::Vfork(child) => {
                self.course.children.insert(child);
                if let Some(journal) = &mut self.course.journal {
                    journal.child_makes(tid, child, matches!(stop, Stop::Clone(_)));
                }
                if let Some(stop) = self.arrived.remove(&child) {
                    self.serve_child(child, stop)?;
                }
                if self.course.children.len() > MAX_CHILDREN {
                    self.course.end = Some(End::Killed { signal: libc::SIGKILL, thread: None, fault: None });
                    self.warn(format!(
                        "the program made more than {MAX_CHILDREN} processes, and was stopped"
                    ));
                }
                0
            }
            Stop::VforkDone | Stop::Exec | Stop::Exiting(_) | Stop::Other => 0,
        };
        Ok(Stopped::new(tid).resume(self.how_child(tid), signal)?)
    }

    /// Another process inherits that the time-stamp counter faults.
    fn answers_child(&mut self, tid: Tid) -> Result<bool, EngineError> {
        let stopped = Stopped::new(tid);
        let mut regs = stopped.regs()?;
        let bytes = ProcessMemory::open(tid)?.read_some(regs.rip, 3);
        let answered = self.answer_counter(&mut regs, &bytes);
        if answered {
            stopped.set_regs(&regs)?;
        }
        Ok(answered)
    }

    /// The process runs another program now.
    pub(super) fn executed_another(&mut self, index: usize) -> Result<(), EngineError> {
        // Only the thread that asked for it is left, and it is the first one now.
        let site = self.site_here(index, What::call("exec"));
        self.replaced(index, site);
        self.by_tid.clear();
        self.by_tid.insert(self.process, index);
        self.memory = ProcessMemory::open(self.process)?;
        (self.sea, self.modules, self.kept) = (Sea::default(), Vec::new(), Kept::default());
        self.entries.clear();
        let thread = &mut self.threads[index];
        thread.tid = self.process;
        thread.stopped = Some(Stopped::new(self.process));
        (thread.syscall, thread.clear_tid, thread.robust_list, thread.last_pc) = (None, 0, 0, 0);
        thread.calls.clear();
        thread.frames.clear();
        thread.regs = thread.stopped.as_ref().expect("just set").regs()?;
        thread.stack = 0..0;
        self.engine.code.forget(0, u64::MAX);
        self.tame(index)?;
        self.begin_prelude()
    }

    /// The thread goes, and is waited for.
    pub(super) fn has_ended(&mut self, index: usize) -> Result<(), EngineError> {
        let site = self.site_here(index, What::call("exit"));
        for call in std::mem::take(&mut self.threads[index].calls) {
            if call.watched {
                self.sea.unwatch(&self.memory, call.ret)?;
            }
        }
        self.machine.exit(self.threads[index].id, site);
        self.threads[index].mode = Mode::Ended;
        let tid = self.threads[index].tid;
        let stopped = self.threads[index].stopped.take();
        let Some(stopped) = stopped else { return Ok(()) };
        // The first thread of a process stays until all are gone; that it ends is seen by its stop alone.
        if tid != self.process {
            stopped.ends_unseen()?;
        }
        stopped.resume(Resume::Free, 0)?;
        loop {
            match self.wait_for(tid)? {
                Stop::Exited(_) | Stop::Killed(_) => break,
                _ => Stopped::new(tid).resume(Resume::Free, 0)?,
            }
            if tid == self.process {
                break;
            }
        }
        Ok(())
    }

    /// The thread is about to end, by whatever.
    pub(super) fn exiting(&mut self, index: usize, status: i32) -> Result<(), EngineError> {
        let signal = libc::WTERMSIG(status);
        let thread = &self.threads[index];
        if libc::WIFSIGNALED(status) {
            let fault = thread.fault;
            if self.sea.is_empty() && signal != libc::SIGKILL {
                self.find_failure(index);
            }
            let thread = &self.threads[index];
            // SIGKILL comes from outside or from us, and hits everybody.
            let thread = (signal != libc::SIGKILL).then_some(thread.id);
            self.course.end.get_or_insert(End::Killed { signal, thread, fault });
            return Ok(());
        }
        if self.alive() <= 1 {
            self.course.end.get_or_insert(End::Exited(libc::WEXITSTATUS(status)));
            return Ok(());
        }
        // It left without a system call that we saw.
        let stopped = self.threads[index].stopped.take();
        let site = self.site_here(index, What::call("exit"));
        self.machine.exit(self.threads[index].id, site);
        self.threads[index].mode = Mode::Ended;
        if let Some(stopped) = stopped {
            stopped.resume(Resume::Free, 0)?;
        }
        Ok(())
    }
}
