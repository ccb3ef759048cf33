//! Executions do not see each other's files, and do not change the user's.

use crate::build::{Built, CROSS, GNU_O2};
use crate::run::{Directory, Report, eventually, start};
use crate::source::{Source, Variant};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

fn built(name: &str, variant: Variant) -> Built {
    Source::named(name).build(variant, GNU_O2)
}

/// A directory with a file of the user's.
fn directory(test: &str) -> Directory {
    let directory = Directory::new(test);
    directory.file("data.txt", "first\n");
    directory
}

fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The user's directory is as it was, but for the recordings.
fn is_unchanged(directory: &Directory) {
    let left: Vec<_> = names(&directory.path).into_iter().filter(|name| name != "out").collect();
    assert_eq!(left, ["data.txt"]);
    assert_eq!(std::fs::read_to_string(directory.path.join("data.txt")).unwrap(), "first\n");
    for path in ["/tmp/wmtrace-files-test", "/dev/shm/wmtrace-test", "/dev/shm/sem.wmtrace-test"] {
        assert!(!Path::new(path).exists(), "{path}");
    }
}

/// A report, without what was measured.
fn found(output: &Output) -> Value {
    let mut value = Report::read(output).unwrap().value().clone();
    for key in ["elapsed_s", "executions_per_s"] {
        value[key] = Value::Null;
    }
    value
}

fn replayed(directory: &Directory, recording: &Path) -> Report {
    let words = ["replay", "--format", "json", recording.to_str().unwrap()];
    Report::read(&directory.wmtrace(&words).output().unwrap()).unwrap()
}

/// What is found does not depend on how many run at a time: files, and names of shared memory.
#[test]
fn the_same_however_many_at_a_time() {
    for (program, executions) in [
        (built("files/writes.c", Variant::Right), 16),
        (built("files/writes.c", Variant::Buggy), 16),
        (built("files/names.c", Variant::Right), 16),
        (built("files/open_before.c", Variant::Right), 16),
    ] {
        let directory = directory("jobs");
        let run = |jobs: u32| {
            let options = format!("--keep-going --confirm 0 -n {executions} -j {jobs}");
            found(&directory.test(&options, &program).output().unwrap())
        };
        let one = run(1);
        assert_eq!(one["executions"], executions, "{one}");
        let kinds = one["bugs"].as_array().unwrap().iter().filter(|bug| bug["kind"] != "race").count();
        assert_eq!(kinds, 0, "{one}");
        assert!(!one["warnings"].to_string().contains("executions share"), "{one}");
        assert_eq!(run(2), one);
        assert_eq!(run(4), one);
        is_unchanged(&directory);
    }
}

/// What the failing execution wrote is kept beside its recording, and named; a replay changes nothing.
#[test]
fn what_the_failing_execution_wrote_is_kept() {
    let directory = directory("kept");
    let program = built("files/writes.c", Variant::Buggy);
    let report = directory.report("-n 50", &program).unwrap();
    let kept = PathBuf::from(report.bugs()[0]["files"].as_str().unwrap());
    assert_eq!(kept, Path::new(report.bugs()[0]["recording"].as_str().unwrap()).with_extension("files"));
    let kept = directory.path.join(kept);
    let inside = |path: &Path| kept.join(path.strip_prefix("/").unwrap());
    let here = std::fs::canonicalize(&directory.path).unwrap();
    assert_eq!(std::fs::read_to_string(inside(&here.join("counter.txt"))).unwrap(), "1\n");
    assert!(inside(Path::new("/tmp/wmtrace-files-test")).is_file());
    let again = replayed(&directory, &report.recording(&directory));
    assert_eq!(again.bugs()[0]["files"].as_str(), kept.to_str());
    assert_eq!(report.bugs()[0]["confirmed"], true);
    is_unchanged(&directory);
    let human = directory.wmtrace(&["-n", "50", "-o", "out"]).arg(&program.path).output().unwrap();
    let text = String::from_utf8_lossy(&human.stdout);
    assert!(text.contains(".files (what it wrote)"), "{text}");
    // Who writes nothing has nothing to keep.
    let report = directory.report("-n 50", &built("files/lists.c", Variant::Buggy)).unwrap();
    assert_eq!(report.bugs()[0]["files"], Value::Null);
}

/// The old way: what one execution writes, the next one finds.
#[test]
fn files_can_be_shared() {
    let directory = directory("shared");
    let program = built("files/open_before.c", Variant::Right);
    let report = directory.report("-n 5 --shared-files", &program).unwrap();
    assert_eq!(report.kinds(), ["exit"], "{}", report.value());
    assert_eq!(report.bugs()[0]["files"], Value::Null);
    assert!(std::fs::read_to_string(directory.path.join("log.txt")).unwrap().len() > 12);
}

/// A directory with recordings that has appeared meanwhile is not seen by a program that lists where it is.
#[test]
fn recordings_are_not_seen() {
    for out in ["out", "more/out"] {
        let directory = directory("lists");
        let program = built("files/lists.c", Variant::Buggy);
        let options = ["--format", "json", "-o", out, "-n", "20", "--keep-going"];
        let output = directory.wmtrace(&options).arg(&program.path).output().unwrap();
        let report = Report::read(&output).unwrap();
        assert!(directory.path.join(out).is_dir());
        assert_eq!(report.bugs()[0]["confirmed"], true, "{}", report.value());
        let again = replayed(&directory, &report.recording(&directory));
        assert_eq!(again.bugs()[0]["sites"], report.bugs()[0]["sites"]);
        assert_eq!(again.value()["events_per_execution"].as_f64().map(|it| it > 0.0), Some(true));
    }
}

/// Commands before and after each execution see its files, and are recorded.
#[test]
fn setup_and_cleanup() {
    let directory = Directory::new("setup");
    let program = built("files/writes.c", Variant::Buggy);
    let run = |setup: &str, cleanup: &str| {
        let options = ["--format", "json", "-o", "out", "-n", "20", "--setup", setup, "--cleanup", cleanup];
        directory.wmtrace(&options).arg(&program.path).output().unwrap()
    };
    let cleanup = "test \"$(cat counter.txt)\" = 1 && rm counter.txt";
    let report = Report::read(&run("echo first > data.txt", cleanup)).unwrap();
    assert_eq!(report.kinds(), ["race"], "{}", report.value());
    assert_eq!(report.value()["warnings"], serde_json::json!([]), "{}", report.value());
    assert_eq!(names(&directory.path), ["out"]);
    let kept = directory.path.join(report.bugs()[0]["files"].as_str().unwrap());
    let here = std::fs::canonicalize(&directory.path).unwrap();
    assert!(kept.join(here.strip_prefix("/").unwrap()).join("counter.txt").is_file(), "before the cleanup");
    assert_eq!(replayed(&directory, &report.recording(&directory)).kinds(), ["race"]);
    for (setup, cleanup, message) in [
        (
            "echo no luck >&2; exit 3",
            "true",
            "--setup `echo no luck >&2; exit 3` failed (exit status: 3), and said: no luck",
        ),
        ("echo first > data.txt", "exit 4", "--cleanup `exit 4` failed (exit status: 4)"),
    ] {
        let output = run(setup, cleanup);
        assert_eq!(output.status.code(), Some(3));
        let said = String::from_utf8_lossy(&output.stdout);
        let json: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
        assert!(json["error"].as_str().unwrap().contains(message), "{json}");
    }
}

/// What an execution writes is memory: there is a limit, and it is no bug of the program.
#[test]
fn there_is_a_limit() {
    let directory = directory("limit");
    let program = built("files/large.c", Variant::Right);
    for size in ["allocate", "grow"] {
        let output = directory.wmtrace(&["-q", "-n", "2"]).arg(&program.path).arg(size).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("has written more than 512 MiB of files"), "{said}");
    }
    let mut command = directory.wmtrace(&["-q", "-n", "2"]);
    assert_eq!(command.arg(&program.path).output().unwrap().status.code(), Some(0));
}

/// Whoever shares files learns from `--verify` which.
#[test]
fn shared_files_are_named() {
    let directory = directory("leak");
    let program = built("files/open_before.c", Variant::Right);
    let mut command =
        directory.wmtrace(&["-q", "-n", "1", "--verify", "--shared-files", "--expect-exit", "any"]);
    let output = command.arg(&program.path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let file = std::fs::canonicalize(&directory.path).unwrap().join("log.txt");
    assert!(
        said.contains(&format!("executions share {}, which the program writes", file.display())),
        "{said}"
    );
    std::fs::remove_file(file).unwrap();
    directory.report("-n 2 --verify", &program).unwrap().is_clean(2).unwrap();
}

/// Nothing is left behind if wmtrace is killed.
#[test]
fn nothing_is_left_behind() {
    let directory = directory("killed");
    let program = built("files/writes.c", Variant::Right);
    let mut command = directory.test("-n 100000 -j 2", &program);
    let mut child = start(&mut command);
    assert!(eventually(|| directory.processes().len() > 1));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(directory.strays(), []);
    is_unchanged(&directory);
    let mounted = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounted.contains("wmtrace"), "{mounted}");
}

/// A program finds what it expects: on a disk, in memory, and as a file of the directory itself.
#[test]
fn files_are_as_usual() {
    let source = Source::named("files/ordinary.c").build(Variant::Right, GNU_O2);
    let disk = Directory::new("ordinary");
    let memory = PathBuf::from(format!("/dev/shm/wmtrace-ordinary-{}", std::process::id()));
    for place in [&disk.path, &memory] {
        std::fs::create_dir_all(place.join("full")).unwrap();
        let place = std::fs::canonicalize(place).unwrap();
        std::fs::write(place.join("given"), "given").unwrap();
        std::fs::write(place.join("full/inside"), "").unwrap();
        std::fs::copy(&source.path, place.join("program")).unwrap();
        let before = names(&place);
        let program = place.join("program");
        let mut command = disk.wmtrace(&["--format", "json", "-o", "out", "-n", "3", "--model", "tso"]);
        command.arg(&program).arg(&place).arg(&program).current_dir(&place);
        let report = Report::read(&command.output().unwrap()).unwrap();
        report.is_clean(3).unwrap();
        assert_eq!(report.value()["warnings"], serde_json::json!([]), "{}", report.value());
        assert_eq!(names(&place), before);
    }
    std::fs::remove_dir_all(memory).unwrap();
}

/// Where there are no mount namespaces, files are shared, and one warning says so.
#[test]
fn where_it_cannot_be_done_files_are_shared() {
    let directory = directory("forbidden");
    let program = built("files/open_before.c", Variant::Right);
    let script = "echo 0 > /proc/sys/user/max_mnt_namespaces; exec \"$0\" --format json -n 1 \"$@\"";
    let mut command = directory.command("unshare");
    command.args(["-Ur", "sh", "-c", script, env!("CARGO_BIN_EXE_wmtrace")]).arg(&program.path);
    let report = Report::read(&command.output().unwrap()).unwrap();
    let warnings = report.value()["warnings"].as_array().unwrap();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    let message = warning["message"].as_str().unwrap();
    assert!(message.starts_with("executions share files") && message.contains("--shared-files"), "{message}");
    assert!(directory.path.join("log.txt").is_file());
    let quiet = directory.report("-n 1 --expect-exit any --shared-files", &program).unwrap();
    assert_eq!(quiet.value()["warnings"].as_array().unwrap().len(), 0);
}

/// The same in the emulator.
#[test]
fn programs_for_aarch64() {
    let directory = directory("aarch64");
    let program = Source::named("files/writes.c").build(Variant::Right, CROSS);
    for jobs in ["-j 1", "-j 2"] {
        let report = directory.report(&format!("-n 6 {jobs}"), &program);
        report.unwrap().is_clean(6).unwrap();
    }
    is_unchanged(&directory);
}
