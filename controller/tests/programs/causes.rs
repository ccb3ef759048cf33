//! What reports say of a bug beside that there is one: what it comes from, whose it is, and what may be done about it.

use crate::build::{Built, Flavour, GNU_O0, GNU_O2, LLVM_O0, LLVM_O2, STRIPPED};
use crate::run::{Directory, Report};
use crate::source::{Source, Variant};
use serde_json::Value;
use std::process::{Output, Stdio};

/// A program of targets/programs/causes, with these arguments.
fn built(name: &str, flavour: Flavour, args: &[&str]) -> Built {
    let mut built = Source::named(&format!("causes/{name}")).build(Variant::Buggy, flavour);
    built.args.extend(args.iter().map(|arg| (*arg).to_owned()));
    built
}

fn report(directory: &Directory, options: &str, built: &Built) -> Report {
    directory.report(options, built).unwrap_or_else(|error| panic!("{error}"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// GitHub refuses a file in which one result has no place.
#[test]
fn sarif_places_every_result() {
    for (name, flavour, args) in
        [("exit.c", GNU_O2, &[][..]), ("faults.c", STRIPPED, &["divide"]), ("faults.c", GNU_O2, &["divide"])]
    {
        let directory = Directory::new("sarif");
        let built = built(name, flavour, args);
        let mut command = directory.wmtrace(&["-n", "1", "--format", "sarif", "--"]);
        let output = command.arg(&built.path).args(&built.args).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let sarif: Value = serde_json::from_slice(&output.stdout).unwrap();
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        assert!(!results.is_empty());
        for location in results.iter().flat_map(|result| result["locations"].as_array().unwrap()) {
            let physical = &location["physicalLocation"];
            let uri = physical["artifactLocation"]["uri"].as_str().unwrap_or_default();
            assert!(physical["region"]["startLine"].as_u64() >= Some(1), "{name}: {location}");
            let source = name == "faults.c" && flavour == GNU_O2;
            assert_eq!(uri.ends_with("/causes/faults.c"), source, "{name}: {uri}");
            assert!(uri.starts_with("file:///"), "{name}: {uri}");
        }
        assert!(results.iter().all(|result| result["locations"][0].is_object()), "{sarif}");
    }
}

/// Output that nobody can read is an error, whatever it is.
#[test]
fn full_devices() {
    let directory = Directory::new("full");
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let right = built("exit.c", GNU_O2, &[]);
    let recorded = report(&directory, "-n 1", &right).recording(&directory).display().to_string();
    let program = right.path.display().to_string();
    let calls = [
        vec!["--help"],
        vec!["-h"],
        vec!["--version"],
        vec!["replay", "--help"],
        vec!["-n", "1", &program],
        vec!["-n", "1", "--format", "json", &program],
        vec!["-n", "1", "--format", "sarif", &program],
        vec!["-n", "1", "--format", "junit", &program],
        vec!["inspect", &program],
        vec!["replay", &recorded],
        vec!["explain", &recorded],
        vec!["explain", "--dot", &recorded],
        vec!["explain", "--html", &recorded],
    ];
    for words in calls {
        let output = directory.wmtrace(&words).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("cannot write"), "{words:?}: {}", stderr(&output));
    }
    let output = directory.wmtrace(&["--help"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let output = directory.wmtrace(&["--nonsense"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// A program has one tracer: who it is, is said.
#[test]
fn another_tracer_is_named() {
    let directory = Directory::new("traced");
    let right = built("exit.c", GNU_O2, &[]);
    let mut command = directory.command("strace");
    command.args(["-f", "-o", "/dev/null", env!("CARGO_BIN_EXE_wmtrace"), "-n", "1"]).arg(&right.path);
    let output = command.output().expect("strace; see scripts/setup tests");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("under strace (process "), "{}", stderr(&output));
    assert!(!stderr(&output).contains("container"), "{}", stderr(&output));
}

/// Graphviz reads `&` as the beginning of a character's name.
#[test]
fn ampersands_in_dot() {
    let directory = Directory::new("dot");
    let original = built("exit.c", GNU_O2, &[]);
    let odd = Built { path: directory.path.join("a&lt;b"), args: Vec::new() };
    // A copy could be busy: other tests start processes while it is written.
    std::fs::hard_link(&original.path, &odd.path).unwrap();
    let recorded = report(&directory, "-n 1", &odd).recording(&directory);
    let output = directory.wmtrace(&["explain", "--dot", recorded.to_str().unwrap()]).output().unwrap();
    let dot = String::from_utf8(output.stdout).unwrap();
    assert!(dot.contains("a&amp;lt;b"), "{dot}");
    assert!(dot.match_indices('&').all(|(at, _)| dot[at..].starts_with("&amp;")), "{dot}");
}

/// A signal of the processor says what it is about; only some are about an address.
#[test]
fn crashes_say_what_they_are() {
    for (way, signal, what) in [
        ("divide", "SIGFPE", "division by zero"),
        ("illegal", "SIGILL", "illegal instruction"),
        ("file", "SIGBUS", "beyond the end of the file"),
        ("constant", "SIGSEGV", "may not be accessed like this"),
    ] {
        for flavour in [GNU_O0, GNU_O2] {
            let directory = Directory::new("fault");
            let report = report(&directory, "-n 1", &built("faults.c", flavour, &[way]));
            assert_eq!(report.kinds(), ["crash"]);
            let message = report.bugs()[0]["message"].as_str().unwrap();
            assert!(message.starts_with(signal) && message.contains(what), "{message}");
            assert!(message.contains(" at faults.c:") && !message.contains("not mapped"), "{message}");
        }
    }
}

/// What a report says of its causes: the cause and the number of further places of each bug.
fn causes(report: &Report) -> Vec<(String, usize)> {
    let of =
        |bug: &Value| (bug["cause"].as_str().unwrap().to_owned(), bug["places"].as_array().unwrap().len());
    report.bugs().iter().map(of).collect()
}

/// One mistake, five places that race: one bug. It is called the same for any `-j` and seed.
#[test]
fn one_mistake_is_one_bug() {
    let built = built("publish.c", GNU_O0, &[]);
    let name = "race: the store at publish.c:34 (writer) does not synchronise with the load at publish.c:51 (reader)";
    for options in ["", "--keep-going -n 30", "--keep-going -n 30 -j 2", "--keep-going -n 30 --seed 7"] {
        let directory = Directory::new("publish");
        let report = report(&directory, options, &built);
        assert_eq!(causes(&report), [(name.to_owned(), 4)], "{options}");
        let bug = &report.bugs()[0];
        assert_eq!(bug["count"], report.value()["buggy_executions"], "{options}");
        let functions = |sites: &Value| {
            let of = |site: &Value| site["function"].as_str().unwrap().to_owned();
            sites.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
        };
        let places: Vec<_> =
            bug["places"].as_array().unwrap().iter().map(|it| functions(&it["sites"])).collect();
        assert!(places.contains(&vec!["describe".to_owned(), "look".to_owned()]), "{places:?}");
        assert_eq!(directory.recordings().len(), 1);
    }
}

/// Two objects, and two pairs of threads: two bugs. One object in two functions of one role: one.
#[test]
fn two_mistakes_are_two_bugs() {
    for flavour in [GNU_O0, GNU_O2] {
        let directory = Directory::new("two");
        let report = report(&directory, "--keep-going -n 40", &built("two.c", flavour, &[]));
        let mut names: Vec<_> = causes(&report).into_iter().map(|(name, _)| name).collect();
        names.sort();
        let expected = ["bird and gardener do to pears", "farmer and thief do to apples"];
        assert_eq!(names, expected.map(|what| format!("race: nothing orders what {what}")));
    }
}

/// One place frees: one bug, wherever the block is used after that.
#[test]
fn one_free_is_one_bug() {
    let directory = Directory::new("freed");
    let report = report(&directory, "--keep-going -n 40", &built("freed.cpp", GNU_O2, &[]));
    assert_eq!(causes(&report), [("use_after_free: freed at freed.cpp:15 (give_up())".to_owned(), 2)]);
}

/// A JSON report, whatever the status is.
fn json(output: &Output) -> Value {
    let out = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(out.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {out} {}", stderr(output)))
}

/// What is suppressed is listed, and counts for nothing; what is not, counts.
#[test]
fn suppressed_bugs() {
    let two = built("two.c", GNU_O0, &[]);
    let apples = "[[suppress]]\nkind = \"race\"\nfunction = \"thi?f\"\nreason = \"he is known\"\n";
    let pears = "[[suppress]]\nfile = \"causes/two.c\"\nfunction = \"bird*\"\n";
    let unused = "[[suppress]]\nkind = \"crash\"\nmodule = \"libnothing.so*\"\n";
    let run = |directory: &Directory, options: &str| {
        let output = directory.test(&format!("-n 10 {options}"), &two).output().unwrap();
        (output.status.code(), json(&output))
    };
    // By the file that is always read: the campaign goes on to its end.
    let directory = Directory::new("suppressed");
    directory.file("wmtrace.toml", format!("{apples}{pears}{unused}"));
    let (status, report) = run(&directory, "");
    assert_eq!(
        (status, &report["executions"], &report["buggy_executions"]),
        (Some(0), &10.into(), &0.into())
    );
    let bugs = report["bugs"].as_array().unwrap();
    assert!(bugs.len() == 2 && bugs.iter().all(|bug| bug["suppressed"] == true), "{report}");
    assert!(bugs.iter().any(|bug| bug["suppressed_because"] == "he is known (wmtrace.toml:1)"), "{report}");
    let warned = |report: &Value, text: &str| {
        let mut all = report["warnings"].as_array().unwrap().iter();
        all.any(|it| it["message"].as_str().unwrap().contains(text))
    };
    assert!(warned(&report, "the suppression at wmtrace.toml:8 has matched no bug"), "{report}");
    assert!(!warned(&report, "wmtrace.toml:1") && !warned(&report, "wmtrace.toml:5"), "{report}");
    // By name: one of two.
    let directory = Directory::new("suppress");
    directory.file("mine.toml", apples);
    let (status, report) = run(&directory, "--keep-going --suppress mine.toml");
    let mut marks: Vec<_> =
        report["bugs"].as_array().unwrap().iter().map(|bug| bug["suppressed"].as_bool()).collect();
    marks.sort();
    assert_eq!((status, marks), (Some(1), vec![Some(false), Some(true)]));
    // Written, and read back: nothing is left, and nothing is added.
    for _ in 0..2 {
        let (status, _) = run(&directory, "--keep-going --write-suppressions wmtrace.toml");
        let text = std::fs::read_to_string(directory.path.join("wmtrace.toml")).unwrap();
        assert!(text.matches("[[suppress]]").count() >= 2 && status.is_some(), "{text}");
    }
    let (status, report) = run(&directory, "--keep-going");
    assert_eq!((status, &report["warnings"]), (Some(0), &serde_json::json!([])), "{report}");
}

/// A file of suppressions that says something else is the user's mistake, with its line.
#[test]
fn wrong_suppressions() {
    let two = built("two.c", GNU_O0, &[]);
    for (text, said) in [
        ("\n[[suppress]]\nkind = \"rage\"\n", "wmtrace.toml:3: no kind of bug is called `rage`"),
        ("[[suppress]]\nfunktion = \"f\"\n", "wmtrace.toml:2: unknown field"),
        ("kind = [[[[\n", "wmtrace.toml:"),
        ("[[suppress]]\n", "wmtrace.toml:1: this entry would suppress every bug"),
    ] {
        let directory = Directory::new("wrong");
        directory.file("wmtrace.toml", text);
        let output = directory.test("-n 1", &two).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{text}: {}", stderr(&output));
    }
    let directory = Directory::new("wrong");
    for options in ["--suppress nowhere.toml", "--suppress .", "--write-suppressions ."] {
        let output = directory.test(options, &two).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}: {}", stderr(&output));
    }
}

/// Bugs are replayed, and looked for under this processor's model: stores do not overtake stores there, but counters that
/// nobody protects lose counts, and what was freed is used. The seed is fixed, and one of the first two executions shows each.
#[test]
fn what_this_processor_can_do() {
    for (name, here) in [("publish.c", "not_seen"), ("two.c", "possible"), ("freed.cpp", "possible")] {
        let directory = Directory::new("here");
        let report = report(&directory, "--confirm 60", &built(name, GNU_O2, &[]));
        for bug in report.bugs() {
            assert_eq!(
                (&bug["confirmed"], &bug["on_this_processor"]),
                (&true.into(), &here.into()),
                "{name}"
            );
            let tried = bug["tried"].as_u64().unwrap();
            assert!(
                if here == "possible" { (1..=200).contains(&tried) } else { tried == 200 },
                "{name}: {tried}"
            );
            assert_eq!(bug["owner"], "program");
        }
    }
    let directory = Directory::new("here");
    let publish = built("publish.c", GNU_O2, &[]);
    let bug = report(&directory, "--confirm 0", &publish).bugs()[0].clone();
    assert_eq!((&bug["on_this_processor"], &bug["tried"]), (&"not_applicable".into(), &0.into()));
    assert_eq!(bug["confirmed"], true, "a replay is cheap");
    let output =
        directory.wmtrace(&["-n", "1"]).args(["--confirm", "60", "--"]).arg(&publish.path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("on this processor: the two accesses did not meet in 200 executions under tso"),
        "{said}"
    );
    // Under tso itself the execution says it.
    let two = built("faults.c", GNU_O2, &["divide"]);
    let bug = report(&directory, "--model tso -n 1", &two).bugs()[0].clone();
    assert_eq!(bug["on_this_processor"], "possible");
}

/// The model would take the two addresses for different memory.
#[test]
fn memory_that_is_mapped_twice_is_refused() {
    for flavour in [GNU_O2, crate::build::CROSS] {
        let directory = Directory::new("ring");
        let output = directory.test("-n 5", &built("ring.c", flavour, &[])).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        let said = "an access to memory that is mapped at two addresses";
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

/// Compilers make one call of several: from where the program came there is shown, too.
#[test]
fn merged_calls_of_abort() {
    let directory = Directory::new("merged");
    for flavour in [GNU_O2, LLVM_O2] {
        let program = Source::named("causes/merged_abort.c").build(Variant::Buggy, flavour);
        let report = directory.report("--confirm 0", &program).unwrap();
        assert_eq!(report.kinds(), ["assertion"]);
        let from = &report.bugs()[0]["sites"][0]["came_from"];
        assert_eq!(from["line"], 24, "{flavour:?}: {}", report.bugs()[0]["sites"]);
    }
    let program = Source::named("causes/merged_abort.c").build(Variant::Buggy, GNU_O2);
    let output = directory.wmtrace(&["--confirm", "0"]).arg(&program.path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the last jump before that came from merged_abort.c:24"), "{text}");
}

/// A race says whether its accesses are volatile in the source.
#[test]
fn volatile_accesses() {
    let directory = Directory::new("volatile");
    for flavour in [GNU_O0, GNU_O2, LLVM_O0] {
        for (which, expected) in [("1", [true, true]), ("2", [true, true]), ("3", [true, false])] {
            let mut program = Source::named("causes/volatile.c").build(Variant::Buggy, flavour);
            program.args = vec![which.to_owned()];
            let report = directory.report("--confirm 0 --races on", &program).unwrap();
            let bug = &report.bugs()[0];
            let sites = bug["sites"].as_array().unwrap().iter();
            let mut found: Vec<bool> = sites.map(|site| site["volatile"].as_bool().unwrap()).collect();
            found.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(found, expected, "{flavour:?} {which}: {bug}");
            let both = bug["message"].as_str().unwrap().contains("both are volatile");
            assert_eq!(both, expected[1], "{bug}");
        }
    }
}

/// What a call pushes onto a slot of the stack that somebody else still looks at is called so, with the line of the call.
#[test]
fn reused_slots_of_stacks() {
    let directory = Directory::new("slot");
    let program = Source::named("causes/reused_slot.c").build(Variant::Buggy, GNU_O2);
    let report = directory.report("--confirm 0 --keep-going -n 100", &program).unwrap();
    let race = report.bugs().iter().find(|bug| bug["kind"] == "race");
    let race = race.unwrap_or_else(|| panic!("{}", report.value()));
    let message = race["message"].as_str().unwrap();
    assert!(message.contains("reuses a slot of its stack at reused_slot.c:34"), "{message}");
    let right = Source::named("causes/reused_slot.c").build(Variant::Right, GNU_O2);
    directory.report("--confirm 0 -n 20", &right).unwrap().is_clean(20).unwrap();
}
