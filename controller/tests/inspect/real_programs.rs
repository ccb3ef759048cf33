//! `inspect` on programs that were not written for it: Rust with crossbeam, C++ with ConcurrentQueue, C with Concurrency
//! Kit, and what Debian has in /usr/bin, stripped.

use super::{Directory, accesses, json, of_function, wmtrace};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../targets");

/// Entries that are atomic, and those of them whose order somebody states.
fn atomics(report: &Value) -> (usize, usize) {
    let atomic: Vec<&Value> = accesses(report).iter().filter(|entry| entry["atomic"] == "yes").collect();
    let stated = atomic.iter().filter(|e| matches!(e["from"].as_str(), Some("dwarf" | "source" | "file")));
    (atomic.len(), stated.count())
}

/// What holds for every report.
fn check(report: &Value, program: &Path) {
    let place = program.display();
    for entry in accesses(report) {
        let word = |key: &str| entry[key].as_str().unwrap_or_default();
        assert!(matches!(word("op"), "load" | "store" | "rmw" | "fence"), "{place}: {entry}");
        assert!(word("pc").starts_with("0x"), "{place}: {entry}");
        assert_eq!(entry["width"] == 0, word("op") == "fence", "{place}: {entry}");
        assert_eq!(entry["order"].is_null(), word("from") == "runtime", "{place}: {entry}");
        // Only a fence of the source has no instruction.
        assert_eq!(word("text").is_empty(), entry["isa_order"].is_null(), "{place}: {entry}");
        assert!(!word("text").is_empty() || word("op") == "fence", "{place}: {entry}");
        // A locked instruction is atomic, whatever debug information says.
        assert!(!word("text").starts_with("lock ") || word("atomic") == "yes", "{place}: {entry}");
        assert_eq!(word("atomic") == "no", word("order") == "na", "{place}: {entry}");
    }
    for unknown in report["modules"][0]["unsupported"].as_array().unwrap() {
        let word = |key: &str| unknown[key].as_str().unwrap_or_default();
        assert!(word("pc").starts_with("0x") && !word("bytes").is_empty(), "{place}: {unknown}");
        assert!(!word("text").is_empty(), "{place}: {unknown}");
    }
}

/// The table: what a terminal gets has no control characters, and the summary is there.
fn check_table(program: &Path) {
    let output = wmtrace(&[], program);
    assert_eq!(output.status.code(), Some(0), "{}", program.display());
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{}", program.display());
    assert!(text.contains("; orders "), "{text}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn rust_with_crossbeam() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("crossbeam");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--locked", "--manifest-path"])
        .arg(format!("{TARGETS}/crossbeam/Cargo.toml"))
        .env("CARGO_TARGET_DIR", &directory)
        // What the workspace's own build was told does not concern it.
        .env_remove("RUSTFLAGS")
        .status();
    assert!(built.unwrap().success());
    let program = directory.join("release/crossbeam-target");
    let report = json(&[], &program);
    check(&report, &program);
    check_table(&program);
    assert_eq!(report["modules"][0]["orders"], "known");

    let own = |name: &str| of(&report, &format!("crossbeam_target::{name}"));
    assert_eq!(own("announce"), ["store release dwarf"]);
    assert_eq!(own("announced"), ["load acquire dwarf"]);
    assert_eq!(own("count"), ["rmw relaxed dwarf"]);
    // The standard library comes compiled, with its orders lost; of what was compiled here nearly all are stated.
    let (mut compiled, mut stated) = (0, 0);
    for entry in accesses(&report).iter().filter(|entry| entry["atomic"] == "yes") {
        if entry["file"].as_str().is_some_and(|file| file.contains("/crossbeam")) {
            compiled += 1;
            stated += u32::from(matches!(entry["from"].as_str(), Some("dwarf" | "source")));
        }
    }
    println!("crossbeam: {compiled} atomics, {stated} with stated orders");
    assert!(compiled > 100 && stated * 10 >= compiled * 9, "{stated} of {compiled}");
    for structure in ["crossbeam_epoch::", "crossbeam_deque::", "crossbeam_channel::"] {
        let inside = |entry: &&Value| entry["function"].as_str().is_some_and(|name| name.contains(structure));
        let entries: Vec<_> = accesses(&report).iter().filter(inside).collect();
        assert!(entries.iter().any(|entry| entry["order"] == "acquire"), "{structure}");
        assert!(entries.iter().any(|entry| entry["op"] == "rmw"), "{structure}");
    }
    // The epoch's pin has the sequentially consistent fence that the whole scheme rests on.
    let fenced = |entry: &Value| entry["op"] == "fence" && entry["order"] == "seq_cst";
    assert!(accesses(&report).iter().any(fenced));
}

/// `op order from` of each entry of a function, by its whole name.
fn of(report: &Value, function: &str) -> Vec<String> {
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or("null").to_owned();
    accesses(report)
        .iter()
        .filter(|entry| entry["function"] == function)
        .map(|entry| format!("{} {} {}", word(entry, "op"), word(entry, "order"), word(entry, "from")))
        .collect()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn cpp_and_c_with_debians_libraries() {
    let directory = Directory::new("queues");
    directory.run("gcc", &format!("-O2 -g -c {TARGETS}/queues/locks.c"));
    directory.run("g++", &format!("-O2 -g -std=c++17 {TARGETS}/queues/queue.cpp locks.o -pthread -o queue"));
    let program = directory.0.join("queue");
    let report = json(&[], &program);
    check(&report, &program);
    check_table(&program);
    assert_eq!(report["modules"][0]["orders"], "known");
    assert_eq!(of_function(&report, "announce"), ["store release dwarf"]);
    assert_eq!(of_function(&report, "announced"), ["load acquire dwarf"]);

    // ConcurrentQueue is all std::atomic: every order of it is stated.
    let queue = |entry: &&Value| {
        entry["atomic"] == "yes"
            && entry["file"].as_str().is_some_and(|file| file.ends_with("/concurrentqueue.h"))
    };
    let entries: Vec<&Value> = accesses(&report).iter().filter(queue).collect();
    assert!(entries.len() > 50, "{}", entries.len());
    for entry in &entries {
        assert!(matches!(entry["from"].as_str(), Some("dwarf" | "source")), "{entry}");
    }
    for (op, order) in [("load", "relaxed"), ("load", "acquire"), ("store", "release"), ("rmw", "relaxed")] {
        assert!(entries.iter().any(|e| e["op"] == op && e["order"] == order), "no {order} {op}");
    }

    // Concurrency Kit is inline assembly: the instruction set vouches for what it locks, nobody for the rest, which
    // must not be called plain.
    let report = json(&["--all"], &program);
    check(&report, &program);
    let kit = |entry: &&Value| entry["file"].as_str().is_some_and(|file| file.ends_with("/ck_pr.h"));
    let entries: Vec<&Value> = accesses(&report).iter().filter(kit).collect();
    let locked = entries.iter().filter(|entry| entry["op"] == "rmw");
    assert!(locked.clone().count() >= 4, "{entries:?}");
    for entry in locked {
        assert_eq!((&entry["from"], &entry["order"]), (&"isa".into(), &"seq_cst".into()), "{entry}");
    }
    assert!(entries.iter().any(|entry| entry["op"] == "store"), "the lock is released");
    for entry in &entries {
        assert_ne!(entry["atomic"], "no", "{entry}");
    }
}

/// Debian 12 has these always, and strips them.
const ESSENTIAL: [&str; 16] = [
    "/usr/bin/bash",
    "/usr/bin/dash",
    "/usr/bin/ls",
    "/usr/bin/cp",
    "/usr/bin/sort",
    "/usr/bin/date",
    "/usr/bin/tar",
    "/usr/bin/gzip",
    "/usr/bin/grep",
    "/usr/bin/sed",
    "/usr/bin/find",
    "/usr/bin/perl",
    "/usr/bin/dpkg",
    "/usr/bin/apt-get",
    "/usr/bin/mount",
    "/usr/bin/openssl",
];

#[test]
fn stripped_programs() {
    let there: Vec<&str> = ESSENTIAL.into_iter().filter(|program| Path::new(program).exists()).collect();
    // Another distribution may lack some, or have scripts instead.
    assert!(there.len() >= 8, "{there:?}");
    for program in there.into_iter().map(Path::new) {
        check_table(program);
        let report = json(&["--all"], program);
        check(&report, program);
        let (all, stated) = atomics(&report);
        assert_eq!(stated, 0, "{}: nobody can state orders here", program.display());
        if cfg!(target_arch = "x86_64") {
            assert_eq!(report["modules"][0]["orders"], "unknown", "{}", program.display());
        }
        let accesses = accesses(&report).len();
        let size = std::fs::metadata(program).unwrap().len() as usize;
        let unsupported = report["modules"][0]["unsupported"].as_array().unwrap().len();
        println!("{}: {accesses} accesses, {all} atomic, {unsupported} unsupported", program.display());
        // About every third instruction of four bytes touches memory, and a third of a file is code.
        assert!(accesses > size / 100, "{}: {accesses} accesses in {size} bytes", program.display());
        assert!(unsupported * 1000 <= accesses, "{}: {unsupported} unsupported", program.display());
    }
}

/// Programs rarely have atomics of their own; their libraries do.
#[cfg(target_arch = "x86_64")]
#[test]
fn stripped_libraries() {
    for (name, least) in [("libc.so.6", 300), ("libstdc++.so.6", 100)] {
        let library = Path::new("/usr/lib/x86_64-linux-gnu").join(name);
        let report = json(&[], &library);
        check(&report, &library);
        check_table(&library);
        let (all, stated) = atomics(&report);
        println!("{name}: {all} atomics");
        assert!(all > least && stated == 0, "{name}: {all}, {stated}");
        for entry in accesses(&report) {
            assert_eq!(entry["from"], "isa", "{entry}");
        }
        // .dynsym and .eh_frame still tell most functions.
        let named = accesses(&report).iter().filter(|entry| entry["function"].is_string()).count();
        assert!(named * 4 > all, "{name}: only {named} of {all} are in a known function");
    }
}
