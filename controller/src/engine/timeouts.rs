//! How long a system call waits: the kernel does it in real time, and the program's time is another.

use super::futex::error;
use super::thread::Syscall;
use crate::os::calls;

/// What the call was given makes no sense: the kernel refuses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refused;

/// The nanoseconds after which a call that waits gives up, if it ever does. `read` looks at the program's memory.
pub(super) fn longest(call: &Syscall, read: &dyn Fn(u64) -> Option<u64>) -> Result<Option<u64>, Refused> {
    let args = call.args;
    let milliseconds = |argument: u64| Ok(u64::try_from(argument as i32).ok().map(|it| it * 1_000_000));
    // Seconds, and parts of a second of so many nanoseconds. No address: for ever.
    let time = |at: u64, unit: u64| {
        if at == 0 {
            return Ok(None);
        }
        let (Some(seconds), Some(rest)) = (read(at), read(at.wrapping_add(8))) else { return Err(Refused) };
        // Microseconds may be more than a second.
        if (seconds as i64) < 0 || (rest as i64) < 0 || unit == 1 && rest >= 1_000_000_000 {
            return Err(Refused);
        }
        Ok(Some(seconds.saturating_mul(1_000_000_000).saturating_add(rest.saturating_mul(unit))))
    };
    match call.number as i64 {
        calls::SYS_poll => milliseconds(args[2]),
        calls::SYS_epoll_wait | calls::SYS_epoll_pwait => milliseconds(args[3]),
        calls::SYS_select => time(args[4], 1000),
        calls::SYS_pselect6 | calls::SYS_io_getevents => time(args[4], 1),
        calls::SYS_ppoll | calls::SYS_rt_sigtimedwait => time(args[2], 1),
        calls::SYS_epoll_pwait2 | calls::SYS_semtimedop => time(args[3], 1),
        _ => Ok(None),
    }
}

/// Where the kernel writes how much of the time is left, and how many nanoseconds the parts of a second have.
pub(super) fn left_at(call: &Syscall) -> Option<(u64, u64)> {
    let (at, unit) = match call.number as i64 {
        calls::SYS_select => (call.args[4], 1000),
        calls::SYS_pselect6 => (call.args[4], 1),
        calls::SYS_ppoll => (call.args[2], 1),
        _ => return None,
    };
    (at != 0).then_some((at, unit))
}

/// Whether such a call has given up.
pub(super) fn is_over(number: i64, result: u64) -> bool {
    match number {
        calls::SYS_rt_sigtimedwait | calls::SYS_semtimedop => result == error(libc::EAGAIN),
        _ => result == 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(number: i64, args: [u64; 6]) -> Result<Option<u64>, Refused> {
        // Two seconds and three parts of one at 0x1000, and nothing elsewhere.
        let read = |at: u64| [(0x1000, 2), (0x1008, 3)].into_iter().find(|it| it.0 == at).map(|it| it.1);
        longest(&Syscall { number: number as u64, args }, &read)
    }

    #[test]
    fn what_calls_wait_for() {
        assert_eq!(asks(calls::SYS_poll, [0, 0, 7, 0, 0, 0]), Ok(Some(7_000_000)));
        assert_eq!(asks(calls::SYS_poll, [0, 0, u64::from(u32::MAX), 0, 0, 0]), Ok(None), "-1: for ever");
        assert_eq!(asks(calls::SYS_select, [0, 0, 0, 0, 0x1000, 0]), Ok(Some(2_000_003_000)));
        assert_eq!(asks(calls::SYS_ppoll, [0, 0, 0x1000, 0, 0, 0]), Ok(Some(2_000_000_003)));
        assert_eq!(asks(calls::SYS_ppoll, [0; 6]), Ok(None), "no time is given");
        assert_eq!(asks(calls::SYS_ppoll, [0, 0, 0x2000, 0, 0, 0]), Err(Refused), "no memory");
        assert_eq!(asks(calls::SYS_read, [0x1000; 6]), Ok(None));
        assert_eq!(asks(calls::SYS_ppoll, [0, 0, 0x1008, 0, 0, 0]), Err(Refused), "no such time");
        let select = Syscall { number: calls::SYS_pselect6 as u64, args: [0, 0, 0, 0, 0x1000, 0] };
        assert_eq!(left_at(&select), Some((0x1000, 1)));
    }

    #[test]
    fn what_they_say_then() {
        assert!(is_over(calls::SYS_poll, 0) && !is_over(calls::SYS_poll, 1));
        assert!(is_over(calls::SYS_rt_sigtimedwait, error(libc::EAGAIN)));
        assert!(!is_over(calls::SYS_rt_sigtimedwait, error(libc::EINTR)));
    }
}
