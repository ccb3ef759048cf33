//! The programs of targets/c-libraries: clean under c11 and tso, whoever schedules.

use crate::{TARGETS, directory, executions, is_clean, must};
use std::process::Command;

#[test]
fn concurrency_kit() {
    clean("gcc-O2", "ck_");
}

#[test]
fn urcu() {
    clean("gcc-O2", "urcu_");
}

#[test]
#[ignore = "long"]
fn other_compilers() {
    for build in ["gcc-O0", "clang-O0", "clang-O2"] {
        clean(build, "");
    }
}

/// All programs whose names begin like this.
fn clean(build: &str, prefix: &str) {
    let directory = directory(&format!("c-libraries-{prefix}"));
    must(Command::new(format!("{TARGETS}/c-libraries/build")).arg(&directory).arg(build));
    let entries = std::fs::read_dir(directory.join(build)).unwrap().map(|entry| entry.unwrap().path());
    let mut programs: Vec<_> =
        entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix)).collect();
    programs.sort();
    assert!(!programs.is_empty());
    for program in &programs {
        for model in ["c11", "tso"] {
            for strategy in ["pctwm", "random", "pos"] {
                is_clean(&format!("--model {model} --strategy {strategy}"), program, executions() / 5);
            }
        }
    }
}
