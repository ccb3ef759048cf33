//! What threads tell each other through the kernel: by pipes, sockets, event descriptors, message queues, signals.
//!
//! What a thread has done before it writes to such a descriptor has happened when another one has read from it. No memory
//! model says so, but the kernel sees to it, and programs rely on it. All descriptors are one object to the model: what is
//! ordered too much hides bugs, and makes none. Files are none: reading and writing them orders nothing.

use super::execution::Execution;
use super::sites::What;
use super::thread::Syscall;
use crate::os::Tid;
use crate::os::calls;

/// The object that all of them are to the model: an address that no program has.
const KERNEL: u64 = 0xffff_8000_0000_0000;

/// How a system call passes something on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Passes {
    /// It tells somebody, by this descriptor if it is one.
    tells: Option<Option<u64>>,
    /// It has heard from somebody.
    hears: Option<Option<u64>>,
    /// Although it fails: it ends with a signal.
    always: bool,
}

impl Passes {
    #[allow(non_upper_case_globals, reason = "libc's names")]
    fn of(call: &Syscall) -> Passes {
        use calls::*;
        const LOCKS: [i32; 5] = [F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW, F_SETLEASE];
        let [first, second, third, ..] = call.args;
        let tells = |by| Passes { tells: Some(by), ..Passes::default() };
        let hears = |by| Passes { hears: Some(by), ..Passes::default() };
        let both = Passes { tells: Some(None), hears: Some(None), always: false };
        match call.number as i64 {
            SYS_write | SYS_writev | SYS_pwritev2 | SYS_sendfile | SYS_close | SYS_shutdown => {
                tells(Some(first))
            }
            SYS_splice | SYS_tee => {
                let to = if call.number as i64 == SYS_tee { second } else { third };
                Passes { tells: Some(Some(to)), hears: Some(Some(first)), always: false }
            }
            SYS_vmsplice | SYS_ioctl => Passes { hears: Some(Some(first)), ..tells(Some(first)) },
            SYS_sendto
            | SYS_sendmsg
            | SYS_sendmmsg
            | SYS_connect
            | SYS_epoll_ctl
            | SYS_io_submit
            | SYS_timer_settime
            | SYS_timerfd_settime
            | SYS_mq_notify
            | SYS_mq_timedsend
            | SYS_msgsnd
            | SYS_kill
            | SYS_tkill
            | SYS_tgkill
            | SYS_rt_sigqueueinfo
            | SYS_rt_tgsigqueueinfo => tells(None),
            SYS_read | SYS_readv | SYS_preadv2 => hears(Some(first)),
            SYS_recvfrom | SYS_recvmsg | SYS_recvmmsg | SYS_accept | SYS_accept4 | SYS_poll | SYS_ppoll
            | SYS_select | SYS_pselect6 | SYS_epoll_wait | SYS_epoll_pwait | SYS_epoll_pwait2
            | SYS_mq_timedreceive | SYS_msgrcv | SYS_rt_sigtimedwait | SYS_io_getevents => hears(None),
            SYS_rt_sigsuspend | SYS_pause => Passes { always: true, ..hears(None) },
            SYS_semop | SYS_semtimedop | SYS_flock | SYS_io_uring_enter => both,
            SYS_fcntl if LOCKS.contains(&(second as i32)) => both,
            _ => Passes::default(),
        }
    }
}

/// Whether a descriptor of the process leads to somebody else.
fn is_channel(thread: Tid, descriptor: u64) -> bool {
    let link = std::fs::read_link(format!("/proc/{thread}/fd/{}", descriptor as i32));
    let link = link.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default();
    link.starts_with("pipe:") || link.starts_with("socket:") || link.starts_with("anon_inode:")
}

pub(super) trait Channels: Execution {
    /// The thread makes a system call, or has made it: what it has done so far is told, if the call tells anybody.
    fn hands_over(&mut self, index: usize, call: &Syscall) {
        if let Some(by) = Passes::of(call).tells
            && self.is_heard(index, by)
        {
            let site = self.site_here(index, What::call("tells"));
            let it = self.parts();
            it.machine.release(it.threads[index].id, KERNEL, site);
        }
    }

    /// The thread has made a system call: what others have told it has happened.
    fn takes_over(&mut self, index: usize, call: &Syscall, failed: bool) {
        let passes = Passes::of(call);
        if let Some(by) = passes.hears
            && (!failed || passes.always)
            && self.is_heard(index, by)
        {
            let site = self.site_here(index, What::call("hears"));
            let it = self.parts();
            it.machine.acquire(it.threads[index].id, KERNEL, site);
        }
    }

    /// Whether there is anybody to hear it.
    fn is_heard(&mut self, index: usize, by: Option<u64>) -> bool {
        let it = self.parts();
        // This thread is alive: of one that has ended no descriptor is known.
        it.threads.len() > 1 && by.is_none_or(|descriptor| is_channel(it.threads[index].tid, descriptor))
    }
}

impl<E: Execution> Channels for E {}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(number: i64, args: [u64; 6]) -> Passes {
        Passes::of(&Syscall { number: number as u64, args })
    }

    #[test]
    fn who_tells_and_who_hears() {
        let write = passes(libc::SYS_write, [7, 0, 0, 0, 0, 0]);
        assert_eq!((write.tells, write.hears), (Some(Some(7)), None));
        let splice = passes(libc::SYS_splice, [3, 0, 4, 0, 1, 0]);
        assert_eq!((splice.tells, splice.hears), (Some(Some(4)), Some(Some(3))));
        assert_eq!(passes(libc::SYS_fcntl, [3, libc::F_GETFL as u64, 0, 0, 0, 0]), Passes::default());
        assert!(passes(libc::SYS_rt_sigsuspend, [0; 6]).always);
        assert_eq!(passes(libc::SYS_getuid, [0; 6]), Passes::default());
    }

    #[test]
    fn files_are_no_channels() {
        use std::os::fd::AsRawFd as _;
        let here = Tid(std::process::id() as i32);
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(is_channel(here, reader.as_raw_fd() as u64));
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(!is_channel(here, file.as_raw_fd() as u64));
        assert!(!is_channel(here, 12_345));
    }
}
