//! Executions that reach `--timeout` or `--max-events` are inconclusive: no bugs, and no evidence that there is none.

use crate::build::{Built, GNU_O2};
use crate::run::{Directory, Report};
use crate::source::{Source, Variant};

fn built(name: &str, variant: Variant) -> Built {
    Source::named(name).build(variant, GNU_O2)
}

/// The campaign goes on, counts, and says by what; with nothing to its end, the status is 3.
#[test]
fn given_up_is_no_bug() {
    let directory = Directory::new("given-up");
    let built = built("verdicts/timeout.c", Variant::Buggy);
    let output = directory.test("-n 4 --max-events 2000", &built).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let report = Report::read(&output).unwrap();
    assert_eq!((report.kinds(), report.number("executions")), (vec![], 4), "{}", report.value());
    let given_up = &report.value()["inconclusive"];
    assert_eq!((&given_up["count"], &given_up["first_execution"]), (&4.into(), &0.into()));
    assert!(given_up["why"].as_str().unwrap().starts_with("max_events"), "{given_up}");
    let place = &given_up["where"];
    assert_eq!((&place["function"], &place["option"]), (&"worker".into(), &"--max-events 20000".into()));
    assert!(place["module"].as_str().unwrap().starts_with("timeout"), "{place}");
    assert!(matches!(place["line"].as_u64(), Some(13 | 14)), "{place}");
    assert!(directory.recordings().is_empty());
    let human = directory.wmtrace(&["-n", "2", "--max-events", "2000"]).arg(&built.path).output().unwrap();
    let text = String::from_utf8_lossy(&human.stdout);
    assert!(text.starts_with("Inconclusive: 2 of 2 executions") && text.contains("in worker"), "{text}");
}

/// Some executions have an end: those count.
#[test]
fn some_are_given_up() {
    let directory = Directory::new("some");
    let report = directory
        .report("-n 30 --max-events 300 --strategy random", &built("limits/sometimes_long.c", Variant::Right))
        .unwrap();
    let given_up = report.inconclusive();
    assert!(given_up > 0 && given_up < 30 && report.bugs().is_empty(), "{}", report.value());
}

/// A race of an execution that was given up for want of time happens again.
#[test]
fn a_bug_before_the_end_of_time_is_replayed() {
    let directory = Directory::new("cut");
    let options = "-n 2 --keep-going --timeout 0.5";
    let report = directory.report(options, &built("limits/race_then_work.c", Variant::Buggy)).unwrap();
    assert_eq!((report.kinds(), report.inconclusive()), (vec!["race"], 2), "{}", report.value());
    let recording = report.recording(&directory);
    let words = ["replay", "--format", "json", recording.to_str().unwrap()];
    let replayed = Report::read(&directory.wmtrace(&words).output().unwrap()).unwrap();
    assert_eq!(replayed.bugs()[0]["sites"], report.bugs()[0]["sites"], "{}", replayed.value());
}

/// A library that computes is named, and the option that is proposed helps.
#[test]
fn a_busy_library_is_named() {
    let directory = Directory::new("busy");
    let mut built = built("limits/busy_library.c", Variant::Right);
    let library = directory.path.join("libbusy.so.1");
    std::fs::copy(&built.args[0], &library).unwrap();
    built.args[0] = library.display().to_string();
    let report = directory.report("-n 1 --model tso --max-events 1000", &built).unwrap();
    let place = &report.value()["inconclusive"]["where"];
    let named = (&place["module"], &place["function"], &place["option"]);
    let expected = (&"libbusy.so.1".into(), &"churns".into(), &"--unmanaged libbusy.so.1".into());
    assert_eq!(named, expected, "{}", report.value());
    let option = place["option"].as_str().unwrap();
    let report = directory.report(&format!("-n 1 --model tso --max-events 1000 {option}"), &built).unwrap();
    report.is_clean(1).unwrap();
}

/// Threads that wait for each other do so for ever, although a timer's handler interrupts them; unless the handler does
/// something in the end.
#[test]
fn a_deadlock_beside_a_timer() {
    let directory = Directory::new("beside");
    let name = "limits/deadlock_beside_timer.c";
    let report = directory.report("-n 300", &built(name, Variant::Buggy)).unwrap();
    assert_eq!((report.kinds(), report.inconclusive()), (vec!["deadlock"], 0), "{}", report.value());
    let recording = report.recording(&directory);
    let words = ["replay", "--format", "json", recording.to_str().unwrap()];
    let replayed = Report::read(&directory.wmtrace(&words).output().unwrap()).unwrap();
    assert_eq!(replayed.kinds(), ["deadlock"]);
    directory.report("-n 20", &built(name, Variant::Right)).unwrap().is_clean(20).unwrap();
}
