//! Recognises a thread that goes round a loop and learns nothing.
//!
//! A [`Watch`] remembers what a thread read and wrote, by code location and place, since it last saw anything
//! *new* (another value at the same location and place). A thread that is about to read where it has read
//! before, having seen nothing new since, is going round. If the engine can tell the thread's own state apart
//! (a fingerprint of its registers), the same state again proves it; otherwise a number of repetitions is
//! taken as a hint.
//!
//! What the machine makes of it: a spinning thread is not enabled until a place it reads has a store that it
//! has not seen, with another value than it saw, or nothing else can run; and it reads the newest stores, since
//! stores become visible in finite time. That only ever takes choices away, so it is sound whatever this file
//! believes. To say that a thread will *never* come out of its loop takes more: the same state again, and a round
//! that would find and leave everything as it is ([`Machine::goes_round_for_ever`](super::Machine)).

use crate::op::{Addr, Place, Site, Value};
use alloc::vec::Vec;

/// How sure it is that a thread goes round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spinning {
    /// Not at all.
    No,
    /// It has repeated itself a number of times.
    Likely,
    /// The same state again: if it reads the same values it will go on for ever.
    Certain,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    site: Site,
    at: Place,
    store: bool,
    value: Value,
    /// Which store it read last, or which is its own.
    stamp: u64,
    /// The thread's state when it came here; 0: unknown.
    state: u64,
    /// The number of the access.
    number: u64,
}

/// How often a thread repeats itself before that is taken as spinning, when its state is unknown or changes.
const REPETITIONS: u32 = 16;

/// How many accesses a loop may have and still be recognised.
const LOOP: usize = 64;

/// One thread's memory of its last accesses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Least recently visited first.
    seen: Vec<Seen>,
    repetitions: u32,
    hinted: bool,
    /// How many accesses there were.
    accesses: u64,
    /// The loop is what came after this access.
    since: u64,
    /// The futex words whose sleepers it wakes, and when it last did (behind which access; so the others below).
    wakes: Vec<(Addr, u64)>,
    /// It looks at things that are told and not asked (plain memory, locks): up to which of these it has seen.
    told: Option<(u64, u64)>,
    /// It goes into the kernel: who knows what happens there.
    leaves: Option<u64>,
    /// It sleeps, and was set going by nobody (a timeout, a signal).
    interrupted: Option<u64>,
}

impl Watch {
    fn position(&self, site: Site, at: Place, store: bool) -> Option<usize> {
        self.seen.iter().position(|seen| seen.site == site && seen.at == at && seen.store == store)
    }

    /// The thread is about to read here.
    pub(crate) fn about_to_read(&self, site: Site, at: Place, state: u64) -> Spinning {
        match self.position(site, at, false) {
            None => Spinning::No,
            Some(index) if state != 0 && self.seen[index].state == state => Spinning::Certain,
            // A thread that counts its rounds, hint or not, may soon do something else: sleep, for example.
            Some(_) if self.hinted && state == 0 || self.repetitions >= REPETITIONS => Spinning::Likely,
            Some(_) => Spinning::No,
        }
    }

    /// The thread has read or written.
    pub(crate) fn did(&mut self, site: Site, at: Place, store: bool, value: Value, stamp: u64, state: u64) {
        self.accesses += 1;
        let now = Seen { site, at, store, value, stamp, state, number: self.accesses };
        match self.position(site, at, store) {
            Some(index) if self.seen[index].value == value => {
                // What came before the last visit here is not part of this loop.
                self.since = self.seen[index].number;
                self.seen.drain(..=index);
                self.repetitions += 1;
            }
            Some(_) => self.news(),
            None => self.repetitions = 0,
        }
        if self.seen.len() == LOOP {
            self.news();
        }
        if store {
            // Nobody waits for a store of its own.
            self.committed(at, stamp);
        }
        self.seen.push(now);
    }

    /// A store of the thread to this place has become visible: no news to the thread.
    pub(crate) fn committed(&mut self, at: Place, stamp: u64) {
        for seen in self.seen.iter_mut().filter(|seen| seen.at == at) {
            seen.stamp = stamp;
        }
    }

    /// The program says that it waits (yield, pause, a short sleep).
    pub(crate) fn hint(&mut self) {
        self.hinted = true;
    }

    /// The thread has seen something new: whatever it did before, it may do something else now.
    pub(crate) fn news(&mut self) {
        self.seen.clear();
        self.repetitions = 0;
        self.hinted = false;
        self.since = self.accesses;
        self.wakes.clear();
        self.told = None;
        self.leaves = None;
        self.interrupted = None;
    }

    /// Whether something that happened then is part of the loop.
    fn in_loop(&self, when: u64) -> bool {
        when >= self.since
    }

    /// It has woken the sleepers of a futex word, or there were none.
    pub(crate) fn woke(&mut self, at: Addr) {
        let since = self.since;
        self.wakes.retain(|&(other, when)| other != at && when >= since);
        self.wakes.push((at, self.accesses));
    }

    /// Whether it wakes sleepers of this futex word.
    pub(crate) fn wakes(&self, at: Addr) -> bool {
        self.wakes.iter().any(|&(other, when)| other == at && self.in_loop(when))
    }

    /// It has looked at something that is only told, after `told` of these were.
    pub(crate) fn looked(&mut self, told: u64) {
        self.told = Some((told, self.accesses));
    }

    /// It has told something itself, the one after the first `before`.
    pub(crate) fn told(&mut self, before: u64) {
        if let Some((seen, _)) = &mut self.told
            && *seen == before
        {
            *seen = before + 1;
        }
    }

    /// Whether what it looked at may have changed since.
    pub(crate) fn missed_any(&self, told: u64) -> bool {
        self.told.is_some_and(|(seen, when)| seen != told && self.in_loop(when))
    }

    /// It has gone into the kernel.
    pub(crate) fn left(&mut self) {
        self.leaves = Some(self.accesses);
    }

    /// Whether it goes into the kernel in its loop.
    pub(crate) fn leaves(&self) -> bool {
        self.leaves.is_some_and(|when| self.in_loop(when))
    }

    /// A sleep of its was interrupted.
    pub(crate) fn interrupted(&mut self) {
        self.interrupted = Some(self.accesses);
    }

    /// Whether sleeps in its loop are interrupted.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.is_some_and(|when| self.in_loop(when))
    }

    /// How long it has gone round.
    pub(crate) fn repetitions(&self) -> u32 {
        self.repetitions
    }

    /// The places it reads in its loop, with the value and the stamp of the store that it saw last.
    pub(crate) fn reads(&self) -> impl Iterator<Item = (Place, Value, u64)> + '_ {
        self.seen.iter().filter(|seen| !seen.store).map(|seen| (seen.at, seen.value, seen.stamp))
    }

    /// Everything that it reads and writes in its loop, likewise.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = (Place, Value, u64)> + '_ {
        self.seen.iter().map(|seen| (seen.at, seen.value, seen.stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Addr;

    const X: Place = Place::new(Addr(0), 4);
    const Y: Place = Place::new(Addr(8), 4);

    #[test]
    fn the_same_state_again_is_certain() {
        let mut watch = Watch::default();
        assert_eq!(watch.about_to_read(Site(1), X, 7), Spinning::No);
        watch.did(Site(1), X, false, 0, 0, 7);
        assert_eq!(watch.about_to_read(Site(1), X, 7), Spinning::Certain);
        assert_eq!(watch.about_to_read(Site(1), X, 8), Spinning::No);
        watch.did(Site(1), X, false, 1, 1, 7);
        watch.did(Site(2), X, false, 1, 1, 9);
        assert_eq!(watch.about_to_read(Site(1), X, 8), Spinning::No, "it saw something new");
    }

    #[test]
    fn repetitions_make_it_likely_when_the_state_is_unknown() {
        let mut watch = Watch::default();
        for _ in 0..REPETITIONS {
            assert_eq!(watch.about_to_read(Site(1), X, 0), Spinning::No);
            watch.did(Site(1), X, false, 0, 0, 0);
        }
        watch.did(Site(1), X, false, 0, 0, 0);
        assert_eq!(watch.about_to_read(Site(1), X, 0), Spinning::Likely);
    }

    #[test]
    fn what_came_before_the_loop_is_not_waited_for() {
        let mut watch = Watch::default();
        watch.did(Site(0), Y, false, 0, 0, 1);
        for _ in 0..2 {
            watch.did(Site(1), X, false, 0, 0, 2);
        }
        assert!(watch.reads().all(|(at, ..)| at == X));
    }

    /// Neither are calls, looks and wake-ups; what is done in each round stays.
    #[test]
    fn what_was_done_before_the_loop_is_not_part_of_it() {
        let marks = |watch: &Watch| {
            [watch.leaves(), watch.is_interrupted(), watch.missed_any(9), watch.wakes(Y.addr)]
        };
        let does = |watch: &mut Watch| {
            watch.left();
            watch.interrupted();
            watch.looked(1);
            watch.woke(Y.addr);
        };
        let mut watch = Watch::default();
        does(&mut watch);
        watch.did(Site(1), X, false, 0, 0, 2);
        assert_eq!(marks(&watch), [true; 4], "one visit is no loop");
        watch.did(Site(1), X, false, 0, 0, 2);
        assert_eq!(marks(&watch), [false; 4]);
        for round in 0..3 {
            does(&mut watch);
            watch.did(Site(2), Y, false, 0, 0, 3);
            watch.did(Site(1), X, false, 0, 0, 2);
            assert_eq!(marks(&watch), [true; 4], "{round}");
        }
        watch.did(Site(1), X, false, 0, 0, 2);
        assert_eq!(marks(&watch), [false; 4], "another loop");
    }

    #[test]
    fn own_stores_are_not_news_to_wait_for() {
        let mut watch = Watch::default();
        watch.did(Site(1), X, false, 1, 5, 3);
        watch.did(Site(1), X, true, 1, 6, 3);
        assert_eq!(watch.reads().next(), Some((X, 1, 6)));
    }
}
