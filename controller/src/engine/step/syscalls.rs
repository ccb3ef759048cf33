//! System calls: what the engine does not answer goes to the kernel. A call that sleeps there leaves its thread *away*
//! while others go on.

use super::run::Run;
use super::thread::{Mode, Syscall};
use crate::engine::EngineError;
use crate::engine::answers::Answers as _;
use crate::engine::channels::Channels as _;
use crate::engine::execution::Execution as _;
use crate::engine::futex::error;
use crate::engine::journal::Noting as _;
use crate::engine::syscalls::{blocks, is_address, touched};
use crate::os::ptrace::{self, Resume, Stop};
use crate::os::{Tid, proc};
use crate::saved::LINKER_CACHE;
use std::path::Path;
use wmtrace_model::strategy::Strategy;

/// Where the dynamic linker's cache is mapped: far from everything. Libraries come after it, and would lie elsewhere when
/// its size has changed.
const CACHE_PLACE: u64 = 0x4000_0000_0000;

/// What a thread asks `clone` for.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct CloneArguments {
    pub(super) flags: u64,
    pub(super) parent_tid: u64,
    pub(super) child_tid: u64,
    pub(super) tls: u64,
    /// The lowest byte of the new thread's stack; 0 if it is not told.
    pub(super) stack: u64,
}

impl<S: Strategy> Run<'_, S> {
    /// The thread is at the entry of a system call.
    pub(super) fn syscall_entered(&mut self, index: usize) -> Result<(), EngineError> {
        let regs = &self.threads[index].regs;
        let args = [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9];
        let call = Syscall { number: regs.orig_rax, args };
        self.threads[index].syscall = Some(call);
        self.flush(index)?;
        if call.number as i64 != libc::SYS_sched_yield {
            self.new_state(index);
        }
        if self.answer_call(index, &call)? {
            return Ok(());
        }
        if !self.sea.is_empty() {
            self.hands_over(index, &call);
        }
        match call.number as i64 {
            libc::SYS_kill
            | libc::SYS_tkill
            | libc::SYS_tgkill
            | libc::SYS_rt_sigqueueinfo
            | libc::SYS_rt_tgsigqueueinfo => self.send_signal(index),
            libc::SYS_clone | libc::SYS_clone3 if self.clones_thread(&call) => {
                self.take_control()?;
                if self.park(index)? { self.make_thread(index, &call) } else { Ok(()) }
            }
            number @ (libc::SYS_clone | libc::SYS_clone3) => {
                self.ask_without(index, &call, libc::CLONE_UNTRACED)?;
                self.pass(index, blocks(number))
            }
            number => {
                if number == libc::SYS_mremap && self.sea.covers(args[0]) {
                    self.protected(args[0], args[1], libc::PROT_WRITE as u64)?;
                }
                if number == libc::SYS_mmap && self.maps_linker_cache(&call) {
                    self.threads[index].regs.rdi = CACHE_PLACE;
                    self.threads[index].dirty = true;
                }
                self.pass(index, blocks(number))
            }
        }
    }

    /// Whether the dynamic linker maps its cache, at a place that the kernel is to choose.
    fn maps_linker_cache(&self, call: &Syscall) -> bool {
        let [at, _, protection, _, file, _] = call.args;
        let link = || std::fs::read_link(format!("/proc/{}/fd/{}", self.process, file as i32));
        self.engine.program.conditions.cache_apart
            && (at, protection) == (0, libc::PROT_READ as u64)
            && file as i32 >= 0
            && link().is_ok_and(|path| path == Path::new(LINKER_CACHE))
    }

    /// The system call does not happen: this is its result. The thread, which has stopped before it, is behind it when it
    /// goes on.
    pub(super) fn skip(&mut self, index: usize, result: u64) -> Result<(), EngineError> {
        if let Some(call) = self.threads[index].syscall {
            self.note_call(index, &call, result);
        }
        let thread = &mut self.threads[index];
        thread.regs.orig_rax = u64::MAX;
        thread.regs.rax = result;
        (thread.dirty, thread.syscall) = (true, None);
        Ok(())
    }

    /// The kernel does it.
    pub(super) fn pass(&mut self, index: usize, may_block: bool) -> Result<(), EngineError> {
        self.course.stirred = true;
        if let Some(call) = self.threads[index].syscall {
            self.name_for_kernel(index, &call);
        }
        if let Some(call) = self.threads[index].syscall
            && self.changes_nothing(&call)
        {
            self.note_call(index, &call, 0);
            let thread = &mut self.threads[index];
            (thread.syscall, thread.leaves_kernel) = (None, true);
            return Ok(());
        }
        if !may_block {
            let stop = self.resume(index, Resume::ToSyscall, 0)?;
            return self.dispatch(index, stop);
        }
        let thread = &mut self.threads[index];
        let tid = thread.tid;
        let stopped = thread.stopped.take().expect("a thread at a system call has stopped");
        if std::mem::take(&mut thread.dirty) {
            stopped.set_regs(&thread.regs)?;
        }
        stopped.resume(Resume::ToSyscall, 0)?;
        match self.settles(tid)? {
            Some(stop) => {
                self.stopped(index, stop)?;
                self.dispatch(index, stop)
            }
            None => {
                self.machine.away(self.threads[index].id);
                self.threads[index].mode = Mode::Away;
                Ok(())
            }
        }
    }

    /// Whether a system call does nothing that the model or we would have to know: nobody need look at its result.
    fn changes_nothing(&self, call: &Syscall) -> bool {
        let [start, len, protection, ..] = call.args;
        let seen = match call.number as i64 {
            libc::SYS_madvise => false,
            // It tells what the mask was.
            libc::SYS_rt_sigprocmask => protection != 0,
            libc::SYS_mprotect => {
                protection & libc::PROT_EXEC as u64 != 0 || self.sea.meets(start, start.saturating_add(len))
            }
            _ => true,
        };
        !seen && !self.sea.is_empty() && self.course.children.is_empty()
    }

    /// Waits until the thread stops, or (`None`) sleeps in the kernel, or the execution has its end.
    pub(super) fn settles(&mut self, tid: Tid) -> Result<Option<Stop>, EngineError> {
        while self.course.end.is_none() {
            if let Some(stop) = self.arrived.remove(&tid) {
                return Ok(Some(stop));
            }
            match ptrace::wait_any(false) {
                Some((other, stop)) if other == tid => return Ok(Some(stop)),
                Some((other, stop)) => self.arrives(other, stop)?,
                None if proc::sleeps(self.process, tid) == Some(true) => break,
                None => {
                    self.course.check_limits()?;
                    // It shares our processor.
                    std::thread::yield_now();
                }
            }
        }
        Ok(None)
    }

    /// The thread is back from a system call that the kernel has done.
    pub(super) fn syscall_left(&mut self, index: usize) -> Result<(), EngineError> {
        let Some(call) = self.threads[index].syscall.take() else { return Ok(()) };
        self.name_for_program(index, &call);
        self.asked_for_thread(index, &call)?;
        if call.number as i64 == libc::SYS_mmap && self.threads[index].regs.rdi != call.args[0] {
            self.threads[index].regs.rdi = call.args[0];
            self.threads[index].dirty = true;
        }
        let result = self.threads[index].regs.rax;
        let failed = result > error(4095);
        match call.number as i64 {
            // The program knows its threads by other numbers.
            libc::SYS_clone | libc::SYS_clone3 if self.clones_thread(&call) && !failed => {
                let last = self.threads.last().map_or(0, |thread| thread.virtual_tid);
                self.threads[index].regs.rax = last as u64;
                self.threads[index].dirty = true;
                return Ok(());
            }
            libc::SYS_clone | libc::SYS_clone3 | libc::SYS_fork | libc::SYS_vfork => return Ok(()),
            libc::SYS_mmap if !failed => self.mapped(index, result, call.args[1], call.args[2])?,
            libc::SYS_mprotect | libc::SYS_pkey_mprotect if !failed => {
                self.protected(call.args[0], call.args[1], call.args[2])?;
            }
            libc::SYS_brk if !self.sea.is_empty() => {
                // What was freed at its end, and comes back another time, is new.
                let before = std::mem::replace(&mut self.data_end, result);
                if result < before {
                    self.renewed(index, result, before - result)?;
                }
            }
            libc::SYS_munmap if !failed => self.unmapped(index, call.args[0], call.args[1])?,
            libc::SYS_mremap if !failed => {
                self.unmapped(index, call.args[0], call.args[1])?;
                self.mapped(index, result, call.args[2], 0)?;
            }
            _ => {}
        }
        self.has_waited(index, &call, result);
        let shown = if is_address(call.number as i64) { 0 } else { result };
        self.note_call(index, &call, shown);
        if !self.sea.is_empty() {
            self.takes_over(index, &call, failed);
        }
        if !failed && (!self.sea.is_empty() || self.course.journal.is_some()) {
            let ranges = touched(&call, result, &|at| self.memory.read_u64(at));
            self.note_bytes(index, &call, ranges.as_deref());
        }
        if !self.sea.is_empty() && !failed {
            let ranges = touched(&call, result, &|at| self.memory.read_u64(at));
            self.tell_ranges(index, &call, ranges);
            self.hands_over(index, &call);
        }
        self.children_settle()
    }

    /// New memory, perhaps with code.
    fn mapped(&mut self, index: usize, start: u64, len: u64, protection: u64) -> Result<(), EngineError> {
        if self.sea.is_empty() {
            return Ok(());
        }
        self.unmapped(index, start, len)?;
        if protection & libc::PROT_EXEC as u64 == 0 {
            return Ok(());
        }
        let mappings = proc::mappings(self.process);
        self.modules = self.engine.library.modules(&mappings, &self.engine.options)?;
        self.engine.code.forget(start, start.saturating_add(len));
        for module in self.modules.clone() {
            if module.binary.managed && module.contains(start) {
                self.sea.add_module(&self.memory, &module)?;
            }
        }
        self.protected(start, len, protection)
    }

    /// Memory may be written or executed from now on, or no longer. Code that can be written is not covered: who
    /// writes it, or looks at what was written, must find it. What it does is not seen meanwhile.
    fn protected(&mut self, start: u64, len: u64, protection: u64) -> Result<(), EngineError> {
        let end = start.saturating_add(len);
        if self.sea.is_empty() {
            return Ok(());
        }
        let executable = protection & libc::PROT_EXEC as u64 != 0;
        if protection & libc::PROT_WRITE as u64 != 0 {
            if self.sea.lift(&self.memory, start, end)? {
                self.engine.code.changes(start, end);
                self.warn("code that the program may change runs natively, out of the model's sight");
            }
        } else if executable {
            let managed = self.modules.iter().filter(|module| module.binary.managed);
            for (from, to) in managed.flat_map(super::modules::Module::code) {
                self.sea.add(&self.memory, from.max(start), to.min(end).max(from.max(start)))?;
            }
        }
        if executable && !self.modules.iter().any(|module| module.contains(start)) {
            self.warn(super::process::LOOSE);
        }
        Ok(())
    }

    fn unmapped(&mut self, index: usize, start: u64, len: u64) -> Result<(), EngineError> {
        if self.sea.is_empty() {
            return Ok(());
        }
        self.renewed(index, start, len)?;
        self.forget_stacks(start, start.saturating_add(len));
        self.sea.forget(start, start.saturating_add(len));
        Ok(())
    }

    /// A signal to a thread, or to the whole program: who sleeps in an emulated call must be told.
    fn send_signal(&mut self, index: usize) -> Result<(), EngineError> {
        self.pass(index, false)?;
        self.course.expects_signals = true;
        self.may_be_hit();
        self.look_for_signals();
        Ok(())
    }

    /// The kernel makes a thread. That its number is cleared in memory when it ends is our business alone (see
    /// `ends` in `engine/futex.rs`): the kernel would do it once more, when somebody else may use that memory already.
    fn make_thread(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        self.ask_without(index, call, libc::CLONE_CHILD_CLEARTID | libc::CLONE_UNTRACED)?;
        self.pass(index, false)
    }

    /// The kernel is asked for a thread or process without these flags. An untraced one would run by itself, and outlive
    /// wmtrace.
    fn ask_without(&mut self, index: usize, call: &Syscall, without: i32) -> Result<(), EngineError> {
        let flags = self.clone_arguments(call).flags;
        let less = flags & !(without as u64);
        if less != flags {
            self.threads[index].clone_flags = Some(flags);
            self.set_clone_flags(index, call, less)?;
        }
        Ok(())
    }

    /// What the program asked for is as it was before the kernel was asked.
    pub(super) fn asked_for_thread(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        match self.threads[index].clone_flags.take() {
            Some(flags) => self.set_clone_flags(index, call, flags),
            None => Ok(()),
        }
    }

    fn set_clone_flags(&mut self, index: usize, call: &Syscall, flags: u64) -> Result<(), EngineError> {
        if call.number as i64 == libc::SYS_clone3 {
            return Ok(self.memory.write(call.args[0], &flags.to_le_bytes())?);
        }
        self.threads[index].regs.rdi = flags;
        self.threads[index].dirty = true;
        Ok(())
    }

    /// Whether a `clone` makes a thread, not a process.
    pub(super) fn clones_thread(&self, call: &Syscall) -> bool {
        let wanted = (libc::CLONE_VM | libc::CLONE_THREAD) as u64;
        matches!(call.number as i64, libc::SYS_clone | libc::SYS_clone3)
            && self.clone_arguments(call).flags & wanted == wanted
    }

    pub(super) fn clone_arguments(&self, call: &Syscall) -> CloneArguments {
        if call.number as i64 == libc::SYS_clone3 {
            // struct clone_args: flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls
            let word = |index: u64| self.memory.read_u64(call.args[0].wrapping_add(8 * index)).unwrap_or(0);
            let (child_tid, parent_tid) = (word(2), word(3));
            return CloneArguments { flags: word(0), child_tid, parent_tid, tls: word(7), stack: word(5) };
        }
        let [flags, _, parent_tid, child_tid, tls, _] = call.args;
        CloneArguments { flags, parent_tid, child_tid, tls, stack: 0 }
    }
}
