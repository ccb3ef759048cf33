//! `--from FUNCTION`: until that function is entered, threads run natively, one at a time. One goes on until it sleeps, ends or
//! yields, and then the next by number does: the same each time.
//!
//! The machine is told when threads begin, end and sleep, and of nothing else. So it knows nothing of memory until the function
//! is entered: whatever was written before is what memory holds then, and known to all. No race and no stale value can
//! involve it. Who sleeps for a futex word, the threads' own system calls say ([`Prelude::sleepers_at`]).

use super::EngineError;
use super::execution::Execution;
use super::futex::{Futexes as _, Wanted, error};
use super::ringing::Still;
use super::thread::{Mode, Syscall};

pub(super) trait Prelude: Execution {
    /// Threads that sleep for a futex word and hear such a wake, by number.
    fn sleepers_at(&mut self, word: u64, bits: u32) -> Vec<usize> {
        let threads = self.parts().threads;
        let waits = |index: &usize| {
            let thread = &threads[*index];
            let call =
                thread.syscall.filter(|_| thread.mode == Mode::Asleep && thread.waits_for_lock.is_none());
            call.is_some_and(|call| is_wait(&call) && call.args[0] == word)
                && thread.waits_for_bits & bits != 0
        };
        (0..threads.len()).filter(waits).collect()
    }

    /// Wakes so many of them; how many there were.
    fn wake_at(&mut self, word: u64, count: u32, bits: u32) -> u32 {
        let mut woken = 0;
        for index in self.sleepers_at(word, bits).into_iter().take(count as usize) {
            let it = self.parts();
            it.machine.interrupt(it.threads[index].id);
            self.wakes(index, 0);
            woken += 1;
        }
        woken
    }

    /// A futex call, done without the machine.
    fn futex_in_prelude(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let [word, op, value, timeout, word2, value3] = call.args;
        let now = self.parts().memory.read_u32(word);
        let result = match Wanted::of(op) {
            Wanted::Wait { .. } if now != Some(value as u32) => error(libc::EAGAIN),
            Wanted::Wait { bitset } => match self.futex_deadline(op, !bitset, timeout) {
                Ok(deadline) => {
                    let bits = if bitset { value3 as u32 } else { u32::MAX };
                    self.parts().threads[index].waits_for_bits = bits;
                    self.sleep(index, deadline);
                    return Ok(());
                }
                Err(errno) => error(errno),
            },
            Wanted::Wake { bitset } => {
                let bits = if bitset { value3 as u32 } else { u32::MAX };
                u64::from(self.wake_at(word, value as u32, bits))
            }
            Wanted::Requeue { compares } if compares && now != Some(value3 as u32) => error(libc::EAGAIN),
            Wanted::Requeue { compares } => {
                let woken = self.wake_at(word, value as u32, u32::MAX);
                let moved: Vec<usize> =
                    self.sleepers_at(word, u32::MAX).into_iter().take(timeout as u32 as usize).collect();
                for &other in &moved {
                    if let Some(call) = &mut self.parts().threads[other].syscall {
                        call.args[0] = word2;
                    }
                }
                u64::from(woken) + if compares { moved.len() as u64 } else { 0 }
            }
            Wanted::WakeOp => match self.futex_word(word2) {
                Some(second) => {
                    let wakes = self.wake_op(second, value3 as u32)?;
                    let woken = self.wake_at(word, value as u32, u32::MAX);
                    let more = if wakes { self.wake_at(word2, timeout as u32, u32::MAX) } else { 0 };
                    u64::from(woken + more)
                }
                None => error(libc::EFAULT),
            },
            Wanted::Lock { command } => return self.lock_pi(index, word, op, command, timeout),
            Wanted::Unlock => return self.unlock_pi(index, word),
            Wanted::Unknown(other) => {
                self.warn(format!("the futex operation {other} is not supported"));
                error(libc::ENOSYS)
            }
        };
        self.skip(index, result)
    }

    /// The thread lets others go on. If nobody else can, time passes: it may wait for somebody who sleeps.
    fn yields_in_prelude(&mut self, index: usize) {
        let course = self.parts().course;
        course.turn = index + 1;
        course.turn_is_over = true;
        course.clock.event();
        let others = |(other, mode): (usize, Mode)| other != index && mode == Mode::Running;
        if !self.parts().threads.iter().map(|thread| thread.mode).enumerate().any(others) {
            self.fire_timer(Some(Still::Spinning));
        }
    }

    /// The thread ends: its number in memory is cleared, and who waits for that is woken.
    fn ends_in_prelude(&mut self, index: usize) -> Result<(), EngineError> {
        self.leave_locks(index)?;
        let it = self.parts();
        let at = it.threads[index].clear_tid;
        if at != 0 && it.memory.write(at, &[0; 4]).is_ok() {
            self.wake_at(at, u32::MAX, u32::MAX);
        }
        self.has_ended(index)
    }

    /// The function is entered: the machine decides from now on. Who waits for a futex word waits anew, so that the machine
    /// knows.
    fn prelude_is_over(&mut self) {
        let course = self.parts().course;
        (course.prelude, course.turn, course.turn_is_over) = (false, 0, false);
        for index in 0..self.parts().threads.len() {
            let it = self.parts();
            let thread = &mut it.threads[index];
            let waits = thread.syscall.is_some_and(|call| is_wait(&call)) && thread.waits_for_lock.is_none();
            if thread.mode == Mode::Asleep && waits {
                thread.mode = Mode::Running;
                it.machine.interrupt(thread.id);
                it.course.clock.cancel(index);
                self.begins_anew(index);
            }
        }
    }
}

fn is_wait(call: &Syscall) -> bool {
    call.number as i64 == libc::SYS_futex && matches!(Wanted::of(call.args[1]), Wanted::Wait { .. })
}

impl<E: Execution> Prelude for E {}
