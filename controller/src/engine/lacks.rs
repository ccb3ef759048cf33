//! What the kernel refuses a program for want of something that wmtrace's own processes use, too: processes and threads
//! (`ulimit -u`, a container's limit), files of the whole machine, memory. Alone the program might have got it, so that what it
//! does then proves nothing. Descriptors and address space are each process's own: wmtrace takes none of the program's.

use super::execution::Execution;
use super::futex::error;
use super::syscalls::name;
use super::thread::Syscall;
use super::{End, EngineError};
use crate::os::calls;
use std::io;

impl EngineError {
    /// An operation of wmtrace's own has failed.
    pub(crate) fn io(what: &str, failed: &io::Error) -> EngineError {
        let what = if what.is_empty() { failed.to_string() } else { format!("{what}: {failed}") };
        let helps = match failed.raw_os_error() {
            Some(libc::EAGAIN) => "raise `ulimit -u` (or the container's limit)",
            Some(libc::EMFILE) => "raise `ulimit -n`",
            Some(libc::ENFILE | libc::ENOMEM) => "end other programs",
            _ => return EngineError::Os(what),
        };
        EngineError::Exhausted(format!("{what}; {helps}, or take fewer executions at a time (-j)"))
    }
}

/// Whether the call makes a process, not a thread. `flags` are those of `clone3`.
fn makes_process(call: &Syscall, flags: impl Fn(u64) -> Option<u64>) -> bool {
    let is_thread = |flags: u64| flags & libc::CLONE_THREAD as u64 != 0;
    match call.number as i64 {
        calls::SYS_fork | calls::SYS_vfork => true,
        libc::SYS_clone => !is_thread(call.args[0]),
        libc::SYS_clone3 => !flags(call.args[0]).is_some_and(is_thread),
        _ => false,
    }
}

/// The signal that a call sends.
fn sends(call: &Syscall) -> Option<u64> {
    match call.number as i64 {
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_rt_sigqueueinfo | libc::SYS_pidfd_send_signal => {
            Some(call.args[1])
        }
        libc::SYS_tgkill | libc::SYS_rt_tgsigqueueinfo => Some(call.args[2]),
        _ => None,
    }
}

pub(super) trait Lacks: Execution {
    /// The program is about to make this call: it may be the one that kills it.
    fn may_kill(&mut self, call: &Syscall) {
        let it = self.parts();
        // Processes that it makes may send signals, too.
        let kills =
            sends(call) == Some(libc::SIGKILL as u64) || makes_process(call, |at| it.memory.read_u64(at));
        it.course.may_be_killed |= kills;
    }

    /// The kernel has done this call of the program's.
    fn has_got(&mut self, call: &Syscall, result: u64) {
        const MADE: [i64; 4] = [libc::SYS_clone, libc::SYS_clone3, calls::SYS_fork, calls::SYS_vfork];
        let course = self.parts().course;
        let what = match result {
            _ if result <= error(4095) => return,
            _ if result == error(libc::ENFILE) => "a file (ENFILE: too many are open on this machine)",
            _ if !MADE.contains(&(call.number as i64)) => return,
            _ if result == error(libc::EAGAIN) => {
                "a thread or process (EAGAIN: raise `ulimit -u`, or the container's limit)"
            }
            _ if result == error(libc::ENOMEM) => "memory for a thread or process (ENOMEM)",
            _ => return,
        };
        let call = name(call.number);
        course.lacks.get_or_insert_with(|| {
            format!("the kernel refused the program's {call} {what}; wmtrace's own processes count, too")
        });
    }

    /// The same of an execution that has ended.
    fn lacks(&mut self, end: &End) -> Option<String> {
        let course = self.parts().course;
        if matches!(end, End::Killed { signal: libc::SIGKILL, .. }) && !course.may_be_killed {
            let killed = "the program was killed (SIGKILL) by somebody outside, perhaps by the kernel for want of memory";
            return Some(killed.to_owned());
        }
        course.lacks.take()
    }
}

impl<E: Execution> Lacks for E {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_have_killed_the_program() {
        let call = |number: i64, args: [u64; 3]| {
            let [a, b, c] = args;
            Syscall { number: number as u64, args: [a, b, c, 0, 0, 0] }
        };
        assert_eq!(sends(&call(libc::SYS_tgkill, [1, 1, 9])), Some(9));
        assert_eq!(sends(&call(libc::SYS_kill, [1, 15, 9])), Some(15));
        assert_eq!(sends(&call(libc::SYS_read, [9; 3])), None);
        let thread = (libc::CLONE_THREAD | libc::CLONE_VM) as u64;
        let makes = |number, first, flags| makes_process(&call(number, [first, 0, 0]), |_| flags);
        assert!(!makes(libc::SYS_clone, thread, None) && makes(libc::SYS_clone, libc::SIGCHLD as u64, None));
        assert!(!makes(libc::SYS_clone3, 64, Some(thread)) && makes(libc::SYS_clone3, 64, Some(0)));
        // What cannot be read may be anything.
        assert!(makes(libc::SYS_clone3, 64, None) && !makes(libc::SYS_futex, 0, None));
    }

    #[test]
    fn want_is_no_other_failure() {
        let of = |errno| EngineError::io("cannot open it", &io::Error::from_raw_os_error(errno));
        assert!(matches!(of(libc::EMFILE), EngineError::Exhausted(_)));
        assert!(matches!(of(libc::EACCES), EngineError::Os(_)));
        assert!(of(libc::ENOMEM).to_string().starts_with("cannot open it: "));
    }
}
