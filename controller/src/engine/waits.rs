//! Calls that wait for descriptors (`poll` and its relatives, reading from a pipe or a socket), in virtual time.
//!
//! The thread does not wait in the kernel but here, as a futex's sleepers do. When the kernel has done something for another
//! thread, or a timer is due, the descriptors are looked at again; once one is ready the kernel does the call, which does not
//! wait then. A timeout is over when the virtual time has come. So nobody waits in real time, and threads that wait for each
//! other in this way are in a deadlock.
//!
//! This needs that only the program itself makes the descriptors ready ([`super::own`]). With others (the outside world,
//! processes that the program has made, descriptors that it has sent away), the kernel does the waiting, in real time.

use super::EngineError;
use super::answers::Answers as _;
use super::execution::Execution;
use super::expiring::Expiring as _;
use super::futex::{Futexes as _, error};
use super::own;
use super::ringing::Ringing as _;
use super::syscalls::touched;
use super::thread::{Mode, Syscall};
use super::timeouts;
use crate::os::descriptors::{self, Descriptors};
use crate::os::{Tid, calls, proc};

/// Who waits for more descriptors than this waits in the kernel.
const MOST: u64 = 128;

/// What always makes a descriptor of `poll` ready.
const ALWAYS: i16 = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;
/// What makes it ready for `select`, of each of its sets.
const SETS: [i16; 3] = [
    libc::POLLIN | libc::POLLRDNORM | libc::POLLRDBAND | ALWAYS,
    libc::POLLOUT | libc::POLLWRNORM | libc::POLLWRBAND | libc::POLLERR | libc::POLLNVAL,
    libc::POLLPRI | libc::POLLNVAL,
];

/// Signals that nobody but the program itself, or an instruction of its, sends: faults, timers', the C library's own.
const INSIDE: [i32; 15] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGSYS,
    libc::SIGPIPE,
    libc::SIGCHLD,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGXCPU,
    // Of the C library: to cancel a thread, and to change the user.
    32,
    33,
];

/// What a call waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wait {
    /// Descriptors, and what makes each of them ready.
    on: Vec<(i32, i16)>,
    /// Signals that are taken from a descriptor (`signalfd`), or by the call itself, a bit each.
    signals: u64,
    /// The signals that are blocked meanwhile, if the call says so.
    blocked: Option<u64>,
    /// The call takes what has come: it does not wait if the descriptor was opened so.
    takes: bool,
}

impl Wait {
    /// `None`: the call does not wait for descriptors, or for too many, or its arguments make no sense.
    #[allow(non_upper_case_globals, reason = "libc's names")]
    fn of(call: &Syscall, word: &dyn Fn(u64) -> Option<u64>) -> Option<Wait> {
        use calls::*;
        const DONT_WAIT: u64 = MSG_DONTWAIT as u64;
        let [first, second, third, fourth, fifth, sixth] = call.args;
        let takes =
            || Some(Wait { on: vec![(first as i32, SETS[0])], signals: 0, blocked: None, takes: true });
        let mask = |at: u64| if at == 0 { Some(None) } else { word(at).map(Some) };
        let (on, blocked) = match call.number as i64 {
            SYS_poll => (polled(first, second, word)?, None),
            SYS_ppoll => (polled(first, second, word)?, mask(fourth)?),
            SYS_select => (selected(first, [second, third, fourth], word)?, None),
            SYS_pselect6 => {
                let at = if sixth == 0 { 0 } else { word(sixth)? };
                (selected(first, [second, third, fourth], word)?, mask(at)?)
            }
            SYS_epoll_wait => (vec![(first as i32, SETS[0])], None),
            SYS_epoll_pwait | SYS_epoll_pwait2 => (vec![(first as i32, SETS[0])], mask(fifth)?),
            SYS_read | SYS_readv => return takes(),
            SYS_recvfrom if fourth & DONT_WAIT == 0 => return takes(),
            SYS_recvmsg if third & DONT_WAIT == 0 => return takes(),
            SYS_rt_sigtimedwait => {
                return Some(Wait { on: Vec::new(), signals: word(first)?, blocked: None, takes: false });
            }
            _ => return None,
        };
        Some(Wait { on, signals: 0, blocked, takes: false })
    }

    /// Whether the kernel would find something to answer.
    fn is_ready(&self, descriptors: &Descriptors) -> bool {
        self.on.iter().any(|&(fd, wanted)| {
            // There is none: that is an answer, too.
            descriptors.look(fd, |fd| descriptors::ready(fd, wanted, 0)).map_or(true, |is| is & wanted != 0)
        })
    }
}

/// The descriptors of `poll`.
fn polled(at: u64, count: u64, read: &dyn Fn(u64) -> Option<u64>) -> Option<Vec<(i32, i16)>> {
    if count > MOST {
        return None;
    }
    // struct pollfd: the descriptor, what is asked for, what is found.
    let all = (0..count).map(|index| read(at.checked_add(8 * index)?));
    let all: Option<Vec<u64>> = all.collect();
    let entry = |word: u64| (word as u32 as i32, (word >> 32) as i16 | ALWAYS);
    Some(all?.into_iter().map(entry).filter(|&(fd, _)| fd >= 0).collect())
}

/// The descriptors of `select`.
fn selected(count: u64, sets: [u64; 3], read: &dyn Fn(u64) -> Option<u64>) -> Option<Vec<(i32, i16)>> {
    let count = u64::try_from(count as i32).ok().filter(|&count| count <= 1024)?;
    let mut on = Vec::new();
    for (at, wanted) in sets.into_iter().zip(SETS).filter(|&(at, _)| at != 0) {
        for word in 0..count.div_ceil(64) {
            let bits = read(at.checked_add(8 * word)?)?;
            let set = (64 * word..count.min(64 * word + 64)).filter(|fd| bits >> (fd % 64) & 1 != 0);
            on.extend(set.map(|fd| (fd as i32, wanted)));
        }
    }
    (on.len() as u64 <= MOST).then_some(on)
}

/// A thread that waits.
#[derive(Debug)]
struct Waiting {
    thread: usize,
    wait: Wait,
}

/// The threads that wait, in the order in which they began.
#[derive(Default, Debug)]
pub(super) struct Waits {
    all: Vec<Waiting>,
    descriptors: Option<Descriptors>,
    /// The program has given descriptors away, or lets the kernel write to them later on.
    shared: bool,
    /// What epoll waits for has changed: it may be the program's own no more.
    changed: bool,
}

impl Waits {
    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    /// What an execution begins with that was copied from another one.
    pub(super) fn copied(shared: bool) -> Waits {
        Waits { shared, ..Waits::default() }
    }

    /// Another program begins in the process: its first thread is the only one.
    pub(super) fn executes(&mut self) {
        self.all.clear();
    }

    fn of(&self, thread: usize) -> Option<&Wait> {
        self.all.iter().find(|waiting| waiting.thread == thread).map(|waiting| &waiting.wait)
    }

    fn end(&mut self, thread: usize) -> bool {
        let before = self.all.len();
        self.all.retain(|waiting| waiting.thread != thread);
        self.all.len() < before
    }

    /// The descriptors of the process, if they can be looked at.
    pub(super) fn descriptors(&mut self, process: Tid) -> Option<&Descriptors> {
        if self.descriptors.is_none() {
            self.descriptors = Descriptors::of(process).ok();
        }
        self.descriptors.as_ref()
    }
}

/// Whether others may write to the program's descriptors after this call.
fn shares(call: &Syscall, read: &dyn Fn(u64) -> Option<u64>) -> bool {
    match call.number as i64 {
        // struct msghdr: the sixth word says how much is sent beside the data, which may be descriptors.
        calls::SYS_sendmsg => read(call.args[1].wrapping_add(40)).is_none_or(|len| len != 0),
        calls::SYS_sendmmsg | calls::SYS_io_setup | calls::SYS_io_uring_setup => true,
        _ => false,
    }
}

pub(super) trait Waiters: Execution {
    /// The thread makes a system call. True: it waits for descriptors of the program's own, and does so here.
    fn waits(&mut self, index: usize, call: &Syscall) -> Result<bool, EngineError> {
        let it = self.parts();
        let read = |at: u64| it.memory.read_u64(at);
        it.course.waits.shared |= shares(call, &read);
        it.course.waits.changed |= call.number as i64 == libc::SYS_epoll_ctl;
        let (patience, wait) = (timeouts::longest(call, &read), Wait::of(call, &read));
        let Ok(mut patience) = patience else { return Ok(false) };
        it.threads[index].waits_until =
            patience.map(|patience| it.course.clock.now().saturating_add(patience));
        let Some(mut wait) = wait.filter(|_| patience != Some(0)) else { return Ok(false) };
        // Who waits for signals alone, without end, is woken by the kernel.
        if wait.on.is_empty() && patience.is_none() || !self.is_own_affair(&mut wait) {
            return Ok(false);
        }
        let it = self.parts();
        let Some(descriptors) = it.course.waits.descriptors(it.process) else { return Ok(false) };
        if wait.is_ready(descriptors) || self.has_come(index, &wait) || self.is_interrupted(index, &wait) {
            return Ok(false);
        }
        let it = self.parts();
        let Some(descriptors) = it.course.waits.descriptors(it.process) else { return Ok(false) };
        if let (true, &[(fd, _)]) = (wait.takes, &wait.on[..]) {
            let timeout = descriptors.look(fd, descriptors::receive_timeout).unwrap_or(0);
            patience = Some(timeout).filter(|&timeout| timeout > 0);
        }
        let (now, id) = (it.course.clock.now(), it.threads[index].id);
        if let Some(patience) = patience {
            it.machine.hint(id);
            it.course.clock.sleeps(now.saturating_add(patience), index);
        }
        it.course.waits.all.push(Waiting { thread: index, wait });
        self.sleep(index, None);
        Ok(true)
    }

    /// Whether a signal has come for a thread that waits so.
    fn is_interrupted(&mut self, index: usize, wait: &Wait) -> bool {
        let it = self.parts();
        if !it.course.expects_signals {
            return false;
        }
        let mut signals = proc::signals(it.process, it.threads[index].tid).unwrap_or_default();
        signals.blocked = wait.blocked.unwrap_or(signals.blocked);
        signals.any()
    }

    /// Whether a signal has come that the thread waits for.
    fn has_come(&mut self, index: usize, wait: &Wait) -> bool {
        let it = self.parts();
        let pending = || proc::signals(it.process, it.threads[index].tid).unwrap_or_default().pending;
        wait.signals != 0 && pending() & wait.signals != 0
    }

    /// Whether nobody but the program's threads and timers can end the wait. Descriptors of signals, which only their owner
    /// can look at, become the signals.
    fn is_own_affair(&mut self, wait: &mut Wait) -> bool {
        let it = self.parts();
        let process = it.process;
        if wait.takes {
            let &[(fd, _)] = &wait.on[..] else { return false };
            if !own::is_channel(process, fd) || proc::descriptor_flags(process, fd) & libc::O_NONBLOCK != 0 {
                return false;
            }
        }
        // Nothing is known of descriptors once the first thread has ended: they are asked for by its number.
        let known = it.threads.first().is_some_and(|first| first.mode != Mode::Ended);
        // While somebody waits for the outside world, time is the outside world's.
        let shown = self.shows_blocked_signals();
        if shown {
            let signals = |fd: i32| own::signals(process, fd);
            wait.signals |= wait.on.iter().filter_map(|&(fd, _)| signals(fd)).fold(0, |all, set| all | set);
            wait.on.retain(|&(fd, _)| signals(fd).is_none());
        }
        let hidden = !shown && (wait.blocked.is_some() || wait.signals != 0);
        if hidden || !known || self.parts().course.waits.shared || !self.is_inside() {
            return false;
        }
        let it = self.parts();
        let timers = |fd: i32| it.course.expirations.knows(fd);
        let Some(descriptors) = it.course.waits.descriptors(process) else { return false };
        wait.on.iter().all(|&(fd, _)| own::is_own(process, descriptors, fd, &timers))
    }

    /// The kernel has done something, or a timer has expired: those for whom something is ready go on.
    fn look_at_waits(&mut self) -> Result<(), EngineError> {
        let waits = &mut self.parts().course.waits;
        let changed = std::mem::take(&mut waits.changed);
        let waiting: Vec<usize> = waits.all.iter().map(|it| it.thread).collect();
        for index in waiting {
            let it = self.parts();
            let others = !it.course.children.is_empty() || it.course.waits.shared;
            let Some(mut wait) = it.course.waits.of(index).cloned() else { continue };
            // Only the program's own may be looked at: the kernel tells others' state to their owner alone.
            let others = others || changed && !self.is_own_affair(&mut wait);
            let it = self.parts();
            let Some(descriptors) = it.course.waits.descriptors(it.process) else { continue };
            if others || wait.is_ready(descriptors) || self.has_come(index, &wait) {
                self.waits_no_more(index);
                self.makes_call(index)?;
            }
            if self.parts().course.end.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// The thread goes on.
    fn waits_no_more(&mut self, index: usize) {
        let it = self.parts();
        it.course.waits.end(index);
        it.course.clock.cancel(index);
        let thread = &mut it.threads[index];
        it.machine.interrupt(thread.id);
        // What the kernel tells it may be something new.
        it.machine.disturb(thread.id);
        thread.mode = Mode::Running;
    }

    /// The kernel does the call that the thread has waited in, or would.
    fn makes_call(&mut self, index: usize) -> Result<(), EngineError> {
        let Some(call) = self.parts().threads[index].syscall else { return Ok(()) };
        match self.answers_reading(index, &call)? {
            true => Ok(()),
            false => self.pass(index, true),
        }
    }

    /// Whether the thread waits for descriptors, and no signal has come for it. If one has that the thread blocks, but the call
    /// does not, the kernel does the call, which the signal interrupts.
    fn keeps_waiting(&mut self, index: usize) -> bool {
        let Some(wait) = self.parts().course.waits.of(index).cloned() else { return false };
        if !self.is_interrupted(index, &wait) {
            return true;
        }
        if wait.blocked.is_some() {
            self.waits_no_more(index);
            self.parts().threads[index].makes_call = true;
            return true;
        }
        self.parts().course.waits.end(index);
        false
    }

    /// The time is over: what the thread's call returns, if it is one that waits for descriptors.
    fn waits_in_vain(&mut self, index: usize) -> Option<u64> {
        let it = self.parts();
        if !it.course.waits.end(index) {
            return None;
        }
        let call = it.threads[index].syscall?;
        it.threads[index].waits_until = None;
        let (memory, [first, second, third, fourth, ..]) = (it.memory, call.args);
        memory.look_through(it.threads[index].tid);
        match call.number as i64 {
            calls::SYS_poll | libc::SYS_ppoll => {
                for entry in 0..second {
                    memory.store(first + 8 * entry + 6, &[0; 2]);
                }
            }
            calls::SYS_select | libc::SYS_pselect6 => {
                let len = first.min(1024).div_ceil(64) as usize * 8;
                for set in [second, third, fourth].into_iter().filter(|&set| set != 0) {
                    memory.store(set, &vec![0; len]);
                }
            }
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 | calls::SYS_epoll_wait => {}
            // It has received nothing.
            _ => return Some(error(libc::EAGAIN)),
        }
        let ranges = touched(&call, 0, &|at| memory.read_u64(at));
        self.tells_left(index, &call, 0);
        if self.is_watched() {
            self.tell_ranges(index, &call, ranges);
        }
        Some(0)
    }

    /// All wait. Whether a signal from outside may wake one of those who wait for descriptors: some are handled, or waited for.
    /// Those wait in the kernel from now on.
    fn wait_for_outside(&mut self) -> Result<bool, EngineError> {
        let it = self.parts();
        let inside = INSIDE.iter().fold(0u64, |set, signal| set | 1 << (signal - 1));
        let all = &it.course.waits.all;
        let signals = all.iter().fold(it.course.caught, |set, waiting| set | waiting.wait.signals);
        if signals & !inside == 0 {
            return Ok(false);
        }
        let waiting: Vec<usize> = all.iter().map(|it| it.thread).collect();
        for &index in &waiting {
            self.waits_no_more(index);
            self.makes_call(index)?;
        }
        Ok(!waiting.is_empty())
    }
}

impl<E: Execution> Waiters for E {}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 0x1000: descriptor 5 for reading, none, 6 for writing; at 0x2000 a set of 1 and 65; at 0x3000 a mask, and where it
    /// is at 0x4000.
    fn read(at: u64) -> Option<u64> {
        let words = [
            (0x1000, 5 | u64::from(libc::POLLIN as u16) << 32),
            (0x1008, 0xffff_ffff),
            (0x1010, 6 | u64::from(libc::POLLOUT as u16) << 32),
            (0x2000, 2),
            (0x2008, 2 | 8),
            (0x3000, 0x77),
            (0x4000, 0x3000),
        ];
        words.into_iter().find(|word| word.0 == at).map(|word| word.1)
    }

    fn wait(number: i64, args: [u64; 6]) -> Option<Wait> {
        Wait::of(&Syscall { number: number as u64, args }, &read)
    }

    #[test]
    fn what_calls_wait_for() {
        let poll = wait(libc::SYS_ppoll, [0x1000, 3, 0, 0x3000, 8, 0]).unwrap();
        assert_eq!(poll.on, [(5, libc::POLLIN | ALWAYS), (6, libc::POLLOUT | ALWAYS)]);
        assert_eq!((poll.blocked, poll.takes), (Some(0x77), false));
        let select = wait(libc::SYS_pselect6, [66, 0, 0x2000, 0, 0, 0x4000]).unwrap();
        assert_eq!((select.on, select.blocked), (vec![(1, SETS[1]), (65, SETS[1])], Some(0x77)));
        assert_eq!(wait(libc::SYS_epoll_pwait, [7, 0, 1, 0, 0, 0]).unwrap().on, [(7, SETS[0])]);
        assert!(wait(libc::SYS_recvfrom, [7, 0, 1, 0, 0, 0]).unwrap().takes);
        assert_eq!(wait(libc::SYS_rt_sigtimedwait, [0x3000, 0, 0, 8, 0, 0]).unwrap().signals, 0x77);
    }

    #[test]
    fn what_is_left_to_the_kernel() {
        assert_eq!(wait(libc::SYS_ppoll, [0x1000, 4, 0, 0, 0, 0]), None, "no memory");
        assert_eq!(wait(libc::SYS_ppoll, [0x1000, u64::MAX, 0, 0, 0, 0]), None, "too many");
        assert_eq!(wait(libc::SYS_pselect6, [u64::MAX, 0x2000, 0, 0, 0, 0]), None, "a negative number");
        assert_eq!(wait(libc::SYS_recvfrom, [7, 0, 1, libc::MSG_DONTWAIT as u64, 0, 0]), None);
        assert_eq!(wait(libc::SYS_write, [7, 0, 1, 0, 0, 0]), None);
    }

    #[test]
    fn who_gives_descriptors_away() {
        let shares = |number: i64, at: u64| {
            shares(&Syscall { number: number as u64, args: [3, at, 0, 0, 0, 0] }, &read)
        };
        assert!(shares(libc::SYS_sendmsg, 0x2000 - 40) && shares(libc::SYS_io_uring_setup, 0));
        assert!(!shares(libc::SYS_sendto, 0x2000 - 40));
    }
}
