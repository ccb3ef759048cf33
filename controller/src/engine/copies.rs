//! What engines with a fork server share: what an execution has found out until it was copied, and what may be copied.

use super::execution::Course;
use super::journal::Journal;
use super::time::Clock;
use super::timers::Timers;
use super::waits::Waits;
use super::world::Streams;
use super::{EngineError, EngineOptions};
use crate::os::{Tid, proc};
use std::io::{Seek as _, SeekFrom, Write as _};

/// What has happened up to the moment at which a process is copied.
#[derive(Clone)]
pub(super) struct Moment {
    clock: Clock,
    timers: Timers,
    restarting: u64,
    caught: u64,
    /// Whether others may write to the program's descriptors.
    shared: bool,
    dumpable: u64,
    expects_signals: bool,
    warnings: Vec<String>,
    journal: Option<Journal>,
    lacks: Option<String>,
    may_be_killed: bool,
    stdin: u64,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Moment {
    pub(super) fn new(course: &Course, streams: &mut Streams) -> Moment {
        let (stdout, stderr, _) = streams.collect();
        Moment {
            clock: course.clock.clone(),
            timers: course.timers.clone(),
            restarting: course.restarting,
            caught: course.caught,
            shared: course.waits.is_shared(),
            dumpable: course.dumpable,
            expects_signals: course.expects_signals,
            warnings: course.warnings.clone(),
            journal: course.journal.clone(),
            lacks: course.lacks.clone(),
            may_be_killed: course.may_be_killed,
            stdin: streams.stdin.stream_position().unwrap_or(0),
            stdout,
            stderr,
        }
    }

    /// The course of an execution that goes on from there.
    pub(super) fn restore(
        self,
        options: &EngineOptions,
        streams: &mut Streams,
    ) -> Result<Course, EngineError> {
        let os = |error: std::io::Error| EngineError::io("", &error);
        streams.rewind().map_err(os)?;
        streams.stdin.seek(SeekFrom::Start(self.stdin)).map_err(os)?;
        streams.stdout.write_all(&self.stdout).map_err(os)?;
        streams.stderr.write_all(&self.stderr).map_err(os)?;
        Ok(Course {
            timers: self.timers,
            restarting: self.restarting,
            caught: self.caught,
            waits: Waits::copied(self.shared),
            dumpable: self.dumpable,
            expects_signals: self.expects_signals,
            warnings: self.warnings,
            journal: self.journal,
            lacks: self.lacks,
            may_be_killed: self.may_be_killed,
            ..Course::new(self.clock, options)
        })
    }
}

/// Whether a copy of a process with these files does nothing to the next copy by them.
pub(super) fn are_harmless(files: &[proc::OpenFile]) -> bool {
    let ours = proc::open_files(Tid(std::process::id() as i32));
    files.iter().all(|file| {
        // Inherited from whoever started wmtrace: the program has not made it.
        if ours.iter().any(|our| our.fd == file.fd && our.target == file.target) {
            return true;
        }
        let Some(target) = file.target.to_str() else { return false };
        // Our own streams, in memory or without a name.
        (target.starts_with("/memfd:") || target.ends_with(" (deleted)")) && file.fd <= 2
            || matches!(target, "/dev/null" | "/dev/zero" | "/dev/full" | "/dev/random" | "/dev/urandom")
            || std::fs::metadata(target).is_ok_and(|data| data.is_file() || data.is_dir())
    })
}
