//! Futexes, emulated: who sleeps and who is woken is the machine's business, and no thread of the program ever
//! sleeps on a futex in the kernel.
//!
//! `futex(2)`. Priority inheritance is emulated without priorities: a lock goes to the thread that has waited
//! longest.

use super::EngineError;
use super::answers::Answers as _;
use super::execution::Execution;
use super::expiring::Expiring as _;
use super::prelude::Prelude as _;
use super::ringing::{Ringing as _, Still};
use super::sites::What;
use super::thread::{AfterWake, Mode, Pending, Syscall};
use super::time::Clock;
use super::waits::Waiters as _;
use crate::os::proc;
use wmtrace_model::op::{Addr, How, Op, Place, ThreadId};
use wmtrace_model::order::Order;

const WAIT: u64 = 0;
const WAKE: u64 = 1;
const REQUEUE: u64 = 3;
const CMP_REQUEUE: u64 = 4;
const WAKE_OP: u64 = 5;
const LOCK_PI: u64 = 6;
const UNLOCK_PI: u64 = 7;
const TRYLOCK_PI: u64 = 8;
const WAIT_BITSET: u64 = 9;
const WAKE_BITSET: u64 = 10;
const LOCK_PI2: u64 = 13;
const COMMAND: u64 = 0x7f;
const PRIVATE: u64 = 0x80;
const CLOCK_REALTIME: u64 = 256;
const WAITERS: u32 = 0x8000_0000;
const OWNER_DIED: u32 = 0x4000_0000;
const TID_MASK: u32 = 0x3fff_ffff;

/// What a futex call asks for, by its second argument.
pub(super) enum Wanted {
    Wait { bitset: bool },
    Wake { bitset: bool },
    Requeue { compares: bool },
    WakeOp,
    Lock { command: u64 },
    Unlock,
    Unknown(u64),
}

impl Wanted {
    pub(super) fn of(op: u64) -> Wanted {
        match op & COMMAND {
            command @ (WAIT | WAIT_BITSET) => Wanted::Wait { bitset: command == WAIT_BITSET },
            command @ (WAKE | WAKE_BITSET) => Wanted::Wake { bitset: command == WAKE_BITSET },
            command @ (REQUEUE | CMP_REQUEUE) => Wanted::Requeue { compares: command == CMP_REQUEUE },
            WAKE_OP => Wanted::WakeOp,
            command @ (LOCK_PI | LOCK_PI2 | TRYLOCK_PI) => Wanted::Lock { command },
            UNLOCK_PI => Wanted::Unlock,
            command => Wanted::Unknown(command),
        }
    }
}

/// `errno` as a system call returns it.
pub(super) fn error(errno: i32) -> u64 {
    i64::from(-errno) as u64
}

pub(super) trait Futexes: Execution {
    fn futex(&mut self, index: usize, call: &Syscall) -> Result<(), EngineError> {
        let [word, op, value, timeout, word2, value3] = call.args;
        let Some(at) = self.futex_word(word) else { return self.skip(index, error(libc::EFAULT)) };
        // Other processes wait and wake in the kernel.
        if op & PRIVATE == 0 && !self.parts().course.children.is_empty() && self.is_shared(word) {
            return self.pass(index, true);
        }
        if self.parts().course.prelude {
            return self.futex_in_prelude(index, call);
        }
        if self.parts().threads.len() == 1 && self.futex_alone(index, call)? {
            return Ok(());
        }
        let site = self.site_here(index, What::call("futex"));
        match op & COMMAND {
            command @ (WAIT | WAIT_BITSET) => {
                let deadline = match self.futex_deadline(op, command == WAIT, timeout) {
                    Ok(deadline) => deadline,
                    Err(errno) => return self.skip(index, error(errno)),
                };
                let bits = if command == WAIT { u32::MAX } else { value3 as u32 };
                self.parts().threads[index].waits_for_bits = bits;
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
                let it = self.parts();
                if command == CMP_REQUEUE && it.memory.read_u32(word) != Some(value3 as u32) {
                    return self.skip(index, error(libc::EAGAIN));
                }
                // For these the fourth argument is a number.
                let moved = timeout as u32;
                it.threads[index].requeue = Some((word2, moved));
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
            command @ (LOCK_PI | LOCK_PI2 | TRYLOCK_PI) => {
                return self.lock_pi(index, word, op, command, timeout);
            }
            UNLOCK_PI => return self.unlock_pi(index, word),
            other => {
                self.parts().course.warn(format!("the futex operation {other} is not supported"));
                return self.skip(index, error(libc::ENOSYS));
            }
        }
        Ok(())
    }

    /// The same before there is a second thread, without the machine: an execution that begins where that is made, as a
    /// copy, has no events from before. False: it waits for ever, which the machine should know.
    fn futex_alone(&mut self, index: usize, call: &Syscall) -> Result<bool, EngineError> {
        let [word, op, value, timeout, word2, value3] = call.args;
        let now = self.parts().memory.read_u32(word);
        let result = match op & COMMAND {
            WAIT | WAIT_BITSET if now != Some(value as u32) => error(libc::EAGAIN),
            command @ (WAIT | WAIT_BITSET) => match self.futex_deadline(op, command == WAIT, timeout) {
                Ok(None) => return Ok(false),
                Ok(deadline) => {
                    self.sleep(index, deadline);
                    return Ok(true);
                }
                Err(errno) => error(errno),
            },
            CMP_REQUEUE if now != Some(value3 as u32) => error(libc::EAGAIN),
            WAKE | WAKE_BITSET | REQUEUE | CMP_REQUEUE => 0,
            WAKE_OP => match self.futex_word(word2) {
                Some(second) => {
                    self.wake_op(second, value3 as u32)?;
                    0
                }
                None => error(libc::EFAULT),
            },
            _ => return Ok(false),
        };
        self.skip(index, result)?;
        Ok(true)
    }

    fn is_shared(&self, addr: u64) -> bool {
        self.mappings().iter().any(|mapping| mapping.shared && mapping.contains(addr))
    }

    fn futex_word(&mut self, word: u64) -> Option<Place> {
        let readable = word.is_multiple_of(4) && self.parts().memory.read_u32(word).is_some();
        readable.then(|| Place::new(Addr(word), 4))
    }

    /// When a wait ends by itself.
    fn futex_deadline(&mut self, op: u64, relative: bool, timeout: u64) -> Result<Option<u64>, i32> {
        if timeout == 0 {
            return Ok(None);
        }
        let duration = self.read_timespec(timeout)?;
        if relative {
            return Ok(Some(self.parts().course.clock.now().saturating_add(duration)));
        }
        let clock = if op & CLOCK_REALTIME != 0 { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
        Ok(Some(Clock::when(clock, duration)))
    }

    /// A `struct timespec`, in nanoseconds.
    fn read_timespec(&mut self, at: u64) -> Result<u64, i32> {
        let memory = self.parts().memory;
        let (Some(seconds), Some(nanos)) = (memory.read_u64(at), memory.read_u64(at.wrapping_add(8))) else {
            return Err(libc::EFAULT);
        };
        if nanos >= 1_000_000_000 || seconds > i64::MAX as u64 {
            return Err(libc::EINVAL);
        }
        Ok(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    /// The thread sleeps, or the word has changed already.
    fn perform_wait(&mut self, index: usize, how: How, deadline: Option<u64>) -> Result<(), EngineError> {
        let it = self.parts();
        if how.sleeps {
            it.threads[index].mode = Mode::Asleep;
            if let Some(deadline) = deadline {
                it.course.clock.set_timer(deadline, index);
            }
            self.wake_signalled(index);
            return Ok(());
        }
        let id = it.threads[index].id;
        let word = it.threads[index].syscall.map_or(0, |call| call.args[0]);
        let value = it.memory.read_u32(word).unwrap_or(0);
        self.retired(id, u128::from(value), 0)?;
        self.skip(index, error(libc::EAGAIN))
    }

    fn perform_wake(&mut self, index: usize, then: AfterWake) -> Result<(), EngineError> {
        let id = self.parts().threads[index].id;
        self.retired(id, 0, 0)?;
        let woken: Vec<usize> = self.parts().machine.woken().iter().map(|id| id.index()).collect();
        let count = woken.len() as u32;
        for other in woken {
            self.wakes(other, 0);
        }
        match then {
            AfterWake::End => self.has_ended(index),
            AfterWake::Return { more } => {
                let mut result = u64::from(count + more);
                let it = self.parts();
                if let Some((to, moved)) = it.threads[index].requeue.take()
                    && let Some(call) = it.threads[index].syscall
                {
                    let requeued = it.machine.requeue(Addr(call.args[0]), Addr(to), moved);
                    // Only the comparing one counts those, too.
                    let compares = call.args[1] & COMMAND == CMP_REQUEUE;
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

    /// A sleeper goes on: its system call returns this. (The result is set when it goes on; only then its registers
    /// matter.)
    fn wakes(&mut self, index: usize, result: u64) {
        let it = self.parts();
        it.course.clock.cancel(index);
        let thread = &mut it.threads[index];
        (thread.mode, thread.waits_for_lock, thread.result) = (Mode::Running, None, Some(result));
    }

    /// Wakes threads whose bits match, longest sleeper first.
    fn wake_some(&mut self, index: usize, at: Addr, count: u32, bits: u32) -> Result<(), EngineError> {
        let sleepers: Vec<usize> =
            self.parts().machine.sleepers(at).into_iter().map(ThreadId::index).collect();
        let mut woken = 0;
        for other in sleepers {
            let it = self.parts();
            if woken < count && it.threads[other].waits_for_bits & bits != 0 {
                it.machine.interrupt(it.threads[other].id);
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
        let memory = self.parts().memory;
        let old = memory.read_u32(at.addr.0).unwrap_or(0).cast_signed();
        let new = match op & 7 {
            0 => operand,
            1 => old.wrapping_add(operand),
            2 => old | operand,
            3 => old & !operand,
            _ => old ^ operand,
        };
        memory.write(at.addr.0, &new.to_le_bytes())?;
        Ok(match cmp {
            0 => old == compared,
            1 => old != compared,
            2 => old < compared,
            3 => old <= compared,
            4 => old > compared,
            _ => old >= compared,
        })
    }

    fn lock_pi(
        &mut self,
        index: usize,
        word: u64,
        op: u64,
        command: u64,
        timeout: u64,
    ) -> Result<(), EngineError> {
        let it = self.parts();
        let own = it.threads[index].virtual_tid as u32;
        let value = it.memory.read_u32(word).unwrap_or(0);
        let owner = value & TID_MASK;
        if owner == own {
            return self.skip(index, error(libc::EDEADLK));
        }
        let dead = owner != 0
            && !it.threads.iter().any(|it| it.virtual_tid as u32 == owner && it.mode != Mode::Ended);
        if owner == 0 || dead {
            let died = if dead { OWNER_DIED } else { value & OWNER_DIED };
            it.memory.write(word, &(own | died | value & WAITERS).to_le_bytes())?;
            return self.skip(index, 0);
        }
        if command == TRYLOCK_PI {
            return self.skip(index, error(libc::EAGAIN));
        }
        // LOCK_PI's time is of the real-time clock, LOCK_PI2's as its flag says.
        let clock = if command == LOCK_PI { CLOCK_REALTIME } else { op };
        let deadline = match self.futex_deadline(clock, false, timeout) {
            Ok(deadline) => deadline,
            Err(errno) => return self.skip(index, error(errno)),
        };
        let it = self.parts();
        it.memory.write(word, &(value | WAITERS).to_le_bytes())?;
        it.threads[index].waits_for_lock = Some(word);
        self.sleep(index, deadline);
        Ok(())
    }

    fn unlock_pi(&mut self, index: usize, word: u64) -> Result<(), EngineError> {
        let it = self.parts();
        let own = it.threads[index].virtual_tid as u32;
        let value = it.memory.read_u32(word).unwrap_or(0);
        if value & TID_MASK != own {
            return self.skip(index, error(libc::EPERM));
        }
        let mut waiting =
            (0..it.threads.len()).filter(|&other| it.threads[other].waits_for_lock == Some(word));
        let (next, more) = (waiting.next(), waiting.next().is_some());
        let new = match next {
            Some(next) => it.threads[next].virtual_tid as u32 | if more { WAITERS } else { 0 },
            None => 0,
        };
        it.memory.write(word, &new.to_le_bytes())?;
        if let Some(next) = next {
            it.machine.interrupt(it.threads[next].id);
            self.wakes(next, 0);
        }
        self.skip(index, 0)
    }

    /// The thread sleeps in an emulated system call that is no futex wait.
    fn sleep(&mut self, index: usize, deadline: Option<u64>) {
        let it = self.parts();
        it.machine.sleep(it.threads[index].id);
        it.threads[index].mode = Mode::Asleep;
        if let Some(deadline) = deadline {
            it.course.clock.set_timer(deadline, index);
        }
    }

    /// A sleeper for which a signal has come goes on.
    fn wake_signalled(&mut self, index: usize) {
        if self.keeps_waiting(index) {
            return;
        }
        let it = self.parts();
        if it.course.expects_signals && proc::has_signal(it.process, it.threads[index].tid) {
            it.machine.interrupt(it.threads[index].id);
            self.interrupts(index);
            if self.restarts(index) {
                let thread = &mut self.parts().threads[index];
                (thread.mode, thread.waits_for_lock) = (Mode::Running, None);
                self.begins_anew(index);
                return;
            }
            self.tell_left(index);
            self.wakes(index, error(libc::EINTR));
        }
    }

    /// Whether the thread's wait begins anew after the handlers of all signals that wait for it: if they want that, and it
    /// does not wait until a time.
    fn restarts(&mut self, index: usize) -> bool {
        let it = self.parts();
        let may = |call: Syscall| {
            use libc::{SYS_futex, SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg};
            [SYS_futex, SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg].contains(&(call.number as i64))
        };
        let may = it.threads[index].syscall.is_some_and(may);
        let signals = proc::signals(it.process, it.threads[index].tid).unwrap_or_default();
        if !may || it.course.clock.wakes(index).is_some() {
            return false;
        }
        let restarting = it.course.restarting;
        let wanted = (1..=64).filter(|signal| restarting >> (signal - 1) & 1 != 0);
        let real =
            wanted.filter_map(|signal| self.real_signal(signal)).fold(0, |set, it| set | 1u64 << (it - 1));
        signals.pending & !signals.blocked & !signals.ignored & !real == 0
    }

    /// A thread that has slept, and not for as long as it wanted, learns for how long it should have.
    fn tell_left(&mut self, index: usize) {
        let it = self.parts();
        let Some(call) = it.threads[index].syscall else { return };
        let to = match call.number as i64 {
            libc::SYS_nanosleep => call.args[1],
            libc::SYS_clock_nanosleep if call.args[1] & libc::TIMER_ABSTIME as u64 == 0 => call.args[3],
            _ => 0,
        };
        let Some(until) = it.course.clock.wakes(index) else { return };
        let left = until.saturating_sub(it.course.clock.now());
        if to != 0 {
            let words = [left / 1_000_000_000, left % 1_000_000_000].map(u64::to_le_bytes);
            // The kernel does not care either whether it can be written.
            let _ = it.memory.write(to, &words.concat());
        }
        self.tells_left(index, &call, left);
    }

    /// What is to happen at a time happens, if it has come: a thread is woken, or a timer rings. If nobody can go on, time
    /// passes until it has.
    fn fire_timer(&mut self, still: Option<Still>) -> bool {
        if self.expires(still) || still.is_some_and(|still| self.somebody_hears(still)) {
            return true;
        }
        let it = self.parts();
        let Some(index) = it.course.clock.due(still.is_some()) else { return self.rings_now() };
        if it.threads[index].mode != Mode::Asleep {
            return true;
        }
        it.machine.interrupt(it.threads[index].id);
        let number = it.threads[index].syscall.map_or(0, |call| call.number as i64);
        let result = match self.waits_in_vain(index) {
            Some(result) => result,
            None if number == libc::SYS_futex => error(libc::ETIMEDOUT),
            None => 0,
        };
        self.wakes(index, result);
        true
    }

    /// The thread calls `exit`, and others are there: its number in memory is cleared, and who waits for that is
    /// woken.
    fn ends(&mut self, index: usize) -> Result<(), EngineError> {
        if self.parts().course.prelude {
            return self.ends_in_prelude(index);
        }
        self.flush(index)?;
        self.leave_locks(index)?;
        self.about_to_end(index);
        let it = self.parts();
        let at = it.threads[index].clear_tid;
        if at == 0 || it.memory.read_u32(at).is_none() {
            return self.has_ended(index);
        }
        let site = self.site_here(index, What::call("exit"));
        let place = Place::new(Addr(at), 4);
        self.pend(index, Pending::Clear { at }, Op::Store { at: place, order: Order::Release }, site, 0);
        Ok(())
    }

    fn perform_clear(&mut self, index: usize, at: u64) -> Result<(), EngineError> {
        self.leaves_for_good(index)?;
        let it = self.parts();
        it.memory.write(at, &[0; 4])?;
        let id = it.threads[index].id;
        self.retired(id, 0, 0)?;
        self.flush(index)?;
        let site = self.site_here(index, What::call("exit"));
        let wake = Op::Wake { at: Place::new(Addr(at), 4), count: u32::MAX };
        self.pend(index, Pending::Wake { then: AfterWake::End }, wake, site, 0);
        Ok(())
    }

    /// What the kernel does with the locks that a thread holds when it ends (`robust_list(7)`): their next owners
    /// learn of it.
    fn leave_locks(&mut self, index: usize) -> Result<(), EngineError> {
        let it = self.parts();
        let head = it.threads[index].robust_list;
        // The address is the program's: there may be nothing.
        let field = |at: u64| head.checked_add(at).and_then(|at| it.memory.read_u64(at));
        let (false, Some(offset), Some(pending)) = (head == 0, field(8), field(16)) else { return Ok(()) };
        let (id, own) = (it.threads[index].id, it.threads[index].virtual_tid as u32);
        let mut words = Vec::new();
        let mut entry = it.memory.read_u64(head).unwrap_or(head);
        // The kernel's own limit: the list is the program's, and may go round in circles.
        while entry & !1 != head && words.len() < 2048 {
            words.push((entry & !1).wrapping_add(offset));
            let Some(next) = it.memory.read_u64(entry & !1) else { break };
            entry = next;
        }
        if pending & !1 != 0 {
            words.push((pending & !1).wrapping_add(offset));
        }
        for word in words {
            let memory = self.parts().memory;
            let held = |value: &u32| word.is_multiple_of(4) && value & TID_MASK == own;
            let Some(value) = memory.read_u32(word).filter(held) else { continue };
            // As for the kernel, what cannot be written is no lock.
            if memory.write(word, &(value & WAITERS | OWNER_DIED).to_le_bytes()).is_err() {
                continue;
            }
            let site = self.site_here(index, What::call("exit"));
            if self.parts().course.prelude {
                self.wake_at(word, 1, u32::MAX);
                continue;
            }
            let machine = self.parts().machine;
            machine.release(id, word, site);
            let sleeper = machine.sleepers(Addr(word)).into_iter().next();
            if let Some(sleeper) = sleeper {
                machine.interrupt(sleeper);
                self.wakes(sleeper.index(), 0);
            }
        }
        Ok(())
    }
}

impl<E: Execution> Futexes for E {}
