//! System calls: what the engine does not answer goes to the kernel, through qemu. The program makes AArch64's; they are
//! known here by this machine's numbers, since what they mean is the same.

use super::run::Run;
use super::thread::{Mode, Slot};
use crate::engine::EngineError;
use crate::engine::answers::Answers as _;
use crate::engine::channels::Channels as _;
use crate::engine::execution::Execution as _;
use crate::engine::futex::error;
use crate::engine::journal::Noting as _;
use crate::engine::lacks::Lacks as _;
use crate::engine::library::LibraryCalls as _;
use crate::engine::refusals::Refusals as _;
use crate::engine::syscalls::{blocks, is_address, numbers, returns_number, touched};
use crate::engine::thread::{FIRST_TID, Syscall};
use crate::os::proc;
use std::str::FromStr as _;
use wmtrace_model::strategy::Strategy;

/// This machine's number of a system call of AArch64's. An error names one that this machine has not.
fn number(aarch64: u64) -> Result<u64, String> {
    if cfg!(target_arch = "aarch64") {
        return Ok(aarch64);
    }
    let call = usize::try_from(aarch64).ok().and_then(::syscalls::aarch64::Sysno::new);
    let name = call.map_or("", |call| call.name());
    let name = if name == "fstatat" { "newfstatat" } else { name };
    match ::syscalls::Sysno::from_str(name) {
        Ok(here) => Ok(here.id() as u64),
        Err(_) if name.is_empty() => Err(format!("system call {aarch64}")),
        Err(_) => Err(name.to_owned()),
    }
}

/// What a thread asks `clone` for.
#[derive(Clone, Copy, Debug)]
pub(super) struct CloneArguments {
    pub(super) flags: u64,
    pub(super) parent_tid: u64,
    pub(super) child_tid: u64,
    pub(super) tls: u64,
}

/// Whether the call makes a thread, not a process.
fn makes_thread(call: &Syscall) -> bool {
    const THREAD: u64 = (libc::CLONE_VM | libc::CLONE_THREAD) as u64;
    call.number as i64 == libc::SYS_clone && call.args[0] & THREAD == THREAD
}

/// AArch64 has its own order of the arguments.
pub(super) fn clone_arguments(call: &Syscall) -> CloneArguments {
    let [flags, _, parent_tid, tls, child_tid, _] = call.args;
    CloneArguments { flags, parent_tid, child_tid, tls }
}

impl<S: Strategy> Run<'_, S> {
    /// The thread is before a system call.
    pub(super) fn syscall_entered(&mut self, index: usize) -> Result<(), EngineError> {
        let regs = &self.threads[index].regs;
        let args = [0, 1, 2, 3, 4, 5].map(|register| regs.x(register));
        let asked = regs.x(8);
        self.flush(index)?;
        // An initialiser that `pthread_once` has called is over: others are let through now.
        if !self.is_managed(self.threads[index].regs.pc) {
            self.initialised(index);
        }
        let number = number(asked)
            .map_err(|name| EngineError::Unsupported(format!("{}: {name}", self.place_of(index))))?;
        let call = Syscall { number, args };
        self.threads[index].asks(call);
        if number as i64 != libc::SYS_sched_yield {
            self.new_state(index);
        }
        if self.answer_call(index, &call)? {
            return Ok(());
        }
        if self.watching {
            self.hands_over(index, &call);
        }
        match number as i64 {
            // It has arguments of its own, and libraries do without it.
            libc::SYS_clone3 => {
                self.skip(index, error(libc::ENOSYS));
                Ok(())
            }
            libc::SYS_kill
            | libc::SYS_tkill
            | libc::SYS_tgkill
            | libc::SYS_rt_sigqueueinfo
            | libc::SYS_rt_tgsigqueueinfo => self.send_signal(index),
            libc::SYS_rt_sigaction => self.sets_handler(index, &call),
            libc::SYS_rt_sigreturn => {
                self.leaves_handler(index);
                Ok(())
            }
            libc::SYS_clone if makes_thread(&call) => self.clone_thread(index),
            libc::SYS_execve | libc::SYS_execveat => {
                // From where, is known before its memory is gone.
                self.here(index);
                self.pass(index, false)
            }
            libc::SYS_mmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect => {
                self.check_code(index, &call)?;
                self.pass(index, false)
            }
            libc::SYS_readlinkat if self.reads_link(index, &call)? => Ok(()),
            number => {
                let may_block = blocks(number) && !self.is_plain_file(number, args[0]);
                self.pass(index, may_block)
            }
        }
    }

    /// Reading and writing a file on disk or in memory does not wait for anybody.
    fn is_plain_file(&self, number: i64, descriptor: u64) -> bool {
        let uses = matches!(
            number,
            libc::SYS_read
                | libc::SYS_write
                | libc::SYS_readv
                | libc::SYS_writev
                | libc::SYS_pread64
                | libc::SYS_pwrite64
                | libc::SYS_ftruncate
                | libc::SYS_fsync
        );
        let path = format!("/proc/{}/fd/{}", self.memory.thread(), descriptor as i32);
        matches!(number, libc::SYS_openat | libc::SYS_ioctl | libc::SYS_fcntl)
            || uses && std::fs::metadata(path).is_ok_and(|data| data.is_file())
    }

    /// Code that is no patched copy would run without gates: neither the model nor we would see what it does.
    fn check_code(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let [start, len, protection, flags, descriptor, _] = call.args;
        if protection & libc::PROT_EXEC as u64 == 0 {
            return Ok(());
        }
        let place = self.place_of(index);
        let refused = |what: String| Err(EngineError::Unsupported(format!("{place}: {what}")));
        if call.number as i64 != libc::SYS_mmap {
            let end = start.saturating_add(len);
            let known = |module: &crate::engine::modules::Module| module.start <= start && end <= module.end;
            self.refresh()?;
            return match self.modules.iter().any(known) {
                true if protection & libc::PROT_WRITE as u64 == 0 => Ok(()),
                true => refused("code that the program may change".to_owned()),
                false => refused("code that is in no file (made at run time)".to_owned()),
            };
        }
        if flags & libc::MAP_ANONYMOUS as u64 != 0 {
            return refused("code that is in no file (made at run time)".to_owned());
        }
        let path = format!("/proc/{}/fd/{}", self.memory.thread(), descriptor as i32);
        let file =
            std::fs::read_link(path).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        match super::files::is_copy(&file) && protection & libc::PROT_WRITE as u64 == 0 {
            true => Ok(()),
            false => refused(format!("code of {file}, which was not opened by the dynamic linker")),
        }
    }

    /// The system call does not happen: this is its result.
    pub(super) fn skip(&mut self, index: usize, result: u64) {
        if let Some(call) = self.threads[index].syscall {
            self.note_call(index, &call, result);
        }
        let thread = &mut self.threads[index];
        thread.has_asked(thread.asked.len().saturating_sub(1));
        thread.regs.set_x(0, result);
        (thread.dirty, thread.slot) = (true, Some(Slot::Skip));
    }

    /// The kernel does it.
    pub(super) fn pass(&mut self, index: usize, may_block: bool) -> Result<(), EngineError> {
        self.course.stirred = true;
        if let Some(call) = self.threads[index].syscall {
            self.name_for_kernel(index, &call);
        }
        let thread = &mut self.threads[index];
        thread.slot = Some(Slot::Post);
        if may_block {
            return self.resume_to_kernel(index);
        }
        // Handlers come when it is over. (What executes another program has no such moment.)
        let number = thread.syscall.map_or(0, |call| call.number as i64);
        thread.passing = !matches!(number, libc::SYS_execve | libc::SYS_execveat);
        self.resume(index)?;
        self.threads[index].passing = false;
        self.send_held(index);
        Ok(())
    }

    /// The thread goes on to its next gate, or to where it sleeps in the kernel.
    pub(super) fn resume_to_kernel(&mut self, index: usize) -> Result<(), EngineError> {
        self.start(index)?;
        if !self.settles(index)? {
            self.machine.away(self.threads[index].id);
            self.threads[index].mode = Mode::Away;
        }
        Ok(())
    }

    /// Waits until the thread has come to a gate or is gone (true), or sleeps in the kernel.
    pub(super) fn settles(&mut self, index: usize) -> Result<bool, EngineError> {
        let tid = self.threads[index].tid;
        while self.course.end.is_none()
            && self.threads[index].stopped.is_none()
            && self.threads[index].mode != Mode::Ended
        {
            if self.pump(false)? {
                continue;
            }
            // It may have come to its gate just now.
            if proc::sleeps(self.process, tid) == Some(true) && !self.pump(false)? {
                return Ok(false);
            }
            self.course.check_limits()?;
            // It shares our processor.
            std::thread::yield_now();
        }
        Ok(true)
    }

    /// A handler returns, to what it has interrupted. (Most return by code of qemu's own, without a gate.)
    fn leaves_handler(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        thread.has_asked(thread.asked.len().saturating_sub(1));
        thread.slot = Some(Slot::Post);
    }

    /// The thread is back from a system call that the kernel has done.
    pub(super) fn syscall_left(&mut self, index: usize) -> Result<(), EngineError> {
        let gates = &self.engine.files.gates;
        let thread = &mut self.threads[index];
        let place = |gate: usize| (gates[gate].file, gates[gate].at);
        let here = place(thread.gate);
        let Some(from) = thread.asked.iter().rposition(|asked| place(asked.gate) == here) else {
            return Ok(());
        };
        let call = thread.asked[from].call;
        let result = thread.regs.x(0);
        let failed = result > error(4095);
        self.has_got(&call, result);
        if !failed && makes_thread(&call) {
            self.cloned(index, from)?;
        }
        self.threads[index].has_asked(from);
        if !numbers(&call).is_empty() || returns_number(call.number as i64) {
            self.name_for_program(index, &call);
        }
        let result = self.threads[index].regs.x(0);
        self.refuse_failed(&call, result)?;
        match call.number as i64 {
            libc::SYS_clone => return Ok(()),
            libc::SYS_rt_sigaction => self.has_set_handler(index, &call, failed)?,
            libc::SYS_kill
            | libc::SYS_tkill
            | libc::SYS_tgkill
            | libc::SYS_rt_sigqueueinfo
            | libc::SYS_rt_tgsigqueueinfo => {
                // Whom it was for has received it before this one goes on.
                self.settle_woken()?;
                self.look_for_signals();
            }
            libc::SYS_mmap if !failed => {
                self.unmapped(index, result, call.args[1])?;
                if call.args[2] & libc::PROT_EXEC as u64 != 0 {
                    self.refresh()?;
                }
            }
            libc::SYS_munmap if !failed => self.unmapped(index, call.args[0], call.args[1])?,
            libc::SYS_mremap if !failed => {
                self.unmapped(index, call.args[0], call.args[1])?;
                self.unmapped(index, result, call.args[2])?;
            }
            _ => {}
        }
        self.has_waited(index, &call, result);
        let shown = if is_address(call.number as i64) { 0 } else { result };
        self.note_call(index, &call, shown);
        if self.watching {
            self.takes_over(index, &call, failed);
        }
        if !failed && (self.watching || self.course.journal.is_some()) {
            let ranges = self.touches(&call, result);
            self.note_bytes(index, &call, ranges.as_deref());
        }
        if self.watching && !failed {
            let ranges = self.touches(&call, result);
            self.tell_ranges(index, &call, ranges);
            self.hands_over(index, &call);
        }
        Ok(())
    }

    fn touches(&self, call: &Syscall, result: u64) -> Option<Vec<(u64, u64, bool)>> {
        // AArch64's `struct stat` is shorter.
        const STAT: u64 = 128;
        match call.number as i64 {
            libc::SYS_fstat => Some(vec![(call.args[1], STAT, true)]),
            libc::SYS_newfstatat => Some(vec![(call.args[2], STAT, true)]),
            // Its `struct epoll_event` has no packed layout.
            libc::SYS_epoll_pwait => Some(vec![(call.args[1], result.saturating_mul(16), true)]),
            libc::SYS_epoll_ctl => Some(vec![(call.args[3], 16, false)]),
            _ => touched(call, result, &|at| self.memory.read_u64(at)),
        }
    }

    fn unmapped(&mut self, index: usize, start: u64, len: u64) -> Result<(), EngineError> {
        if self.watching { self.renewed(index, start, len) } else { Ok(()) }
    }

    /// A signal to a thread, or to the whole program: who sleeps in an emulated call must be told.
    fn send_signal(&mut self, index: usize) -> Result<(), EngineError> {
        self.course.expects_signals = true;
        self.pass(index, false)
    }

    /// The kernel knows threads by other numbers than the program.
    fn name_for_kernel(&mut self, index: usize, call: &Syscall) {
        for &at in numbers(call) {
            let number = call.args[at] as i32;
            let known = self.threads.iter().find(|it| it.virtual_tid == number).map(|it| it.tid.0);
            let group = (number == -FIRST_TID).then_some(-self.process.0);
            if let Some(real) = known.or(group) {
                self.threads[index].regs.set_x(at as u32, real as u64);
                self.threads[index].dirty = true;
            }
        }
    }

    fn name_for_program(&mut self, index: usize, call: &Syscall) {
        let regs = &mut self.threads[index].regs;
        for &at in numbers(call).iter().filter(|&&at| at != 0) {
            regs.set_x(at as u32, call.args[at]);
        }
        if returns_number(call.number as i64) && regs.x(0) == self.process.0 as u64 {
            regs.set_x(0, FIRST_TID as u64);
        }
        self.threads[index].dirty = true;
    }
}
