//! Descriptors of a traced process, looked at from outside. Each look takes a copy of the descriptor and closes it at once: a
//! copy that stays would keep the other end of a pipe from learning of its end. For the same reason wmtrace makes no process
//! meanwhile, which would have the copy, too ([`none_copied`]).

use super::Tid;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held while there is a copy.
static COPIED: Mutex<()> = Mutex::new(());

/// There is no copy of a descriptor as long as this is kept.
pub(crate) fn none_copied() -> MutexGuard<'static, ()> {
    COPIED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The descriptors of one process.
#[derive(Debug)]
pub(crate) struct Descriptors {
    process: OwnedFd,
}

impl Descriptors {
    pub(crate) fn of(process: Tid) -> io::Result<Descriptors> {
        Ok(Descriptors { process: made(libc::SYS_pidfd_open, process.0, 0)? })
    }

    /// Looks at one of them.
    pub(crate) fn look<T>(&self, number: RawFd, looks: impl FnOnce(&OwnedFd) -> T) -> io::Result<T> {
        let _only = none_copied();
        Ok(looks(&self.copy(number)?))
    }

    /// A copy of one of them, to keep.
    pub(crate) fn copy(&self, number: RawFd) -> io::Result<OwnedFd> {
        made(libc::SYS_pidfd_getfd, self.process.as_raw_fd(), number)
    }
}

/// The descriptor that a system call makes.
fn made(call: libc::c_long, first: i32, second: i32) -> io::Result<OwnedFd> {
    // SAFETY: a system call on numbers; it makes a descriptor that is nobody else's.
    unsafe {
        match libc::syscall(call, first, second, 0) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd as i32)),
        }
    }
}

/// What the descriptor is ready for, of `poll`'s `events` and of what `poll` always tells. It is waited for so many
/// milliseconds.
pub(crate) fn ready(descriptor: &OwnedFd, events: i16, milliseconds: i32) -> i16 {
    let mut asked = libc::pollfd { fd: descriptor.as_raw_fd(), events, revents: 0 };
    // SAFETY: one structure, of which there is one.
    unsafe { libc::poll(&raw mut asked, 1, milliseconds) };
    asked.revents
}

/// A timer's descriptor can be read from now on, or from now on cannot.
pub(crate) fn set_expired(timer: &OwnedFd, expired: bool) {
    const ONE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 1 };
    const NEVER: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let value = libc::itimerspec { it_interval: NEVER, it_value: if expired { ONE } else { NEVER } };
    // SAFETY: the structure is read, and nothing is written.
    unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const value, std::ptr::null_mut()) };
    if expired {
        // The kernel's own interrupt sees to it, very soon.
        ready(timer, libc::POLLIN, 1000);
    }
}

/// An option of a socket, of this type.
fn option<T: Default>(socket: &OwnedFd, name: i32) -> Option<T> {
    let mut value = T::default();
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes `len` bytes at most; all types that are asked for are plain numbers.
    let done = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, (&raw mut value).cast(), &raw mut len)
    };
    (done == 0 && len as usize == size_of::<T>()).then_some(value)
}

/// Of a local (Unix) socket that is connected: the process that has connected it.
pub(crate) fn peer(socket: &OwnedFd) -> Option<Tid> {
    let local = option::<i32>(socket, libc::SO_DOMAIN) == Some(libc::AF_UNIX);
    let listens = option::<i32>(socket, libc::SO_ACCEPTCONN) != Some(0);
    // struct ucred: process, user, group.
    let [process, _, _] = option::<[i32; 3]>(socket, libc::SO_PEERCRED)?;
    (local && !listens && process > 0).then_some(Tid(process))
}

/// How many nanoseconds a socket waits for something to receive; 0 for ever.
pub(crate) fn receive_timeout(socket: &OwnedFd) -> u64 {
    // struct timeval
    let [seconds, micros] = option::<[i64; 2]>(socket, libc::SO_RCVTIMEO).unwrap_or_default();
    (seconds.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(micros.max(0) as u64 * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn what_is_ready() {
        let ours = Descriptors::of(Tid(std::process::id() as i32)).unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        let now = |fd: RawFd| ours.look(fd, |fd| ready(fd, libc::POLLIN, 0)).unwrap();
        assert_eq!(now(reader.as_raw_fd()), 0);
        writer.write_all(b"x").unwrap();
        assert_eq!(now(reader.as_raw_fd()), libc::POLLIN);
        drop(writer);
        // (A process that another test makes may have it for a moment.)
        let end = ours.look(reader.as_raw_fd(), |fd| ready(fd, 0, 10_000)).unwrap();
        assert_eq!(end, libc::POLLHUP, "no copy is left");
        assert_eq!(ours.copy(123_456).unwrap_err().raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn timers() {
        // SAFETY: it makes a descriptor that is nobody else's.
        let timer = unsafe { OwnedFd::from_raw_fd(libc::timerfd_create(libc::CLOCK_MONOTONIC, 0)) };
        assert_eq!(ready(&timer, libc::POLLIN, 0), 0);
        set_expired(&timer, true);
        assert_eq!(ready(&timer, libc::POLLIN, 0), libc::POLLIN);
        set_expired(&timer, false);
        assert_eq!(ready(&timer, libc::POLLIN, 0), 0);
    }

    #[test]
    fn peers() {
        let (one, _other) = UnixStream::pair().unwrap();
        one.set_read_timeout(Some(std::time::Duration::from_millis(1500))).unwrap();
        let one = OwnedFd::from(one);
        assert_eq!(peer(&one), Some(Tid(std::process::id() as i32)));
        assert_eq!(receive_timeout(&one), 1_500_000_000);
        let path = std::env::temp_dir().join(format!("wmtrace-peers-{}", std::process::id()));
        let listener = OwnedFd::from(UnixListener::bind(&path).unwrap());
        std::fs::remove_file(path).unwrap();
        assert_eq!(peer(&listener), None, "others may connect");
        let network = OwnedFd::from(std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        assert_eq!((peer(&network), receive_timeout(&network)), (None, 0));
    }
}
