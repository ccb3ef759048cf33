//! Recordings as files: who may read them, what is in them, and where they replay.

use crate::build::GNU_O2;
use crate::run::Directory;
use crate::source::{Source, Variant};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const TOKEN: &str = "open-sesame-4711";

fn contains(path: &Path, what: &str) -> bool {
    std::fs::read(path).unwrap().windows(what.len()).any(|bytes| bytes == what.as_bytes())
}

/// Tests the program with a token in the environment, and another one in the input.
fn record(directory: &Directory, env: &str) -> PathBuf {
    let built = Source::named("verdicts/race.cpp").build(Variant::Buggy, GNU_O2);
    let input = directory.file("input", "input-of-4712");
    let mut command = directory.test(&format!("-n 100 --env {env}"), &built);
    let output = command.env("WMTRACE_TEST_TOKEN", TOKEN).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_dir_all(directory.path.join("out")).unwrap();
    let words = ["-n", "100", "-o", "out", "--env", env, "--stdin", input.to_str().unwrap(), "--"];
    let mut command = directory.wmtrace(&words);
    command.arg(built.path).env("WMTRACE_TEST_TOKEN", TOKEN);
    assert_eq!(command.output().unwrap().status.code(), Some(1));
    let recordings = directory.recordings();
    assert_eq!(recordings.len(), 1, "{recordings:?}");
    recordings[0].clone()
}

fn replays(directory: &Directory, recording: &Path) -> String {
    let output = directory.wmtrace(&["replay"]).arg(recording).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    text
}

#[test]
fn recordings_are_private() {
    let directory = Directory::new("private");
    let recording = record(&directory, "keep");
    assert_eq!(recording.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(contains(&recording, TOKEN) && contains(&recording, "4712"), "what is kept is there");
    replays(&directory, &recording);
}

#[test]
fn environments_are_chosen() {
    for (env, kept) in
        [("clean", None), ("PATH,WMTRACE_TEST_TOKEN", Some(TOKEN)), ("PATH,WMTRACE_TEST_MARK", None)]
    {
        let directory = Directory::new("env");
        let recording = record(&directory, env);
        assert_eq!(contains(&recording, TOKEN), kept.is_some(), "{env}");
        replays(&directory, &recording);
    }
    let directory = Directory::new("env");
    let output = directory.wmtrace(&["--env", "A,,B", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = directory.wmtrace(&["-n", "1", "--env", "WMTRACE_NOT_SET", "true"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("--env: WMTRACE_NOT_SET is not set"));
}

#[test]
fn scrubbed_copies_tell_nothing_and_replay() {
    let directory = Directory::new("scrub");
    let recording = record(&directory, "keep");
    let copy = directory.path.join("copy.wmtrec");
    let words = ["scrub", recording.to_str().unwrap(), "-o", copy.to_str().unwrap()];
    let output = directory.wmtrace(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for secret in [TOKEN, "WMTRACE_TEST_TOKEN", "input-of-4712", "WMTRACE_TEST_MARK"] {
        assert!(contains(&recording, secret) && !contains(&copy, secret), "{secret}");
    }
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(replays(&directory, &copy).contains("scrubbed"), "the report says so");
    let missing = directory.wmtrace(&["scrub", "nothing.wmtrec", "-o", "x"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    let mut nowhere = directory.wmtrace(&["scrub", recording.to_str().unwrap(), "-o", "no/such/file"]);
    assert_eq!(nowhere.output().unwrap().status.code(), Some(3));
}
