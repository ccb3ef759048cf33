//! Who can go on: all threads that have stopped, but for those that wait for another's end, and those that spin and would
//! find nothing new. If nobody is left, whether that is the end, a deadlock or a livelock.

use super::spin::Spinning;
use super::{Machine, Memory, Status, Thread};
use crate::memory::space::Found;
use crate::models::Model;
use crate::op::{Agent, Op, Place, Step, Stuck, ThreadId};
use crate::order::Order;
use crate::strategy::{Choice, Strategy};
use alloc::vec::Vec;

impl<S: Strategy> Machine<S> {
    /// Leaves in `enabled` what the strategy may choose from, or nothing when that is all of `ready`.
    #[inline]
    pub(super) fn find_enabled(&mut self, memory: &mut impl Memory) -> Result<(), Step> {
        self.enabled.clear();
        if let Model::Buffered(buffered) = &self.model {
            self.ready.truncate(self.ready_threads);
            self.ready.extend(buffered.heads().map(|(thread, held)| Choice {
                agent: Agent::Buffer(thread, held.place),
                op: Op::Store { at: held.place, order: Order::Relaxed },
                serial: held.serial,
            }));
            self.ready[self.ready_threads..].sort_by_key(|choice| choice.agent);
        }
        if self.doubtful == 0 && !self.ready.is_empty() {
            return Ok(());
        }
        for index in 0..self.ready.len() {
            let choice = self.ready[index];
            if self.can_go_on(&choice, memory) {
                self.enabled.push(choice);
            }
        }
        if !self.enabled.is_empty() {
            return Ok(());
        }
        self.only_spinners(memory)
    }

    fn can_go_on(&mut self, choice: &Choice, memory: &mut impl Memory) -> bool {
        let Agent::Thread(thread) = choice.agent else { return true };
        match choice.op {
            Op::Join { child } => self.can_be_joined(child),
            _ if self.threads[thread.index()].spinning == Spinning::No => true,
            _ => self.has_news(thread, memory),
        }
    }

    fn can_be_joined(&self, thread: ThreadId) -> bool {
        let drained = match &self.model {
            Model::Buffered(buffered) => buffered.held(thread) == 0,
            _ => true,
        };
        drained && self.has_ended(thread)
    }

    /// Whether a place that the thread spins on has a newest store that would tell it something new: neither
    /// its own nor one with the value that it saw. (Two threads that wait for the same lock by writing
    /// "locked" again and again have nothing to tell each other.)
    fn has_news(&mut self, thread: ThreadId, memory: &mut impl Memory) -> bool {
        if self.config.foreign && self.sees_strange(thread, memory) {
            return true;
        }
        for (at, value, stamp) in self.threads[thread.index()].watch.reads() {
            if let Model::Buffered(buffered) = &self.model
                && buffered.forwarded(thread, at).is_some()
            {
                continue;
            }
            let news = match self.space.find(at) {
                Found::Cell(cell) => {
                    let newest = self.space.cells[cell as usize].last();
                    // What memory held first has no stamp to tell it from what it held in another life.
                    (newest.stamp != stamp || stamp == 0) && newest.value() != value
                }
                Found::Clash => self.space.newest_mixed(at) != stamp,
                // It was freed or allocated since.
                Found::Nothing => true,
            };
            if news {
                return true;
            }
        }
        false
    }

    /// Whether a place of the thread's loop was written behind the machine's back.
    #[cold]
    fn sees_strange(&mut self, thread: ThreadId, memory: &mut impl Memory) -> bool {
        let places: Vec<Place> = self.threads[thread.index()].watch.accesses().map(|(at, ..)| at).collect();
        places.into_iter().any(|at| !self.strange(at, memory).is_empty())
    }

    /// Whether the thread's loop is one that it never leaves by itself: it is in the same state again, and going
    /// round once more would find everything as it was, and change nothing.
    fn goes_round_for_ever(&mut self, thread: ThreadId, memory: &mut impl Memory) -> bool {
        if self.config.foreign && self.sees_strange(thread, memory) {
            return false;
        }
        let it = &self.threads[thread.index()];
        let wakes_one =
            |other: &Thread| matches!(other.status, Status::Asleep(Some(at)) if it.watch.wakes(at));
        if it.spinning != Spinning::Certain
            || it.watch.leaves()
            || it.watch.missed_any(self.told)
            || self.threads.iter().any(wakes_one)
        {
            return false;
        }
        it.watch.accesses().all(|(at, value, stamp)| match self.space.find(at) {
            Found::Cell(cell) => self.space.cells[cell as usize].last().value() == value,
            Found::Clash => self.space.newest_mixed(at) == stamp,
            Found::Nothing => false,
        })
    }

    /// Nobody has anything new to do: only threads that spin, sleep or are away are left, or none.
    fn only_spinners(&mut self, memory: &mut impl Memory) -> Result<(), Step> {
        let away = self.threads.iter().any(|it| it.status == Status::Away);
        let mut spins = false;
        for index in 0..self.ready.len() {
            let choice = self.ready[index];
            if matches!(choice.op, Op::Join { .. }) {
                continue;
            }
            spins = true;
            let thread = choice.agent.thread();
            let it = &self.threads[thread.index()];
            let patient = it.watch.repetitions() < self.config.limits.patience;
            // One that may still come out of its loop by itself (counting its rounds, say) is given time to: all
            // the time, unless its state is unknown, or it asks the kernel and others are there.
            let goes_on = match it.spinning {
                _ if it.watch.leaves() => patient || !away,
                Spinning::Likely if it.state == 0 => patient,
                Spinning::Likely | Spinning::No => true,
                Spinning::Certain if it.watch.is_interrupted() && patient => true,
                Spinning::Certain => !self.goes_round_for_ever(thread, memory),
            };
            if goes_on {
                self.enabled.push(choice);
            }
        }
        if !self.enabled.is_empty() {
            return Ok(());
        }
        Err(match (away, spins) {
            (true, _) => Step::Idle,
            (false, true) => Step::Stuck(Stuck::Livelock),
            (false, false) if self.threads.iter().all(|it| it.status == Status::Ended) => Step::Finished,
            (false, false) => Step::Stuck(Stuck::Deadlock),
        })
    }
}
