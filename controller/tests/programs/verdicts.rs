//! Every wrong program is found wrong, in the way that its header says, and its recording shows the same again.

use crate::build::{Flavour, GNU_O0, LLVM_O0, LLVM_O2, RUST_DEBUG};
use crate::run::{Directory, Report, is_long};
use crate::source::{Language, Source, Variant, for_each};

/// A wrong program that is not found wrong in so many executions has a bug less, or wmtrace one more. The rarest of the
/// litmus tests behind these programs (R, IRIW) show in one of 20 executions of the simulator by the default strategy.
const EXECUTIONS: u32 = 1000;

fn is_found(source: &Source, flavour: Flavour) -> Result<(), String> {
    let directory = Directory::new("verdict");
    let built = source.build(Variant::Buggy, flavour);
    let options = format!("-n {EXECUTIONS} --expect-exit {} {}", source.status, source.options.join(" "));
    let report = directory.report_with(&source.stdin, &options, &built)?;
    let kinds = report.kinds();
    if kinds.is_empty() && source.expect.iter().any(|kind| kind == "clean") {
        return Ok(());
    }
    if kinds.is_empty() || !kinds.iter().all(|kind| source.expect.iter().any(|expected| expected == kind)) {
        return Err(format!("expected {:?}, not {kinds:?}: {}", source.expect, report.value()));
    }
    let recording = report.recording(&directory);
    let words = ["replay", "--format", "json", recording.to_str().unwrap()];
    let replayed = Report::read(&directory.wmtrace(&words).output().unwrap())?;
    // A recording is that of one bug, also if its execution had several.
    if replayed.kinds() != kinds[..1] || replayed.bugs()[0]["sites"] != report.bugs()[0]["sites"] {
        return Err(format!("replayed as {}, was {}", replayed.value(), report.value()));
    }
    Ok(())
}

fn check(directory: &str) {
    let mut sources = Source::all(directory);
    sources.retain(|source| source.has(Variant::Buggy));
    for_each(&sources, |source| source.name.clone(), |source| is_found(source, source.usual()));
}

#[test]
fn one_program_for_each_verdict() {
    check("verdicts");
}

#[test]
fn patterns_in_the_wrong_order() {
    check("patterns");
}

#[test]
fn odd_programs_that_fail() {
    check("odd");
}

/// The same verdicts without optimisation and from another compiler.
#[test]
fn other_compilers() {
    let mut table = Vec::new();
    for source in Source::all("verdicts") {
        let flavours: &[Flavour] = match source.language {
            Language::Rust => &[RUST_DEBUG],
            Language::C | Language::Cpp if is_long() => &[GNU_O0, LLVM_O0, LLVM_O2],
            // The two that differ most.
            Language::C | Language::Cpp => &[GNU_O0, LLVM_O2],
        };
        table.extend(flavours.iter().map(|flavour| (source.clone(), *flavour)));
    }
    for_each(
        &table,
        |(source, flavour)| format!("{} {flavour:?}", source.name),
        |(source, flavour)| is_found(source, *flavour),
    );
}

/// Where something happened is told also of a thread that runs natively, and of one that left by a jump.
#[test]
fn places_of_native_code() {
    for (name, site, function) in
        [("verdicts/assert_after_join.c", 0, "check"), ("verdicts/freed_last.c", 1, "discard")]
    {
        let built = Source::named(name).build(Variant::Buggy, crate::build::GNU_O2);
        let report = Directory::new("places").report("-n 100", &built).unwrap();
        assert_eq!(report.bugs()[0]["sites"][site]["function"], function, "{name}: {}", report.value());
    }
}

/// The limit on events is a verdict of the same kind as the limit on time.
#[test]
fn too_many_events() {
    let directory = Directory::new("events");
    let built = Source::named("verdicts/timeout.c").build(Variant::Buggy, crate::build::GNU_O2);
    let report = directory.report("-n 10 --max-events 2000 --timeout 60 --limits bug", &built).unwrap();
    assert_eq!(report.kinds(), ["timeout"]);
    let message = report.bugs()[0]["message"].as_str().unwrap();
    assert!(message.contains("events"), "{message}");
}

/// A race names both sides, with the orders, and where they are.
#[test]
fn a_race_has_two_sites_with_lines() {
    let directory = Directory::new("sites");
    let source = Source::named("verdicts/race.cpp");
    let built = source.build(Variant::Buggy, crate::build::GNU_O2);
    let report = directory.report("-n 100", &built).unwrap();
    let line = source.text.lines().position(|line| line.contains("counter += 1")).unwrap() + 1;
    let sites = report.bugs()[0]["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 2);
    for site in sites {
        assert_eq!((&site["line"], &site["order"]), (&line.into(), &"na".into()), "{site}");
        assert!(site["file"].as_str().unwrap().ends_with("verdicts/race.cpp"), "{site}");
        assert!(site["function"].as_str().unwrap().contains("add"), "{site}");
    }
    assert_ne!(sites[0]["thread"], sites[1]["thread"]);
}

/// The same bug in many executions is one bug with a count.
#[test]
fn one_bug_with_a_count() {
    let directory = Directory::new("count");
    let built =
        Source::named("verdicts/deadlock_channel.rs").build(Variant::Buggy, crate::build::RUST_RELEASE);
    let report = directory.report("-n 50 --keep-going", &built).unwrap();
    assert_eq!((report.number("executions"), report.number("buggy_executions")), (50, 50));
    let counts = report.bugs().iter().map(|bug| bug["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), 50);
    // Who is still inside std when the receiver blocks may differ; not by much.
    assert!(report.bugs().len() <= 3, "{}", report.value());
}

/// The last thread fails when the others have ended, and nobody watches it any more. The report shows the line all the same.
#[test]
fn the_last_thread_fails_where_it_fails() {
    let built = Source::named("verdicts/assert.c").build(Variant::Buggy, GNU_O0);
    let report = Directory::new("last").report("-n 100", &built).unwrap();
    let bug = &report.bugs()[0];
    let site = &bug["sites"][0];
    let message = bug["message"].as_str().unwrap();
    assert_eq!(site["function"], "main", "{site}");
    assert!(message.contains(&format!("assert.c:{}: main", site["line"])), "{message}: {site}");
}
