//! System calls that the engine answers itself: what blocks on other threads (futexes), what would differ from run to run
//! (time, random numbers, process numbers), and what concerns threads.

use super::aliases::Aliasing as _;
use super::execution::Execution;
use super::expiring::Expiring as _;
use super::futex::{Futexes as _, error};
use super::lacks::Lacks as _;
use super::library::LibraryCalls as _;
use super::own_paths::OwnPaths as _;
use super::prelude::Prelude as _;
use super::ringing::Ringing as _;
use super::sites::What;
use super::syscalls::name;
use super::thread::{FIRST_TID, Mode, Pending, Syscall};
use super::time::Clock;
use super::waits::Waiters as _;
use super::world::MAX_OUTPUT;
use super::{End, EngineError, timeouts};
use crate::os::{calls, proc, signals};
use wmtrace_model::op::{Addr, Op};

/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;

pub(super) trait Answers: Execution {
    /// `membarrier`: a full barrier in every thread, at once.
    fn barrier_everywhere(&mut self, index: usize, args: [u64; 6]) -> Result<(), EngineError> {
        /// The kernel's numbers: those that are barriers, and those that ask for them first.
        const BARRIERS: u64 = 1 | 2 | 8;
        const REGISTERS: u64 = 4 | 16;
        let site = self.site_here(index, What::call("membarrier"));
        let it = self.parts();
        let answer = match (args[0], args[1]) {
            // Stores that are held back one by one cannot be told to arrive: programs do without where the kernel does.
            _ if it.machine.holds_stores_apart() => error(libc::ENOSYS),
            (0, 0) => BARRIERS | REGISTERS,
            (command, 0) if command.is_power_of_two() && command & BARRIERS != 0 => {
                it.machine.barrier_everywhere(it.threads[index].id, site);
                0
            }
            (command, 0) if command.is_power_of_two() && command & REGISTERS != 0 => 0,
            _ => error(libc::EINVAL),
        };
        self.skip(index, answer)
    }

    /// Answers the system call that the thread is about to make. False: that is not ours to do.
    fn answer_call(&mut self, index: usize, call: &Syscall) -> Result<bool, EngineError> {
        let args = call.args;
        // Whoever makes system calls all the time, and nothing else, has to hear of it, too.
        self.rings_now();
        self.expires(None);
        self.may_kill(call);
        let it = self.parts();
        it.private.calls(call.number as i64);
        it.threads[index].waits_until = None;
        it.course.stuck.asks(call);
        let own = it.threads[index].virtual_tid as u64;
        match call.number as i64 {
            libc::SYS_futex => self.futex(index, call)?,
            libc::SYS_sched_yield => self.yields(index)?,
            libc::SYS_clock_gettime | libc::SYS_gettimeofday | calls::SYS_time | libc::SYS_times => {
                self.tell_time(index, call)?;
            }
            libc::SYS_nanosleep | libc::SYS_clock_nanosleep => self.nap(index, call)?,
            libc::SYS_getrandom => self.random_bytes(index, call)?,
            libc::SYS_getpid => self.skip(index, FIRST_TID as u64)?,
            libc::SYS_getppid => self.skip(index, FIRST_TID as u64 - 1)?,
            libc::SYS_gettid => self.skip(index, own)?,
            libc::SYS_set_tid_address => {
                it.threads[index].clear_tid = args[0];
                self.skip(index, own)?;
            }
            // Restartable sequences would be restarted by our stops.
            libc::SYS_rseq => self.skip(index, error(libc::ENOSYS))?,
            libc::SYS_membarrier => self.barrier_everywhere(index, args)?,
            libc::SYS_getcpu => {
                for at in [args[0], args[1]].into_iter().filter(|&at| at != 0) {
                    it.memory.write(at, &[0; 4])?;
                }
                self.skip(index, 0)?;
            }
            libc::SYS_set_robust_list => {
                /// `struct robust_list_head`.
                const HEAD: u64 = 24;
                if args[1] == HEAD {
                    it.threads[index].robust_list = args[0];
                }
                self.skip(index, if args[1] == HEAD { 0 } else { error(libc::EINVAL) })?;
            }
            // What we read in /proc is there only for processes that may be dumped; who may read the counter is
            // ours to say.
            libc::SYS_prctl if args[0] == libc::PR_SET_DUMPABLE as u64 && args[1] <= 1 => {
                it.course.dumpable = args[1];
                self.skip(index, 0)?;
            }
            libc::SYS_prctl if args[0] == libc::PR_GET_DUMPABLE as u64 => {
                let dumpable = it.course.dumpable;
                self.skip(index, dumpable)?;
            }
            libc::SYS_prctl if args[0] == libc::PR_SET_TSC as u64 => self.skip(index, 0)?,
            libc::SYS_prctl if args[0] == libc::PR_SET_SECCOMP as u64 => self.filters(index)?,
            // The one that it has is ours.
            libc::SYS_prctl if args[0] == libc::PR_GET_SECCOMP as u64 => self.skip(index, 0)?,
            libc::SYS_seccomp if args[0] <= u64::from(libc::SECCOMP_SET_MODE_FILTER) => {
                self.filters(index)?;
            }
            libc::SYS_sched_getaffinity => self.processors(index, call)?,
            libc::SYS_sched_setaffinity => self.skip(index, 0)?,
            calls::SYS_alarm
            | libc::SYS_setitimer
            | libc::SYS_getitimer
            | libc::SYS_timer_create
            | libc::SYS_timer_settime
            | libc::SYS_timer_gettime
            | libc::SYS_timer_getoverrun
            | libc::SYS_timer_delete => self.answer_timer_call(index, call)?,
            libc::SYS_exit if self.alive() > 1 => self.ends(index)?,
            libc::SYS_exit | libc::SYS_exit_group => {
                self.parts().course.end = Some(End::Exited((args[0] & 0xff) as i32));
            }
            number @ (libc::SYS_write | libc::SYS_writev) if matches!(args[0], 1 | 2) && !self.has_room() => {
                self.parts().course.warn("output beyond 16 MiB is not kept");
                self.skip(index, if number == libc::SYS_write { args[2] } else { 0 })?;
            }
            libc::SYS_rt_sigaction => {
                let it = self.parts();
                let [signal, action, ..] = args;
                // struct sigaction as system calls have it: the handler, flags …
                if let Some(flags) = it.memory.read_u64(action.wrapping_add(8)).filter(|_| action != 0) {
                    let bit = 1u64.checked_shl((signal as u32).wrapping_sub(1)).unwrap_or(0);
                    it.course.restarting &= !bit;
                    it.course.restarting |= if flags & libc::SA_RESTART as u64 != 0 { bit } else { 0 };
                    let handler = it.memory.read_u64(action).unwrap_or(0);
                    it.course.caught &= !bit;
                    it.course.caught |= if handler > libc::SIG_IGN as u64 { bit } else { 0 };
                }
                return Ok(false);
            }
            libc::SYS_timerfd_settime | libc::SYS_timerfd_gettime => {
                return self.answers_expiring(index, call);
            }
            _ => {
                self.path_for_kernel(index, call);
                return Ok(self.answers_reading(index, call)? || self.waits(index, call)?);
            }
        }
        Ok(true)
    }

    /// The thread is back from a system call that the kernel has done. Who has waited in vain finds that the time is over:
    /// the kernel's is not the program's.
    fn has_waited(&mut self, index: usize, call: &Syscall, result: u64) {
        self.path_for_program(index);
        self.may_have_aliased(call);
        self.descriptors_change(call, result);
        let it = self.parts();
        if let Some(until) = it.threads[index].waits_until.take() {
            if timeouts::is_over(call.number as i64, result) {
                it.course.clock.reach(until);
            }
            let left = until.saturating_sub(it.course.clock.now());
            self.tells_left(index, call, left);
        }
        let it = self.parts();
        // What a signal of a timer says that was waited for.
        let [_, at, ..] = call.args;
        let mut bytes = [0; size_of::<libc::siginfo_t>()];
        if call.number as i64 == libc::SYS_rt_sigtimedwait
            && (1..=64).contains(&result)
            && at != 0
            && it.memory.read(at, &mut bytes)
        {
            let mut info = signals::from_bytes(bytes);
            if signals::unmask(&mut info) || self.tells_overrun(&mut info) {
                let _ = self.parts().memory.write(at, &signals::bytes(&info));
            }
        }
    }

    /// The thread learns how much of the time it did not wait, if the call tells that.
    fn tells_left(&mut self, index: usize, call: &Syscall, left: u64) {
        let it = self.parts();
        if let Some((at, unit)) = timeouts::left_at(call) {
            let words = [left / SECOND, left % SECOND / unit].map(u64::to_le_bytes);
            // The kernel does not care either whether it can be written.
            it.memory.look_through(it.threads[index].tid);
            it.memory.store(at, &words.concat());
        }
    }

    fn yields(&mut self, index: usize) -> Result<(), EngineError> {
        if self.parts().course.prelude {
            self.yields_in_prelude(index);
            return self.skip(index, 0);
        }
        let it = self.parts();
        it.machine.yields(it.threads[index].id);
        self.skip(index, 0)?;
        let it = self.parts();
        // Others may run now; a thread that is alone need not stop.
        if it.threads[index].mode == Mode::Running && it.course.end.is_none() && it.threads.len() > 1 {
            let site = self.site_here(index, What::call("yields"));
            self.pend(index, Pending::Quantum, Op::Yield, site, 0);
        }
        Ok(())
    }

    /// The program wants the kernel to filter its system calls. Those that are answered here would look to the filter
    /// like none that the program makes, and be its end.
    fn filters(&mut self, index: usize) -> Result<(), EngineError> {
        self.parts().course.warn("the program's own filter of system calls (seccomp) is not installed");
        self.skip(index, 0)
    }

    fn tell_time(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let it = self.parts();
        let at = it.course.clock.look();
        let [first, second, ..] = call.args;
        let mut result = 0;
        let write = |to: u64, seconds: u64, rest: u64| {
            it.memory.write(to, &[seconds.to_le_bytes(), rest.to_le_bytes()].concat())
        };
        let real = Clock::shown(libc::CLOCK_REALTIME, at);
        let written = match call.number as i64 {
            libc::SYS_clock_gettime => {
                let shown = Clock::shown(first as i32, at);
                write(second, shown / SECOND, shown % SECOND)
            }
            libc::SYS_gettimeofday if first != 0 => write(first, real / SECOND, real % SECOND / 1000),
            libc::SYS_times => {
                result = at / 10_000_000;
                if first == 0 { Ok(()) } else { it.memory.write(first, &[0; 32]) }
            }
            calls::SYS_time => {
                result = real / SECOND;
                if first == 0 { Ok(()) } else { it.memory.write(first, &result.to_le_bytes()) }
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
        let it = self.parts();
        let deadline = if whole && flags & libc::TIMER_ABSTIME as u64 != 0 {
            Clock::when(clock as i32, duration)
        } else {
            it.course.clock.now().saturating_add(duration)
        };
        it.machine.hint(it.threads[index].id);
        it.course.clock.sleeps(deadline, index);
        self.sleep(index, None);
        Ok(())
    }

    fn random_bytes(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let [at, len, ..] = call.args;
        let len = len.min(1 << 20);
        let it = self.parts();
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < len {
            bytes.extend(it.course.clock.random().to_le_bytes());
        }
        bytes.truncate(len as usize);
        let result = if it.memory.write(at, &bytes).is_ok() { len } else { error(libc::EFAULT) };
        self.skip(index, result)
    }

    /// The processors that wmtrace was given, although the program runs on one of them.
    fn processors(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let [_, len, at, ..] = call.args;
        let it = self.parts();
        let mut mask = vec![0u8; (len as usize).min(128) / 8 * 8];
        for cpu in 0..mask.len() * 8 {
            if it.affinity.is_set(cpu).unwrap_or(false) {
                mask[cpu / 8] |= 1 << (cpu % 8);
            }
        }
        let result = match mask.is_empty() {
            true => error(libc::EINVAL),
            false if it.memory.write(at, &mask).is_ok() => mask.len() as u64,
            false => error(libc::EFAULT),
        };
        self.skip(index, result)
    }

    /// Whether more output is kept.
    fn has_room(&mut self) -> bool {
        let streams = self.parts().streams;
        let len = |file: &std::fs::File| file.metadata().map_or(0, |data| data.len());
        len(&streams.stdout) + len(&streams.stderr) < MAX_OUTPUT
    }

    /// Sleepers for which a signal has come go on, and threads that spin may come out of their loops. Whether there
    /// were any.
    fn look_for_signals(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.parts().threads.len() {
            let it = self.parts();
            let (id, tid) = (it.threads[index].id, it.threads[index].tid);
            match it.threads[index].mode {
                Mode::Asleep => {
                    self.wake_signalled(index);
                    any |= self.parts().threads[index].mode == Mode::Running;
                }
                Mode::Ready if it.machine.is_spinning(id) && proc::has_signal(it.process, tid) => {
                    it.machine.disturb(id);
                    any = true;
                }
                Mode::Ready | Mode::Running | Mode::Away | Mode::Ended => {}
            }
        }
        any
    }

    /// What the kernel has read and written for the thread (`None`: that is not known) is told.
    fn tell_ranges(&mut self, index: usize, call: &Syscall, ranges: Option<Vec<(u64, u64, bool)>>) {
        let Some(mut ranges) = ranges else {
            let what = format!("what the system call {} does to memory is not known", name(call.number));
            return self.parts().course.warn(what);
        };
        ranges.retain(|&(addr, len, _)| addr != 0 && len > 0);
        let told = self.told(index, ranges);
        self.tell(index, &told);
    }

    /// The memory is new, or gone: whatever was there before is over.
    fn renewed(&mut self, index: usize, start: u64, len: u64) -> Result<(), EngineError> {
        self.flush_range(start, len)?;
        let site = self.site_here(index, What::call("map"));
        let it = self.parts();
        it.machine.alloc(it.threads[index].id, site, Addr(start), len.min(u64::MAX - start), true);
        Ok(())
    }
}

impl<E: Execution> Answers for E {}
