//! Misuses of what synchronises, of threads' handles and of stacks, and races with allocations: each wrong case is found
//! and replayed, each right one stays clean. One program has many cases; its argument says which.

use crate::build::{Built, compile};
use crate::run::{Directory, Report};
use crate::source::{Source, for_each};
use std::path::{Path, PathBuf};

fn build(program: &str, compiler: &'static str, flags: &[&str]) -> PathBuf {
    let source = Source::named(&format!("kinds/{program}.c"));
    let flags: Vec<&str> = ["-g", "-pthread"].into_iter().chain(flags.iter().copied()).collect();
    compile(compiler, &flags, &source.path, &source.text)
}

/// The kinds that are found in a case. What is found first is replayed.
fn found(path: &Path, case: &str, options: &str) -> Result<Vec<String>, String> {
    let directory = Directory::new("kinds");
    let built = Built { path: path.to_owned(), args: vec![case.into()] };
    let report = directory.report(&format!("-j 1 {options}"), &built)?;
    let kinds: Vec<String> = report.kinds().iter().map(ToString::to_string).collect();
    if !kinds.is_empty() {
        let recording = report.recording(&directory);
        let words = ["replay", "--format", "json", recording.to_str().unwrap()];
        let replayed = Report::read(&directory.wmtrace(&words).output().unwrap())?;
        if replayed.kinds() != kinds[..1] || replayed.bugs()[0]["certified"] != true {
            return Err(format!("replayed as {}, was {}", replayed.value(), report.value()));
        }
    }
    Ok(kinds)
}

/// Each of these has a bug of this kind, and of no kind that is not among `also`.
fn are_wrong(path: &Path, kind: &str, also: &[&str], cases: &[&str]) {
    let is_wrong = |case: &&str| {
        // The rarest needs one of two orders of two threads: 100 executions miss it with a probability below 2^-50.
        let kinds = found(path, case, "-n 100")?;
        let expected = |it: &String| it == kind || also.contains(&it.as_str());
        let right = kinds.iter().any(|it| it == kind) && kinds.iter().all(expected);
        if right { Ok(()) } else { Err(format!("{kinds:?}, not {kind}")) }
    };
    for_each(cases, ToString::to_string, is_wrong);
}

fn are_right(path: &Path, cases: &[&str], options: &str) {
    let is_right = |case: &&str| {
        let kinds = found(path, case, options)?;
        if kinds.is_empty() { Ok(()) } else { Err(format!("{kinds:?}")) }
    };
    for_each(cases, ToString::to_string, is_right);
}

const WRONG_LOCKS: [&str; 19] = [
    "destroyed mutex",
    "destroyed mutex afterwards",
    "destroyed condition",
    "destroyed rwlock",
    "destroyed semaphore",
    "destroyed barrier",
    "destroyed twice",
    "uninitialised mutex",
    "uninitialised semaphore",
    "destroys locked",
    "destroys locked afterwards",
    "destroys locked rwlock",
    "initialises locked",
    "destroys semaphore with waiter",
    "foreign unlock",
    "unlock of unlocked",
    "unlock of unlocked afterwards",
    "unlock of unlocked rwlock",
    "waits with unlocked",
];

const RIGHT_LOCKS: [&str; 7] = [
    "right locks",
    "right lives",
    "right checking",
    "right robust",
    "right condition",
    "right barrier",
    "right semaphore",
];

#[test]
fn locks_that_are_misused() {
    are_wrong(&build("locks", "gcc", &["-O2"]), "lock_misuse", &[], &WRONG_LOCKS);
}

#[test]
fn locks_that_are_not() {
    for level in ["-O0", "-O2"] {
        are_right(&build("locks", "gcc", &[level]), &RIGHT_LOCKS, "-n 20");
    }
    are_right(&build("locks", "gcc", &["-O2"]), &RIGHT_LOCKS, "-n 10 --model tso");
}

const WRONG_JOINS: [&str; 8] = [
    "twice",
    "twice with others",
    "by two",
    "detached",
    "created detached",
    "itself",
    "main itself",
    "detached twice",
];

/// Whoever joins a thread that another one joins waits for ever with some versions of glibc.
#[test]
fn joins_that_are_misused() {
    are_wrong(&build("joins", "gcc", &["-O2"]), "join_misuse", &["deadlock"], &WRONG_JOINS);
}

#[test]
fn joins_that_are_not() {
    are_right(&build("joins", "gcc", &["-O2"]), &["right", "right detached", "right exit"], "-n 20");
}

#[test]
fn stacks_that_are_gone() {
    let path = build("stacks", "gcc", &["-O2"]);
    are_wrong(&path, "use_after_return", &[], &["returned", "ended"]);
    are_wrong(&path, "uninitialised_load", &[], &["unwritten"]);
}

#[test]
fn stacks_that_are_there() {
    let cases = ["right stays", "right written", "right switches", "right leaves", "right exit"];
    for level in ["-O0", "-O2"] {
        are_right(&build("stacks", "gcc", &[level]), &cases, "-n 20");
    }
}

#[test]
fn allocations_that_nobody_knows_of() {
    let path = build("allocation", "gcc", &["-O2"]);
    are_wrong(&path, "allocation_race", &[], &["relaxed"]);
    are_right(&path, &["right released", "right guarded", "right fenced"], "-n 50");
}
