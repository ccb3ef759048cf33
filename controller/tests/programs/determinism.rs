//! The same seed is the same execution, and a recording is the same bug.

use crate::build::{Built, GNU_O2};
use crate::run::{Directory, Report, executions};
use crate::source::{Source, Variant, for_each};

/// 200 seeds, each twice, compared event by event.
#[test]
fn each_seed_twice() {
    let directory = Directory::new("verify");
    let built = Source::named("odd/four_threads.cpp").build(Variant::Right, GNU_O2);
    for strategy in ["pctwm", "random"] {
        let options = format!("--verify -n 200 --keep-going --strategy {strategy}");
        let report = directory.report(&options, &built).unwrap();
        report.is_clean(200).unwrap();
        assert_eq!(report.value()["warnings"], serde_json::json!([]), "{strategy}");
    }
}

/// What comes before the first thread happens once, for all executions but the first.
#[test]
fn what_comes_before_threads() {
    let built = Source::named("odd/before_threads.c").build(Variant::Right, GNU_O2);
    let report = Directory::new("before").report("--verify -n 20 --keep-going", &built).unwrap();
    report.is_clean(20).unwrap();
}

/// A program that another one has become finds the same time and the same random bytes each time, too.
#[test]
fn what_is_executed_later() {
    let built = Source::named("odd/exec.c").build(Variant::Right, GNU_O2);
    let options = "--verify -n 5 --keep-going --expect-exit 9";
    Directory::new("later").report(options, &built).unwrap().is_clean(5).unwrap();
    let shell = format!("exec {} again", built.path.display());
    let script = Built { path: "/bin/sh".into(), args: vec!["-c".to_owned(), shell] };
    Directory::new("later").report(options, &script).unwrap().is_clean(5).unwrap();
}

/// Children run while the program's threads stand still.
#[test]
fn children_among_threads() {
    let built = Source::named("odd/fork_among_threads.c").build(Variant::Right, GNU_O2);
    let report = Directory::new("children").report("--verify -n 20 --keep-going", &built).unwrap();
    report.is_clean(20).unwrap();
}

/// Timers ring at the same events each time, however busy the machine is.
#[test]
fn timers_are_under_control() {
    let table =
        ["itimer.c", "timers.c", "fast_timer.c", "timer_thread.c", "timer_signalfd.c", "timer_waits.c"];
    for_each(
        &table,
        |name| (*name).to_owned(),
        |name| {
            let built = Source::named(&format!("odd/{name}")).build(Variant::Right, GNU_O2);
            Directory::new("timers").report("--verify -n 10 --keep-going", &built)?.is_clean(10)
        },
    );
}

/// What is not under control is named: the memory, the system call, the timer or the process, and the places. (Each of
/// these programs differs in nearly every execution; a hundred of them would have to be the same, twice, by chance.)
#[test]
fn what_is_not_under_control_is_named() {
    let table: [(&str, &[&str]); 6] = [
        (
            "shared_memory.c",
            &["which is shared (0x", "a process made by t0 at shared_memory.c:22:", "(system call clone)"],
        ),
        (
            "child_sleeps.c",
            &[
                "a process made by t0 at child_sleeps.c:24:",
                "sleeps in real time (system call clock_nanosleep)",
            ],
        ),
        ("child_threads.c", &["made by t0 at child_threads.c:30:", "has threads of its own", "(0x"]),
        (
            "native_timer.c",
            &[
                "a timer rang while native code called by t0 at native_timer.c:",
                "ran for long, at some moment",
            ],
        ),
        ("random_file.c", &["what the system call read wrote to memory for t1 at random_file.c:13:"]),
        (
            "random_instruction.cpp",
            &["what native code returned to t1 at random_instruction.cpp:11:", "an instruction like RDRAND"],
        ),
    ];
    for_each(
        &table,
        |(name, _)| (*name).to_owned(),
        |(name, said)| {
            let built = Source::named(&format!("uncontrolled/{name}")).build(Variant::Right, GNU_O2);
            let directory = Directory::new("uncontrolled");
            let output = directory.test("--verify -n 100 --keep-going", &built).output().unwrap();
            let (errors, text) =
                (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
            let report: serde_json::Value = serde_json::from_str(text.lines().last().unwrap_or_default())
                .map_err(|error| format!("{error}: {text}{errors}"))?;
            if report["verify"]["same"] != false || output.status.code() != Some(3) {
                return Err(format!("no difference: {}", report["verify"]));
            }
            match said.iter().find(|part| !errors.contains(**part)) {
                Some(part) => Err(format!("not named: {part}: {errors}")),
                None => Ok(()),
            }
        },
    );
}

/// An execution in which the engine does simple instructions by itself is the one in which the processor does them:
/// `--verify` runs the second one of each pair like that.
#[test]
fn shortcuts_change_nothing() {
    let models = ["auto", "tso", "pso"];
    let table: Vec<_> = Source::all("patterns")
        .into_iter()
        .flat_map(|source| models.map(|model| (source.clone(), model)))
        .collect();
    for_each(
        &table,
        |(source, model)| format!("{} {model}", source.name),
        |(source, model)| {
            let runs = executions().div_ceil(20);
            let options = format!("--verify -n {runs} --keep-going --strategy random --model {model}");
            let options = format!("{options} --expect-exit {} {}", source.status, source.options.join(" "));
            let built = source.build(Variant::Right, source.usual());
            Directory::new("shortcuts").report_with(&source.stdin, &options, &built)?.is_clean(runs)
        },
    );
}

/// Two campaigns with the same seed say the same, but for the time they took; with another seed they do not.
#[test]
fn campaigns_repeat() {
    let built = Source::named("patterns/seqlock.cpp").build(Variant::Buggy, GNU_O2);
    let campaign = |seed| {
        let directory = Directory::new("repeat");
        // What --confirm does is a matter of real time.
        let options = format!("-n 200 --keep-going --confirm 0 --strategy random -s {seed}");
        let mut report = directory.report(&options, &built).unwrap().value().clone();
        for key in ["elapsed_s", "executions_per_s", "seed"] {
            report.as_object_mut().unwrap().remove(key);
        }
        report
    };
    let first = campaign(1);
    assert_eq!(first, campaign(1));
    assert_ne!(first, campaign(2));
}

/// What `-j` executions at once find is what one after the other find.
#[test]
fn jobs_change_nothing() {
    let built = Source::named("patterns/seqlock.cpp").build(Variant::Buggy, GNU_O2);
    let campaign = |jobs| {
        let options = format!("-n 100 --keep-going --strategy random -k 40 -j {jobs}");
        let report = Directory::new("jobs").report(&options, &built).unwrap();
        (report.number("executions"), report.number("buggy_executions"))
    };
    assert_eq!(campaign(1), campaign(2));
}

/// Each recorded bug of the programs that fail, again and again: `executions() / 20` times, 100 in scripts/test-long.
#[test]
fn replays() {
    let mut sources = Source::all("verdicts");
    sources.retain(|source| source.has(Variant::Buggy) && !source.expect.contains(&"timeout".to_owned()));
    for_each(
        &sources,
        |source| source.name.clone(),
        |source| {
            let directory = Directory::new("replay");
            let built = source.build(Variant::Buggy, source.usual());
            let options = format!("-n 1000 --expect-exit 0 {}", source.options.join(" "));
            let report = directory.report(&options, &built)?;
            if report.bugs().is_empty() {
                return Err("no bug to replay".to_owned());
            }
            let recording = report.recording(&directory);
            for time in 0..executions() / 20 {
                let words = ["replay", "--format", "json", recording.to_str().unwrap()];
                let replayed = Report::read(&directory.wmtrace(&words).output().unwrap())?;
                let (now, then) = (&replayed.bugs()[0], &report.bugs()[0]);
                if ["kind", "message", "sites"].iter().any(|key| now[*key] != then[*key]) {
                    return Err(format!("replay {time} shows {now}, recorded was {then}"));
                }
            }
            Ok(())
        },
    );
}

/// A recording is of one build: another is refused in one line.
#[test]
fn another_build_is_refused() {
    let directory = Directory::new("rebuilt");
    let source = Source::named("verdicts/race.cpp");
    let mut built = source.build(Variant::Buggy, GNU_O2);
    let program = directory.path.join("program");
    std::fs::copy(&built.path, &program).unwrap();
    built.path = program.clone();
    let recording = directory.report("-n 100", &built).unwrap().recording(&directory);
    std::fs::copy(source.build(Variant::Right, GNU_O2).path, &program).unwrap();
    let output = directory.wmtrace(&["replay", recording.to_str().unwrap()]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
}
