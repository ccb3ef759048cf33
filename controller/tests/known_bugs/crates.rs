//! The programs of targets/known-bugs.

use crate::{TARGETS, directory, executions, is_clean, must, report};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Both workspaces, built once.
fn built() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = directory("known-bugs");
        for which in ["affected", "fixed"] {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "--quiet", "--release", "--locked", "--manifest-path"]);
            cargo.arg(format!("{TARGETS}/known-bugs/{which}/Cargo.toml")).arg("--target-dir").arg(&target);
            must(cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS"));
        }
        target.join("release")
    })
}

/// The bug is found with these options within so many executions, is of this kind (or one of these), the report names a file of this
/// crate's version, and the explanation says all of this. The corrected version is clean with the same options.
fn found(name: &str, options: &str, within: u64, kind: &str, source: &str, says: &[&str]) {
    found_in(built(), name, options, within, kind, source, says);
}

/// The same, of the programs in this directory.
pub(crate) fn found_in(
    programs: &Path,
    name: &str,
    options: &str,
    within: u64,
    kind: &str,
    source: &str,
    says: &[&str],
) {
    let program = programs.join(format!("{name}-affected"));
    let out = program.with_extension("recordings");
    let found = report(&format!("-n {within} {options}"), &program, &out);
    let bug = &found["bugs"][0];
    assert!(
        bug["kind"].as_str().is_some_and(|found| kind.split('|').any(|kind| kind == found)),
        "{name}: {bug}"
    );
    assert_eq!(bug["certified"], true, "{name}: {bug}");
    assert!(bug.to_string().contains(source), "{name}: nothing of {source} in {bug}");
    let mut explain = Command::new(env!("CARGO_BIN_EXE_wmtrace"));
    let explained = explain.arg("explain").arg(bug["recording"].as_str().unwrap()).output().unwrap();
    let text = String::from_utf8_lossy(&explained.stdout);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in says {
        assert!(words.contains(part), "{name}: the explanation does not say {part:?}:\n{text}");
    }
    std::fs::remove_dir_all(&out).unwrap();
    is_clean(options, &programs.join(format!("{name}-fixed")), executions());
}

/// Every execution shows it.
#[test]
fn spin() {
    let says = ["is relaxed, not release (rw_lock.rs:361:19)"];
    found("spin", "", 20, "race", "rw_lock.rs:361:19", &says);
}

/// One in 15 executions (25 found in 400): 600 miss it with probability 10^-18.
#[test]
fn msqueue() {
    found("msqueue", "", 600, "race", "crossbeam-0.2.10/src/sync/ms_queue.rs", &["Nothing orders"]);
}

/// Under c11 the first or second execution shows it. Under tso 1 % do: 2,000 miss it with probability 10^-9.
#[test]
fn futures() {
    found("futures", "", 50, "deadlock", "futures-0.1.3/src/task", &[]);
    let says = ["oneshot.rs:257:40, although t1 has stored 1 at oneshot.rs:197:29"];
    found("futures", "--model tso", 2000, "deadlock", "futures-0.1.3/src/task", &says);
}

/// The second execution, which is aimed, shows it; of those that are not, 3 % do.
#[test]
fn thread_local() {
    let says = ["is relaxed, not acquire (lib.rs:381:33)"];
    found("thread_local", "", 400, "race", "thread_local-1.1.3/src/lib.rs", &says);
}

/// Most executions show it.
#[test]
fn oneshot() {
    let says = ["is acquire, not release (lib.rs:1048:29)"];
    found("oneshot", "", 50, "race", "oneshot-0.1.11/src/lib.rs", &says);
}

/// 3 % of the executions (24 of 800): 400 miss it with probability 10^-5. Which of its loads is too weak depends on the
/// execution.
#[test]
fn arc_swap() {
    let says = ["it takes seq_cst on all four"];
    found("arc_swap", "", 400, "race|use_after_free", "arc-swap-1.5.0/src", &says);
}

/// Nearly every execution shows the one or the other.
#[test]
fn spmc() {
    let says = ["lib.rs:65:40", "lib.rs:216:26"];
    found("spmc", "", 50, "deadlock", "spmc-0.2.2/src/lib.rs", &says);
    found("spmc", "--model tso", 600, "deadlock", "spmc-0.2.2/src/lib.rs", &says);
}

/// 1.3 % of the executions: 1,500 miss it with probability 10^-8.
#[test]
fn crossbeam_channel() {
    let says = ["list.rs:614:41"];
    found("crossbeam_channel", "", 1500, "assertion", "crossbeam_channel.rs", &says);
}

/// 1 to 3 % of the executions: 2,000 miss it with probability 10^-9 at most.
#[test]
fn crossbeam_deque() {
    let says = ["deque.rs:787:26", "an interleaving of the threads is enough for this bug"];
    found("crossbeam_deque", "--model sc", 2000, "assertion", "crossbeam_deque.rs", &says);
}
