//! Numbers of system calls, as libc has them. What is known of system calls is one list for all machines: calls that only
//! x86-64 has have numbers elsewhere that no call has.

pub(crate) use libc::*;

#[cfg(not(target_arch = "x86_64"))]
#[allow(non_upper_case_globals, reason = "libc's names")]
mod absent {
    pub(crate) const SYS_access: libc::c_long = -1;
    pub(crate) const SYS_alarm: libc::c_long = -2;
    pub(crate) const SYS_arch_prctl: libc::c_long = -3;
    pub(crate) const SYS_chmod: libc::c_long = -4;
    pub(crate) const SYS_chown: libc::c_long = -5;
    pub(crate) const SYS_creat: libc::c_long = -6;
    pub(crate) const SYS_dup2: libc::c_long = -7;
    pub(crate) const SYS_epoll_create: libc::c_long = -8;
    pub(crate) const SYS_epoll_wait: libc::c_long = -9;
    pub(crate) const SYS_eventfd: libc::c_long = -10;
    pub(crate) const SYS_fork: libc::c_long = -11;
    pub(crate) const SYS_futimesat: libc::c_long = -12;
    pub(crate) const SYS_getpgrp: libc::c_long = -13;
    pub(crate) const SYS_link: libc::c_long = -14;
    pub(crate) const SYS_lstat: libc::c_long = -15;
    pub(crate) const SYS_mkdir: libc::c_long = -16;
    pub(crate) const SYS_open: libc::c_long = -17;
    pub(crate) const SYS_pause: libc::c_long = -18;
    pub(crate) const SYS_pipe: libc::c_long = -19;
    pub(crate) const SYS_poll: libc::c_long = -20;
    pub(crate) const SYS_readlink: libc::c_long = -21;
    pub(crate) const SYS_rename: libc::c_long = -22;
    pub(crate) const SYS_rmdir: libc::c_long = -23;
    pub(crate) const SYS_stat: libc::c_long = -24;
    pub(crate) const SYS_symlink: libc::c_long = -25;
    pub(crate) const SYS_time: libc::c_long = -26;
    pub(crate) const SYS_unlink: libc::c_long = -27;
    pub(crate) const SYS_vfork: libc::c_long = -28;
    pub(crate) const SYS_select: libc::c_long = -29;
}
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use absent::*;
