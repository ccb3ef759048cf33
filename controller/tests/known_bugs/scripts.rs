//! `scripts/demo` and `scripts/app`.

use crate::directory;
use std::path::Path;
use std::process::{Command, Output};

fn script(name: &str, wmtrace: &str, words: &[&str]) -> Output {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(name);
    Command::new(path).env("WMTRACE", wmtrace).args(words).output().unwrap()
}

#[test]
fn demonstration() {
    let shown = script("demo", env!("CARGO_BIN_EXE_wmtrace"), &[]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.status.success(), "{text}{}", String::from_utf8_lossy(&shown.stderr));
    for part in ["Bug 1: data race", "dekker.cpp:41:9", "wmtrace replay", "no bug in 1000 executions"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // A wmtrace that finds nothing.
    assert!(!script("demo", "/bin/true", &[]).status.success());
}

/// A program with a bug, twice into the same folder: the second time nothing is run again. Then another program.
#[test]
fn application() {
    let out = directory("app").join("its folder");
    let _ = std::fs::remove_dir_all(&out);
    let words = ["-n", "3", "-o", out.to_str().unwrap(), "/bin/false"];
    let run = || script("app", env!("CARGO_BIN_EXE_wmtrace"), &words);
    let (first, second) = (run(), run());
    let text = String::from_utf8_lossy(&first.stdout).into_owned();
    assert_eq!(first.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&first.stderr));
    // What is shown can be pasted.
    assert!(
        text.contains("exit") && text.contains(r"its\ folder/recordings/auto-pct-1/false-exit-1-1-0.wmtrec"),
        "{text}"
    );
    assert_eq!((second.status.code(), second.stdout), (Some(1), first.stdout));
    let broken = script("app", "/bin/true", &words);
    assert_eq!(broken.status.code(), Some(1), "what is there is not run again");
    let other = script("app", env!("CARGO_BIN_EXE_wmtrace"), &["-o", out.to_str().unwrap(), "/bin/true"]);
    assert_eq!(other.status.code(), Some(2), "the folder belongs to another program");
    std::fs::remove_dir_all(&out).unwrap();
}
