//! What a machine has too little of for all executions at a time, or for one: that is never the program's bug.

use crate::build::GNU_O2;
use crate::run::Directory;
use crate::source::{Source, Variant};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Output;

/// The first of some users without any processes. Root is not bound by `ulimit -u`.
const NOBODY_ELSE: u32 = 54_321;

/// A directory that every user may look into, gone at the end.
struct Public(PathBuf);

impl Drop for Public {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Runs wmtrace with this limit on processes, on a program that exits with 9 if it cannot have its six threads.
fn with_processes(limit: u32, options: &str) -> Output {
    let directory = Directory::new("processes");
    let built = Source::named("limits/six_threads.c").build(Variant::Right, GNU_O2);
    let public = Public(std::env::temp_dir().join(format!("wmtrace-test-{}-{limit}", std::process::id())));
    std::fs::create_dir_all(&public.0).unwrap();
    std::fs::set_permissions(&public.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    let (wmtrace, program) = (public.0.join("wmtrace"), public.0.join("program"));
    std::fs::copy(env!("CARGO_BIN_EXE_wmtrace"), &wmtrace).unwrap();
    std::fs::copy(&built.path, &program).unwrap();
    let script = format!("ulimit -u {limit}; exec \"$0\" -n 20 {options} -- \"$1\"");
    let mut command = directory.command("bash");
    command.current_dir(&public.0).arg("-c").arg(script).arg(&wmtrace).arg(&program);
    if is_root() {
        command.uid(NOBODY_ELSE + limit).gid(NOBODY_ELSE);
    }
    command.output().unwrap()
}

/// There is room for a few executions at a time, not for sixteen: fewer are made. For one there is, too.
#[test]
fn fewer_executions_at_a_time() {
    for options in ["-j 16", "-j 16 --verify"] {
        let output = with_processes(30, options);
        let (text, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // The user who runs the tests may have 30 other processes.
        if is_root() || output.status.success() {
            assert_eq!(output.status.code(), Some(0), "{text}{error}");
            assert!(text.contains("no bug in 20 executions"), "{text}");
            assert!(text.contains("Warning: fewer executions at a time than asked for: "), "{text}");
        }
        assert!(output.status.code() != Some(1), "{text}");
    }
}

/// There is not even room for one: that is an error, which names the limit.
#[test]
fn not_even_one_execution() {
    for options in ["-j 1", "-j 4"] {
        let output = with_processes(6, options);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{error}");
        assert!(error.contains("`ulimit -u`") || !is_root(), "{error}");
    }
}
