//! Timers that are descriptors (`timerfd_create`), in virtual time.
//!
//! The kernel's own timer stays behind the descriptor, but does not run. When it is due in virtual time it is made to expire
//! at once: then `poll`, `epoll` and all others find the descriptor ready. What is read from it, how often it has expired, is
//! answered here, and the kernel's timer stops again.

use super::EngineError;
use super::channels::Channels as _;
use super::execution::Execution;
use super::futex::error;
use super::journal::{Begun, Noting as _};
use super::ringing::{Ringing as _, Still};
use super::thread::Syscall;
use super::time::{Clock, Now};
use crate::os::{calls, descriptors, proc};

/// A timer, and the numbers of its descriptors.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Expiration {
    numbers: Vec<i32>,
    /// The kernel's number of the clock that it goes by.
    clock: i32,
    /// When it expires, or, if it has, when it did first since it was read.
    due: Option<u64>,
    interval: u64,
    has_expired: bool,
    /// When it was set, or read.
    since: Now,
}

impl Expiration {
    fn set(&mut self, now: Now, due: Option<u64>, interval: u64) {
        (self.due, self.interval, self.has_expired, self.since) = (due, interval, false, now);
    }

    /// How often it has expired, and it begins to count anew.
    fn count(&mut self, now: Now) -> u64 {
        let Some(due) = self.due.filter(|_| self.has_expired) else { return 0 };
        let late = now.time.saturating_sub(due).checked_div(self.interval);
        let count = late.map_or(1, |late| late + 1);
        let next = late.map(|_| due.saturating_add(self.interval.saturating_mul(count)));
        (self.due, self.has_expired, self.since) = (next, false, now);
        count
    }

    /// How long until it expires next; 0 if it does not.
    fn left(&self, now: Now) -> u64 {
        match (self.due, now.time.saturating_sub(self.due.unwrap_or(0)).checked_div(self.interval)) {
            (Some(due), _) if !self.has_expired => due.saturating_sub(now.time).max(1),
            (Some(due), Some(late)) => {
                due.saturating_add(self.interval.saturating_mul(late + 1)).saturating_sub(now.time).max(1)
            }
            _ => 0,
        }
    }
}

/// All of them.
#[derive(Clone, Default, Debug)]
pub(super) struct Expirations {
    all: Vec<Expiration>,
}

impl Expirations {
    /// Whether a descriptor is a timer that goes by virtual time.
    pub(super) fn knows(&self, fd: i32) -> bool {
        self.all.iter().any(|timer| timer.numbers.contains(&fd))
    }

    /// When the next one expires.
    pub(super) fn next(&self) -> Option<u64> {
        self.all.iter().filter(|timer| !timer.has_expired).filter_map(|timer| timer.due).min()
    }

    fn get(&mut self, fd: i32) -> Option<&mut Expiration> {
        self.all.iter_mut().find(|timer| timer.numbers.contains(&fd))
    }

    /// When one was to expire whose time has come.
    fn due(&self, now: Now) -> Option<u64> {
        let running = self.all.iter().filter(|timer| !timer.has_expired);
        let due = running.filter_map(|timer| timer.due.filter(|&due| due <= now.since(timer.since)));
        due.min()
    }

    /// The first one that expires then does: one of its descriptors.
    fn expire(&mut self, due: u64) -> Option<i32> {
        let timer = self.all.iter_mut().find(|timer| !timer.has_expired && timer.due == Some(due))?;
        timer.has_expired = true;
        timer.numbers.first().copied()
    }

    fn make(&mut self, fd: i32, clock: i32) {
        self.close(fd);
        let since = Now { time: 0, events: 0 };
        let (due, interval, has_expired) = (None, 0, false);
        self.all.push(Expiration { numbers: vec![fd], clock, due, interval, has_expired, since });
    }

    fn copy(&mut self, from: i32, to: i32) {
        if from != to {
            self.close(to);
            if let Some(timer) = self.get(from) {
                timer.numbers.push(to);
            }
        }
    }

    fn close(&mut self, fd: i32) {
        self.close_where(|number| number == fd);
    }

    /// These descriptors are closed.
    pub(super) fn close_where(&mut self, closed: impl Fn(i32) -> bool) {
        for timer in &mut self.all {
            timer.numbers.retain(|&number| !closed(number));
        }
        self.all.retain(|timer| !timer.numbers.is_empty());
    }
}

pub(super) trait Expiring: Execution {
    /// Answers `timerfd_settime` and `timerfd_gettime`. False: the descriptor is none of ours.
    fn answers_expiring(&mut self, index: usize, call: &Syscall) -> Result<bool, EngineError> {
        let fd = call.args[0] as i32;
        let sets = call.number as i64 == libc::SYS_timerfd_settime;
        const FLAGS: u64 = (libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET) as u64;
        if !self.parts().course.expirations.knows(fd) || sets && call.args[1] & !FLAGS != 0 {
            if sets {
                self.note_source(index, Some(call.number), Begun::Timer);
            }
            return Ok(false);
        }
        let result = match sets {
            true => self.sets_expiration(fd, call),
            false => self.shows_expiration(fd, call.args[1]),
        };
        if sets && self.is_watched() {
            self.hands_over(index, call);
        }
        self.skip(index, result.unwrap_or_else(error))?;
        Ok(true)
    }

    fn sets_expiration(&mut self, fd: i32, call: &Syscall) -> Result<u64, i32> {
        let [_, flags, new, old, ..] = call.args;
        let (interval, value) = self.read_times(new, 1)?;
        if old != 0 {
            self.shows_expiration(fd, old)?;
        }
        let now = self.moment();
        let timer = self.parts().course.expirations.get(fd).ok_or(libc::EBADF)?;
        let due = match flags & libc::TFD_TIMER_ABSTIME as u64 {
            _ if value == 0 => None,
            0 => Some(now.time.saturating_add(value)),
            _ => Some(Clock::when(timer.clock, value)),
        };
        let had_expired = timer.has_expired;
        timer.set(now, due, interval);
        if had_expired {
            self.shows_expired(fd, false);
        }
        Ok(0)
    }

    fn shows_expiration(&mut self, fd: i32, at: u64) -> Result<u64, i32> {
        let now = self.moment();
        let timer = self.parts().course.expirations.get(fd).ok_or(libc::EBADF)?;
        let (interval, left) = (timer.interval, timer.left(now));
        self.write_times(at, interval, left, 1)
    }

    /// The kernel's descriptor can be read, or cannot any more.
    fn shows_expired(&mut self, fd: i32, expired: bool) {
        let it = self.parts();
        let shown = it.course.waits.descriptors(it.process);
        let shown = shown.is_some_and(|it| it.look(fd, |fd| descriptors::set_expired(fd, expired)).is_ok());
        if !shown {
            it.course.expirations.close(fd);
            it.course.warn("a timer's descriptor cannot be reached, and its timer does not expire");
        }
    }

    /// The thread makes a system call: if that reads how often a timer has expired, it is answered.
    fn answers_reading(&mut self, index: usize, call: &Syscall) -> Result<bool, EngineError> {
        let [fd, at, len, ..] = call.args;
        let (fd, now) = (fd as i32, self.moment());
        let it = self.parts();
        if call.number as i64 != libc::SYS_read || len < 8 {
            return Ok(false);
        }
        let Some(timer) = it.course.expirations.get(fd) else { return Ok(false) };
        let count = timer.count(now);
        if count == 0 {
            // Who asks again and again looks at a clock.
            it.course.clock.look();
            return Ok(false);
        }
        self.shows_expired(fd, false);
        let it = self.parts();
        it.memory.look_through(it.threads[index].tid);
        let written = it.memory.store(at, &count.to_le_bytes());
        if self.is_watched() {
            self.takes_over(index, call, false);
        }
        self.skip(index, if written { 8 } else { error(libc::EFAULT) })?;
        Ok(true)
    }

    /// A timer that is due expires. (`still`: nobody can go on, and the next one is due at once, unless something else comes
    /// before, or somebody waits for what is not the program's.) Whether one does.
    fn expires(&mut self, still: Option<Still>) -> bool {
        let now = self.moment();
        let it = self.parts();
        let due = match still {
            None => it.course.expirations.due(now),
            Some(still) => {
                let ringing = it.course.timers.next(still == Still::Spinning).map(|it| it.0);
                let others = [ringing, it.course.clock.next()].into_iter().flatten().min();
                let first = |due: &u64| others.is_none_or(|other| *due <= other);
                it.course.expirations.next().filter(first).filter(|_| self.is_inside())
            }
        };
        due.is_some_and(|due| self.expires_at(due))
    }

    /// The timer that is to expire then does.
    fn expires_at(&mut self, due: u64) -> bool {
        let it = self.parts();
        let Some(fd) = it.course.expirations.expire(due) else { return false };
        it.course.clock.reach(due);
        it.course.stirred = true;
        self.shows_expired(fd, true);
        true
    }

    /// The kernel has done a system call: it may have made a timer, or made or closed descriptors of one.
    fn descriptors_change(&mut self, call: &Syscall, result: u64) {
        let timers = &mut self.parts().course.expirations;
        let [first, second, third, ..] = call.args;
        let failed = result > error(4095);
        match call.number as i64 {
            calls::SYS_timerfd_create if !failed => timers.make(result as i32, first as i32),
            calls::SYS_dup | calls::SYS_dup2 | calls::SYS_dup3 if !failed => {
                timers.copy(first as i32, result as i32);
            }
            calls::SYS_fcntl if !failed && matches!(second as i32, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) => {
                timers.copy(first as i32, result as i32);
            }
            calls::SYS_close => timers.close(first as i32),
            calls::SYS_close_range if !failed && third & u64::from(libc::CLOSE_RANGE_CLOEXEC) == 0 => {
                let range = first as u32..=second as u32;
                timers.close_where(|number| range.contains(&(number as u32)));
            }
            _ => {}
        }
    }

    /// Another program begins in the process: it inherits the descriptors that are still there.
    fn descriptors_left(&mut self) {
        let it = self.parts();
        let (process, expirations) = (it.process, &mut it.course.expirations);
        let is_timer =
            |fd: i32| proc::descriptor(process, fd).is_some_and(|target| target.ends_with("[timerfd]"));
        expirations.close_where(|fd| !is_timer(fd));
    }
}

impl<E: Execution> Expiring for E {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: u64) -> Now {
        Now { time, events: 0 }
    }

    #[test]
    fn a_timer_counts_until_it_is_read() {
        let mut timers = Expirations::default();
        timers.make(5, libc::CLOCK_MONOTONIC);
        timers.get(5).unwrap().set(at(0), Some(100), 30);
        assert_eq!((timers.next(), timers.due(at(99)), timers.due(at(100))), (Some(100), None, Some(100)));
        assert_eq!((timers.expire(100), timers.next()), (Some(5), None), "it waits to be read");
        let timer = timers.get(5).unwrap();
        assert_eq!((timer.left(at(110)), timer.left(at(130))), (20, 30));
        // At 100, 130, 160 and 190.
        assert_eq!((timer.count(at(215)), timer.count(at(216)), timer.due), (4, 0, Some(220)));
        timers.get(5).unwrap().set(at(216), Some(300), 0);
        timers.expire(300);
        let timer = timers.get(5).unwrap();
        assert_eq!((timer.left(at(300)), timer.count(at(999)), timer.due), (0, 1, None), "once");
    }

    #[test]
    fn a_timer_lives_as_long_as_one_of_its_descriptors() {
        let mut timers = Expirations::default();
        timers.make(5, 0);
        timers.make(6, 0);
        timers.copy(5, 7);
        timers.copy(5, 6);
        assert_eq!(timers.all.len(), 1, "6 was closed");
        timers.close(5);
        assert!(timers.knows(6) && timers.knows(7) && !timers.knows(5));
        timers.close_where(|fd| fd > 5);
        assert!(timers.all.is_empty());
    }

    /// A second is over after a hundred thousand events.
    #[test]
    fn much_work_takes_time() {
        let mut timers = Expirations::default();
        timers.make(5, 0);
        timers.get(5).unwrap().set(at(7), Some(1_000_000_007), 0);
        assert_eq!(timers.due(Now { time: 8, events: 50_000 }), None);
        assert_eq!(timers.due(Now { time: 8, events: 100_000 }), Some(1_000_000_007));
    }
}
