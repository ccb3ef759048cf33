//! Futexes, emulated: who sleeps and who is woken is the machine's business, and no thread of the program ever
//! sleeps on a futex in the kernel.
//!
//! As in the step engine, but for priority inheritance, which is refused.

use super::run::Run;
use super::thread::{AfterWake, Mode, Pending};
use crate::engine::EngineError;
use crate::engine::sites::What;
use crate::engine::step::thread::Syscall;
use crate::engine::time::Clock;
use crate::os::proc;
use wmtrace_model::op::{Addr, How, Op, Place, ThreadId};
use wmtrace_model::strategy::Strategy;

const WAIT: u64 = 0;
const WAKE: u64 = 1;
const REQUEUE: u64 = 3;
const CMP_REQUEUE: u64 = 4;
const WAKE_OP: u64 = 5;
const WAIT_BITSET: u64 = 9;
const WAKE_BITSET: u64 = 10;
const COMMAND: u64 = 0x7f;
const PRIVATE: u64 = 0x80;
const CLOCK_REALTIME: u64 = 256;
const WAITERS: u32 = 0x8000_0000;
const OWNER_DIED: u32 = 0x4000_0000;
const TID_MASK: u32 = 0x3fff_ffff;

/// `errno` as a system call returns it.
pub(super) fn error(errno: i32) -> u64 {
    i64::from(-errno) as u64
}

impl<S: Strategy> Run<'_, S> {
    pub(super) fn futex(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let [word, op, value, timeout, word2, value3] = call.args;
        let Some(at) = self.futex_word(word) else { return self.skip(index, error(libc::EFAULT)) };
        // Other processes wait and wake in the kernel.
        if op & PRIVATE == 0 && !self.children.is_empty() && self.is_shared(word) {
            return self.pass(index, true);
        }
        let site = self.site_here(index, What::call("futex"));
        match op & COMMAND {
            command @ (WAIT | WAIT_BITSET) => {
                let deadline = match self.futex_deadline(op, command == WAIT, timeout) {
                    Ok(deadline) => deadline,
                    Err(errno) => return self.skip(index, error(errno)),
                };
                let bits = if command == WAIT { u32::MAX } else { value3 as u32 };
                self.threads[index].waits_for_bits = bits;
                let expected = u128::from(value as u32);
                self.pend(index, Pending::Wait { deadline }, Op::Wait { at, expected }, site, 0);
            }
            WAKE_BITSET if value3 as u32 != u32::MAX => {
                return self.wake_some(index, at.addr, value as u32, value3 as u32);
            }
            WAKE | WAKE_BITSET => {
                let then = AfterWake::Return { more: 0 };
                self.pend(index, Pending::Wake { then }, Op::Wake { at, count: value as u32 }, site, 0);
            }
            command @ (REQUEUE | CMP_REQUEUE) => {
                if command == CMP_REQUEUE && self.memory.read_u32(word) != Some(value3 as u32) {
                    return self.skip(index, error(libc::EAGAIN));
                }
                // For these the fourth argument is a number.
                let moved = timeout as u32;
                self.threads[index].requeue = Some((word2, moved));
                let then = AfterWake::Return { more: 0 };
                self.pend(index, Pending::Wake { then }, Op::Wake { at, count: value as u32 }, site, 0);
            }
            WAKE_OP => {
                let Some(second) = self.futex_word(word2) else {
                    return self.skip(index, error(libc::EFAULT));
                };
                let wakes = self.wake_op(second, value3 as u32)?;
                let then = if wakes {
                    AfterWake::Wake { at: word2, count: timeout as u32 }
                } else {
                    AfterWake::Return { more: 0 }
                };
                self.pend(index, Pending::Wake { then }, Op::Wake { at, count: value as u32 }, site, 0);
            }
            other => {
                let place = self.place_of(index);
                return Err(EngineError::Unsupported(format!("{place}: the futex operation {other}")));
            }
        }
        Ok(())
    }

    fn is_shared(&self, addr: u64) -> bool {
        self.mappings().iter().any(|mapping| mapping.shared && mapping.contains(addr))
    }

    fn futex_word(&self, word: u64) -> Option<Place> {
        (word.is_multiple_of(4) && self.memory.read_u32(word).is_some()).then(|| Place::new(Addr(word), 4))
    }

    /// When a wait ends by itself.
    fn futex_deadline(&mut self, op: u64, relative: bool, timeout: u64) -> Result<Option<u64>, i32> {
        if timeout == 0 {
            return Ok(None);
        }
        let duration = self.read_timespec(timeout)?;
        if relative {
            return Ok(Some(self.clock.now().saturating_add(duration)));
        }
        let clock = if op & CLOCK_REALTIME != 0 { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
        Ok(Some(Clock::when(clock, duration)))
    }

    /// A `struct timespec`, in nanoseconds.
    pub(super) fn read_timespec(&self, at: u64) -> Result<u64, i32> {
        let (Some(seconds), Some(nanos)) =
            (self.memory.read_u64(at), self.memory.read_u64(at.wrapping_add(8)))
        else {
            return Err(libc::EFAULT);
        };
        if nanos >= 1_000_000_000 || seconds > i64::MAX as u64 {
            return Err(libc::EINVAL);
        }
        Ok(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    /// The thread sleeps, or the word has changed already.
    pub(super) fn perform_wait(
        &mut self,
        index: usize,
        how: How,
        deadline: Option<u64>,
    ) -> Result<(), EngineError> {
        if how.sleeps {
            self.threads[index].mode = Mode::Asleep;
            if let Some(deadline) = deadline {
                self.clock.set_timer(deadline, index);
            }
            self.wake_signalled(index);
            return Ok(());
        }
        let word = self.threads[index].syscall.map_or(0, |call| call.args[0]);
        let value = self.memory.read_u32(word).unwrap_or(0);
        self.retired(self.threads[index].id, u128::from(value), 0)?;
        self.skip(index, error(libc::EAGAIN))
    }

    pub(super) fn perform_wake(&mut self, index: usize, then: AfterWake) -> Result<(), EngineError> {
        self.retired(self.threads[index].id, 0, 0)?;
        let woken: Vec<usize> = self.machine.woken().iter().map(|id| id.index()).collect();
        let count = woken.len() as u32;
        for other in woken {
            self.wakes(other, 0);
        }
        match then {
            AfterWake::End => self.has_ended(index),
            AfterWake::Return { more } => {
                let mut result = u64::from(count + more);
                if let Some((to, moved)) = self.threads[index].requeue.take() {
                    let from = self.threads[index].syscall.map_or(0, |call| call.args[0]);
                    let compares =
                        self.threads[index].syscall.is_some_and(|call| call.args[1] & COMMAND == CMP_REQUEUE);
                    let requeued = self.machine.requeue(Addr(from), Addr(to), moved);
                    // Only the comparing one counts those, too.
                    result += if compares { u64::from(requeued) } else { 0 };
                }
                self.skip(index, result)
            }
            AfterWake::Wake { at, count: second } => {
                let site = self.site_here(index, What::call("futex"));
                let at = Place::new(Addr(at), 4);
                let then = AfterWake::Return { more: count };
                self.pend(index, Pending::Wake { then }, Op::Wake { at, count: second }, site, 0);
                Ok(())
            }
        }
    }

    /// A sleeper goes on: its system call returns this.
    pub(super) fn wakes(&mut self, index: usize, result: u64) {
        self.clock.cancel(index);
        self.threads[index].mode = Mode::Running;
        self.threads[index].result = Some(result);
    }

    /// Wakes threads whose bits match, longest sleeper first.
    fn wake_some(&mut self, index: usize, at: Addr, count: u32, bits: u32) -> Result<(), EngineError> {
        let sleepers: Vec<usize> = self.machine.sleepers(at).into_iter().map(ThreadId::index).collect();
        let mut woken = 0;
        for other in sleepers {
            if woken < count && self.threads[other].waits_for_bits & bits != 0 {
                self.machine.interrupt(self.threads[other].id);
                self.wakes(other, 0);
                woken += 1;
            }
        }
        self.skip(index, u64::from(woken))
    }

    /// FUTEX_WAKE_OP's change of the second word; whether its old value asks for a second wake.
    fn wake_op(&mut self, at: Place, encoded: u32) -> Result<bool, EngineError> {
        let signed = |value: u32| (value << 20).cast_signed() >> 20;
        let (op, cmp) = (encoded >> 28, encoded >> 24 & 15);
        let (mut operand, compared) = (signed(encoded >> 12), signed(encoded));
        if op & 8 != 0 {
            operand = 1i32.wrapping_shl(operand as u32 & 31);
        }
        let old = self.memory.read_u32(at.addr.0).unwrap_or(0).cast_signed();
        let new = match op & 7 {
            0 => operand,
            1 => old.wrapping_add(operand),
            2 => old | operand,
            3 => old & !operand,
            _ => old ^ operand,
        };
        self.memory.write(at.addr.0, &new.to_le_bytes())?;
        Ok(match cmp {
            0 => old == compared,
            1 => old != compared,
            2 => old < compared,
            3 => old <= compared,
            4 => old > compared,
            _ => old >= compared,
        })
    }

    /// The thread sleeps in an emulated system call that is no futex wait.
    pub(super) fn sleep(&mut self, index: usize, deadline: Option<u64>) {
        self.machine.sleep(self.threads[index].id);
        self.threads[index].mode = Mode::Asleep;
        if let Some(deadline) = deadline {
            self.clock.set_timer(deadline, index);
        }
    }

    /// A sleeper for which a signal has come goes on.
    pub(super) fn wake_signalled(&mut self, index: usize) {
        if self.expects_signals && proc::has_signal(self.process, self.threads[index].tid) {
            self.machine.interrupt(self.threads[index].id);
            self.give_back_returns(index);
            self.clock.cancel(index);
            self.threads[index].mode = Mode::Running;
            self.threads[index].result = Some(error(libc::EINTR));
        }
    }

    /// What the kernel does with the locks that a thread holds when it ends (`robust_list(7)`): their next owners
    /// learn of it.
    pub(super) fn leave_locks(&mut self, index: usize) -> Result<(), EngineError> {
        let head = self.threads[index].robust_list;
        if head == 0 {
            return Ok(());
        }
        let (Some(offset), Some(pending)) = (self.memory.read_u64(head + 8), self.memory.read_u64(head + 16))
        else {
            return Ok(());
        };
        let own = self.threads[index].virtual_tid as u32;
        let mut words = Vec::new();
        let mut entry = self.memory.read_u64(head).unwrap_or(head);
        // The kernel's own limit: the list is the program's, and may go round in circles.
        while entry & !1 != head && words.len() < 2048 {
            words.push((entry & !1).wrapping_add(offset));
            let Some(next) = self.memory.read_u64(entry & !1) else { break };
            entry = next;
        }
        if pending & !1 != 0 {
            words.push((pending & !1).wrapping_add(offset));
        }
        for word in words {
            let Some(value) = self.memory.read_u32(word).filter(|value| value & TID_MASK == own) else {
                continue;
            };
            self.memory.write(word, &(value & WAITERS | OWNER_DIED).to_le_bytes())?;
            let site = self.site_here(index, What::call("exit"));
            self.machine.release(self.threads[index].id, word, site);
            let sleeper = self.machine.sleepers(Addr(word)).into_iter().next();
            if let Some(sleeper) = sleeper {
                self.machine.interrupt(sleeper);
                self.wakes(sleeper.index(), 0);
            }
        }
        Ok(())
    }

    /// Wakes the thread whose time has come, if there is one; with `jump`, time passes until there is.
    pub(super) fn fire_timer(&mut self, jump: bool) -> bool {
        let Some(index) = self.clock.due(jump) else { return false };
        if self.threads[index].mode != Mode::Asleep {
            return true;
        }
        self.machine.interrupt(self.threads[index].id);
        let number = self.threads[index].syscall.map_or(0, |call| call.number as i64);
        let result = if number == libc::SYS_futex { error(libc::ETIMEDOUT) } else { 0 };
        // The result is set when the thread goes on; only then its registers matter.
        self.threads[index].mode = Mode::Running;
        self.threads[index].result = Some(result);
        true
    }
}
