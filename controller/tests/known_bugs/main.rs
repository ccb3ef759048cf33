//! Known bugs of crates are found, where they are, and their corrected versions are clean (targets/known-bugs); programs
//! against Concurrency Kit and liburcu are clean (targets/c-libraries); the scripts for people work.
//!
//! `WMTRACE_TEST_EXECUTIONS` says how many executions a right program must survive (100 at least; `scripts/test-long`
//! takes 2,000).

mod aarch64;
mod c_libraries;
mod crates;
mod scripts;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../targets");

fn executions() -> u64 {
    let number = std::env::var("WMTRACE_TEST_EXECUTIONS").ok();
    number.map_or(100, |number| number.parse::<u64>().expect("WMTRACE_TEST_EXECUTIONS is a number").max(100))
}

/// Where things are built, and stay.
fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs a command that must succeed.
fn must(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The report of `wmtrace OPTIONS PROGRAM`; recordings go to `out`.
fn report(options: &str, program: &Path, out: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wmtrace"));
    command.args(["--format", "json", "-o"]).arg(out).args(options.split_whitespace()).arg(program);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value =
        text.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_else(|| {
            panic!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        });
    assert_eq!(report["unsupported"], serde_json::json!([]), "{command:?}");
    report
}

/// A program survives so many executions without a bug.
fn is_clean(options: &str, program: &Path, count: u64) {
    let out = directory("known-bugs-clean");
    let report = report(&format!("-n {count} {options}"), program, &out);
    assert_eq!(report["bugs"], serde_json::json!([]), "{} {options}", program.display());
    assert_eq!(report["executions"], count, "{} {options}", program.display());
}
