//! Some of the programs of targets/known-bugs as AArch64 binaries: the same bugs at the same lines.

use crate::crates::found_in;
use crate::{TARGETS, directory, must};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Both workspaces, built once.
fn built() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = directory("known-bugs-aarch64");
        for which in ["affected", "fixed"] {
            let mut cargo = Command::new(format!("{TARGETS}/../scripts/cargo-aarch64"));
            cargo.args(["build", "--quiet", "--release", "--locked", "--manifest-path"]);
            cargo.arg(format!("{TARGETS}/known-bugs/{which}/Cargo.toml")).arg("--target-dir").arg(&target);
            must(cargo.env("CARGO", env!("CARGO")));
        }
        target.join("aarch64-unknown-linux-gnu/release")
    })
}

/// Every execution shows it.
#[test]
fn spin() {
    let says = ["is relaxed, not release (rw_lock.rs:361:19)"];
    found_in(built(), "spin", "--arch aarch64", 20, "race", "rw_lock.rs:361:19", &says);
}

/// As rare as on x86-64.
#[test]
fn thread_local() {
    let (source, says) = ("thread_local-1.1.3/src/lib.rs", ["is relaxed, not acquire (lib.rs:381:33)"]);
    found_in(built(), "thread_local", "--arch aarch64", 1500, "race", source, &says);
}

/// As rare as on x86-64.
#[test]
fn msqueue() {
    let (source, says) = ("crossbeam-0.2.10/src/sync/ms_queue.rs", ["does not synchronise"]);
    found_in(built(), "msqueue", "--arch aarch64", 600, "race", source, &says);
}
