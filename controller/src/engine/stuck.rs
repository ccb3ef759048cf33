//! A deadlock beside a timer. All threads wait for each other, and now and then a timer's handler interrupts one of them. As
//! long as that changes nothing, nobody will ever go on.
//!
//! That is shown exactly, not guessed: each time that all sleep, everything that a program could notice is compared with the
//! last time: registers, memory, system calls in between, looks at the clock. It has to be the same for [`ROUNDS`] times in a
//! row, with every timer in between. A handler that counts has changed something, and is waited for until a limit is reached.
//! Loads have to read what memory holds: one that still reads an older store may see another one some day.

use super::execution::Execution;
use super::thread::{Mode, Syscall};
use super::time::{Now, mix};
use wmtrace_model::execution::Label;

/// How often in a row nothing may have changed.
const ROUNDS: u32 = 16;

/// After a change it is not looked at for so many rounds, and each time twice as many: looking takes time.
const FIRST_PAUSE: u32 = 2;

/// Programs with more writable memory than this are not looked at.
const MOST_MEMORY: u64 = 256 << 20;

/// Below the stack pointer a function may have data (System V ABI for x86-64).
const RED_ZONE: u64 = 128;

/// What was seen when all slept, and how often.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    seen: Option<Seen>,
    same: u32,
    pause: u32,
    rest: u32,
    /// System calls that do something, so far.
    calls: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    state: u64,
    calls: u64,
    looks: u64,
    /// When the rounds began that were all the same.
    since: Now,
    events: usize,
}

impl Rounds {
    /// The program makes a system call.
    pub(super) fn asks(&mut self, call: &Syscall) {
        // To wait once more, and to come back from a handler, is what goes on all the time. Who is woken by a futex has
        // another state.
        let harmless = [libc::SYS_futex, libc::SYS_rt_sigreturn, libc::SYS_restart_syscall];
        self.calls += u64::from(!harmless.contains(&(call.number as i64)));
    }

    fn begin_anew(&mut self) {
        self.pause = (self.pause * 2).max(FIRST_PAUSE);
        (self.seen, self.same, self.rest) = (None, 0, self.pause);
    }
}

pub(super) trait Stuckness: Execution {
    /// All threads sleep, and only a timer can interrupt one: whether that changes nothing, for ever.
    fn is_stuck_for_good(&mut self) -> bool {
        let it = self.parts();
        let course = &mut *it.course;
        let sleeps = |mode: Mode| matches!(mode, Mode::Asleep | Mode::Ended);
        let alone = course.children.is_empty() && it.threads.iter().all(|thread| sleeps(thread.mode));
        // Who sleeps until a time goes on by itself, and a timer that rings once may be the one that matters.
        let later = course.clock.next().or(course.expirations.next());
        if !alone || later.is_some() || !course.timers.all_ring_again() {
            course.stuck = Rounds { calls: course.stuck.calls, ..Rounds::default() };
            return false;
        }
        if course.stuck.rest > 0 {
            course.stuck.rest -= 1;
            return false;
        }
        let Some(state) = self.whole_state() else { return false };
        let it = self.parts();
        let (now, looks) = (it.course.clock.moment(), it.course.clock.looks());
        let (rounds, events) = (&mut it.course.stuck, &it.machine.execution().events);
        let Some(seen) = &mut rounds.seen else {
            let (calls, events) = (rounds.calls, events.len());
            rounds.seen = Some(Seen { state, calls, looks, since: now, events });
            return false;
        };
        let newest = events.get(seen.events..).unwrap_or_default().iter().all(|event| match event.label {
            Label::Load { at, value, .. } => it.memory.value(at) == value,
            _ => true,
        });
        seen.events = events.len();
        let same = seen.state == state && seen.calls == rounds.calls && seen.looks == looks;
        if !same || !newest {
            rounds.begin_anew();
            return false;
        }
        rounds.same += 1;
        rounds.same >= ROUNDS && it.course.timers.have_all_rung_since(seen.since)
    }

    /// A hash of all registers and all memory that is the program's own. `None`: there is too much of it.
    fn whole_state(&mut self) -> Option<u64> {
        let mut hash = 0;
        let mut pointers = Vec::new();
        for index in 0..self.parts().threads.len() {
            if self.parts().threads[index].mode == Mode::Ended {
                continue;
            }
            let (registers, sp) = self.registers(index);
            hash = registers.into_iter().fold(hash, mix);
            pointers.push(sp);
        }
        let mappings = self.mappings();
        let mut left = MOST_MEMORY;
        let mut page = [0; 4096];
        for mapping in mappings.iter().filter(|mapping| mapping.writable && !mapping.executable) {
            let inside: Vec<u64> = pointers.iter().copied().filter(|&sp| mapping.contains(sp)).collect();
            // Below the end of a stack is what handlers have left behind. Of two stacks in one mapping nobody knows where
            // the one begins.
            let start = match inside[..] {
                [sp] => sp.saturating_sub(RED_ZONE).max(mapping.start),
                _ => mapping.start,
            };
            left = left.checked_sub(mapping.end - start)?;
            let mut at = start;
            while at < mapping.end {
                let len = (4096 - at % 4096).min(mapping.end - at) as usize;
                let bytes = &mut page[..len];
                if self.parts().memory.read(at, bytes) && bytes.iter().any(|&byte| byte != 0) {
                    let of_page = bytes.chunks(8).fold(at, |hash, chunk| {
                        let mut word = [0; 8];
                        word[..chunk.len()].copy_from_slice(chunk);
                        mix(hash, u64::from_le_bytes(word))
                    });
                    hash = mix(hash, of_page);
                }
                at += len as u64;
            }
        }
        Some(hash)
    }
}

impl<E: Execution> Stuckness for E {}
