//! System calls: what is known of each of them, by this machine's numbers.

use super::thread::Syscall;
use crate::os::calls;

/// The name of a system call.
pub(crate) fn name(number: u64) -> String {
    match syscalls::Sysno::new(number as usize) {
        Some(call) => call.name().to_owned(),
        None => format!("system call {number}"),
    }
}

/// Whether a system call may sleep in the kernel. What is not known may.
#[allow(non_upper_case_globals, reason = "libc's names")]
pub(super) fn blocks(number: i64) -> bool {
    use calls::*;
    !matches!(
        number,
        SYS_mmap
            | SYS_munmap
            | SYS_mprotect
            | SYS_mremap
            | SYS_madvise
            | SYS_brk
            | SYS_close
            | SYS_fstat
            | SYS_stat
            | SYS_lstat
            | SYS_newfstatat
            | SYS_lseek
            | SYS_access
            | SYS_faccessat
            | SYS_rt_sigaction
            | SYS_rt_sigprocmask
            | SYS_rt_sigreturn
            | SYS_sigaltstack
            | SYS_set_robust_list
            | SYS_prlimit64
            | SYS_arch_prctl
            | SYS_prctl
            | SYS_uname
            | SYS_getuid
            | SYS_geteuid
            | SYS_getgid
            | SYS_getegid
            | SYS_pread64
            | SYS_readlink
            | SYS_readlinkat
            | SYS_pipe
            | SYS_pipe2
            | SYS_dup
            | SYS_dup2
            | SYS_dup3
            | SYS_clone
            | SYS_clone3
            | SYS_execve
            | SYS_sysinfo
            | SYS_getcwd
            | SYS_eventfd2
            | SYS_epoll_create1
            | SYS_epoll_ctl
            | SYS_socket
            | SYS_getdents64
    )
}

/// Whether the result is an address, or else says nothing about what the program sees.
pub(super) fn is_address(number: i64) -> bool {
    matches!(
        number,
        calls::SYS_fork | calls::SYS_vfork | libc::SYS_wait4 | libc::SYS_setpgid | libc::SYS_getpgid
    )
}

/// The memory that a system call has read and written: (address, length, whether written). `None`: not known.
#[allow(non_upper_case_globals, reason = "libc's names")]
pub(super) fn touched(
    call: &Syscall,
    result: u64,
    word: &dyn Fn(u64) -> Option<u64>,
) -> Option<Vec<(u64, u64, bool)>> {
    use calls::*;
    let [a, b, c, d, e, _] = call.args;
    let vector = |at: u64, count: u64, mut left: u64, store: bool| {
        let mut ranges = Vec::new();
        for index in 0..count.min(1024) {
            let (base, len) = (word(at + 16 * index).unwrap_or(0), word(at + 16 * index + 8).unwrap_or(0));
            let used = len.min(left);
            left -= used;
            ranges.push((base, used, store));
        }
        ranges
    };
    Some(match call.number as i64 {
        SYS_read | SYS_pread64 | SYS_recvfrom | SYS_getdents64 => vec![(b, result, true)],
        SYS_write | SYS_pwrite64 | SYS_sendto => vec![(b, result, false)],
        SYS_readv | SYS_preadv | SYS_preadv2 => vector(b, c, result, true),
        SYS_writev | SYS_pwritev | SYS_pwritev2 => vector(b, c, result, false),
        // struct msghdr: name, namelen, iov, iovlen
        SYS_recvmsg => vector(word(b + 16)?, word(b + 24)?, result, true),
        SYS_sendmsg => vector(word(b + 16)?, word(b + 24)?, result, false),
        SYS_fstat | SYS_stat | SYS_lstat => vec![(b, size_of::<stat>() as u64, true)],
        SYS_newfstatat => vec![(c, size_of::<stat>() as u64, true)],
        SYS_statx => vec![(e, size_of::<statx>() as u64, true)],
        SYS_getcwd => vec![(a, result, true)],
        SYS_readlink => vec![(b, result, true)],
        SYS_readlinkat => vec![(c, result, true)],
        SYS_pipe | SYS_pipe2 => vec![(a, 8, true)],
        SYS_socketpair => vec![(d, 8, true)],
        SYS_poll | SYS_ppoll => vec![(a, b.saturating_mul(8), true)],
        SYS_epoll_wait | SYS_epoll_pwait => vec![(b, result.saturating_mul(12), true)],
        SYS_epoll_ctl => vec![(d, 12, false)],
        SYS_rt_sigtimedwait => vec![(b, 128, true)],
        SYS_select | SYS_pselect6 => {
            [b, c, d].map(|set| (set, a.min(1 << 20).div_ceil(64) * 8, true)).to_vec()
        }
        SYS_wait4 => vec![(b, 4, true)],
        SYS_waitid => vec![(c, size_of::<siginfo_t>() as u64, true)],
        SYS_clock_getres => vec![(b, 16, true)],
        SYS_getitimer => vec![(b, 32, true)],
        SYS_uname => vec![(a, size_of::<utsname>() as u64, true)],
        SYS_sysinfo => vec![(a, size_of::<sysinfo>() as u64, true)],
        SYS_prlimit64 => vec![(d, 16, true)],
        SYS_getrlimit => vec![(b, 16, true)],
        SYS_getrusage => vec![(b, size_of::<rusage>() as u64, true)],
        SYS_rt_sigaction => vec![(c, 32, true)],
        SYS_rt_sigprocmask => vec![(c, 8, true)],
        // Libraries call these between themselves and the kernel, or they touch no memory of the program's.
        SYS_mmap
        | SYS_shmget
        | SYS_semget
        | SYS_msgget
        | SYS_mq_open
        | SYS_mq_unlink
        | SYS_mknodat
        | SYS_munmap
        | SYS_mprotect
        | SYS_mremap
        | SYS_madvise
        | SYS_brk
        | SYS_close
        | SYS_close_range
        | SYS_personality
        | SYS_lseek
        | SYS_access
        | SYS_faccessat
        | SYS_faccessat2
        | SYS_open
        | SYS_openat
        | SYS_openat2
        | SYS_creat
        | SYS_rt_sigreturn
        | SYS_sigaltstack
        // One that other processes share: what it looks at is theirs, too.
        | SYS_futex
        | SYS_set_robust_list
        | SYS_get_robust_list
        | SYS_arch_prctl
        | SYS_prctl
        | SYS_getuid
        | SYS_geteuid
        | SYS_getgid
        | SYS_getegid
        | SYS_dup
        | SYS_dup2
        | SYS_dup3
        | SYS_execve
        | SYS_execveat
        | SYS_eventfd
        | SYS_eventfd2
        | SYS_epoll_create
        | SYS_epoll_create1
        | SYS_socket
        | SYS_bind
        | SYS_listen
        | SYS_accept
        | SYS_accept4
        | SYS_connect
        | SYS_shutdown
        | SYS_setsockopt
        | SYS_getsockopt
        | SYS_getsockname
        | SYS_getpeername
        | SYS_fcntl
        | SYS_flock
        | SYS_fsync
        | SYS_fdatasync
        | SYS_ftruncate
        | SYS_truncate
        | SYS_rename
        | SYS_renameat
        | SYS_renameat2
        | SYS_unlink
        | SYS_unlinkat
        | SYS_mkdir
        | SYS_mkdirat
        | SYS_rmdir
        | SYS_chdir
        | SYS_fchdir
        | SYS_chmod
        | SYS_fchmod
        | SYS_fchmodat
        | SYS_chown
        | SYS_fchown
        | SYS_fchownat
        | SYS_umask
        | SYS_utimensat
        | SYS_futimesat
        | SYS_kill
        | SYS_tkill
        | SYS_tgkill
        | SYS_setpgid
        | SYS_getpgid
        | SYS_getpgrp
        | SYS_setsid
        | SYS_getsid
        | SYS_alarm
        | SYS_setitimer
        | SYS_timer_create
        | SYS_timer_settime
        | SYS_timer_delete
        | SYS_pause
        | SYS_rt_sigsuspend
        | SYS_fallocate
        | SYS_fadvise64
        | SYS_sendfile
        | SYS_splice
        | SYS_copy_file_range
        | SYS_sync
        | SYS_setpriority
        | SYS_getpriority
        | SYS_sched_setscheduler
        | SYS_sched_getscheduler
        | SYS_sched_getparam
        | SYS_sched_setparam
        | SYS_sched_get_priority_max
        | SYS_sched_get_priority_min
        | SYS_mlock
        | SYS_munlock
        | SYS_mincore
        | SYS_memfd_create
        | SYS_symlink
        | SYS_symlinkat
        | SYS_link
        | SYS_linkat
        | SYS_msync
        | SYS_statfs
        | SYS_fstatfs
        | SYS_timerfd_create
        | SYS_timerfd_settime
        | SYS_signalfd4
        | SYS_inotify_init1
        | SYS_inotify_add_watch
        | SYS_restart_syscall => Vec::new(),
        _ => return None,
    })
}

/// Which arguments of a system call are numbers of processes, threads or groups.
#[allow(non_upper_case_globals, reason = "libc's names")]
pub(super) fn numbers(call: &Syscall) -> &'static [usize] {
    use calls::*;
    match call.number as i64 {
        SYS_kill | SYS_tkill | SYS_rt_sigqueueinfo | SYS_getpgid | SYS_getsid | SYS_pidfd_open => &[0],
        SYS_tgkill | SYS_rt_tgsigqueueinfo | SYS_setpgid | SYS_kcmp => &[0, 1],
        SYS_prlimit64 | SYS_get_robust_list | SYS_process_vm_readv | SYS_process_vm_writev => &[0],
        SYS_sched_setscheduler | SYS_sched_getscheduler | SYS_sched_setparam | SYS_sched_getparam => &[0],
        SYS_sched_setattr | SYS_sched_getattr | SYS_sched_rr_get_interval => &[0],
        SYS_sched_setaffinity | SYS_sched_getaffinity | SYS_migrate_pages | SYS_move_pages => &[0],
        SYS_ptrace => &[1],
        // Of a user, it is another kind of number.
        SYS_getpriority | SYS_setpriority if call.args[0] != PRIO_USER as u64 => &[1],
        SYS_ioprio_get | SYS_ioprio_set => &[1],
        SYS_fcntl if call.args[1] == F_SETOWN as u64 => &[2],
        _ => &[],
    }
}

/// Whether the result of a system call is such a number.
pub(super) fn returns_number(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_getppid | calls::SYS_getpgrp | libc::SYS_getpgid | libc::SYS_getsid | libc::SYS_setsid
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_numbers() {
        let call = |number: i64, args: [u64; 6]| Syscall { number: number as u64, args };
        assert_eq!(numbers(&call(libc::SYS_tgkill, [0; 6])), [0, 1]);
        assert!(numbers(&call(libc::SYS_setpriority, [libc::PRIO_USER as u64, 0, 0, 0, 0, 0])).is_empty());
        assert_eq!(numbers(&call(libc::SYS_fcntl, [0, libc::F_SETOWN as u64, 7, 0, 0, 0])), [2]);
        assert!(numbers(&call(libc::SYS_fcntl, [0, libc::F_GETFD as u64, 7, 0, 0, 0])).is_empty());
        assert!(numbers(&call(libc::SYS_read, [0; 6])).is_empty());
    }
}
