//! Exit statuses: part of the interface, so they live in one place.

use std::process::ExitCode;

/// How a run ended. The order is that of severity: of several files, the worst counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Exit {
    /// No bug.
    Clean = 0,
    /// A bug was found.
    Bug = 1,
    /// Wrong usage or input.
    Usage = 2,
    /// wmtrace itself failed, or cannot do what was asked.
    Tool = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
