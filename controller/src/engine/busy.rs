//! Where an execution spends its time: who is told that a limit was reached wants to know by what.
//!
//! Every so many steps it is noted where the thread is. Steps are events and the instructions between them, so the notes
//! are the same each time. Native code and the kernel make no steps: the ticks of the clock while they are waited for are
//! counted instead.

use super::execution::Execution;
use super::sites::StackId;
use super::{End, Location};
use crate::os::tick::PERIOD;
use std::collections::HashMap;
use std::time::Duration;

/// Steps from one note to the next.
const EVERY: u64 = 61;

/// Different places that are noted: more are not needed to find the one that matters.
const MOST: usize = 1 << 14;

/// What an execution did with its time.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Spent {
    /// Where threads were found, and how often; each with the functions that were inlined there, innermost first.
    pub(crate) places: Vec<(Vec<Location>, u64)>,
    /// How long native code ran, and how long all threads waited in the kernel.
    pub(crate) native: Duration,
    pub(crate) waiting: Duration,
}

/// The notes.
#[derive(Clone, Default, Debug)]
pub(super) struct Busy {
    next: u64,
    seen: HashMap<u64, u64>,
    /// Ticks while native code ran, and while all threads waited in the kernel.
    pub(super) native: u32,
    pub(super) waiting: u32,
}

impl Busy {
    fn note(&mut self, steps: u64, pc: u64) {
        self.next = steps + EVERY;
        if self.seen.len() < MOST || self.seen.contains_key(&pc) {
            *self.seen.entry(pc).or_default() += 1;
        }
    }
}

pub(super) trait Busyness: Execution {
    /// The thread is about to do something: if it is time, it is noted where.
    fn notes_place(&mut self, index: usize) {
        let course = self.parts().course;
        if course.steps >= course.busy.next {
            let (pc, _) = self.here(index);
            let course = self.parts().course;
            course.busy.note(course.steps, pc);
        }
    }

    /// What the execution did with its time, if it was given up.
    fn spent(&mut self, end: &End) -> Option<Spent> {
        if !matches!(end, End::TimedOut | End::TooManyEvents) {
            return None;
        }
        let it = self.parts();
        let busy = &it.course.busy;
        let mut seen: Vec<_> = busy.seen.iter().map(|(&pc, &count)| (pc, count)).collect();
        seen.sort_unstable();
        let place = |(pc, count)| (it.sites.stack_of(pc, StackId::default(), it.modules), count);
        Some(Spent {
            places: seen.into_iter().map(place).collect(),
            native: PERIOD * busy.native,
            waiting: PERIOD * busy.waiting,
        })
    }
}

impl<E: Execution> Busyness for E {}
