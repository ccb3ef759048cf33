//! What is printed: for people, for programs, for graphviz.

use crate::support::{BOTH_ZERO, Directory, Run, sb};
use serde_json::Value;
use std::process::{Command, Stdio};

#[test]
fn human_report() {
    let dir = Directory::new("human");
    dir.file("a.litmus", sb("", "relaxed", &format!("exists {BOTH_ZERO}")));
    let run = dir.litmus("a.litmus");
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""));
    for line in [
        "Test SB: c11, exhaustive",
        "States 4",
        "Ok",
        "Condition exists (0:r0=0 /\\ 1:r0=0)",
        "Witness execution",
    ] {
        assert!(run.out.lines().any(|other| other == line), "{line}\n{}", run.out);
    }
    assert!(run.out.contains("Observation SB Sometimes "), "{}", run.out);
    assert!(dir.litmus("--dot a.litmus").out.contains("\ndigraph \"SB\" {"));
    let quiet = dir.litmus("-q a.litmus a.litmus").out;
    assert_eq!(quiet.lines().count(), 2);
    assert!(quiet.lines().all(|line| line.starts_with("Observation SB Sometimes ")), "{quiet}");
}

#[test]
fn json_has_the_promised_keys() {
    let dir = Directory::new("json");
    dir.file("a.litmus", sb("", "relaxed", &format!("exists {BOTH_ZERO}")));
    dir.file("bad.litmus", "C bad\n{}\nP0 (int* x) { *x = ; }");
    let run = dir.litmus("--format json --mo-insertion a.litmus bad.litmus");
    assert_eq!(run.status, Some(2));
    let report = run.json();
    assert_eq!(report["schema"], 1);
    assert_eq!(report["command"], "litmus");
    assert_eq!(report["model"], "c11");
    assert_eq!(report["strategy"], "exhaustive");
    assert_eq!(report["mo_insertion"], true);
    let error = &report["errors"][0];
    assert_eq!((&error["file"], &error["line"]), (&Value::from("bad.litmus"), &Value::from(3)));
    assert_eq!(error["column"], 20);
    for key in ["seed", "tests", "errors", "warnings"] {
        assert!(report.get(key).is_some(), "{key}");
    }
    let test = report["tests"][0].as_object().unwrap();
    for key in [
        "name",
        "file",
        "executions",
        "states",
        "condition",
        "quantifier",
        "reachable",
        "holds",
        "observation",
        "races",
        "stuck",
        "cut",
        "complete",
        "certified",
        "witness",
    ] {
        assert!(test.contains_key(key), "{key}");
    }
    let weak = &test["states"].as_array().unwrap()[0];
    assert_eq!(weak["values"], serde_json::json!({"0:r0": 0, "1:r0": 0}));
    assert_eq!(weak["witness"], true);
}

#[test]
fn help_teaches() {
    let dir = Directory::new("help");
    let run = dir.litmus("--help");
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""));
    for part in ["Examples:", "Exit status", "--mo-insertion", "--unroll", "Expect=forbidden"] {
        assert!(run.out.contains(part), "{part}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_wmtrace")).arg("--help").output().unwrap();
    let run = Run::from(output);
    assert_eq!(run.status, Some(0));
    for part in ["litmus", "inspect", "replay", "explain", "Exit status"] {
        assert!(run.out.contains(part), "{part}");
    }
}

/// `--dot` is DOT from the first line to the last, and so is the output on several tests.
#[test]
fn dot_is_all_dot() {
    let dir = Directory::new("dot");
    dir.file("weak.litmus", sb("", "relaxed", &format!("exists {BOTH_ZERO}")));
    dir.file("never.litmus", sb("", "seq_cst", &format!("exists {BOTH_ZERO}")));
    let out = dir.litmus("--dot weak.litmus never.litmus weak.litmus").out;
    let mut inside = false;
    for line in out.lines() {
        inside |= line.starts_with("digraph ");
        assert!(inside || line.is_empty() || line.starts_with("//"), "{line}");
        inside &= line != "}";
    }
    assert_eq!(out.matches("digraph ").count(), 2);
    for edge in ["po", "rf", "mo", "fr"] {
        assert!(out.contains(&format!("[label=\"{edge}\"")), "{edge}");
    }
}

/// What the witness says of each kind of event.
#[test]
fn witnesses_name_what_happened() {
    let dir = Directory::new("witness");
    dir.file(
        "rmw.litmus",
        "C rmw\n{ x = -1; }\nP0 (atomic_int* x) {\n  int e = -1;\n  atomic_exchange(x, e);\n  \
         atomic_fetch_add_explicit(x, 3, memory_order_relaxed);\n  \
         int won = atomic_compare_exchange_strong(x, &e, 9);\n  \
         int late = atomic_compare_exchange_weak(x, &e, -5);\n}\nexists (0:late=1)",
    );
    let out = dir.litmus("rmw.litmus").out;
    let table = &out[out.find("Witness execution\n").unwrap()..];
    assert_eq!(
        table,
        "Witness execution
  event  P0                         reads from  line
  e0     exchange x=-1->-1 seq_cst  init        5
  e1     fetch_add x=-1->2 relaxed  e0          6
  e2     failed cas x=2 seq_cst     e1          7
  e3     cas x=2->-5 seq_cst        e1          8
  Modification order of x: -1 (init), -1 (e0), 2 (e1), -5 (e3)
"
    );
    let mp = "C mp\n{}\nP0 (atomic_int* x, atomic_int* y) {\n  atomic_store_explicit(x, 1, memory_order_relaxed);\n  \
              atomic_store_explicit(y, 1, memory_order_relaxed);\n}\nP1 (atomic_int* x, atomic_int* y) {\n  \
              int r0 = atomic_load(y);\n  int r1 = atomic_load(x);\n}\nexists (1:r0=1 /\\ 1:r1=0)";
    dir.file("mp.litmus", mp);
    let out = dir.litmus("--model pso mp.litmus").out;
    assert!(out.contains("\n  e2     commit y=1 of e1                                 5\n"), "{out}");
    let events = dir.answer("--model pso", mp)["witness"].take();
    assert_eq!(
        (&events[2]["op"], &events[2]["commits"], &events[2]["line"]),
        (&"commit".into(), &1.into(), &5.into())
    );
}

#[test]
fn locations_are_shown_in_states() {
    let dir = Directory::new("locations");
    let text = |locations: &str| sb("", "relaxed", &format!("{locations} exists (0:r0=0)"));
    let values = |answer: &Value| answer["states"][0]["values"].clone();
    assert_eq!(values(&dir.answer("", &text(""))), serde_json::json!({"0:r0": 0}));
    let shown = serde_json::json!({"0:r0": 0, "y": 1});
    assert_eq!(values(&dir.answer("", &text("locations [y; 0:r0;]"))), shown);
    assert_eq!(values(&dir.answer("-v", &text(""))).as_object().unwrap().len(), 4);
}

/// Whoever stops reading has seen enough; whoever cannot be written to is told, or gets the status.
#[test]
fn outputs_that_cannot_be_written() {
    let dir = Directory::new("pipes");
    dir.file("a.litmus", sb("", "relaxed", &format!("exists {BOTH_ZERO}")));
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = dir.command("a.litmus a.litmus").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    dir.file("bug.litmus", sb("", "relaxed", &format!("~exists {BOTH_ZERO}")));
    let mut child = dir.command("bug.litmus").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1), "a bug that was found is a bug");
    let run = Run::from(dir.command("a.litmus").stdout(full()).output().unwrap());
    assert_eq!(run.status, Some(3));
    assert!(run.err.starts_with("wmtrace: cannot write the report: "), "{}", run.err);
    assert_eq!(dir.command("missing").stderr(full()).status().unwrap().code(), Some(3));
}
