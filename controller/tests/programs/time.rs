//! Virtual time: who waits for what is the program's own does not wait in real time, and who works until a clock shows a time
//! has an end.

use crate::build::{Built, CROSS, Flavour, GNU_O2};
use crate::run::Directory;
use crate::source::{Source, Variant};
use serde_json::Value;

fn built(name: &str, variant: Variant, args: &[&str]) -> Built {
    built_as(GNU_O2, name, variant, args)
}

fn built_as(flavour: Flavour, name: &str, variant: Variant, args: &[&str]) -> Built {
    let mut built = Source::named(&format!("time/{name}")).build(variant, flavour);
    built.args = args.iter().map(ToString::to_string).collect();
    built
}

/// 200 executions of ten seconds of patience each: in real time they would take half an hour. An execution that takes a minute
/// is given up, and is not clean.
#[test]
fn patience_takes_no_time() {
    let built = built("polls_pipe.c", Variant::Right, &[]);
    Directory::new("patience").report("-n 200 --timeout 60", &built).unwrap().is_clean(200).unwrap();
}

/// Everything that waits for descriptors, times out, is woken and interrupted.
#[test]
fn all_calls_wait_in_virtual_time() {
    for name in ["waits.c", "timerfd.c", "interrupted.c", "signals.c"] {
        let report = Directory::new("calls").report("-n 30", &built(name, Variant::Right, &[])).unwrap();
        report.is_clean(30).unwrap();
    }
}

/// The first execution is the same as the second, and what a campaign finds does not depend on how many run at once.
#[test]
fn waits_are_the_same_each_time() {
    let directory = Directory::new("same");
    let cases = [
        built("waits.c", Variant::Right, &[]),
        built("timerfd.c", Variant::Right, &[]),
        built("signals.c", Variant::Right, &[]),
        built("polls_pipe.c", Variant::Buggy, &[]),
    ];
    for built in &cases {
        let report = directory.report("--verify -n 20 --keep-going", built).unwrap();
        assert_eq!(report.value()["verify"]["same"], true, "{}", report.value());
        let timeless = |jobs: u32| {
            let report = directory.report(&format!("-n 20 --keep-going -j {jobs}"), built).unwrap();
            let mut value = report.value().clone();
            let all = value.as_object_mut().unwrap();
            for changing in ["elapsed_s", "executions_per_s"] {
                all.insert(changing.to_owned(), Value::Null);
            }
            value
        };
        let one = timeless(1);
        assert!([2, 4].into_iter().all(|jobs| timeless(jobs) == one), "{one}");
    }
}

/// Threads that wait for each other through the kernel, without end, are in a deadlock.
#[test]
fn waiting_without_end_is_a_deadlock() {
    for way in ["p", "s", "e", "r"] {
        let directory = Directory::new("stuck");
        let report = directory.report("-n 5", &built("stuck.c", Variant::Buggy, &[way])).unwrap();
        assert_eq!(report.kinds(), ["deadlock"], "{}", report.value());
        let words = ["replay", "--format", "json", report.bugs()[0]["recording"].as_str().unwrap()];
        let replayed = crate::run::Report::read(&directory.wmtrace(&words).output().unwrap()).unwrap();
        assert_eq!(replayed.kinds(), ["deadlock"], "{}", replayed.value());
        let report = directory.report("-n 20", &built("stuck.c", Variant::Right, &[way])).unwrap();
        report.is_clean(20).unwrap();
    }
}

/// A signal from outside could still come: who handles one, and waits, is in no deadlock.
#[test]
fn a_handler_may_end_a_wait() {
    let built = built("until_signal.c", Variant::Right, &[]);
    let report = Directory::new("handler").report("-n 1 --timeout 2", &built).unwrap();
    assert_eq!((report.kinds(), report.inconclusive()), (vec![], 1), "{}", report.value());
}

/// Loops that end when the clock shows a time, with a small part of the events that they may have.
#[test]
fn clocks_end_loops() {
    let built = built("until_clock.cpp", Variant::Right, &[]);
    let report = Directory::new("clock").report("-n 5 --max-events 50000", &built).unwrap();
    report.is_clean(5).unwrap();
}

/// The same on AArch64.
#[test]
fn time_on_aarch64() {
    let directory = Directory::new("aarch64");
    for name in ["polls_pipe.c", "timerfd.c", "interrupted.c", "until_clock.cpp"] {
        let built = built_as(CROSS, name, Variant::Right, &[]);
        directory.report("-n 5", &built).unwrap().is_clean(5).unwrap();
        let report = directory.report("-n 3 --verify", &built).unwrap();
        assert_eq!(report.value()["verify"]["same"], true, "{}", report.value());
    }
    let report = directory.report("-n 5", &built_as(CROSS, "stuck.c", Variant::Buggy, &["e"])).unwrap();
    assert_eq!(report.kinds(), ["deadlock"], "{}", report.value());
}

/// With a process that writes to a pipe, time is real: nobody may say that it never does.
#[test]
fn other_processes_have_their_own_time() {
    let built = built("child_writes.c", Variant::Right, &[]);
    Directory::new("child").report("-n 5", &built).unwrap().is_clean(5).unwrap();
}
