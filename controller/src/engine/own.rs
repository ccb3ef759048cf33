//! Which descriptors are the program's own: nobody but its threads (and its timers) makes them ready, and what makes one
//! ready has done so when its system call is over. Who waits for those waits in virtual time. Everything else is the outside
//! world: terminals, the network (what is sent within a machine, too, arrives when the kernel likes), what was inherited,
//! notices of files, signals among other descriptors of epoll.

use crate::os::descriptors::{self, Descriptors};
use crate::os::{Tid, proc};
use std::sync::OnceLock;

/// Descriptors of epoll that contain each other are followed so far: the kernel allows no more.
const DEPTH: u32 = 5;

/// More descriptors than this in one of epoll's are not looked at.
const MOST: usize = 256;

/// What wmtrace passes on to the programs that it starts: whoever has started wmtrace has it, too.
fn is_inherited(fd: i32, target: &str) -> bool {
    static INHERITED: OnceLock<Vec<(i32, String)>> = OnceLock::new();
    let inherited = INHERITED.get_or_init(|| {
        let ours = Tid(std::process::id() as i32);
        let passed_on = |fd: i32| proc::descriptor_flags(ours, fd) & libc::O_CLOEXEC == 0;
        let files = proc::open_files(ours).into_iter().filter(|file| passed_on(file.fd));
        files.map(|file| (file.fd, file.target.to_string_lossy().into_owned())).collect()
    });
    // Those without a name of their own are known by their number.
    let nameless = target.starts_with("anon_inode:");
    inherited.iter().any(|(other, known)| known == target && (!nameless || *other == fd))
}

/// Whether a descriptor is of a kind that one may have to wait for, not a file.
pub(super) fn is_channel(process: Tid, fd: i32) -> bool {
    let target = proc::descriptor(process, fd).unwrap_or_default();
    ["pipe:", "socket:", "anon_inode:"].iter().any(|kind| target.starts_with(kind))
}

/// The signals that are taken from a descriptor, a bit each, if it is one of those.
pub(super) fn signals(process: Tid, fd: i32) -> Option<u64> {
    let target = proc::descriptor(process, fd)?;
    let info = (target == "anon_inode:[signalfd]").then(|| proc::descriptor_info(process, fd))?;
    let (_, mask) = info.into_iter().find(|(name, _)| name == "sigmask")?;
    u64::from_str_radix(&mask, 16).ok()
}

/// Whether a descriptor is the program's own. `timers`: the timers that go by virtual time.
pub(super) fn is_own(process: Tid, descriptors: &Descriptors, fd: i32, timers: &dyn Fn(i32) -> bool) -> bool {
    is_own_within(process, descriptors, fd, timers, 0)
}

fn is_own_within(
    process: Tid,
    descriptors: &Descriptors,
    fd: i32,
    timers: &dyn Fn(i32) -> bool,
    depth: u32,
) -> bool {
    // There is none: the kernel says so at once.
    let Some(target) = proc::descriptor(process, fd) else { return true };
    if is_inherited(fd, &target) {
        return false;
    }
    match target.as_str() {
        "anon_inode:[eventfd]" => true,
        "anon_inode:[timerfd]" => timers(fd),
        "anon_inode:[eventpoll]" if depth < DEPTH => {
            let info = proc::descriptor_info(process, fd);
            let mut members = info.iter().filter(|(name, _)| name == "tfd");
            let number = |text: &str| text.split_whitespace().next()?.parse().ok();
            members.clone().count() <= MOST
                && members.all(|(_, rest)| {
                    number(rest)
                        .is_some_and(|member| is_own_within(process, descriptors, member, timers, depth + 1))
                })
        }
        pipe if pipe.starts_with("pipe:") => true,
        socket if socket.starts_with("socket:") => {
            descriptors.look(fd, descriptors::peer).is_ok_and(|peer| peer == Some(process))
        }
        // A file is ready at once, or is none of the usual ones.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_is_the_programs_own() {
        let ours = Tid(std::process::id() as i32);
        let descriptors = Descriptors::of(ours).unwrap();
        let own = |fd: i32| is_own(ours, &descriptors, fd, &|_| false);
        let (reader, writer) = std::io::pipe().unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        let network = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let terminal = std::fs::File::open("/dev/ptmx");
        assert!(
            [reader.as_raw_fd(), writer.as_raw_fd(), one.as_raw_fd(), other.as_raw_fd()].map(own)
                == [true; 4]
        );
        assert!(own(123_456), "nobody has to wait for that");
        assert!(
            !own(network.as_raw_fd())
                && !own(file.as_raw_fd())
                && terminal.is_ok_and(|it| !own(it.as_raw_fd()))
        );
        assert!(is_channel(ours, reader.as_raw_fd()) && !is_channel(ours, file.as_raw_fd()));
    }

    #[test]
    fn what_epoll_waits_for() {
        use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
        let ours = Tid(std::process::id() as i32);
        let descriptors = Descriptors::of(ours).unwrap();
        let [inner, outer] = [(), ()].map(|()| Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).unwrap());
        let is_own = || is_own(ours, &descriptors, outer.0.as_raw_fd(), &|_| false);
        let (reader, _writer) = std::io::pipe().unwrap();
        inner.add(&reader, EpollEvent::new(EpollFlags::EPOLLIN, 0)).unwrap();
        outer.add(&inner.0, EpollEvent::new(EpollFlags::EPOLLIN, 0)).unwrap();
        assert!(is_own());
        let network = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        inner.add(&network, EpollEvent::new(EpollFlags::EPOLLIN, 0)).unwrap();
        assert!(!is_own());
    }

    #[test]
    fn which_signals_are_taken() {
        use nix::sys::signal::{SigSet, Signal};
        use nix::sys::signalfd::SignalFd;
        let ours = Tid(std::process::id() as i32);
        let taken = SignalFd::new(&SigSet::from_iter([Signal::SIGHUP, Signal::SIGUSR1])).unwrap();
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(signals(ours, taken.as_raw_fd()), Some(1 | 1 << 9));
        assert_eq!((signals(ours, reader.as_raw_fd()), signals(ours, 123_456)), (None, None));
    }
}
