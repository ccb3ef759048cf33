//! System calls: which of them the engine answers itself, and what the others do to the program's memory. The program
//! makes AArch64's; they are known here by this machine's numbers, since what they mean is the same.

use super::futex::error;
use super::run::{FIRST_TID, Run};
use super::thread::{Mode, Pending, Slot};
use crate::engine::calls::{Kind, Told};
use crate::engine::sites::What;
use crate::engine::step::pids::{numbers, returns_number};
use crate::engine::step::syscalls::{blocks, name, touched};
use crate::engine::step::thread::Syscall;
use crate::engine::time::{Clock, mix};
use crate::engine::world::MAX_OUTPUT;
use crate::engine::{End, EngineError};
use crate::os::proc;
use std::str::FromStr as _;
use std::time::Instant;
use wmtrace_decoder::orders::{Atomic, Source};
use wmtrace_model::op::{Addr, Op};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::Strategy;

/// This machine's number of a system call of AArch64's. An error names one that this machine has not.
fn number(aarch64: u64) -> Result<u64, String> {
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

/// The bits by which `clone` makes a thread, not a process.
const THREAD: u64 = (libc::CLONE_VM | libc::CLONE_THREAD) as u64;

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
        if let Some(call) = self.threads[index].calls.last()
            && call.kind == Kind::Once
            && !self.is_managed(self.threads[index].regs.pc)
        {
            let object = call.args[0];
            let site = self.site_here(index, What::call("once"));
            self.machine.release(self.threads[index].id, object, site);
        }
        let number = number(asked)
            .map_err(|name| EngineError::Unsupported(format!("{}: {name}", self.place_of(index))))?;
        let call = Syscall { number, args };
        self.threads[index].syscall = Some(call);
        if number as i64 != libc::SYS_sched_yield {
            self.new_state(index);
        }
        match number as i64 {
            libc::SYS_futex => self.futex(index, &call),
            libc::SYS_sched_yield => {
                self.machine.hint(self.threads[index].id);
                self.skip(index, 0)?;
                // Others may run now; a thread that is alone need not stop.
                if self.threads.len() > 1 {
                    let site = self.site_here(index, What::call("yields"));
                    self.pend(index, Pending::Quantum, Op::Yield, site, 0);
                }
                Ok(())
            }
            // A barrier in every other thread: the models have none, and programs do without where the kernel does.
            libc::SYS_membarrier => self.skip(index, error(libc::ENOSYS)),
            libc::SYS_clock_gettime | libc::SYS_gettimeofday | libc::SYS_times => {
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
            // Restartable sequences would be restarted by our stops; `clone3` has arguments of its own, and libraries
            // do without it.
            libc::SYS_rseq | libc::SYS_clone3 => self.skip(index, error(libc::ENOSYS)),
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
            libc::SYS_clone if args[0] & THREAD == THREAD => self.clone_thread(index),
            libc::SYS_execve | libc::SYS_execveat => {
                let place = self.place_of(index);
                Err(EngineError::Unsupported(format!("{place}: execve in a program for AArch64")))
            }
            libc::SYS_mmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect => {
                self.check_code(index, &call)?;
                self.pass(index, false)
            }
            libc::SYS_write | libc::SYS_writev if matches!(args[0], 1 | 2) && !self.has_room() => {
                self.warn("output beyond 16 MiB is not kept");
                self.skip(index, if number as i64 == libc::SYS_write { args[2] } else { 0 })
            }
            number => {
                if matches!(number, libc::SYS_setitimer | libc::SYS_timer_create | libc::SYS_timer_settime) {
                    self.warn("timers run in real time: executions may differ from each other");
                    self.expects_signals = true;
                }
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
    pub(super) fn skip(&mut self, index: usize, result: u64) -> Result<(), EngineError> {
        let thread = &mut self.threads[index];
        let number = thread.syscall.take().map_or(0, |call| call.number);
        self.trace.push(mix(mix(0xca11, number), result));
        thread.regs.set_x(0, result);
        (thread.dirty, thread.slot) = (true, Some(Slot::Skip));
        Ok(())
    }

    /// The kernel does it.
    pub(super) fn pass(&mut self, index: usize, may_block: bool) -> Result<(), EngineError> {
        self.stirred = true;
        if let Some(call) = self.threads[index].syscall {
            self.name_for_kernel(index, &call);
        }
        let thread = &mut self.threads[index];
        thread.slot = Some(Slot::Post);
        if !may_block {
            return self.resume(index);
        }
        let tid = thread.tid;
        self.start(index)?;
        while self.end.is_none() && self.threads[index].stopped.is_none() {
            if self.threads[index].mode == Mode::Ended || self.pump(false)? {
                continue;
            }
            if proc::sleeps(self.process, tid) == Some(true) {
                // It may have come to its gate just now.
                if self.pump(false)? {
                    continue;
                }
                self.machine.away(self.threads[index].id);
                self.threads[index].mode = Mode::Away;
                return Ok(());
            }
            if self.deadline <= Instant::now() {
                self.end = Some(End::TimedOut);
            }
            if crate::os::interrupt::requested() {
                return Err(EngineError::Interrupted);
            }
            // It shares our processor.
            std::thread::yield_now();
        }
        Ok(())
    }

    /// The thread is back from a system call that the kernel has done.
    pub(super) fn syscall_left(&mut self, index: usize) -> Result<(), EngineError> {
        let Some(call) = self.threads[index].syscall.take() else { return Ok(()) };
        if !numbers(&call).is_empty() || returns_number(call.number as i64) {
            self.name_for_program(index, &call);
        }
        let result = self.threads[index].regs.x(0);
        let failed = result > error(4095);
        match call.number as i64 {
            libc::SYS_clone => return self.cloned(index, &call, failed),
            libc::SYS_kill
            | libc::SYS_tkill
            | libc::SYS_tgkill
            | libc::SYS_rt_sigqueueinfo
            | libc::SYS_rt_tgsigqueueinfo => {
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
        let shown = if call.number as i64 == libc::SYS_wait4 { 0 } else { result };
        self.trace.push(mix(mix(0xca11, call.number), shown));
        if !self.watching || failed {
            return Ok(());
        }
        match self.touches(&call, result) {
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
        if !self.watching {
            return Ok(());
        }
        self.flush_range(start, len)?;
        let site = self.site_here(index, What::call("map"));
        self.machine.alloc(self.threads[index].id, site, Addr(start), len.min(u64::MAX - start), true);
        Ok(())
    }

    fn tell_time(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let at = self.clock.look();
        let [first, second, ..] = call.args;
        let mut result = 0;
        let second_ns = 1_000_000_000;
        let real = Clock::shown(libc::CLOCK_REALTIME, at);
        let write = |to: u64, seconds: u64, rest: u64| {
            self.memory.write(to, &[seconds.to_le_bytes(), rest.to_le_bytes()].concat())
        };
        let written = match call.number as i64 {
            libc::SYS_clock_gettime => {
                let shown = Clock::shown(first as i32, at);
                write(second, shown / second_ns, shown % second_ns)
            }
            libc::SYS_gettimeofday if first != 0 => write(first, real / second_ns, real % second_ns / 1000),
            libc::SYS_times => {
                result = at / 10_000_000;
                if first == 0 { Ok(()) } else { self.memory.write(first, &[0; 32]) }
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
        self.expects_signals = true;
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

    /// Sleepers for which a signal has come go on, and threads that spin may come out of their loops. Whether there were
    /// any.
    pub(super) fn look_for_signals(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.threads.len() {
            let (id, tid) = (self.threads[index].id, self.threads[index].tid);
            match self.threads[index].mode {
                Mode::Asleep => {
                    self.wake_signalled(index);
                    any |= self.threads[index].mode == Mode::Running;
                }
                Mode::Ready if self.machine.is_spinning(id) && proc::has_signal(self.process, tid) => {
                    self.machine.disturb(id);
                    any = true;
                }
                Mode::Ready | Mode::Running | Mode::Away | Mode::Ended => {}
            }
        }
        any
    }

    /// Whether more output is kept.
    fn has_room(&self) -> bool {
        let len = |file: &std::fs::File| file.metadata().map_or(0, |data| data.len());
        len(&self.engine.streams.stdout) + len(&self.engine.streams.stderr) < MAX_OUTPUT
    }
}
