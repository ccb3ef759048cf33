//! `--from FUNCTION`: what happens before the function is entered costs no events, and nobody is accused of it.

use crate::build::{Built, CROSS, GNU_O0, GNU_O2};
use crate::run::{Directory, Report};
use crate::source::{Source, Variant};

fn built(name: &str, variant: Variant) -> Built {
    Source::named(name).build(variant, GNU_O2)
}

/// A thread of a static constructor takes part in what `main` does: the bug there is found, with few events, and replays. The
/// right program is clean, with and without.
#[test]
fn a_thread_from_before_takes_part() {
    let directory = Directory::new("before");
    let name = "from/constructor.c";
    let right = built(name, Variant::Right);
    let usual = directory.report("-n 2", &right).unwrap();
    let few = directory.report("-n 8 --from main", &right).unwrap();
    usual.is_clean(2).unwrap();
    few.is_clean(8).unwrap();
    let events = |report: &Report| report.value()["events_per_execution"].as_f64().unwrap();
    assert!(events(&usual) > 800.0 && events(&few) < 60.0, "{} {}", events(&usual), events(&few));
    for model in ["tso", "pso", "sc"] {
        let options = format!("-n 2 --verify --from main --model {model}");
        directory.report(&options, &right).unwrap().is_clean(2).unwrap();
    }
    let report = directory.report("-n 20 --from main --confirm 0", &built(name, Variant::Buggy)).unwrap();
    assert_eq!(report.kinds(), ["race"]);
    assert_eq!(report.bugs()[0]["confirmed"], true, "{}", report.value());
    let recording = report.recording(&directory);
    let words = ["replay", "--format", "json", recording.to_str().unwrap()];
    let replayed = Report::read(&directory.wmtrace(&words).output().unwrap()).unwrap();
    assert_eq!(replayed.bugs()[0]["sites"], report.bugs()[0]["sites"], "{}", replayed.value());
}

/// Wherever threads wait when the function is entered, what they do next is ordered after it.
#[test]
fn threads_that_wait_in_all_kinds_of_ways() {
    let directory = Directory::new("waiting");
    let source = Source::named("from/waiting.cpp");
    for flavour in [GNU_O2, GNU_O0] {
        let program = source.build(Variant::Right, flavour);
        directory.report("-n 4 --verify --from main", &program).unwrap().is_clean(4).unwrap();
    }
    let program = source.build(Variant::Right, GNU_O2);
    directory.report("-n 4 --from main --model tso", &program).unwrap().is_clean(4).unwrap();
}

/// With one thread only, the function changes nothing but where executions begin.
#[test]
fn one_thread_at_the_function() {
    let directory = Directory::new("single");
    let spin = built("patterns/spinlock.cpp", Variant::Right);
    let digest = |options: &str| {
        let report = directory.report(options, &spin).unwrap();
        report.is_clean(20).unwrap();
        report.value()["events_per_execution"].clone()
    };
    assert_eq!(digest("-n 20"), digest("-n 20 --from main"));
}

/// A name that nothing has is the user's mistake; a function that is not entered means that nothing was tested.
#[test]
fn functions_that_are_not_there_or_not_entered() {
    let directory = Directory::new("absent");
    let program = built("from/constructor.c", Variant::Right);
    let said = |name: &str| {
        let output = directory.test(&format!("-n 1 --from {name}"), &program).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, error) = said("mian");
    assert!(status == Some(2) && error.contains("did you mean main?"), "{error}");
    let (status, error) = said("ask");
    assert!(status == Some(2) && error.contains("inlined"), "{error}");
    let report = directory.report("-n 2 --from never", &program).unwrap();
    let inconclusive = &report.value()["inconclusive"];
    assert_eq!((&inconclusive["count"], report.bugs().len()), (&2.into(), 0), "{}", report.value());
    assert!(inconclusive["why"].as_str().unwrap().starts_with("from: "), "{inconclusive}");
    let cross = Source::named("patterns/barrier.c").build(Variant::Right, CROSS);
    let output = directory.test("-n 1 --from main", &cross).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
