//! Virtual time: it passes with what the program does, never by itself, so that each execution finds the same times.

/// 2026-01-01 00:00:00 UTC, when every execution begins.
const START: u64 = 1_767_225_600 * 1_000_000_000;
/// How long the machine has been up by then.
const UPTIME: u64 = 100_000 * 1_000_000_000;

/// Mixes a number into a hash (the finaliser of splitmix64).
pub(super) fn mix(hash: u64, value: u64) -> u64 {
    let mut z = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A moment: virtual time, and how much has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Now {
    pub(super) time: u64,
    pub(super) events: u64,
}

impl Now {
    /// The time that it may be said to be, with so many events since then. Virtual time passes slowly; but a program that
    /// works until somebody has slept for a second, or an alarm comes, has to have an end.
    pub(super) fn since(self, then: Now) -> u64 {
        self.time.max(then.time.saturating_add(pace(self.events.saturating_sub(then.events))))
    }
}

/// How much time may be said to have passed with so many events, in nanoseconds: 100 for each of few, and more for each of
/// many. (10,000: 2 ms. 100,000: a second. 300,000: half a minute.)
fn pace(events: u64) -> u64 {
    let thousands = events / 1000;
    let more = thousands.saturating_mul(thousands).saturating_mul(thousands).saturating_mul(40) / 3;
    events.saturating_add(more).saturating_mul(100)
}

/// How much time passes with a look at a clock, in nanoseconds, after so many others since somebody has last waited for time to
/// pass. A look takes a microsecond; but a loop that works until the clock shows a time has to have an end. So each look takes
/// more than the last one. (300 looks: 3 ms. 1,000: a tenth of a second. 2,700: 2 seconds. 3,700: 5 seconds.)
fn glance(looks: u64) -> u64 {
    const LONGEST: u64 = 10_000_000;
    (1000 + looks.saturating_mul(looks) / 10 * 3).min(LONGEST)
}

/// A thread that sleeps until a time.
#[derive(Clone, Copy, Debug)]
struct Sleeper {
    at: u64,
    thread: usize,
    /// It does nothing but sleep, since then.
    since: Option<Now>,
}

/// The clock of an execution, and its source of random bytes.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// Nanoseconds since the start.
    now: u64,
    /// How much has happened.
    events: u64,
    /// How often somebody has looked, and how often since somebody has waited.
    looks: u64,
    streak: u64,
    entropy: u64,
    sleepers: Vec<Sleeper>,
}

impl Clock {
    pub(super) fn new(entropy: u64) -> Clock {
        Clock { now: 0, events: 0, looks: 0, streak: 0, entropy, sleepers: Vec::new() }
    }

    /// Something has happened.
    pub(super) fn event(&mut self) {
        self.now += 100;
        self.events += 1;
    }

    /// Somebody looks at the clock: it has moved since the last look.
    pub(super) fn look(&mut self) -> u64 {
        self.now += glance(self.streak);
        self.looks += 1;
        self.streak += 1;
        self.now
    }

    /// How often somebody has looked.
    pub(super) fn looks(&self) -> u64 {
        self.looks
    }

    /// Somebody has waited until then.
    pub(super) fn reach(&mut self, at: u64) {
        if at > self.now {
            (self.now, self.streak) = (at, 0);
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn moment(&self) -> Now {
        Now { time: self.now, events: self.events }
    }

    /// What a clock of the kernel shows at a time.
    pub(super) fn shown(clock: i32, at: u64) -> u64 {
        match clock {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => START + at,
            libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => at,
            _ => UPTIME + at,
        }
    }

    /// When a clock of the kernel shows this.
    pub(super) fn when(clock: i32, shown: u64) -> u64 {
        shown.saturating_sub(Clock::shown(clock, 0))
    }

    /// The time-stamp counter, of a processor with 1 GHz.
    pub(super) fn counter(&mut self) -> u64 {
        UPTIME + self.look()
    }

    /// The next random number.
    pub(super) fn random(&mut self) -> u64 {
        self.entropy = mix(self.entropy, 0x5eed);
        self.entropy
    }

    /// Wakes a thread at a time, if nobody else does before.
    pub(super) fn set_timer(&mut self, at: u64, thread: usize) {
        self.sleepers.push(Sleeper { at, thread, since: None });
    }

    /// The thread does nothing but sleep until then.
    pub(super) fn sleeps(&mut self, at: u64, thread: usize) {
        self.sleepers.push(Sleeper { at, thread, since: Some(self.moment()) });
    }

    pub(super) fn cancel(&mut self, thread: usize) {
        self.sleepers.retain(|sleeper| sleeper.thread != thread);
    }

    /// When this thread is to be woken.
    pub(super) fn wakes(&self, thread: usize) -> Option<u64> {
        self.sleepers.iter().find(|sleeper| sleeper.thread == thread).map(|sleeper| sleeper.at)
    }

    /// When the next thread is to be woken.
    pub(super) fn next(&self) -> Option<u64> {
        self.sleepers.iter().map(|sleeper| sleeper.at).min()
    }

    /// The thread whose time has come; with `jump`, time passes until the next one's has.
    pub(super) fn due(&mut self, jump: bool) -> Option<usize> {
        let now = self.moment();
        let is_due = |it: &&Sleeper| jump || it.at <= it.since.map_or(now.time, |then| now.since(then));
        let due = self.sleepers.iter().filter(is_due).min_by_key(|it| (it.at, it.thread));
        let &Sleeper { at, thread, .. } = due?;
        self.reach(at);
        self.cancel(thread);
        Some(thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_order_and_only_when_due() {
        let mut clock = Clock::new(1);
        clock.set_timer(5_000, 2);
        clock.set_timer(3_000, 1);
        clock.set_timer(u64::MAX, 3);
        assert_eq!(clock.due(false), None);
        assert_eq!(clock.due(true), Some(1));
        assert_eq!(clock.now(), 3_000);
        clock.look();
        clock.look();
        assert_eq!(clock.due(false), Some(2));
        clock.cancel(3);
        assert_eq!(clock.due(true), None);
    }

    /// A second is over after a hundred thousand events, for who only sleeps.
    #[test]
    fn much_work_takes_time() {
        let mut clock = Clock::new(1);
        clock.set_timer(1_000_000_000, 1);
        clock.sleeps(1_000_000_000, 2);
        (0..50_000).for_each(|_| clock.event());
        assert_eq!(clock.due(false), None);
        (0..50_000).for_each(|_| clock.event());
        assert_eq!((clock.due(false), clock.now()), (Some(2), 1_000_000_000));
        assert_eq!(clock.due(false), Some(1), "time has passed for everybody");
        assert_eq!(pace(u64::MAX), u64::MAX, "without overflow");
    }

    /// A loop that works for a tenth of a second, or for two, ends before it has done too much; and who measures a few
    /// things finds that they took no time to speak of.
    #[test]
    fn clocks_that_are_looked_at_often_go_faster() {
        let looks_until = |clock: &mut Clock, time: u64| {
            let end = clock.look() + time;
            let mut looks = 0;
            while clock.look() < end {
                looks += 1;
            }
            looks
        };
        let mut clock = Clock::new(1);
        assert!((500..1500).contains(&looks_until(&mut clock, 100_000_000)));
        clock.reach(clock.now() + 1);
        let mut looks = 0;
        for round in 0..3 {
            let more = looks_until(&mut clock, 2_000_000_000);
            assert!(round > 0 || (1500..3500).contains(&more), "{more}");
            looks += more;
        }
        assert!(looks < 5000, "{looks}");
        clock.reach(clock.now() + 1);
        let before = clock.now();
        (0..300).for_each(|_| {
            clock.look();
        });
        assert!((300_000..5_000_000).contains(&(clock.now() - before)));
        assert_eq!(glance(u64::MAX), 10_000_000, "without overflow");
    }

    #[test]
    fn clocks_show_and_mean_the_same_time() {
        for clock in [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC] {
            assert_eq!(Clock::when(clock, Clock::shown(clock, 77)), 77);
        }
        assert_eq!(Clock::when(libc::CLOCK_REALTIME, 5), 0, "long ago");
    }
}
