//! What the findings of a run should be, from the engine's log alone: a happens-before with one clock per line
//! of the log, and every pair of lines compared. Slow, and simple enough to be right.

use super::engine::{Entry, Run, What};
use std::collections::{BTreeMap, BTreeSet};
use wmtrace_model::execution::{Access, Race};
use wmtrace_model::machine::Finding;
use wmtrace_model::op::{ModelKind, Site};

/// Per thread, how many lines of its part of the log are known.
type Clock = [u32; 16];

fn join(into: &mut Clock, from: &Clock) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

/// The bytes of an access, or of a free, which is a store to all of them.
fn bytes(entry: &Entry) -> core::ops::Range<u64> {
    match entry.what {
        What::Access { addr, len, .. } | What::Free { addr, len } => addr..addr + len,
        _ => 0..0,
    }
}

fn writes(entry: &Entry) -> bool {
    matches!(entry.what, What::Access { wrote: Some(_), .. } | What::Free { .. })
}

fn is_atomic(entry: &Entry) -> bool {
    matches!(entry.what, What::Access { order, .. } if order.is_atomic())
}

/// The log with what follows from it.
pub(crate) struct Reference<'a> {
    log: &'a [Entry],
    /// The line that wrote each number.
    writer: BTreeMap<u8, usize>,
    clocks: Vec<Clock>,
    /// Each line's number within its thread, from 1.
    ticks: Vec<u32>,
}

impl<'a> Reference<'a> {
    pub(crate) fn new(log: &'a [Entry]) -> Reference<'a> {
        let mut writer = BTreeMap::new();
        for (line, entry) in log.iter().enumerate() {
            if let What::Access { wrote: Some(number), .. } = entry.what {
                assert_eq!(writer.insert(number, line), None);
            }
        }
        let mut it = Reference { log, writer, clocks: Vec::new(), ticks: Vec::new() };
        it.order();
        it
    }

    /// The last line before this one with which a byte began another life: allocated, freed, written by others.
    fn life(&self, byte: u64, line: usize) -> Option<usize> {
        (0..line).rev().find(|&before| match self.log[before].what {
            What::Foreign { addr, len } => (addr..addr + len).contains(&byte),
            _ => self.is_heap(byte, before),
        })
    }

    /// Whether a line says what a byte is to the heap: allocated, freed, or nothing that is known.
    fn is_heap(&self, byte: u64, line: usize) -> bool {
        match self.log[line].what {
            What::Alloc { addr, len, .. } | What::Free { addr, len } => (addr..addr + len).contains(&byte),
            What::Alone => true,
            _ => false,
        }
    }

    /// The line that wrote a byte which a line read; `None`: nobody since the memory began its present life.
    fn source(&self, byte: u64, value: u8, line: usize) -> Option<usize> {
        let store = *self.writer.get(&value)?;
        assert!(store < line && bytes(&self.log[store]).contains(&byte), "a value out of nowhere");
        (self.life(byte, line) == self.life(byte, store)).then_some(store)
    }

    /// The lines that an access read from.
    fn sources(&self, line: usize) -> BTreeSet<usize> {
        let What::Access { addr, len, read: Some(read), .. } = self.log[line].what else {
            return BTreeSet::new();
        };
        let read = read.into_iter().zip(addr..addr + len);
        read.filter_map(|(value, byte)| self.source(byte, value, line)).collect()
    }

    /// Happens-before, by C++20's definitions.
    fn order(&mut self) {
        let none: Clock = [0; 16];
        let (mut now, mut at_acquire, mut at_release) = ([none; 16], [none; 16], [none; 16]);
        let mut tick = [0; 16];
        let mut objects: BTreeMap<u64, Clock> = BTreeMap::new();
        // What reading the store of a line hands over.
        let mut handed: Vec<Clock> = Vec::new();
        for (line, entry) in self.log.iter().enumerate() {
            let thread = entry.thread as usize;
            tick[thread] += 1;
            let mut received = none;
            for source in self.sources(line) {
                join(&mut received, &handed[source]);
            }
            match entry.what {
                What::Access { order, .. } if order.acquires() => join(&mut now[thread], &received),
                What::Access { order, .. } if order.is_atomic() => join(&mut at_acquire[thread], &received),
                What::Fence(order) if order.acquires() => {
                    let acquired = at_acquire[thread];
                    join(&mut now[thread], &acquired);
                }
                What::Join(child) => {
                    let end = now[child as usize];
                    join(&mut now[thread], &end);
                }
                What::Acquire(object) => {
                    join(&mut now[thread], objects.get(&object).unwrap_or(&none));
                }
                _ => {}
            }
            now[thread][thread] = tick[thread];
            let mut hands = none;
            match entry.what {
                What::Access { order, wrote: Some(_), .. } if order.is_atomic() => {
                    hands = if order.releases() { now[thread] } else { at_release[thread] };
                    join(&mut hands, &at_release[thread]);
                    // An RMW goes on with the release sequence that it reads.
                    join(&mut hands, &received);
                }
                What::Fence(order) if order.releases() => at_release[thread] = now[thread],
                What::Create(child) => now[child as usize] = now[thread],
                What::Release(object) => join(objects.entry(object).or_insert(none), &now[thread]),
                _ => {}
            }
            handed.push(hands);
            self.clocks.push(now[thread]);
            self.ticks.push(tick[thread]);
        }
    }

    fn happens_before(&self, first: usize, second: usize) -> bool {
        self.clocks[second][self.log[first].thread as usize] >= self.ticks[first]
    }

    /// The bytes on which two lines race: common ones, of the same life.
    fn race(&self, first: usize, second: usize) -> Vec<u64> {
        let (a, b) = (&self.log[first], &self.log[second]);
        if a.thread == b.thread
            || !(writes(a) || writes(b))
            || (is_atomic(a) && is_atomic(b))
            || matches!(a.what, What::Free { .. })
            || self.happens_before(first, second)
        {
            return Vec::new();
        }
        let common = bytes(a).start.max(bytes(b).start)..bytes(a).end.min(bytes(b).end);
        common.filter(|&byte| self.life(byte, first) == self.life(byte, second)).collect()
    }

    fn line(&self, access: &Access) -> usize {
        let is = |entry: &Entry| {
            entry.site == access.site && matches!(entry.what, What::Access { .. } | What::Free { .. })
        };
        let line = self.log.iter().position(is).expect("a finding names an access of the program");
        let entry = &self.log[line];
        assert_eq!(entry.thread, access.thread.0, "{access:?}");
        line
    }

    /// Whether an access of a race is the one that the log has.
    fn same(&self, line: usize, access: &Access) -> bool {
        access.store == writes(&self.log[line]) && access.atomic == is_atomic(&self.log[line])
    }

    fn check_race(&self, race: &Race) {
        let (first, second) = (self.line(&race.first), self.line(&race.second));
        assert!(self.same(first, &race.first) && self.same(second, &race.second), "{race:?}");
        let said = race.second.addr.0..race.second.addr.0 + race.second.len;
        let bytes = self.race(first, second);
        assert!(first < second && bytes.iter().any(|byte| said.contains(byte)), "no race: {race:#?}");
    }

    /// Places that only exact accesses, and ranges that cover all of them, ever meet; and that are no heap.
    fn is_clean(&self, byte: u64) -> bool {
        let exact = |entry: &Entry| matches!(entry.what, What::Access { exact: true, .. });
        let meets = |range: &core::ops::Range<u64>, entry: &Entry| {
            let other = bytes(entry);
            other.start < range.end && range.start < other.end
        };
        let place = self.log.iter().find(|it| exact(it) && bytes(it).contains(&byte)).map(bytes);
        let range = place.unwrap_or(byte..byte + 1);
        self.log.iter().all(|entry| match entry.what {
            // An allocation also forgets the races of bytes that share a granule with it.
            What::Alloc { addr, len, .. }
            | What::Free { addr, len }
            | What::Foreign { addr, len }
            | What::Behind { addr, len } => {
                (addr + len).next_multiple_of(8) <= range.start || range.end <= addr / 8 * 8
            }
            _ if !meets(&range, entry) => true,
            _ if exact(entry) => bytes(entry) == range,
            _ => bytes(entry).start <= range.start && range.end <= bytes(entry).end,
        })
    }

    /// The first line that races on bytes where the machine forgets nothing.
    fn first_clean_race(&self) -> Option<usize> {
        let races = |second: usize| {
            (0..second).any(|first| self.race(first, second).into_iter().any(|byte| self.is_clean(byte)))
        };
        (0..self.log.len()).find(|&second| races(second))
    }

    fn is_freed(&self, byte: u64, line: usize) -> bool {
        let last = (0..line).rev().find(|&before| self.is_heap(byte, before));
        last.is_some_and(|heap| matches!(self.log[heap].what, What::Free { .. }))
    }

    fn uses_after_free(&self) -> BTreeSet<Site> {
        let freed = |line: usize| move |byte: u64| self.is_freed(byte, line);
        let touches = |line: usize| {
            let entry = &self.log[line];
            // A load of an aligned block that is not freed altogether may be a vector's.
            let beyond = matches!(entry.what, What::Access { addr, len: len @ (16 | 32 | 64), wrote: None, .. }
                if addr % len == 0 && !bytes(entry).all(freed(line)));
            !beyond && bytes(entry).any(freed(line))
        };
        (0..self.log.len()).filter(|&line| touches(line)).map(|line| self.log[line].site).collect()
    }

    /// Whether an atomic load read a byte that nobody wrote since it was allocated.
    fn is_uninitialised(&self, line: usize) -> bool {
        let What::Access { addr, len, read: Some(read), order, .. } = self.log[line].what else {
            return false;
        };
        order.is_atomic()
            && read.into_iter().zip(addr..addr + len).any(|(value, byte)| {
                self.life(byte, line)
                    .is_some_and(|life| matches!(self.log[life].what, What::Alloc { zeroed: false, .. }))
                    && self.source(byte, value, line).is_none()
            })
    }
}

/// Whether the findings of a run are those that its log says. `complete`: the machine had no reason to forget.
pub(crate) fn check(run: &Run, complete: bool) {
    let reference = Reference::new(&run.log);
    let c11 = run.execution.model == ModelKind::C11;
    let mut after_free = BTreeSet::new();
    for finding in &run.findings {
        match finding {
            Finding::Race(race) => {
                assert!(c11, "a race under a model that knows none");
                reference.check_race(race);
            }
            Finding::UseAfterFree { access, freed } => {
                let (line, free) = (reference.line(access), reference.line(freed));
                assert!(free < line && matches!(run.log[free].what, What::Free { .. }));
                after_free.insert(access.site);
            }
            Finding::AllocationRace(race) => panic!("no block of these runs is owned: {race:?}"),
            Finding::Uninitialised { access } => {
                let line = reference.line(access);
                assert!(reference.is_uninitialised(line), "{access:?} {:?}", run.log[line]);
            }
        }
    }
    assert_eq!(after_free, reference.uses_after_free(), "uses after free");
    if c11
        && complete
        && let Some(line) = reference.first_clean_race()
    {
        let site = run.log[line].site;
        let found =
            run.findings.iter().any(|it| matches!(it, Finding::Race(race) if race.second.site == site));
        assert!(found, "the race of line {line} was not found: {:?}", run.log[line]);
    }
}
