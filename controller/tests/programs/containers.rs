//! Where wmtrace may not do everything: limits of memory, and system calls that a container's filter denies.

use crate::build::{CROSS, GNU_O2, compile};
use crate::run::Directory;
use crate::source::{Source, Variant};
use std::path::{Path, PathBuf};

/// `deny CALL EPERM|ENOSYS PROGRAM [ARGS…]`
pub(crate) fn deny() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/deny.c");
    compile("gcc", &["-O1"], &path, include_str!("deny.c"))
}

/// Want of memory is an error of wmtrace's, not a crash.
#[test]
fn memory_limits_are_errors() {
    let directory = Directory::new("memory");
    let built = Source::named("verdicts/exit.c").build(Variant::Right, GNU_O2);
    let mut said = 0;
    // In KiB: from what wmtrace itself can be loaded in to enough. The dynamic linker says 127.
    for limit in (40_000..=160_000).step_by(20_000) {
        let script = format!("ulimit -v {limit}; exec \"$0\" -q -n 1 -- \"$1\"");
        let mut command = directory.command("/bin/sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_wmtrace")]).arg(&built.path);
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code();
        assert!(matches!(status, Some(0 | 3 | 127)), "{limit}: {status:?} {message}");
        assert!(status != Some(3) || message.lines().count() == 1, "{limit}: {message}");
        said += usize::from(status == Some(3) && message.contains("out of memory: raise the limit"));
    }
    assert!(said > 0, "no limit was too low");
}

/// A container denies system calls: wmtrace does without them, or says in one line what it needs.
#[test]
fn denied_system_calls_are_done_without_or_named() {
    let source = Source::named("verdicts/race.cpp");
    // What each engine says; nothing if it does without.
    let calls = [
        ("nothing", "", ""),
        ("personality", "--security-opt seccomp=unconfined", ""),
        ("memfd_create", "", "memfd_create"),
        ("ptrace", "cannot trace programs here (ptrace: ", "cannot trace programs here (ptrace: "),
        ("perf_event_open", "", ""),
        ("userfaultfd", "", ""),
    ];
    for (call, step, gate) in calls {
        for (flavour, says) in [(GNU_O2, step), (CROSS, gate)] {
            for error in ["EPERM", "ENOSYS"] {
                let directory = Directory::new("denied");
                let built = source.build(Variant::Buggy, flavour);
                let mut command = directory.command(deny());
                command.args([
                    call,
                    error,
                    env!("CARGO_BIN_EXE_wmtrace"),
                    "-q",
                    "-n",
                    "100",
                    "--confirm",
                    "0",
                ]);
                let output = command.args(["-o", "out", "--"]).arg(&built.path).output().unwrap();
                let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr));
                let status = output.status.code();
                let what = format!("{call} {error} {flavour:?}: {status:?} {err}");
                if says.is_empty() {
                    assert_eq!(status, Some(1), "{what}");
                    assert!(String::from_utf8_lossy(&out).starts_with("race: "), "{what}");
                } else {
                    assert_eq!(status, Some(3), "{what}");
                    assert!(err.contains(says) && err.lines().count() == 1, "{what}");
                }
                assert!(directory.strays().is_empty(), "{what}");
            }
        }
    }
}
