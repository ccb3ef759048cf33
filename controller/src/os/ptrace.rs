//! Threads under ptrace. A stopped thread is a value ([`Stopped`]) that resuming consumes, so that nobody reads
//! the registers of one that runs.

use super::{OsError, Tid};
use crate::engine::Fault;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use std::io;
use std::mem::MaybeUninit;

/// The general registers, as ptrace has them.
pub(crate) type Regs = libc::user_regs_struct;

/// A thread in a ptrace stop.
#[derive(Debug)]
pub(crate) struct Stopped {
    tid: Tid,
}

/// Why a thread has stopped, or that it is no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// It is about to receive a signal.
    Signal(i32),
    /// It is at the entry or the exit of a system call ([`Resume::ToSyscall`]).
    Syscall,
    /// It has made a thread or process with this number.
    Clone(Tid),
    Fork(Tid),
    Vfork(Tid),
    /// The child of its vfork has let go of its memory.
    VforkDone,
    /// It runs another program now.
    Exec,
    /// It is about to end, with this wait status; its memory is still there.
    Exiting(i32),
    /// A signal (SIGSTOP and its like) has stopped the whole process.
    Group,
    /// It is about to make a system call that its filter ([`super::launch::Start::gates`]) points out. It may be given
    /// other registers, or none to do at all (number -1), but no signal.
    Filtered,
    /// A new thread's first stop, or an interruption of ours.
    Other,
    /// It has ended by itself.
    Exited(i32),
    /// A signal has ended it.
    Killed(i32),
}

/// A system call that a thread is about to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnteredCall {
    pub(crate) number: i64,
    pub(crate) args: [u64; 6],
    /// The thread's stack pointer.
    pub(crate) sp: u64,
}

#[cfg(target_arch = "x86_64")]
fn put_arguments(regs: &mut Regs, args: &[u64; 6]) {
    [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9] = *args;
}

#[cfg(target_arch = "aarch64")]
fn put_arguments(regs: &mut Regs, args: &[u64; 6]) {
    regs.regs[..6].copy_from_slice(args);
}

/// How a thread goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Resume {
    /// To the exit of the system call that it is in, or else to the entry of the next one.
    ToSyscall,
    /// One instruction.
    Step,
    /// To the next trap, signal, new process, or system call that its filter points out.
    Free,
    /// Not at all, until the signal comes that lets the whole process go on.
    Listen,
}

const OPTIONS: ptrace::Options = ptrace::Options::PTRACE_O_EXITKILL
    .union(ptrace::Options::PTRACE_O_TRACESYSGOOD)
    .union(ptrace::Options::PTRACE_O_TRACECLONE)
    .union(ptrace::Options::PTRACE_O_TRACEFORK)
    .union(ptrace::Options::PTRACE_O_TRACEVFORK)
    .union(ptrace::Options::PTRACE_O_TRACEVFORKDONE)
    .union(ptrace::Options::PTRACE_O_TRACEEXEC)
    .union(ptrace::Options::PTRACE_O_TRACEEXIT)
    .union(ptrace::Options::PTRACE_O_TRACESECCOMP);

/// Begins to trace a process of ours that has one thread. It runs on.
pub(crate) fn seize(tid: Tid) -> Result<(), OsError> {
    ptrace::seize(tid.pid(), OPTIONS).map_err(|error| OsError::new("tracing", tid, error))
}

/// Waits for any thread that this thread of ours traces. `None`: nobody is left, or (`block` false) nobody has
/// stopped yet, or a signal came.
pub(crate) fn wait_any(block: bool) -> Option<(Tid, Stop)> {
    let mut status = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD | if block { 0 } else { libc::WNOHANG };
    // SAFETY: `status` is ours and lives long enough.
    let tid = unsafe { libc::waitpid(-1, &raw mut status, flags) };
    (tid > 0).then(|| (Tid(tid), decode(Tid(tid), status)))
}

/// Waits for one thread, whatever the ticks say. `None`: there is none.
pub(crate) fn wait_one(tid: Tid) -> Option<Stop> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is ours and lives long enough.
        let found = unsafe { libc::waitpid(tid.0, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if found > 0 {
            return Some(decode(tid, status));
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
        }
    }
}

/// `linux/ptrace.h`; the libc crate has it for other C libraries only.
const PTRACE_EVENT_STOP: i32 = 128;

fn decode(tid: Tid, status: i32) -> Stop {
    if libc::WIFEXITED(status) {
        return Stop::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Stop::Killed(libc::WTERMSIG(status));
    }
    let signal = libc::WSTOPSIG(status);
    let message = || ptrace::getevent(tid.pid()).unwrap_or(0) as i32;
    match status >> 16 {
        0 if signal == libc::SIGTRAP | 0x80 => Stop::Syscall,
        0 => Stop::Signal(signal),
        libc::PTRACE_EVENT_CLONE => Stop::Clone(Tid(message())),
        libc::PTRACE_EVENT_FORK => Stop::Fork(Tid(message())),
        libc::PTRACE_EVENT_VFORK => Stop::Vfork(Tid(message())),
        libc::PTRACE_EVENT_VFORK_DONE => Stop::VforkDone,
        libc::PTRACE_EVENT_EXEC => Stop::Exec,
        libc::PTRACE_EVENT_EXIT => Stop::Exiting(message()),
        libc::PTRACE_EVENT_SECCOMP => Stop::Filtered,
        PTRACE_EVENT_STOP
            if matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) =>
        {
            Stop::Group
        }
        // The other meanings of PTRACE_EVENT_STOP, and what newer kernels may add.
        _ => Stop::Other,
    }
}

impl Stopped {
    /// The thread, which has been seen to stop.
    pub(crate) fn new(tid: Tid) -> Stopped {
        Stopped { tid }
    }

    pub(crate) fn regs(&self) -> Result<Regs, OsError> {
        ptrace::getregs(self.tid.pid()).map_err(|error| OsError::new("reading registers", self.tid, error))
    }

    pub(crate) fn set_regs(&self, regs: &Regs) -> Result<(), OsError> {
        ptrace::setregs(self.tid.pid(), *regs)
            .map_err(|error| OsError::new("writing registers", self.tid, error))
    }

    /// Why the signal that it is about to receive was sent.
    pub(crate) fn signal_info(&self) -> Result<libc::siginfo_t, OsError> {
        ptrace::getsiginfo(self.tid.pid()).map_err(|error| OsError::new("reading a signal", self.tid, error))
    }

    /// Changes that, before the signal is received.
    pub(crate) fn set_signal_info(&self, info: &libc::siginfo_t) -> Result<(), OsError> {
        ptrace::setsiginfo(self.tid.pid(), info)
            .map_err(|error| OsError::new("writing a signal", self.tid, error))
    }

    /// The system call that it has stopped before ([`Stop::Filtered`]).
    pub(crate) fn filtered_call(&self) -> Result<EnteredCall, OsError> {
        let none =
            || OsError::new("asking for the system call", self.tid, io::Error::from_raw_os_error(libc::EIO));
        self.entered_call()?.ok_or_else(none)
    }

    /// The system call that it has stopped before, if it has.
    pub(crate) fn entered_call(&self) -> Result<Option<EnteredCall>, OsError> {
        let info = self.syscall_info()?;
        // SAFETY: `op` says which part the kernel has filled in.
        let (number, args) = unsafe {
            match info.op {
                libc::PTRACE_SYSCALL_INFO_SECCOMP => (info.u.seccomp.nr, info.u.seccomp.args),
                libc::PTRACE_SYSCALL_INFO_ENTRY => (info.u.entry.nr, info.u.entry.args),
                _ => return Ok(None),
            }
        };
        Ok(Some(EnteredCall { number: number as i64, args, sp: info.stack_pointer }))
    }

    /// Makes another system call of the one that it has stopped before.
    pub(crate) fn set_call(&self, call: &EnteredCall) -> Result<(), OsError> {
        let mut regs = self.regs()?;
        put_arguments(&mut regs, &call.args);
        self.put_number(&mut regs, call.number)?;
        self.set_regs(&regs)
    }

    #[cfg(target_arch = "x86_64")]
    #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "others have to ask the kernel")]
    fn put_number(&self, regs: &mut Regs, number: i64) -> Result<(), OsError> {
        regs.orig_rax = number as u64;
        Ok(())
    }

    /// The number is in no register once the kernel has looked at it.
    #[cfg(target_arch = "aarch64")]
    fn put_number(&self, _: &mut Regs, number: i64) -> Result<(), OsError> {
        const NT_ARM_SYSTEM_CALL: libc::c_int = 0x404;
        let mut number = number as i32;
        let mut vector = libc::iovec { iov_base: (&raw mut number).cast(), iov_len: size_of::<i32>() };
        // SAFETY: the kernel reads the number, which outlives the call.
        let result = unsafe {
            libc::ptrace(
                libc::PTRACE_SETREGSET,
                self.tid.0,
                NT_ARM_SYSTEM_CALL,
                (&raw mut vector).cast::<u8>(),
            )
        };
        match result {
            0 => Ok(()),
            _ => Err(OsError::new("changing a system call", self.tid, io::Error::last_os_error())),
        }
    }

    fn syscall_info(&self) -> Result<libc::ptrace_syscall_info, OsError> {
        let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
        let size = size_of::<libc::ptrace_syscall_info>();
        // SAFETY: the kernel writes at most `size` bytes; all-zero is a valid value of the type.
        let (result, info) = unsafe {
            let result = libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, self.tid.0, size, info.as_mut_ptr());
            (result, info.assume_init())
        };
        if result < 0 {
            return Err(OsError::new("asking for the system call", self.tid, io::Error::last_os_error()));
        }
        Ok(info)
    }

    /// The vector registers, as XSAVE lays them out.
    pub(crate) fn xstate(&self) -> Result<Vec<u8>, OsError> {
        const NT_X86_XSTATE: libc::c_int = 0x202;
        let mut buffer = vec![0u8; 16 << 10];
        let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: the kernel writes at most `iov_len` bytes to the buffer, which outlives the call.
        let result = unsafe {
            libc::ptrace(libc::PTRACE_GETREGSET, self.tid.0, NT_X86_XSTATE, (&raw mut vector).cast::<u8>())
        };
        if result != 0 {
            return Err(OsError::new("reading vector registers", self.tid, io::Error::last_os_error()));
        }
        buffer.truncate(vector.iov_len);
        Ok(buffer)
    }

    /// The thread, which is about to end, does so without another stop.
    pub(crate) fn ends_unseen(&self) -> Result<(), OsError> {
        ptrace::setoptions(self.tid.pid(), OPTIONS.difference(ptrace::Options::PTRACE_O_TRACEEXIT))
            .map_err(|error| OsError::new("changing what is watched", self.tid, error))
    }

    /// The thread goes on, with a signal if one is given. That it was killed meanwhile is no error: waiting tells.
    pub(crate) fn resume(self, how: Resume, signal: i32) -> Result<(), OsError> {
        let request = match how {
            Resume::ToSyscall => libc::PTRACE_SYSCALL,
            Resume::Step => libc::PTRACE_SINGLESTEP,
            Resume::Free => libc::PTRACE_CONT,
            Resume::Listen => libc::PTRACE_LISTEN,
        };
        // SAFETY: these requests touch no memory of ours.
        let result = unsafe { libc::ptrace(request, self.tid.0, 0, i64::from(signal)) };
        match io::Error::last_os_error() {
            _ if result == 0 => Ok(()),
            error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            error => Err(OsError::new("resuming", self.tid, error)),
        }
    }
}

/// Makes a running thread stop soon.
pub(crate) fn interrupt(tid: Tid) {
    // It may be gone or stopping already: waiting tells.
    let _ = ptrace::interrupt(tid.pid());
}

/// Ends a process at once.
pub(crate) fn kill(process: Tid) {
    let _ = nix::sys::signal::kill(process.pid(), Signal::SIGKILL);
}

/// Sends a signal to one thread.
pub(crate) fn send(process: Tid, tid: Tid, signal: i32) {
    // SAFETY: a system call on numbers.
    unsafe { libc::syscall(libc::SYS_tgkill, process.0, tid.0, signal) };
}

/// What a signal says of a fault of the processor; `None` if somebody has sent it.
pub(crate) fn fault(signal: i32, info: &libc::siginfo_t) -> Option<Fault> {
    let faults = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE);
    // SAFETY: reads an integer that every signal of the processor carries; for others it is some other integer.
    let address = unsafe { info.si_addr() as u64 };
    (faults && info.si_code > 0).then_some(Fault { code: info.si_code, address })
}

/// The process that has sent a signal, if a process has.
pub(crate) fn sender(info: &libc::siginfo_t) -> Option<i32> {
    let sent = matches!(info.si_code, libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL | libc::SI_MESGQ);
    // SAFETY: signals with these codes carry the process.
    sent.then(|| unsafe { info.si_pid() })
}

/// Makes it look as if another process had sent it.
pub(crate) fn set_sender(info: &mut libc::siginfo_t, pid: i32) {
    // `si_pid` is the first member after three numbers and padding, on every 64-bit Linux.
    const PID: usize = 16;
    // SAFETY: in bounds and aligned, and any number is valid there.
    unsafe { (&raw mut *info).cast::<u8>().add(PID).cast::<i32>().write(pid) };
}
