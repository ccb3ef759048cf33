//! System calls: which of them the engine answers itself, and what the others do to the program's memory.
//!
//! Emulated is what blocks on other threads (futexes), what would differ from run to run (time, random numbers,
//! process numbers), and what concerns threads. Everything else goes to the kernel; a call that sleeps there leaves
//! its thread *away* while others go on.

use super::futex::error;
use super::run::{FIRST_TID, Run, mix};
use super::sites::What;
use super::thread::{Mode, Pending, Syscall, Told};
use super::time::Clock;
use crate::engine::{End, EngineError};
use crate::os::proc;
use crate::os::ptrace::{self, Resume, Stop};
use std::time::Instant;
use wmtrace_decoder::orders::{Atomic, Source};
use wmtrace_model::op::{Addr, Op};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::Strategy;

/// The name of a system call.
pub(in crate::engine) fn name(number: u64) -> String {
    match syscalls::Sysno::new(number as usize) {
        Some(call) => call.name().to_owned(),
        None => format!("system call {number}"),
    }
}

/// What a thread asks `clone` for.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct CloneArguments {
    pub(super) flags: u64,
    pub(super) parent_tid: u64,
    pub(super) child_tid: u64,
    pub(super) tls: u64,
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
        match call.number as i64 {
            libc::SYS_futex => self.futex(index, &call),
            libc::SYS_sched_yield => {
                self.machine.hint(self.threads[index].id);
                self.skip(index, 0)?;
                // Others may run now; a thread that is alone need not stop.
                if self.threads[index].mode == Mode::Running && self.end.is_none() && self.threads.len() > 1 {
                    let site = self.site_here(index, What::call("yields"));
                    self.pend(index, Pending::Quantum, Op::Yield, site, 0);
                }
                Ok(())
            }
            libc::SYS_clock_gettime | libc::SYS_gettimeofday | libc::SYS_time | libc::SYS_times => {
                self.tell_time(index, &call)
            }
            libc::SYS_nanosleep | libc::SYS_clock_nanosleep => self.nap(index, &call),
            libc::SYS_getrandom => self.random_bytes(index, &call),
            libc::SYS_getpid => self.skip(index, FIRST_TID as u64),
            libc::SYS_getppid => self.skip(index, FIRST_TID as u64 - 1),
            libc::SYS_gettid => self.skip(index, self.threads[index].virtual_tid as u64),
            libc::SYS_set_tid_address => {
                self.threads[index].clear_tid = args[0];
                self.skip(index, self.threads[index].virtual_tid as u64)
            }
            // Restartable sequences would be restarted by our stops.
            libc::SYS_rseq => self.skip(index, error(libc::ENOSYS)),
            // A barrier in every other thread: the models have none, and programs do without where the kernel does.
            libc::SYS_membarrier => self.skip(index, error(libc::ENOSYS)),
            libc::SYS_getcpu => {
                for at in [args[0], args[1]].into_iter().filter(|&at| at != 0) {
                    self.memory.write(at, &[0; 4])?;
                }
                self.skip(index, 0)
            }
            libc::SYS_set_robust_list => {
                self.threads[index].robust_list = args[0];
                self.skip(index, 0)
            }
            // What we read in /proc is there only for processes that may be dumped; who may read the counter is
            // ours to say.
            libc::SYS_prctl if args[0] == libc::PR_SET_DUMPABLE as u64 && args[1] <= 1 => {
                self.dumpable = args[1];
                self.skip(index, 0)
            }
            libc::SYS_prctl if args[0] == libc::PR_GET_DUMPABLE as u64 => self.skip(index, self.dumpable),
            libc::SYS_prctl if args[0] == libc::PR_SET_TSC as u64 => self.skip(index, 0),
            libc::SYS_sched_getaffinity => self.processors(index, &call),
            libc::SYS_sched_setaffinity => self.skip(index, 0),
            libc::SYS_kill
            | libc::SYS_tkill
            | libc::SYS_tgkill
            | libc::SYS_rt_sigqueueinfo
            | libc::SYS_rt_tgsigqueueinfo => self.send_signal(index),
            libc::SYS_exit if self.alive() > 1 => self.ends(index),
            libc::SYS_exit | libc::SYS_exit_group => {
                self.end = Some(End::Exited((args[0] & 0xff) as i32));
                Ok(())
            }
            libc::SYS_clone | libc::SYS_clone3 if self.clones_thread(&call) => {
                self.take_control()?;
                if self.park(index)? { self.make_thread(index, &call) } else { Ok(()) }
            }
            libc::SYS_write | libc::SYS_writev if matches!(args[0], 1 | 2) && !self.has_room() => {
                self.warn("output beyond 16 MiB is not kept");
                self.skip(index, if call.number as i64 == libc::SYS_write { args[2] } else { 0 })
            }
            number => {
                if number == libc::SYS_mremap && self.sea.covers(args[0]) {
                    self.protected(args[0], args[1], libc::PROT_WRITE as u64)?;
                }
                let timers = matches!(number, libc::SYS_setitimer | libc::SYS_alarm | libc::SYS_timer_create);
                self.has_timers |= timers;
                self.expects_signals |= timers;
                self.pass(index, blocks(number))
            }
        }
    }

    /// The system call does not happen: this is its result.
    pub(super) fn skip(&mut self, index: usize, result: u64) -> Result<(), EngineError> {
        let number = self.threads[index].syscall.map_or(0, |call| call.number);
        self.trace.push(mix(mix(0xca11, number), result));
        let thread = &mut self.threads[index];
        thread.regs.orig_rax = u64::MAX;
        thread.regs.rax = result;
        thread.dirty = true;
        let stop = self.resume(index, Resume::ToSyscall, 0)?;
        self.threads[index].syscall = None;
        if stop == Stop::Syscall { Ok(()) } else { self.dispatch(index, stop) }
    }

    /// The kernel does it.
    pub(super) fn pass(&mut self, index: usize, may_block: bool) -> Result<(), EngineError> {
        self.stirred = true;
        if let Some(call) = self.threads[index].syscall {
            self.name_for_kernel(index, &call);
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
        loop {
            let mut stop = self.arrived.remove(&tid);
            if stop.is_none() {
                match ptrace::wait_any(false) {
                    Some((other, found)) if other == tid => stop = Some(found),
                    Some((other, found)) => self.arrives(other, found)?,
                    None => {}
                }
            }
            if let Some(stop) = stop {
                self.stopped(index, stop)?;
                return self.dispatch(index, stop);
            }
            if proc::sleeps(self.process, tid) == Some(true) {
                self.machine.away(self.threads[index].id);
                self.threads[index].mode = Mode::Away;
                return Ok(());
            }
            if self.deadline <= Instant::now() {
                self.end = Some(End::TimedOut);
                return Ok(());
            }
            if crate::os::interrupt::requested() {
                return Err(EngineError::Interrupted);
            }
            // It shares our processor.
            std::thread::yield_now();
        }
    }

    /// The thread is back from a system call that the kernel has done.
    pub(super) fn syscall_left(&mut self, index: usize) -> Result<(), EngineError> {
        let Some(call) = self.threads[index].syscall.take() else { return Ok(()) };
        self.name_for_program(index, &call);
        self.asked_for_thread(index, &call)?;
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
            libc::SYS_munmap if !failed => self.unmapped(index, call.args[0], call.args[1])?,
            libc::SYS_mremap if !failed => {
                self.unmapped(index, call.args[0], call.args[1])?;
                self.mapped(index, result, call.args[2], 0)?;
            }
            _ => {}
        }
        self.trace
            .push(mix(mix(0xca11, call.number), if is_address(call.number as i64) { 0 } else { result }));
        if self.sea.is_empty() || failed {
            return Ok(());
        }
        match touched(&call, result, &|at| self.memory.read_u64(at)) {
            Some(ranges) => {
                let mut told = Vec::new();
                for (addr, len, store) in ranges.into_iter().filter(|&(addr, len, _)| addr != 0 && len > 0) {
                    let op = if store { "store" } else { "load" };
                    let what = What { op, order: Some((Order::Na, Source::Isa)), atomic: Atomic::No };
                    let site = self.site_here(index, what);
                    told.push(Told { pc: 0, site, addr, len, store, private: false });
                }
                self.tell(index, &told);
            }
            None => {
                self.warn(format!("what the system call {} does to memory is not known", name(call.number)));
            }
        }
        Ok(())
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
        self.flush_range(start, len)?;
        let site = self.site_here(index, What::call("map"));
        self.machine.alloc(self.threads[index].id, site, Addr(start), len.min(u64::MAX - start), true);
        self.sea.forget(start, start.saturating_add(len));
        Ok(())
    }

    fn tell_time(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let at = self.clock.look();
        let [first, second, ..] = call.args;
        let mut result = 0;
        let write = |run: &Self, to: u64, seconds: u64, rest: u64| {
            let bytes = [seconds.to_le_bytes(), rest.to_le_bytes()].concat();
            run.memory.write(to, &bytes)
        };
        let real = Clock::shown(libc::CLOCK_REALTIME, at);
        let second_ns = 1_000_000_000;
        let written = match call.number as i64 {
            libc::SYS_clock_gettime => {
                let shown = Clock::shown(first as i32, at);
                write(self, second, shown / second_ns, shown % second_ns)
            }
            libc::SYS_gettimeofday if first != 0 => {
                write(self, first, real / second_ns, real % second_ns / 1000)
            }
            libc::SYS_times => {
                result = at / 10_000_000;
                if first == 0 { Ok(()) } else { self.memory.write(first, &[0; 32]) }
            }
            libc::SYS_time => {
                result = real / second_ns;
                if first == 0 { Ok(()) } else { self.memory.write(first, &result.to_le_bytes()) }
            }
            _ => Ok(()),
        };
        let result = if written.is_ok() { result } else { error(libc::EFAULT) };
        self.skip(index, result)
    }

    /// A thread that sleeps lets all others go first.
    fn nap(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let [clock, flags, request, ..] = call.args;
        let whole = call.number as i64 == libc::SYS_clock_nanosleep;
        let request = if whole { request } else { clock };
        let duration = match self.read_timespec(request) {
            Ok(duration) => duration,
            Err(errno) => return self.skip(index, error(errno)),
        };
        let absolute = whole && flags & libc::TIMER_ABSTIME as u64 != 0;
        let deadline = if absolute {
            Clock::when(clock as i32, duration)
        } else {
            self.clock.now().saturating_add(duration)
        };
        self.machine.hint(self.threads[index].id);
        self.sleep(index, Some(deadline));
        Ok(())
    }

    fn random_bytes(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let [at, len, ..] = call.args;
        let len = len.min(1 << 20);
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < len {
            bytes.extend(self.clock.random().to_le_bytes());
        }
        bytes.truncate(len as usize);
        let result = if self.memory.write(at, &bytes).is_ok() { len } else { error(libc::EFAULT) };
        self.skip(index, result)
    }

    /// The processors that wmtrace was given, although the program runs on one of them.
    fn processors(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let [_, len, at, ..] = call.args;
        let mut mask = vec![0u8; (len as usize).min(128) / 8 * 8];
        for cpu in 0..mask.len() * 8 {
            if self.engine.affinity.is_set(cpu).unwrap_or(false) {
                mask[cpu / 8] |= 1 << (cpu % 8);
            }
        }
        let result = match mask.is_empty() {
            true => error(libc::EINVAL),
            false if self.memory.write(at, &mask).is_ok() => mask.len() as u64,
            false => error(libc::EFAULT),
        };
        self.skip(index, result)
    }

    /// A signal to a thread, or to the whole program: who sleeps in an emulated call must be told.
    fn send_signal(&mut self, index: usize) -> Result<(), EngineError> {
        self.pass(index, false)?;
        self.expects_signals = true;
        self.look_for_signals()?;
        Ok(())
    }

    /// Sleepers for which a signal has come go on, and threads that spin may come out of their loops. Whether there
    /// were any.
    pub(super) fn look_for_signals(&mut self) -> Result<bool, EngineError> {
        let mut any = false;
        for index in 0..self.threads.len() {
            let (id, tid) = (self.threads[index].id, self.threads[index].tid);
            match self.threads[index].mode {
                Mode::Asleep => {
                    self.wake_signalled(index)?;
                    any |= self.threads[index].mode == Mode::Running;
                }
                Mode::Ready if self.machine.is_spinning(id) && proc::has_signal(self.process, tid) => {
                    self.machine.disturb(id);
                    any = true;
                }
                Mode::Ready | Mode::Running | Mode::Away | Mode::Ended => {}
            }
        }
        Ok(any)
    }

    /// The kernel makes a thread. That its number is cleared in memory when it ends is our business alone (see
    /// [`Run::ends`]): the kernel would do it once more, when somebody else may use that memory already.
    fn make_thread(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let flags = self.clone_arguments(call).flags;
        let clears = libc::CLONE_CHILD_CLEARTID as u64;
        if flags & clears != 0 {
            self.threads[index].clone_flags = Some(flags);
            self.set_clone_flags(index, call, flags & !clears)?;
        }
        self.pass(index, false)
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
            return CloneArguments { flags: word(0), child_tid: word(2), parent_tid: word(3), tls: word(7) };
        }
        let [flags, _, parent_tid, child_tid, tls, _] = call.args;
        CloneArguments { flags, parent_tid, child_tid, tls }
    }
}

/// Whether a system call may sleep in the kernel. What is not known may.
#[allow(non_upper_case_globals, reason = "libc's names")]
pub(in crate::engine) fn blocks(number: i64) -> bool {
    use libc::*;
    !matches!(
        number,
        SYS_mmap
            | SYS_munmap
            | SYS_mprotect
            | SYS_mremap
            | SYS_madvise
            | SYS_brk
            | SYS_close
            | SYS_fstat
            | SYS_stat
            | SYS_lstat
            | SYS_newfstatat
            | SYS_lseek
            | SYS_access
            | SYS_faccessat
            | SYS_rt_sigaction
            | SYS_rt_sigprocmask
            | SYS_rt_sigreturn
            | SYS_sigaltstack
            | SYS_set_robust_list
            | SYS_prlimit64
            | SYS_arch_prctl
            | SYS_prctl
            | SYS_uname
            | SYS_getuid
            | SYS_geteuid
            | SYS_getgid
            | SYS_getegid
            | SYS_pread64
            | SYS_readlink
            | SYS_readlinkat
            | SYS_pipe
            | SYS_pipe2
            | SYS_dup
            | SYS_dup2
            | SYS_dup3
            | SYS_clone
            | SYS_clone3
            | SYS_execve
            | SYS_sysinfo
            | SYS_getcwd
            | SYS_eventfd2
            | SYS_epoll_create1
            | SYS_epoll_ctl
            | SYS_socket
            | SYS_getdents64
    )
}

/// Whether the result is an address, or else says nothing about what the program sees.
fn is_address(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_wait4 | libc::SYS_setpgid | libc::SYS_getpgid
    )
}

/// The memory that a system call has read and written: (address, length, whether written). `None`: not known.
#[allow(non_upper_case_globals, reason = "libc's names")]
pub(in crate::engine) fn touched(
    call: &Syscall,
    result: u64,
    word: &dyn Fn(u64) -> Option<u64>,
) -> Option<Vec<(u64, u64, bool)>> {
    use libc::*;
    let [a, b, c, d, e, _] = call.args;
    let vector = |at: u64, count: u64, mut left: u64, store: bool| {
        let mut ranges = Vec::new();
        for index in 0..count.min(1024) {
            let (base, len) = (word(at + 16 * index).unwrap_or(0), word(at + 16 * index + 8).unwrap_or(0));
            let used = len.min(left);
            left -= used;
            ranges.push((base, used, store));
        }
        ranges
    };
    Some(match call.number as i64 {
        SYS_read | SYS_pread64 | SYS_recvfrom | SYS_getdents64 => vec![(b, result, true)],
        SYS_write | SYS_pwrite64 | SYS_sendto => vec![(b, result, false)],
        SYS_readv | SYS_preadv | SYS_preadv2 => vector(b, c, result, true),
        SYS_writev | SYS_pwritev | SYS_pwritev2 => vector(b, c, result, false),
        // struct msghdr: name, namelen, iov, iovlen
        SYS_recvmsg => vector(word(b + 16)?, word(b + 24)?, result, true),
        SYS_sendmsg => vector(word(b + 16)?, word(b + 24)?, result, false),
        SYS_fstat | SYS_stat | SYS_lstat => vec![(b, size_of::<stat>() as u64, true)],
        SYS_newfstatat => vec![(c, size_of::<stat>() as u64, true)],
        SYS_statx => vec![(e, size_of::<statx>() as u64, true)],
        SYS_getcwd => vec![(a, result, true)],
        SYS_readlink => vec![(b, result, true)],
        SYS_readlinkat => vec![(c, result, true)],
        SYS_pipe | SYS_pipe2 => vec![(a, 8, true)],
        SYS_socketpair => vec![(d, 8, true)],
        SYS_poll | SYS_ppoll => vec![(a, b.saturating_mul(8), true)],
        SYS_epoll_wait | SYS_epoll_pwait => vec![(b, result.saturating_mul(12), true)],
        SYS_epoll_ctl => vec![(d, 12, false)],
        SYS_rt_sigtimedwait => vec![(b, 128, true)],
        SYS_wait4 => vec![(b, 4, true)],
        SYS_uname => vec![(a, size_of::<utsname>() as u64, true)],
        SYS_sysinfo => vec![(a, size_of::<sysinfo>() as u64, true)],
        SYS_prlimit64 => vec![(d, 16, true)],
        SYS_getrlimit => vec![(b, 16, true)],
        SYS_getrusage => vec![(b, size_of::<rusage>() as u64, true)],
        SYS_rt_sigaction => vec![(c, 32, true)],
        SYS_rt_sigprocmask => vec![(c, 8, true)],
        // Libraries call these between themselves and the kernel, or they touch no memory of the program's.
        SYS_mmap
        | SYS_munmap
        | SYS_mprotect
        | SYS_mremap
        | SYS_madvise
        | SYS_brk
        | SYS_close
        | SYS_lseek
        | SYS_access
        | SYS_faccessat
        | SYS_faccessat2
        | SYS_open
        | SYS_openat
        | SYS_openat2
        | SYS_creat
        | SYS_rt_sigreturn
        | SYS_sigaltstack
        | SYS_set_robust_list
        | SYS_get_robust_list
        | SYS_arch_prctl
        | SYS_prctl
        | SYS_getuid
        | SYS_geteuid
        | SYS_getgid
        | SYS_getegid
        | SYS_dup
        | SYS_dup2
        | SYS_dup3
        | SYS_execve
        | SYS_execveat
        | SYS_eventfd
        | SYS_eventfd2
        | SYS_epoll_create
        | SYS_epoll_create1
        | SYS_socket
        | SYS_bind
        | SYS_listen
        | SYS_accept
        | SYS_accept4
        | SYS_connect
        | SYS_shutdown
        | SYS_setsockopt
        | SYS_getsockopt
        | SYS_getsockname
        | SYS_getpeername
        | SYS_fcntl
        | SYS_flock
        | SYS_fsync
        | SYS_fdatasync
        | SYS_ftruncate
        | SYS_truncate
        | SYS_rename
        | SYS_renameat
        | SYS_renameat2
        | SYS_unlink
        | SYS_unlinkat
        | SYS_mkdir
        | SYS_mkdirat
        | SYS_rmdir
        | SYS_chdir
        | SYS_fchdir
        | SYS_chmod
        | SYS_fchmod
        | SYS_fchmodat
        | SYS_chown
        | SYS_fchown
        | SYS_fchownat
        | SYS_umask
        | SYS_utimensat
        | SYS_futimesat
        | SYS_kill
        | SYS_tkill
        | SYS_tgkill
        | SYS_setpgid
        | SYS_getpgid
        | SYS_getpgrp
        | SYS_setsid
        | SYS_getsid
        | SYS_alarm
        | SYS_setitimer
        | SYS_timer_create
        | SYS_timer_settime
        | SYS_timer_delete
        | SYS_pause
        | SYS_rt_sigsuspend
        | SYS_fallocate
        | SYS_fadvise64
        | SYS_sendfile
        | SYS_splice
        | SYS_copy_file_range
        | SYS_sync
        | SYS_setpriority
        | SYS_getpriority
        | SYS_sched_setscheduler
        | SYS_sched_getscheduler
        | SYS_sched_getparam
        | SYS_sched_setparam
        | SYS_sched_get_priority_max
        | SYS_sched_get_priority_min
        | SYS_mlock
        | SYS_munlock
        | SYS_mincore
        | SYS_memfd_create
        | SYS_symlink
        | SYS_symlinkat
        | SYS_link
        | SYS_linkat
        | SYS_msync
        | SYS_statfs
        | SYS_fstatfs
        | SYS_timerfd_create
        | SYS_timerfd_settime
        | SYS_signalfd4
        | SYS_inotify_init1
        | SYS_inotify_add_watch
        | SYS_restart_syscall => Vec::new(),
        _ => return None,
    })
}
