//! The operating system: processes under ptrace, their memory and registers. All `unsafe` of the controller lives
//! in this folder.

pub(crate) mod allocator;
pub(crate) mod calls;
pub(crate) mod descriptors;
pub(crate) mod interrupt;
pub(crate) mod launch;
pub(crate) mod limits;
pub(crate) mod memory;
mod pages;
pub(crate) mod proc;
pub(crate) mod ptrace;
pub(crate) mod signals;
pub(crate) mod tick;
pub(crate) mod view;

use std::fmt;

/// An operation on a process that failed: what, on whom, why.
#[derive(Debug, thiserror::Error)]
#[error("{what} of process {pid}: {error}")]
pub(crate) struct OsError {
    pub(crate) what: &'static str,
    pub(crate) pid: i32,
    pub(crate) error: std::io::Error,
}

impl OsError {
    pub(crate) fn new(what: &'static str, pid: impl Into<i32>, error: impl Into<std::io::Error>) -> OsError {
        OsError { what, pid: pid.into(), error: error.into() }
    }
}

/// A thread of a traced process, as the kernel numbers it. Never shown to the model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Tid(pub(crate) i32);

impl Tid {
    pub(crate) fn pid(self) -> nix::unistd::Pid {
        nix::unistd::Pid::from_raw(self.0)
    }
}

impl From<Tid> for i32 {
    fn from(tid: Tid) -> i32 {
        tid.0
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
