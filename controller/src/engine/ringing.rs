//! What a program asks of timers, and their signals. They are ours, not the kernel's: a timer rings at the same event each
//! time. Where no events are seen (native code that runs for long, threads that wait for something outside), real time
//! stands for virtual time.

use super::EngineError;
use super::answers::Answers as _;
use super::execution::Execution;
use super::expiring::Expiring as _;
use super::futex::error;
use super::journal::{Begun, Noting as _};
use super::thread::{Mode, Syscall};
use super::time::{Clock, Now};
use super::timers::{Notice, Timer, interval_key};
use crate::os::signals::{self, Signals};
use crate::os::{calls, proc};
use std::time::{Duration, Instant};

const SECOND: u64 = 1_000_000_000;

/// How long native code runs before it is not left to run to its end.
const NATIVE: Duration = Duration::from_millis(100);

/// Why nobody can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Still {
    /// All wait for each other.
    Asleep,
    /// Some go round in circles.
    Spinning,
    /// Some are in the kernel.
    Away,
}

/// Whether the program has asked the kernel to wake it by a signal, and by nothing else.
pub(super) fn waits_for_signals(call: &Syscall) -> bool {
    match call.number as i64 {
        calls::SYS_pause | libc::SYS_rt_sigsuspend | libc::SYS_rt_sigtimedwait => true,
        // Of no file: AArch64 has no other way to pause.
        calls::SYS_poll | libc::SYS_ppoll => call.args[1] == 0,
        calls::SYS_select | libc::SYS_pselect6 => call.args[0] == 0,
        _ => false,
    }
}

/// The signal of `setitimer`'s timers, and the clock that they go by.
fn interval_timer(which: u64) -> Option<(i32, i32)> {
    match i32::try_from(which).ok()? {
        libc::ITIMER_REAL => Some((libc::SIGALRM, libc::CLOCK_MONOTONIC)),
        libc::ITIMER_VIRTUAL => Some((libc::SIGVTALRM, libc::CLOCK_PROCESS_CPUTIME_ID)),
        libc::ITIMER_PROF => Some((libc::SIGPROF, libc::CLOCK_PROCESS_CPUTIME_ID)),
        _ => None,
    }
}

/// Whether the kernel has timers that go by this clock. (Negative: the processor time of some process or thread.)
fn has_timers(clock: i32) -> bool {
    use libc::{CLOCK_BOOTTIME, CLOCK_BOOTTIME_ALARM, CLOCK_REALTIME_ALARM, CLOCK_TAI};
    clock <= libc::CLOCK_THREAD_CPUTIME_ID
        || matches!(clock, CLOCK_BOOTTIME | CLOCK_BOOTTIME_ALARM | CLOCK_REALTIME_ALARM | CLOCK_TAI)
}

pub(super) trait Ringing: Execution {
    /// Answers a system call about timers.
    fn answer_timer_call(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let result = match call.number as i64 {
            libc::SYS_setitimer => self.sets_interval(call),
            libc::SYS_getitimer => self.shows_interval(call.args[0], call.args[1]),
            libc::SYS_timer_create => self.makes_timer(call),
            libc::SYS_timer_settime => self.sets_timer(call),
            libc::SYS_timer_gettime => self.shows_timer(call.args[0] as i32, call.args[1]),
            libc::SYS_timer_getoverrun => {
                let timer = self.parts().course.timers.get(call.args[0] as i32);
                timer.map(|timer| timer.overruns().min(i32::MAX as u64)).ok_or(libc::EINVAL)
            }
            libc::SYS_timer_delete => {
                let known = self.parts().course.timers.remove(call.args[0] as i32);
                if known { Ok(0) } else { Err(libc::EINVAL) }
            }
            // SYS_alarm
            _ => Ok(self.sets_alarm(call.args[0] & 0xffff_ffff)),
        };
        self.skip(index, result.unwrap_or_else(error))
    }

    fn moment(&mut self) -> Now {
        self.parts().course.clock.moment()
    }

    /// In whole seconds, as the kernel rounds them.
    fn sets_alarm(&mut self, seconds: u64) -> u64 {
        let now = self.moment();
        let timer = self.interval_timer(libc::ITIMER_REAL, libc::SIGALRM, libc::CLOCK_MONOTONIC);
        let left = timer.left(now).unwrap_or(0);
        let due = (seconds > 0).then(|| now.time + seconds * SECOND);
        timer.set(now, due, 0);
        ((left + SECOND / 2) / SECOND).max(u64::from(left > 0))
    }

    fn interval_timer(&mut self, which: i32, signal: i32, clock: i32) -> &mut Timer {
        let notice = Notice::Signal { signal, thread: None, value: 0 };
        self.parts().course.timers.insert(interval_key(which), Timer::new(clock, notice))
    }

    fn sets_interval(&mut self, call: &Syscall) -> Result<u64, i32> {
        let [which, new, old, ..] = call.args;
        let (signal, clock) = interval_timer(which).ok_or(libc::EINVAL)?;
        // Without new values the kernel stops it.
        let (interval, value) = if new == 0 { (0, 0) } else { self.read_times(new, 1000)? };
        if old != 0 {
            self.shows_interval(which, old)?;
        }
        let now = self.moment();
        let due = (value > 0).then(|| now.time.saturating_add(value));
        self.interval_timer(which as i32, signal, clock).set(now, due, interval);
        Ok(0)
    }

    fn shows_interval(&mut self, which: u64, at: u64) -> Result<u64, i32> {
        let (signal, clock) = interval_timer(which).ok_or(libc::EINVAL)?;
        let now = self.moment();
        let timer = self.interval_timer(which as i32, signal, clock);
        let (interval, left) = (timer.interval, timer.left(now).unwrap_or(0));
        // Microseconds, and 0 would mean that it does not run.
        self.write_times(at, interval, left.div_ceil(1000) * 1000, 1000)
    }

    fn makes_timer(&mut self, call: &Syscall) -> Result<u64, i32> {
        let [clock, event, id, ..] = call.args;
        let clock = clock as i32;
        if !has_timers(clock) {
            return Err(libc::EINVAL);
        }
        let it = self.parts();
        let number =
            |at: u64| it.memory.read_u32(event.wrapping_add(at)).map(|it| it as i32).ok_or(libc::EFAULT);
        // struct sigevent: a value of 8 bytes, the signal, how to notify, whom.
        let notice = match event {
            0 => None,
            _ => Some((it.memory.read_u64(event).ok_or(libc::EFAULT)?, number(8)?, number(12)?)),
        };
        let notice = match notice {
            // Its value is the timer's number.
            None => Notice::Signal { signal: libc::SIGALRM, thread: None, value: 0 },
            Some((_, _, libc::SIGEV_NONE)) => Notice::Nobody,
            Some((_, signal, _)) if !(1..=64).contains(&signal) => return Err(libc::EINVAL),
            Some((value, signal, libc::SIGEV_SIGNAL)) => Notice::Signal { signal, thread: None, value },
            Some((value, signal, libc::SIGEV_THREAD_ID)) => {
                let whom = number(16)?;
                let thread = it.threads.iter().position(|thread| thread.virtual_tid == whom);
                Notice::Signal { signal, thread: Some(thread.ok_or(libc::EINVAL)?), value }
            }
            Some(_) => return Err(libc::EINVAL),
        };
        let key = it.course.timers.make(Timer::new(clock, notice)).ok_or(libc::EAGAIN)?;
        if event == 0
            && let Some(timer) = it.course.timers.get(key)
        {
            timer.notice = Notice::Signal { signal: libc::SIGALRM, thread: None, value: key as u64 };
        }
        if it.memory.write(id, &key.to_le_bytes()).is_err() {
            it.course.timers.remove(key);
            return Err(libc::EFAULT);
        }
        Ok(0)
    }

    fn sets_timer(&mut self, call: &Syscall) -> Result<u64, i32> {
        let [id, flags, new, old, ..] = call.args;
        let id = id as i32;
        let (interval, value) = self.read_times(new, 1)?;
        let clock = self.parts().course.timers.get(id).ok_or(libc::EINVAL)?.clock;
        if old != 0 {
            self.shows_timer(id, old)?;
        }
        let now = self.moment();
        let due = match flags & libc::TIMER_ABSTIME as u64 {
            _ if value == 0 => None,
            0 => Some(now.time.saturating_add(value)),
            _ => Some(Clock::when(clock, value)),
        };
        self.parts().course.timers.get(id).ok_or(libc::EINVAL)?.set(now, due, interval);
        Ok(0)
    }

    fn shows_timer(&mut self, id: i32, at: u64) -> Result<u64, i32> {
        let now = self.moment();
        let timer = self.parts().course.timers.get(id).ok_or(libc::EINVAL)?;
        let (interval, left) = (timer.interval, timer.left(now).unwrap_or(0));
        self.write_times(at, interval, left, 1)
    }

    /// An interval and a value, each of seconds and parts of a second of so many nanoseconds.
    fn read_times(&mut self, at: u64, unit: u64) -> Result<(u64, u64), i32> {
        let memory = self.parts().memory;
        let time = |at: u64| {
            let seconds = memory.read_u64(at).ok_or(libc::EFAULT)?;
            let parts = memory.read_u64(at.wrapping_add(8)).ok_or(libc::EFAULT)?;
            if seconds > i64::MAX as u64 || parts >= SECOND / unit {
                return Err(libc::EINVAL);
            }
            Ok(seconds.saturating_mul(SECOND).saturating_add(parts * unit))
        };
        Ok((time(at)?, time(at.wrapping_add(16))?))
    }

    fn write_times(&mut self, at: u64, interval: u64, value: u64, unit: u64) -> Result<u64, i32> {
        let words = [interval, value].map(|time| [time / SECOND, time % SECOND / unit]);
        let bytes: Vec<u8> = words.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        self.parts().memory.write(at, &bytes).map(|()| 0).map_err(|_| libc::EFAULT)
    }

    /// A timer that is due rings. Whether somebody hears it.
    fn rings_now(&mut self) -> bool {
        let now = self.moment();
        let Some(key) = self.parts().course.timers.due(now) else { return false };
        self.rings(key, false)
    }

    /// Nobody can go on: the time of the next timer comes at once, unless somebody waits for what is not the program's.
    /// (`None`: there is none, or it does not.) When a sleeper's time comes at once, that of timers before does, too.
    fn next_timer(&mut self, still: Still) -> Option<(u64, i32)> {
        let it = self.parts();
        let next = it.course.timers.next(still == Still::Spinning)?;
        if let Some(at) = it.course.clock.next() {
            return (next.0 < at).then_some(next);
        }
        self.is_inside().then_some(next)
    }

    /// Whether nobody waits for what is not the program's.
    fn is_inside(&mut self) -> bool {
        let it = self.parts();
        let mut away = it.threads.iter().filter(|thread| thread.mode == Mode::Away);
        it.course.children.is_empty()
            && away.all(|thread| thread.syscall.is_some_and(|call| waits_for_signals(&call)))
    }

    /// All wait: the next timer rings if they have waited for so long, in real time, since this was first asked. Whether it
    /// does.
    fn rings_by_real_time(&mut self, since: &mut Option<Instant>) -> bool {
        let it = self.parts();
        let (ringing, expiring) = (it.course.timers.next(false), it.course.expirations.next());
        let Some(due) = [ringing.map(|it| it.0), expiring].into_iter().flatten().min() else { return false };
        let left = due.saturating_sub(it.course.clock.now());
        if since.get_or_insert_with(Instant::now).elapsed().as_nanos() < u128::from(left) {
            return false;
        }
        *since = None;
        match ringing {
            Some((at, key)) if at == due => self.rings(key, true),
            _ => self.expires_at(due),
        }
    }

    /// A thread runs natively: the next timer rings if it has worked for so long, or else (in the kernel) waited, since
    /// this was first asked. Real time is no measure of work: the machine may be busy.
    fn rings_by_work(&mut self, index: usize, since: &mut Option<(Duration, Instant)>) -> bool {
        let it = self.parts();
        let Some((due, key)) = it.course.timers.next(true) else { return false };
        let left = Duration::from_nanos(due.saturating_sub(it.course.clock.now()));
        let (process, tid) = (it.process, it.threads[index].tid);
        let used = proc::used(process, tid);
        let (before, from) = *since.get_or_insert_with(|| (used, Instant::now()));
        let passed = match proc::sleeps(process, tid) {
            Some(true) => from.elapsed(),
            _ => used.saturating_sub(before),
        };
        if passed < left.max(NATIVE) {
            return false;
        }
        *since = None;
        self.note_source(index, None, Begun::Timer);
        self.rings(key, true)
    }

    /// A signal of a timer arrives: it tells how often that has rung in vain until now. Whether it is one.
    fn tells_overrun(&mut self, info: &mut libc::siginfo_t) -> bool {
        let Some(timer) = signals::timer(info).and_then(|key| self.parts().course.timers.get(key)) else {
            return false;
        };
        signals::set_overrun(info, timer.overruns().min(i32::MAX as u64) as i32);
        true
    }

    /// Nobody can go on: timers ring until somebody hears one. False if that would be never.
    fn somebody_hears(&mut self, still: Still) -> bool {
        /// Enough for as many timers as a program may have.
        const TRIES: usize = 4096;
        for _ in 0..TRIES {
            let Some((_, key)) = self.next_timer(still) else { return false };
            if self.rings(key, true) {
                return true;
            }
        }
        false
    }

    /// The timer rings. Whether somebody hears it. If its handler is busy with the last time, it is put off.
    fn rings(&mut self, key: i32, at_once: bool) -> bool {
        let now = self.moment();
        let it = self.parts();
        let Some(timer) = it.course.timers.get(key) else { return false };
        let heard = match timer.notice {
            Notice::Nobody => None,
            Notice::Signal { signal, thread, value } => {
                self.real_signal(signal).map(|real| (real, thread, value)).or_else(|| {
                    self.warn(format!(
                        "signal {signal} of a timer is not sent: the emulator's number of it is not known"
                    ));
                    None
                })
            }
        };
        let it = self.parts();
        let Some(timer) = it.course.timers.get(key) else { return false };
        let Some((signal, thread, value)) = heard else {
            let due = timer.rings(now);
            it.course.clock.reach(due);
            timer.is_missed(it.course.clock.next().unwrap_or(0));
            return false;
        };
        let (last, process) = (timer.last, it.process);
        let of = |index: usize| -> Option<Signals> {
            let thread = &it.threads[index];
            (thread.mode != Mode::Ended).then(|| proc::signals(process, thread.tid)).flatten()
        };
        let busy = last.and_then(of).is_some_and(|it| it.is_caught(signal) && it.is_blocked(signal));
        if busy && !at_once && timer.waits_for_handler(now) {
            return false;
        }
        let due = timer.rings(now);
        it.course.clock.reach(due);
        // Whom the kernel would choose: the first one that wants it.
        let open = |&index: &usize| of(index).is_some_and(|it| !it.is_blocked(signal));
        let to = thread.or_else(|| (0..it.threads.len()).find(open));
        let states = to.or((0..it.threads.len()).find(|&index| of(index).is_some())).and_then(of);
        let Some(states) = states else { return false };
        let Some(timer) = it.course.timers.get(key) else { return false };
        // Who waits for signals gets those that are ignored, too.
        let waits = |call: Syscall| call.number as i64 == libc::SYS_rt_sigtimedwait;
        let somebody_waits = it.threads.iter().any(|thread| thread.syscall.is_some_and(waits));
        let is_ignored = states.is_ignored(signal) && !states.is_blocked(signal) && !somebody_waits;
        if !timer.may_send(signal, states.is_pending(signal)) || is_ignored {
            timer.is_missed(it.course.clock.next().unwrap_or(0));
            return false;
        }
        timer.is_sent(to);
        let overrun = timer.overruns().min(i32::MAX as u64) as i32;
        let info = match key {
            0.. => signals::of_timer(signal, key, overrun, value),
            _ => signals::of_interval_timer(signal),
        };
        signals::queue(process, to.map(|index| it.threads[index].tid), &info);
        (it.course.expects_signals, it.course.stirred) = (true, true);
        self.may_be_hit();
        self.look_for_signals();
        true
    }
}

impl<E: Execution> Ringing for E {}
