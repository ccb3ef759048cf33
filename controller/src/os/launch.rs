//! Starts a program so that every run of it finds the same world: no address randomisation, one processor, no
//! time-stamp counter, standard streams in memory; and traced before its first instruction.

use super::calls::SYS_open;
use super::limits::{self, Limit};
use super::view::View;
use super::{OsError, Tid, ptrace};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

/// A file in memory.
pub(crate) fn memory_file(name: &str) -> io::Result<File> {
    let fd = nix::sys::memfd::memfd_create(name, nix::sys::memfd::MFdFlags::MFD_CLOEXEC)?;
    Ok(File::from(fd))
}

/// A file without a name, for what the program reads and writes: in memory, or where that is forbidden in a directory for
/// such things.
pub(crate) fn stream_file(name: &str) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    memory_file(name).or_else(|error| {
        let nameless = |directory: PathBuf| {
            let mut options = std::fs::OpenOptions::new();
            options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(directory).ok()
        };
        let found = [PathBuf::from("/dev/shm"), std::env::temp_dir()].into_iter().find_map(nameless);
        found.ok_or_else(|| {
            io::Error::other(format!(
                "cannot make files in memory here (memfd_create: {error}), and none without a name in /dev/shm or TMPDIR"
            ))
        })
    })
}

/// The processors that this thread may use.
pub(crate) fn affinity() -> nix::sched::CpuSet {
    nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap_or_default()
}

/// The processor that this thread runs on.
pub(crate) fn processor() -> Option<usize> {
    nix::sched::sched_getcpu().ok()
}

/// Binds the calling thread to one processor.
pub(crate) fn pin(cpu: usize) {
    let mut set = nix::sched::CpuSet::new();
    // Slower without, but not wrong.
    if set.set(cpu).is_ok() {
        let _ = nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set);
    }
}

/// What is started.
pub(crate) struct Start<'a> {
    pub(crate) path: CString,
    pub(crate) args: Vec<CString>,
    pub(crate) env: Vec<CString>,
    pub(crate) cwd: CString,
    pub(crate) limits: &'a [Limit],
    pub(crate) stdin: &'a File,
    pub(crate) stdout: &'a File,
    pub(crate) stderr: &'a File,
    /// It stops (`Stop::Filtered`) at each `write` to a descriptor that is a [`gate`], and at each `open` and `execve`.
    /// Without, at every system call.
    pub(crate) gates: bool,
    /// The files that it sees; `None`: those that we see.
    pub(crate) view: Option<&'a View>,
}

/// Descriptors from here on, to the largest number, are gates. No process has that many.
pub(crate) const GATES: u32 = 0x7f00_0000;

/// Whether a descriptor is a gate's: its number, if it is.
pub(crate) fn gate(descriptor: u64) -> Option<u32> {
    let number = descriptor as u32;
    (number & GATES == GATES && number >> 31 == 0).then_some(number & !GATES)
}

/// The filter of system calls behind [`Start::gates`].
fn filter(gates: bool) -> [libc::sock_filter; 12] {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUALS: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    // Offsets in `struct seccomp_data`: the number, and the low half of the first argument.
    const NUMBER: u32 = 0;
    const ARGUMENT: u32 = 16;
    let line = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    if !gates {
        return [line(RETURN, libc::SECCOMP_RET_TRACE, 0, 0); 12];
    }
    [
        line(LOAD, NUMBER, 0, 0),
        line(EQUALS, libc::SYS_write as u32, 5, 0),
        line(EQUALS, libc::SYS_openat as u32, 7, 0),
        line(EQUALS, SYS_open as u32, 6, 0),
        line(EQUALS, libc::SYS_execve as u32, 5, 0),
        line(EQUALS, libc::SYS_execveat as u32, 4, 0),
        line(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        line(LOAD, ARGUMENT, 0, 0),
        line(AND, 0xff00_0000, 0, 0),
        line(EQUALS, GATES, 0, 1),
        line(RETURN, libc::SECCOMP_RET_TRACE, 0, 0),
        line(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
    ]
}

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    #[error("cannot make a process: {0}")]
    Fork(io::Error),
    #[error("cannot trace programs here (ptrace: {0}); is ptrace forbidden, by a container or by Yama?")]
    Trace(io::Error),
    #[error("cannot trace programs under {0}: a program has one tracer only; run wmtrace without it")]
    Traced(String),
    #[error("cannot watch system calls here (seccomp: {0})")]
    Filter(io::Error),
    #[error(
        "cannot switch off address randomisation here (personality: {0}), so that no recording would replay: a \
         container forbids it, it seems; allow it by `docker run --security-opt seccomp=unconfined` (podman alike), \
         or by a profile that allows personality with 0x40000"
    )]
    Layout(io::Error),
    #[error("cannot give the program files of its own (setns: {0}); --shared-files does without")]
    Enter(io::Error),
    #[error("cannot start the program: {0}")]
    Exec(io::Error),
    #[error("the kernel cannot load it")]
    Load,
}

/// Starts the program. It is traced, and stops (`Stop::Exec`) before its first instruction. Without
/// [`Start::gates`] that stop has been waited for.
pub(crate) fn launch(start: &Start<'_>) -> Result<Tid, LaunchError> {
    let (go_read, go_write) = pipe().map_err(LaunchError::Fork)?;
    let (failed_read, failed_write) = pipe().map_err(LaunchError::Fork)?;
    let pointers = |strings: &[CString]| {
        let mut all: Vec<*const libc::c_char> = strings.iter().map(|string| string.as_ptr()).collect();
        all.push(std::ptr::null());
        all
    };
    let (args, env) = (pointers(&start.args), pointers(&start.env));
    let limits = limits::to_set(start.limits);
    let streams = [start.stdin.as_raw_fd(), start.stdout.as_raw_fd(), start.stderr.as_raw_fd()];
    let only = super::descriptors::none_copied();
    let (pipes, parent) = ([go_read.as_raw_fd(), failed_write.as_raw_fd()], std::process::id());
    // SAFETY: until it executes the program, the child only makes system calls, on memory made before the fork.
    let child = unsafe {
        match libc::fork() {
            -1 => return Err(LaunchError::Fork(io::Error::last_os_error())),
            0 => in_child(start, &args, &env, &limits, streams, pipes, parent),
            child => Tid(child),
        }
    };
    drop((failed_write, only));
    if let Err(OsError { error, .. }) = ptrace::seize(child) {
        ptrace::kill(child);
        // SAFETY: our own child, which nobody else waits for.
        unsafe { libc::waitpid(child.0, std::ptr::null_mut(), libc::__WALL) };
        return Err(match tracer() {
            Some(tracer) => LaunchError::Traced(tracer),
            None => LaunchError::Trace(error),
        });
    }
    // If the child is gone already, waiting tells.
    let _ = File::from(go_write).write_all(&[1]);
    let ended = if start.gates {
        pass_filter(child);
        None
    } else {
        pass_to_exec(child).err()
    };
    let mut errno = [0; 4];
    match File::from(failed_read).read_exact(&mut errno) {
        // The pipe was closed by the exec.
        Err(_) => match ended {
            None => Ok(child),
            // Too late for `execve` to fail, there was no place for its segments.
            Some(ptrace::Stop::Killed(libc::SIGSEGV | libc::SIGBUS)) => Err(LaunchError::Load),
            Some(_) => Err(LaunchError::Fork(io::Error::other("it was killed before it began"))),
        },
        Ok(()) => {
            ptrace::kill(child);
            let mut is_there = ended.is_none();
            while is_there && let Some((tid, stop)) = ptrace::wait_any(true) {
                is_there = !(tid == child && is_end(stop));
            }
            let told = i32::from_ne_bytes(errno);
            let error = io::Error::from_raw_os_error(told & 0xffff);
            Err(match told >> 16 {
                FILTER => LaunchError::Filter(error),
                LAYOUT => LaunchError::Layout(error),
                ENTER => LaunchError::Enter(error),
                _ => LaunchError::Exec(error),
            })
        }
    }
}

/// Who traces wmtrace, and with it the processes that it makes: strace, a debugger.
fn tracer() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let pid: u32 = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?.trim().parse().ok()?;
    let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    (pid != 0).then(|| match name() {
        Some(name) => format!("{} (process {pid})", name.trim()),
        None => format!("process {pid}"),
    })
}

fn is_end(stop: ptrace::Stop) -> bool {
    matches!(stop, ptrace::Stop::Exited(_) | ptrace::Stop::Killed(_))
}

/// Waits until the child is at the stop of its `execve`; or until it has ended: how, is the error.
fn pass_to_exec(child: Tid) -> Result<(), ptrace::Stop> {
    loop {
        let signal = match ptrace::wait_one(child) {
            Some(ptrace::Stop::Exec) => return Ok(()),
            None => return Err(ptrace::Stop::Other),
            Some(stop) if is_end(stop) => return Err(stop),
            Some(ptrace::Stop::Signal(signal)) => signal,
            Some(_) => 0,
        };
        // If it is gone meanwhile, waiting tells.
        let _ = ptrace::Stopped::new(child).resume(ptrace::Resume::Free, signal);
    }
}

/// The first `execve` is our own.
fn pass_filter(child: Tid) {
    loop {
        let stop = ptrace::wait_one(child);
        if stop.is_none_or(is_end) {
            return;
        }
        // If it is gone meanwhile, waiting tells.
        let _ = ptrace::Stopped::new(child).resume(ptrace::Resume::Free, 0);
        if stop == Some(ptrace::Stop::Filtered) {
            return;
        }
    }
}

pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: two new descriptors are written, and are nobody else's.
    unsafe {
        if libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// What has failed in the child, above the error's number.
const EXEC: i32 = 0;
const FILTER: i32 = 1;
const LAYOUT: i32 = 2;
const ENTER: i32 = 3;

/// The calling process, which `parent` has just made, ends when the thread that made it does: nothing outlives a wmtrace that
/// is killed.
pub(super) fn die_with(parent: u32) {
    // SAFETY: system calls without memory.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // It may have ended before.
        if libc::getppid() as u32 != parent {
            libc::_exit(127);
        }
    }
}

/// What the command starts ends when the calling thread does.
pub(crate) fn dies_with_us(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: system calls only.
    unsafe {
        command.pre_exec(move || {
            die_with(parent);
            Ok(())
        });
    }
}

/// The child between fork and exec: system calls only.
unsafe fn in_child(
    start: &Start<'_>,
    args: &[*const libc::c_char],
    env: &[*const libc::c_char],
    limits: &[limits::ToSet],
    streams: [i32; 3],
    [go, failed]: [i32; 2],
    parent: u32,
) -> ! {
    // SAFETY: system calls on memory that the parent prepared; every descriptor is open.
    unsafe {
        let tell = |failed: i32, what: i32| -> ! {
            let errno = (what << 16 | *libc::__errno_location()).to_ne_bytes();
            libc::write(failed, errno.as_ptr().cast(), errno.len());
            libc::_exit(127);
        };
        let fail = |failed: i32| -> ! { tell(failed, EXEC) };
        // Out of the terminal's foreground group: its signals are for us.
        libc::setpgid(0, 0);
        die_with(parent);
        // Wait until we are traced.
        let mut byte = 0u8;
        while libc::read(go, (&raw mut byte).cast(), 1) < 0 && *libc::__errno_location() == libc::EINTR {}
        for (to, from) in streams.into_iter().enumerate() {
            // The streams are above 2: wmtrace's own are open.
            if libc::dup2(from, to as i32) < 0 {
                fail(failed);
            }
        }
        if let Some(view) = start.view {
            if !view.enter() {
                tell(failed, ENTER);
            }
            // Whoever gets privileges, if only in a namespace, is no longer told of its parent's end.
            die_with(parent);
        }
        if libc::chdir(start.cwd.as_ptr()) != 0 {
            fail(failed);
        }
        let fixed = libc::ADDR_NO_RANDOMIZE;
        if libc::personality(fixed as libc::c_ulong) < 0 {
            let refused = *libc::__errno_location();
            // Whoever has started us may have seen to it. In qemu the program's memory has its place anyway.
            let emulated = start.gates && !cfg!(target_arch = "aarch64");
            if !emulated && libc::personality(0xffff_ffff) & fixed == 0 {
                *libc::__errno_location() = refused;
                tell(failed, LAYOUT);
            }
        }
        if !start.gates {
            libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV);
        }
        // What we block, ignore or handle is not the program's business.
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        // A crash is reported by us; a core file of each execution would fill the disk.
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
        for limit in limits {
            limit.set();
        }
        let mut lines = filter(start.gates);
        let program = libc::sock_fprog { len: lines.len() as u16, filter: lines.as_mut_ptr() };
        // The mitigation that filters switch on by default costs more than the stops do.
        let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
        let install = || {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) == 0
        };
        // Who may not install a filter otherwise has to give up privileges of programs that it executes. A traced
        // program of such a user has none anyway (`execve(2)`).
        if !install() && (libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !install()) {
            tell(failed, FILTER);
        }
        libc::execve(start.path.as_ptr(), args.as_ptr(), env.as_ptr());
        fail(failed)
    }
}
