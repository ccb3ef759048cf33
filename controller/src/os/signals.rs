//! Signals that wait for a thread, and signals of timers that we send in the kernel's place.

use super::Tid;

/// Signals of one thread, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Signals {
    /// That wait for it, or for its whole process.
    pub(crate) pending: u64,
    pub(crate) blocked: u64,
    pub(crate) ignored: u64,
    /// Those that have handlers.
    pub(crate) caught: u64,
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1).clamp(0, 63)
}

impl Signals {
    /// From the text of `/proc/PID/task/TID/status`.
    pub(crate) fn parse(status: &str) -> Signals {
        let mask = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
        };
        Signals {
            pending: mask("SigPnd") | mask("ShdPnd"),
            blocked: mask("SigBlk"),
            ignored: mask("SigIgn"),
            caught: mask("SigCgt"),
        }
    }

    pub(crate) fn is_pending(&self, signal: i32) -> bool {
        self.pending & bit(signal) != 0
    }

    pub(crate) fn is_blocked(&self, signal: i32) -> bool {
        self.blocked & bit(signal) != 0
    }

    pub(crate) fn is_ignored(&self, signal: i32) -> bool {
        self.ignored & bit(signal) != 0
    }

    pub(crate) fn is_caught(&self, signal: i32) -> bool {
        self.caught & bit(signal) != 0
    }

    /// Whether one waits that is not blocked, and that does something.
    pub(crate) fn any(&self) -> bool {
        /// They do nothing unless they are caught.
        const QUIET: [i32; 3] = [libc::SIGCHLD, libc::SIGURG, libc::SIGWINCH];
        let quiet = QUIET.iter().fold(0, |set, &signal| set | bit(signal)) & !self.caught;
        self.pending & !self.blocked & !self.ignored & !quiet != 0
    }
}

/// What a timer's number is while the signal is on its way, for timers without a number.
const INTERVAL: i32 = i32::MIN;

/// What a signal of a timer tells (`timer_create(2)`).
pub(crate) fn of_timer(signal: i32, timer: i32, overrun: i32, value: u64) -> libc::siginfo_t {
    let mut bytes = [0; LEN];
    // Three numbers and padding, then the timer's members: the same on every 64-bit Linux.
    let code = libc::SI_TIMER;
    for (at, word) in [(0, signal), (8, code), (16, timer), (20, overrun)] {
        bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    }
    bytes[24..32].copy_from_slice(&value.to_ne_bytes());
    from_bytes(bytes)
}

/// The same of `setitimer`'s. The kernel lets nobody else send what it says itself: [`unmask`] does that on arrival.
pub(crate) fn of_interval_timer(signal: i32) -> libc::siginfo_t {
    of_timer(signal, INTERVAL, 0, 0)
}

/// A signal of ours that arrives looks as if the kernel had sent it. Whether it is one that did not.
pub(crate) fn unmask(info: &mut libc::siginfo_t) -> bool {
    // SAFETY: plain data, and the number is in bounds: signals of timers have one there.
    let timer = unsafe { (&raw const *info).cast::<u8>().add(16).cast::<i32>().read() };
    let ours = info.si_code == libc::SI_TIMER && timer == INTERVAL;
    if ours {
        let signal = info.si_signo;
        *info = of_timer(signal, 0, 0, 0);
        info.si_code = libc::SI_KERNEL;
    }
    ours
}

const LEN: usize = size_of::<libc::siginfo_t>();

/// What a program has been told of a signal, and back.
pub(crate) fn from_bytes(bytes: [u8; LEN]) -> libc::siginfo_t {
    // SAFETY: plain data, of the same size; any bytes are valid.
    unsafe { std::mem::transmute::<[u8; LEN], libc::siginfo_t>(bytes) }
}

pub(crate) fn bytes(info: &libc::siginfo_t) -> [u8; LEN] {
    // SAFETY: plain data, and all of it was initialised as bytes or by the kernel.
    unsafe { std::mem::transmute::<libc::siginfo_t, [u8; LEN]>(*info) }
}

/// The timer (of `timer_create`) that a signal is of.
pub(crate) fn timer(info: &libc::siginfo_t) -> Option<i32> {
    // SAFETY: plain data, and signals of timers have a number there.
    let timer = unsafe { (&raw const *info).cast::<u8>().add(16).cast::<i32>().read() };
    (info.si_code == libc::SI_TIMER && timer >= 0).then_some(timer)
}

/// How often that has rung in vain.
pub(crate) fn set_overrun(info: &mut libc::siginfo_t, overrun: i32) {
    // SAFETY: as above, four bytes further.
    unsafe { (&raw mut *info).cast::<u8>().add(20).cast::<i32>().write(overrun) };
}

/// Sends it to a thread, or to the whole process. One that is gone needs none.
pub(crate) fn queue(process: Tid, thread: Option<Tid>, info: &libc::siginfo_t) {
    let info = &raw const *info;
    // SAFETY: the kernel copies the information, which is initialised.
    unsafe {
        match thread {
            Some(tid) => libc::syscall(libc::SYS_rt_tgsigqueueinfo, process.0, tid.0, (*info).si_signo, info),
            None => libc::syscall(libc::SYS_rt_sigqueueinfo, process.0, (*info).si_signo, info),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_and_what_counts() {
        let status = "Name:\tSigPnd:\nSigPnd:\t0000000000002000\nShdPnd:\t0000000000010000\nSigBlk:\t0000000000002000\n\
                      SigIgn:\t0000000000000000\nSigCgt:\t0000000000002000\n";
        let signals = Signals::parse(status);
        assert!(signals.is_pending(libc::SIGALRM) && signals.is_blocked(libc::SIGALRM));
        assert!(signals.is_caught(libc::SIGALRM) && signals.is_pending(libc::SIGCHLD));
        assert!(!signals.any(), "one is blocked, and the other does nothing");
        assert!(Signals { blocked: 0, ..signals }.any());
        assert!(!Signals { blocked: 0, ignored: 0x2000, ..signals }.any());
        assert_eq!(Signals::parse("nonsense"), Signals::default());
    }

    #[test]
    fn signals_of_interval_timers_look_like_the_kernels() {
        let mut info = of_interval_timer(libc::SIGALRM);
        assert!(unmask(&mut info));
        assert_eq!((info.si_signo, info.si_code), (libc::SIGALRM, libc::SI_KERNEL));
        let mut info = of_timer(libc::SIGUSR1, 3, 0, 7);
        assert!(!unmask(&mut info));
        assert_eq!((info.si_code, unsafe { info.si_value().sival_ptr } as usize), (libc::SI_TIMER, 7));
    }
}
