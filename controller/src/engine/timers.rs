//! Timers of the program (`alarm`, `setitimer`, `timer_create`): when each is due, in virtual time. [`super::ringing`]
//! answers the system calls and sends the signals.
//!
//! A timer that is due early is legal only if its program can believe it: the clock is moved to that time first. One that
//! is late is always legal. So a timer is due when its time has come, or when so much has happened that one would say it
//! should have ([`Now::since`]).

use super::time::Now;
use std::collections::BTreeMap;

/// A program may not have more (`timer_create` says so).
const MOST: usize = 1024;

/// The first signal of which several may wait.
const QUEUED: i32 = 32;

/// Events between two signals of one timer, at least, and how many more are waited for a handler that is still busy.
const GAP: u64 = 500;
const BUSY: u64 = 20_000;

/// Who hears of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Notice {
    Nobody,
    /// The whole program, or one of its threads.
    Signal {
        signal: i32,
        thread: Option<usize>,
        value: u64,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Timer {
    /// The kernel's number of the clock that it goes by.
    pub(super) clock: i32,
    pub(super) notice: Notice,
    /// When it rings next, and every so many nanoseconds after that (0: no more).
    due: Option<u64>,
    pub(super) interval: u64,
    /// When it was set, or has rung.
    since: Now,
    /// How often it should have rung since its last signal, and before that.
    missed: u64,
    overrun: u64,
    /// Its last signal may not have been received yet.
    is_underway: bool,
    /// The thread that its last signal went to.
    pub(super) last: Option<usize>,
    /// The number of events before which it does not ring (unless nobody can go on).
    not_before: u64,
    /// Its handler was found busy first at this number of events.
    busy_since: Option<u64>,
}

impl Timer {
    pub(super) fn new(clock: i32, notice: Notice) -> Timer {
        Timer {
            clock,
            notice,
            due: None,
            interval: 0,
            since: Now { time: 0, events: 0 },
            missed: 0,
            overrun: 0,
            is_underway: false,
            last: None,
            not_before: 0,
            busy_since: None,
        }
    }

    /// Whether it goes by the time that the program has used, not by the time that passes.
    pub(super) fn counts_work(&self) -> bool {
        // Negative: of some process or thread.
        self.clock < 0 || matches!(self.clock, libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID)
    }

    /// Sets it, or (`None`) stops it.
    pub(super) fn set(&mut self, now: Now, due: Option<u64>, interval: u64) {
        (self.due, self.interval, self.since) = (due, interval, now);
        (self.missed, self.overrun, self.not_before, self.busy_since) = (0, 0, now.events, None);
    }

    /// How long it still runs: nothing if it does not, and never 0.
    pub(super) fn left(&self, now: Now) -> Option<u64> {
        self.due.map(|due| due.saturating_sub(now.time).max(1))
    }

    fn is_due(&self, now: Now) -> bool {
        self.not_before <= now.events && self.due.is_some_and(|due| due <= now.since(self.since))
    }

    /// It rings: the time when it should have, and the next one is set.
    pub(super) fn rings(&mut self, now: Now) -> u64 {
        let due = self.due.take().unwrap_or(now.time);
        if let Some(late) = now.time.saturating_sub(due).checked_div(self.interval) {
            self.missed = self.missed.saturating_add(late);
            let next = due.saturating_add(self.interval.saturating_mul(late.saturating_add(1)));
            self.due = Some(next);
        }
        self.since = Now { time: now.time.max(due), ..now };
        self.not_before = now.events + GAP;
        self.busy_since = None;
        due
    }

    /// Its signal is sent to this thread, or to nobody in particular.
    pub(super) fn is_sent(&mut self, to: Option<usize>) {
        (self.last, self.overrun, self.missed, self.is_underway) = (to, self.missed, 0, true);
    }

    /// Whether a signal of it can be sent, if one with that number waits to be received or not: of those that are queued
    /// each timer may have one, of others there is one.
    pub(super) fn may_send(&mut self, signal: i32, is_pending: bool) -> bool {
        self.is_underway &= is_pending;
        !is_pending || signal >= QUEUED && !self.is_underway
    }

    /// Its signal is not sent, nor those until this time: there is one already, or nobody wants it.
    pub(super) fn is_missed(&mut self, until: u64) {
        self.missed = self.missed.saturating_add(1);
        if let Some(due) = self.due
            && let Some(more) = until.saturating_sub(due).checked_div(self.interval)
        {
            self.missed = self.missed.saturating_add(more);
            self.due = Some(due.saturating_add(self.interval.saturating_mul(more)));
        }
    }

    /// How often it has rung in vain, as far as that has not been told.
    pub(super) fn overruns(&mut self) -> u64 {
        self.overrun = self.overrun.saturating_add(std::mem::take(&mut self.missed));
        self.overrun
    }

    /// The handler of its last signal is still busy: it rings later, but not much later. Whether it does.
    pub(super) fn waits_for_handler(&mut self, now: Now) -> bool {
        let since = *self.busy_since.get_or_insert(now.events);
        let waits = now.events < since + BUSY;
        if waits {
            self.not_before = now.events + GAP;
        }
        waits
    }
}

/// By the program's number of each; those of `setitimer` have negative ones.
#[derive(Clone, Default, Debug)]
pub(super) struct Timers {
    all: BTreeMap<i32, Timer>,
    made: i32,
}

/// The key of `setitimer`'s timers.
pub(super) fn interval_key(which: i32) -> i32 {
    -1 - which
}

impl Timers {
    pub(super) fn get(&mut self, key: i32) -> Option<&mut Timer> {
        self.all.get_mut(&key)
    }

    pub(super) fn insert(&mut self, key: i32, timer: Timer) -> &mut Timer {
        self.all.entry(key).or_insert(timer)
    }

    /// A new one; its number, if there are not too many.
    pub(super) fn make(&mut self, timer: Timer) -> Option<i32> {
        if self.all.len() >= MOST || self.made == i32::MAX {
            return None;
        }
        self.all.insert(self.made, timer);
        self.made += 1;
        Some(self.made - 1)
    }

    pub(super) fn remove(&mut self, key: i32) -> bool {
        self.all.remove(&key).is_some()
    }

    /// Another program begins in the process: it inherits those of `setitimer`.
    pub(super) fn executes(&mut self) {
        self.all.retain(|&key, _| key < 0);
        self.all.values_mut().for_each(|timer| timer.last = None);
        self.made = 0;
    }

    /// The one that is due, the earliest first.
    pub(super) fn due(&self, now: Now) -> Option<i32> {
        self.first(|timer| timer.is_due(now)).map(|(_, key)| key)
    }

    /// The next one, and its time. `works`: somebody is at work, so that time passes for those that count it, too.
    pub(super) fn next(&self, works: bool) -> Option<(u64, i32)> {
        self.first(|timer| works || !timer.counts_work())
    }

    /// Whether every one that runs by the time that passes rings again and again, and there is one.
    pub(super) fn all_ring_again(&self) -> bool {
        let mut running =
            self.all.values().filter(|timer| timer.due.is_some() && !timer.counts_work()).peekable();
        running.peek().is_some() && running.all(|timer| timer.interval > 0)
    }

    /// Whether each of those has rung since then.
    pub(super) fn have_all_rung_since(&self, then: Now) -> bool {
        let mut running = self.all.values().filter(|timer| timer.due.is_some() && !timer.counts_work());
        running.all(|timer| timer.since.time > then.time)
    }

    fn first(&self, wanted: impl Fn(&Timer) -> bool) -> Option<(u64, i32)> {
        let all = self.all.iter().filter(|(_, timer)| wanted(timer));
        all.filter_map(|(&key, timer)| Some((timer.due?, key))).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Notice = Notice::Nobody;

    fn at(time: u64, events: u64) -> Now {
        Now { time, events }
    }

    #[test]
    fn a_timer_rings_when_it_is_due_and_then_at_its_intervals() {
        let mut timer = Timer::new(libc::CLOCK_MONOTONIC, QUIET);
        timer.set(at(1000, 0), Some(3000), 50_000);
        assert_eq!((timer.is_due(at(2999, 19)), timer.left(at(2000, 1))), (false, Some(1000)));
        assert!(timer.is_due(at(3000, 1)));
        assert_eq!(timer.rings(at(3000, 1)), 3000);
        assert!(!timer.is_due(at(53_000, 2)), "two signals one after the other");
        assert!(timer.is_due(at(53_000, 2 + GAP)));
        // Long after that, it has missed some.
        assert_eq!(timer.rings(at(203_001, 900)), 53_000);
        assert_eq!((timer.left(at(203_001, 900)), timer.missed), (Some(49_999), 3));
        timer.is_sent(Some(4));
        assert_eq!((timer.overrun, timer.missed, timer.last), (3, 0, Some(4)));
        // Two more while that waits, and none of those until 500,000.
        timer.rings(at(253_000, 1500));
        assert!(!timer.may_send(libc::SIGALRM, true) && !timer.may_send(40, true));
        timer.is_missed(500_000);
        assert_eq!((timer.due, timer.overruns(), timer.overruns()), (Some(453_000), 7, 7));
        assert!(timer.may_send(40, false) && timer.may_send(40, true), "another timer's");
    }

    #[test]
    fn once_is_once() {
        let mut timer = Timer::new(libc::CLOCK_MONOTONIC, QUIET);
        timer.set(at(0, 0), Some(10), 0);
        timer.rings(at(10, 1));
        assert_eq!((timer.left(at(99, 9)), timer.is_due(at(u64::MAX, u64::MAX))), (None, false));
    }

    /// A second is over after a hundred thousand events, whatever the clock says.
    #[test]
    fn much_work_takes_time() {
        let mut timer = Timer::new(libc::CLOCK_MONOTONIC, QUIET);
        timer.set(at(7, 1_000_000), Some(1_000_000_007), 0);
        assert!(!timer.is_due(at(5_000_000, 1_050_000)));
        assert!(timer.is_due(at(10_000_000, 1_100_000)));
    }

    #[test]
    fn busy_handlers_are_waited_for_but_not_for_ever() {
        let mut timer = Timer::new(libc::CLOCK_MONOTONIC, QUIET);
        timer.set(at(0, 0), Some(10), 10);
        timer.rings(at(10, 10));
        let mut events = 10 + GAP;
        while timer.waits_for_handler(at(1 << 40, events)) {
            assert!(!timer.is_due(at(1 << 40, events)));
            events += GAP;
        }
        assert!(timer.is_due(at(1 << 40, events)) && (BUSY..BUSY + 3 * GAP).contains(&events));
    }

    #[test]
    fn the_earliest_comes_first_and_execve_leaves_those_of_setitimer() {
        let mut timers = Timers::default();
        let now = at(0, 0);
        let work = timers.insert(interval_key(libc::ITIMER_PROF), Timer::new(-2, QUIET));
        work.set(now, Some(5), 0);
        let one = timers.make(Timer::new(libc::CLOCK_REALTIME, QUIET)).unwrap();
        let two = timers.make(Timer::new(libc::CLOCK_REALTIME, QUIET)).unwrap();
        timers.get(one).unwrap().set(now, Some(30), 0);
        timers.get(two).unwrap().set(now, Some(20), 0);
        assert_eq!((timers.next(false), timers.next(true).map(|it| it.0)), (Some((20, two)), Some(5)));
        assert_eq!(timers.due(at(30, 1)), Some(interval_key(libc::ITIMER_PROF)));
        timers.executes();
        assert_eq!((timers.next(false), timers.get(two)), (None, None));
        assert_eq!(timers.next(true).map(|it| it.0), Some(5));
    }

    #[test]
    fn there_are_not_too_many() {
        let mut timers = Timers::default();
        let made = (0..2 * MOST).filter_map(|_| timers.make(Timer::new(0, QUIET))).count();
        assert_eq!(made, MOST);
        assert!(timers.remove(3) && !timers.remove(3));
        assert_eq!(timers.make(Timer::new(0, QUIET)), Some(MOST as i32), "numbers are not used again");
    }
}
