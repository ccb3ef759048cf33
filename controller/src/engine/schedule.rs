//! The loop between the machine and the threads: one execution from its beginning to its end.

use super::answers::Answers as _;
use super::busy::Busyness as _;
use super::execution::Execution;
use super::futex::Futexes as _;
use super::library::LibraryCalls as _;
use super::ringing::{Ringing as _, Still};
use super::sites::What;
use super::stuck::Stuckness as _;
use super::thread::{Mode, Pending};
use super::waits::Waiters as _;
use super::{End, EngineError};
use std::time::Duration;
use wmtrace_model::op::{How, Op, Step, Stuck};

/// Turns without an operation after which an execution is given up, for each event that it may have.
const MAX_TURNS: u64 = 1000;

/// How often threads that seem to spin for ever are set going again before that is a livelock.
const SECOND_LOOKS: u32 = 2;

pub(super) trait Schedule: Execution {
    /// Runs the execution until it has an end.
    fn go(&mut self) -> Result<(), EngineError> {
        while self.parts().course.end.is_none() {
            // Threads may be made, woken or ended on the way: look again after each.
            while let Some(index) = self.running() {
                match std::mem::take(&mut self.parts().threads[index].makes_call) {
                    true => self.makes_call(index)?,
                    false => self.advance(index)?,
                }
                let course = self.parts().course;
                if course.end.is_some() {
                    return Ok(());
                }
                // Who yields may wait for somebody who sleeps, or is in the kernel.
                if course.prelude {
                    self.look_for_returned()?;
                    self.look_at_waits()?;
                    self.fire_timer(None);
                }
            }
            let stirred = self.parts().course.stirred;
            self.look_for_returned()?;
            if stirred {
                self.look_at_waits()?;
            }
            if self.running().is_some() || self.fire_timer(None) {
                continue;
            }
            self.one_step()?;
        }
        Ok(())
    }

    fn running(&mut self) -> Option<usize> {
        let it = self.parts();
        let (runs, turn) = (|index: &usize| it.threads[*index].mode == Mode::Running, it.course.turn);
        (turn..it.threads.len()).chain(0..turn.min(it.threads.len())).find(runs)
    }

    fn one_step(&mut self) -> Result<(), EngineError> {
        let it = self.parts();
        it.course.check_limits()?;
        if it.course.end.is_some() {
            return Ok(());
        }
        let end = match it.machine.next(&mut &*it.memory) {
            Step::Run { thread, how } => return self.perform(thread.index(), how),
            Step::Commit { at, value, .. } => return Ok(it.memory.set_value(at, value)?),
            Step::Stuck(stuck) => {
                let still = if stuck == Stuck::Livelock { Still::Spinning } else { Still::Asleep };
                if stuck == Stuck::Deadlock && self.is_stuck_for_good() {
                    self.parts().course.end = Some(End::Deadlock);
                    return Ok(());
                }
                if self.fire_timer(Some(still)) || self.signal_comes()? || self.looks_again(stuck) {
                    return Ok(());
                }
                if stuck == Stuck::Deadlock && self.wait_for_outside()? {
                    return Ok(());
                }
                match stuck {
                    Stuck::Deadlock => End::Deadlock,
                    Stuck::Livelock => End::Livelock,
                }
            }
            Step::Idle if self.fire_timer(Some(Still::Away)) => return Ok(()),
            Step::Idle => return self.wait_for_any(),
            // The last thread's end ends the process.
            Step::Finished => End::Exited(0),
            Step::Abandoned => End::Abandoned,
            Step::Diverged(divergence) => End::Diverged(divergence),
            Step::Limit => End::TooManyEvents,
        };
        self.parts().course.end = Some(end);
        Ok(())
    }

    /// Whether all that spin go round some more before they are called stuck: whatever was written behind the
    /// machine's back, or after a thread had looked and before its round was over, they see then.
    fn looks_again(&mut self, stuck: Stuck) -> bool {
        let it = self.parts();
        if stuck != Stuck::Livelock || it.course.second_looks == SECOND_LOOKS {
            return false;
        }
        it.course.second_looks += 1;
        for thread in it.threads.iter().filter(|thread| thread.mode == Mode::Ready) {
            it.machine.disturb(thread.id);
        }
        true
    }

    /// Nobody can go on, but a signal may come (a child's end, or a timer while there are children): then its receiver can.
    fn signal_comes(&mut self) -> Result<bool, EngineError> {
        let course = self.parts().course;
        if !course.expects_signals && course.children.is_empty() {
            return Ok(false);
        }
        course.expects_signals = true;
        let mut since = None;
        while self.parts().course.end.is_none() {
            if self.look_for_signals() {
                return Ok(true);
            }
            let course = self.parts().course;
            if course.children.is_empty() {
                return Ok(false);
            }
            // Whom it wakes or disturbs can go on.
            if self.rings_by_real_time(&mut since) {
                return Ok(true);
            }
            if !self.poll()? {
                self.parts().course.check_limits()?;
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(true)
    }

    /// A thread that has run for long without an operation lets others go on.
    fn let_others(&mut self, index: usize) -> Result<(), EngineError> {
        let it = self.parts();
        it.course.turns += 1;
        if it.course.turns > it.machine.config().max_events.clamp(MAX_TURNS, 1 << 20) {
            it.course.end = Some(End::TooManyEvents);
            return Ok(());
        }
        it.course.check_limits()?;
        it.machine.yields(it.threads[index].id);
        it.threads[index].idle += 1;
        let site = self.site_here(index, What::call("runs"));
        let at = self.own_place(index);
        self.pend(index, Pending::Quantum, Op::Sync { at }, site, 0);
        Ok(())
    }

    /// The machine wants this thread to perform its operation.
    fn perform(&mut self, index: usize, how: How) -> Result<(), EngineError> {
        self.notes_place(index);
        let it = self.parts();
        it.course.clock.event();
        it.course.steps += 1;
        it.course.last_event = it.course.steps;
        let thread = &mut it.threads[index];
        let id = thread.id;
        let pending = thread.pending.take().expect("a thread that is picked has stopped before something");
        thread.mode = Mode::Running;
        if !matches!(pending, Pending::Quantum) {
            thread.idle = 0;
        }
        match pending {
            Pending::Part => self.perform_part(index, how),
            Pending::LostFence => {
                thread.fences += 1;
                self.retired(id, 0, 0)
            }
            Pending::Fence => self.perform_fence(index),
            Pending::Call => {
                self.retired(id, 0, 0)?;
                self.enter_call(index)
            }
            Pending::Join { child } => {
                it.threads[child.index()].joined = true;
                self.retired(id, 0, 0)
            }
            Pending::Quantum => self.retired(id, 0, 0),
            Pending::Wait { deadline } => self.perform_wait(index, how, deadline),
            Pending::Wake { then } => self.perform_wake(index, then),
            Pending::Clear { at } => self.perform_clear(index, at),
        }
    }
}

impl<E: Execution> Schedule for E {}
