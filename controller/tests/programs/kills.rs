//! wmtrace is ended at random moments inside executions: nothing stays behind, and what it has written is whole.

use crate::build::{CROSS, Flavour, GNU_O2};
use crate::run::{Directory, Report, eventually, is_long, start};
use crate::source::{Source, Variant};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;
use std::time::Duration;

/// Moments for each signal: 51 for each engine in CI.
fn times() -> u32 {
    if is_long() { 100 } else { 17 }
}

/// Numbers from a seed (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Whether a program is inside an execution: it has as many threads as that takes.
fn executes(directory: &Directory, threads: usize) -> bool {
    directory.processes().iter().any(|(pid, name)| {
        name != "wmtrace"
            && std::fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| tasks.count() >= threads)
    })
}

/// Ends wmtrace up to 100 ms after its first execution has begun (`threads` tells it from what precedes it), or every other
/// time after its first bug was recorded.
fn end_by(signal: Signal, flavour: Flavour, threads: usize) {
    let built = Source::named("patterns/pool.cpp").build(Variant::Buggy, flavour);
    let mut numbers = Numbers(0x5eed_0000 + signal as u64);
    for time in 0..times() {
        let directory = Directory::new("kill");
        let temporary = directory.path.join("tmp");
        std::fs::create_dir(&temporary).unwrap();
        let mut command = directory.test("-n 1000000 --keep-going -j 2 --confirm 0", &built);
        let mut child = start(command.env("TMPDIR", &temporary));
        let what = format!("{signal} at {time}");
        assert!(eventually(|| executes(&directory, threads)), "{what}: no execution");
        if time % 2 == 1 {
            assert!(eventually(|| !directory.recordings().is_empty()), "{what}: no bug");
        }
        // Not to wait for anything: any moment will do.
        std::thread::sleep(Duration::from_micros(numbers.below(100_000)));
        assert!(child.try_wait().unwrap().is_none(), "{what}: it has ended by itself");
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        let ended = eventually(|| child.try_wait().unwrap().is_some());
        if !ended {
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        assert!(ended, "{what}: still there after 10 s");
        let strays = directory.strays();
        assert!(strays.is_empty(), "{what}: {strays:?} are left");
        if signal == Signal::SIGINT && output.status.code().is_some_and(|code| code < 2) {
            Report::read(&output).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        nothing_is_left(&directory, &temporary, &what);
        let recordings = replayed(&directory, &what);
        assert!(time % 2 == 0 || recordings > 0, "{what}: the recording is gone");
    }
}

/// No temporary file, no part of a recording, no mount.
fn nothing_is_left(directory: &Directory, temporary: &Path, what: &str) {
    let names = |path: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    };
    assert_eq!(names(temporary), Vec::<String>::new(), "{what}");
    let other = names(&directory.path).into_iter().find(|name| name != "out" && name != "tmp");
    assert_eq!(other, None, "{what}");
    let partial = names(&directory.path.join("out")).into_iter().find(|name| name.starts_with('.'));
    assert_eq!(partial, None, "{what}");
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(directory.path.to_str().unwrap()), "{what}: {mounts}");
}

/// Each recording replays. How many there are.
fn replayed(directory: &Directory, what: &str) -> usize {
    let mut recordings = directory.recordings();
    recordings.retain(|path| path.extension().is_some_and(|extension| extension == "wmtrec"));
    for recording in &recordings {
        let replay = directory.wmtrace(&["replay", recording.to_str().unwrap()]).output().unwrap();
        let errors = String::from_utf8_lossy(&replay.stderr);
        assert_eq!(replay.status.code(), Some(1), "{what}: {}: {errors}", recording.display());
    }
    recordings.len()
}

#[test]
fn interrupted() {
    end_by(Signal::SIGINT, GNU_O2, 2);
}

#[test]
fn terminated() {
    end_by(Signal::SIGTERM, GNU_O2, 2);
}

#[test]
fn killed() {
    end_by(Signal::SIGKILL, GNU_O2, 2);
}

/// qemu has a thread of its own.
#[test]
fn interrupted_in_qemu() {
    end_by(Signal::SIGINT, CROSS, 3);
}

#[test]
fn terminated_in_qemu() {
    end_by(Signal::SIGTERM, CROSS, 3);
}

#[test]
fn killed_in_qemu() {
    end_by(Signal::SIGKILL, CROSS, 3);
}
