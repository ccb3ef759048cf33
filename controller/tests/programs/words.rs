//! What wmtrace says to a user who has made a mistake, or wants to see more.

use crate::build::{Built, GNU_O2, STRIPPED};
use crate::run::{Directory, Report};
use crate::source::{Source, Variant};

fn built(name: &str, variant: Variant) -> Built {
    Source::named(name).build(variant, GNU_O2)
}

fn warnings(report: &Report) -> Vec<String> {
    let warnings = report.value()["warnings"].as_array().unwrap().iter();
    warnings.map(|it| it["message"].as_str().unwrap().to_owned()).collect()
}

/// Names in options that nothing has are named, with what is most like them. Those that something has are not.
#[test]
fn names_that_nothing_has() {
    let directory = Directory::new("names");
    let spin = built("patterns/spinlock.cpp", Variant::Right);
    let name = spin.path.file_name().unwrap().to_str().unwrap();
    let rules = format!(
        "function ad seq_cst\nfunction add seq_cst\nspinlok.cpp:18 seq_cst\nspinlock.cpp:1 seq_cst\n{name}+0xfffff relaxed\n"
    );
    let orders = directory.file("orders.txt", rules);
    let options = format!(
        "-n 1 --managed libstdcc++ --managed libm.so --unmanaged nosuch --orders {}",
        orders.display()
    );
    let report = directory.report(&options, &spin).unwrap();
    report.is_clean(1).unwrap();
    let said = warnings(&report);
    let expected = [
        ("--managed libstdcc++: ", "; did you mean libstdc++.so.6"),
        ("--unmanaged nosuch: ", "libc.so.6"),
        ("--orders: the rule `function ad` ", "; did you mean add()?"),
        ("--orders: the rule `spinlok.cpp:18` ", "; did you mean spinlock.cpp?"),
        ("--orders: the rule `spinlock.cpp:1` ", "the nearest line is 16"),
        (&format!("--orders: the rule `{name}+0xfffff` "), "no code under the model is there"),
    ];
    assert_eq!(said.len(), expected.len(), "{said:?}");
    for ((begins, contains), said) in expected.iter().zip(&said) {
        assert!(said.starts_with(begins) && said.contains(contains), "{said}");
    }
}

/// `-v` shows what the program writes, also if nothing is wrong. Without it, nobody asked.
#[test]
fn the_output_of_the_first_execution() {
    let directory = Directory::new("output");
    let shown = |words: &[&str]| {
        let hello = built("causes/output.c", Variant::Right);
        let output = directory.wmtrace(words).arg(&hello.path).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = shown(&["-v", "-n", "3"]);
    assert!(
        text.contains("in its first execution") && text.contains("  standard output\n    | all is well\n"),
        "{text}"
    );
    assert_eq!(text.matches("standard error\n    | a thread was here\n").count(), 1, "{text}");
    let text = shown(&["-n", "3"]);
    assert!(!text.contains("all is well") && !text.contains("was here"), "{text}");
}

/// A verdict says what it is worth: the model and why, whether races were looked for, and what ran natively.
#[test]
fn what_a_verdict_is_worth() {
    let directory = Directory::new("worth");
    let race = Source::named("verdicts/race.cpp");
    let said = |options: &[&str], built: &Built| {
        let output = directory.wmtrace(options).arg(&built.path).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (known, stripped) = (race.build(Variant::Right, GNU_O2), race.build(Variant::Right, STRIPPED));
    let text = said(&["-n", "5"], &known);
    assert!(text.contains("checked: c11 (orders known); races were looked for"), "{text}");
    assert!(text.contains("not under the model: ld-linux-x86-64.so.2, libc.so.6"), "{text}");
    let text = said(&["-n", "5"], &stripped);
    assert!(
        text.contains("checked: tso (no debug information); races were not looked for: -g tells"),
        "{text}"
    );
    let text = said(&["-n", "5", "--model", "sc"], &known);
    assert!(text.contains("checked: sc (asked for); races were not looked for\n"), "{text}");
}
