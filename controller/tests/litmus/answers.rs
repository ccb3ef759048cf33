//! The answers to a few tests whose answers everybody knows, and what is told with them.

use crate::support::{BOTH_ZERO, Directory, mp_plain, sb};
use serde_json::Value;

#[test]
fn store_buffering_under_each_model() {
    let dir = Directory::new("sb_models");
    dir.file("rlx.litmus", sb("", "relaxed", &format!("exists {BOTH_ZERO}")));
    dir.file("sc.litmus", sb("", "seq_cst", &format!("exists {BOTH_ZERO}")));
    for (model, weak) in
        [("sc", false), ("tso", true), ("pso", true), ("pslo", true), ("c11", true), ("auto", true)]
    {
        let run = dir.litmus(&format!("--format json --model {model} rlx.litmus sc.litmus"));
        assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{model}");
        let report = run.json();
        assert_eq!(report["tests"][0]["reachable"], weak, "{model}");
        assert_eq!(report["tests"][0]["states"].as_array().unwrap().len(), if weak { 4 } else { 3 });
        assert_eq!(report["tests"][1]["reachable"], false, "{model}");
        assert_eq!(report["tests"][1]["complete"], true);
    }
}

#[test]
fn exit_status_1_is_a_bug() {
    let dir = Directory::new("bug");
    let exists = format!("exists {BOTH_ZERO}");
    dir.file("forbidden.litmus", sb("Expect=forbidden", "relaxed", &exists));
    dir.file("never.litmus", sb("Result=Never", "relaxed", &exists));
    dir.file("not.litmus", sb("", "relaxed", &format!("~exists {BOTH_ZERO}")));
    dir.file("all.litmus", sb("", "relaxed", "forall (x=1 /\\ 0:r0=1)"));
    for file in ["forbidden", "never", "not", "all"] {
        let run = dir.litmus(&format!("{file}.litmus"));
        assert_eq!((run.status, run.err.as_str()), (Some(1), ""), "{file}");
        // Nothing is wrong with them where the behaviour does not exist.
        let status = if file == "all" { 1 } else { 0 };
        assert_eq!(dir.litmus(&format!("--model sc {file}.litmus")).status, Some(status), "{file}");
    }
    let told = [
        (
            "forbidden",
            "\nExpected Never\nBug: the condition holds in 3 executions, and the test expects it never to\n",
        ),
        ("not", "\nBug: what `~exists` rules out holds in 3 executions\n"),
        ("all", "\nBug: what `forall` claims fails in 5 executions\n"),
    ];
    for (file, message) in told {
        let out = dir.litmus(&format!("{file}.litmus")).out;
        assert!(out.contains(message), "{out}");
    }
    assert!(dir.litmus("-q not.litmus").out.ends_with(" (bug)\n"));
}

#[test]
fn races_are_bugs_of_c11() {
    let dir = Directory::new("races");
    dir.file("safe.litmus", mp_plain("release", "acquire"));
    dir.file("racy.litmus", mp_plain("relaxed", "acquire"));
    assert_eq!(dir.litmus("safe.litmus").status, Some(0));
    let run = dir.litmus("racy.litmus");
    assert_eq!(run.status, Some(1));
    assert!(
        run.out.contains(
            "\nRace: P0 store data (na) at racy.litmus:2 and P1 load data (na) at racy.litmus:6, unordered, in 1 execution\n"
        )
    );
    assert!(run.out.contains("\nExecution with a race\n"));
    let races = &dir.litmus("--format json racy.litmus").json()["tests"][0]["races"];
    assert_eq!(races[0]["location"], "data");
    assert_eq!(races[0]["sites"][1]["op"], "load");
    assert_eq!(dir.litmus("--model tso racy.litmus").status, Some(0));
}

/// The same instructions run again after their thread has synchronised; the race found before that is certified.
#[test]
fn races_in_loops_are_certified() {
    let dir = Directory::new("race_loops");
    dir.file(
        "seqlock.litmus",
        "C seqlock {}
         P0 (atomic_int* s, int* a) { *a = 1; atomic_store_explicit(s, 1, memory_order_release); }
         P1 (atomic_int* s, int* a) {
           int seen, value;
           do {
             value = *a;
             seen = atomic_load_explicit(s, memory_order_acquire);
             value = *a;
           } while (!seen);
         }
         forall 1:value=1",
    );
    for options in ["", "--strategy random"] {
        let run = dir.litmus(&format!("--format json {options} seqlock.litmus"));
        assert_eq!((run.status, run.err.as_str()), (Some(1), ""), "{options}");
        let test = &run.json()["tests"][0];
        assert_eq!((&test["holds"], test["races"].as_array().unwrap().len()), (&Value::from(true), 2));
    }
}

#[test]
fn loops_are_cut_sampled_or_stuck() {
    let dir = Directory::new("loops");
    let spin = "P1 (atomic_int* x) { while (atomic_load(x) == 0) {} } forall x=1";
    dir.file("ends.litmus", format!("C t {{}} P0 (atomic_int* x) {{ atomic_store(x, 1); }} {spin}"));
    dir.file("never.litmus", format!("C t {{}} P0 (atomic_int* x) {{ }} {spin}"));
    let run = dir.litmus("--unroll 2 ends.litmus");
    assert_eq!(run.status, Some(0));
    assert!(run.out.contains("given up after 2 rounds of a loop (--unroll)\n"), "{}", run.out);
    for strategy in ["random", "pct", "pctwm", "basicpos", "pos", "basicposwm", "poswm"] {
        let options = format!("--format json --strategy {strategy} -n 20");
        let test = &dir.litmus(&format!("{options} ends.litmus")).json()["tests"][0];
        assert_eq!(
            (&test["executions"], &test["holds"]),
            (&Value::from(20), &Value::from(true)),
            "{strategy}"
        );
        let run = dir.litmus(&format!("{options} never.litmus"));
        assert_eq!(run.status, Some(1), "{strategy}");
        assert_eq!(run.json()["tests"][0]["livelocks"], 20, "{strategy}");
    }
}

#[test]
fn limits_are_told() {
    let dir = Directory::new("limits");
    dir.file("a.litmus", sb("", "relaxed", ""));
    let run = dir.litmus("--max-executions 2 a.litmus");
    assert!(run.out.contains("\nIncomplete: stopped after 2 executions (--max-executions)\n"), "{}", run.out);
    let report = dir.litmus("--max-executions 2 --format json a.litmus").json();
    assert_eq!(report["tests"][0]["complete"], false);
    assert_eq!(report["warnings"][0], "a.litmus: the exploration is incomplete");
    let run = dir.litmus("--max-events 3 a.litmus");
    assert!(run.out.contains(" given up after 3 events (--max-events)\n"), "{}", run.out);
}
