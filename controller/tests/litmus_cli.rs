//! The built program, end to end: exit statuses, streams, JSON, and the answers to a few tests whose answers everybody
//! knows.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A directory of this test's own, gone when it ends.
struct Directory(PathBuf);

impl Directory {
    fn new(test: &str) -> Directory {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), content).unwrap();
    }

    /// Runs `wmtrace litmus` in the directory.
    fn litmus(&self, arguments: &str) -> Run {
        let arguments = ["litmus"].into_iter().chain(arguments.split_whitespace());
        let output =
            Command::new(env!("CARGO_BIN_EXE_wmtrace")).args(arguments).current_dir(&self.0).output();
        Run::from(output.unwrap())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[derive(Debug)]
struct Run {
    status: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        Run {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    /// The JSON object, which is the last line.
    fn json(&self) -> Value {
        serde_json::from_str(self.out.lines().last().expect("some output")).unwrap()
    }
}

/// Store buffering with this order and condition, and lines of metadata.
fn sb(metadata: &str, order: &str, condition: &str) -> String {
    let thread = |number, mine, other| {
        format!(
            "P{number} (atomic_int* x, atomic_int* y) {{
               atomic_store_explicit({mine}, 1, memory_order_{order});
               int r0 = atomic_load_explicit({other}, memory_order_{order});
             }}\n"
        )
    };
    format!("C SB\n{metadata}\n{{}}\n{}{}{condition}\n", thread(0, "x", "y"), thread(1, "y", "x"))
}

const BOTH_ZERO: &str = "(0:r0=0 /\\ 1:r0=0)";

/// Message passing; the data is plain, and read only if the flag is seen.
fn mp_plain(store: &str, load: &str) -> String {
    format!(
        "C MP {{}}
         P0 (int* data, atomic_int* flag) {{ *data = 1; atomic_store_explicit(flag, 1, memory_order_{store}); }}
         P1 (int* data, atomic_int* flag) {{
           int r0 = atomic_load_explicit(flag, memory_order_{load});
           int r1 = 2;
           if (r0) {{ r1 = *data; }}
         }}
         ~exists (1:r0=1 /\\ 1:r1=0)"
    )
}

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
    assert!(dir.litmus("forbidden.litmus").out.contains("\nExpected Never\n"));
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
        run.out.contains("\nRace: P0 store data (na) and P1 load data (na), unordered, in 1 execution\n")
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

#[test]
fn the_same_seed_gives_the_same_report() {
    let dir = Directory::new("seeds");
    dir.file("a.litmus", sb("", "relaxed", &format!("exists {BOTH_ZERO}")));
    let sample = |seed| dir.litmus(&format!("--strategy random -n 100 -s {seed} --format json a.litmus")).out;
    assert_eq!(sample(1), sample(1));
    assert_ne!(sample(1), sample(2));
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
fn exit_status_2_is_wrong_input() {
    let dir = Directory::new("input");
    dir.file("good.litmus", sb("", "relaxed", ""));
    dir.file("bad.litmus", "C bad\n{}\nP0 (int* x) { *x = ; }");
    dir.file("binary.litmus", b"C \xff");
    dir.file("large.litmus", vec![b' '; (1 << 20) + 1]);
    // A name that would clear the screen.
    dir.file("name.litmus", sb("", "relaxed", "").replace("C SB", "C \x1b[2J"));
    let run = dir.litmus("bad.litmus");
    assert_eq!(run.status, Some(2));
    assert_eq!(run.err, "bad.litmus:3:20: expected an expression, found `;`\n");
    let run = dir.litmus("missing.litmus");
    assert_eq!(run.status, Some(2));
    assert!(run.err.starts_with("missing.litmus: cannot read it: No such file"), "{}", run.err);
    assert_eq!(dir.litmus(".").status, Some(2));
    assert!(dir.litmus("binary.litmus").err.starts_with("binary.litmus: it is not UTF-8 text"));
    assert_eq!(
        dir.litmus("large.litmus").err,
        "large.litmus: it is larger than 1 MiB, which no litmus test is\n"
    );
    assert_eq!(dir.litmus("/dev/zero").status, Some(2));
    // The other files are still answered.
    let run = dir.litmus("bad.litmus good.litmus");
    assert_eq!(run.status, Some(2));
    assert!(run.out.contains("Test SB: c11"), "{}", run.out);
    let run = dir.litmus("name.litmus");
    assert!(run.out.starts_with("Test \\u{1b}[2J: c11"), "{:?}", run.out);
    assert!(!run.out.contains('\x1b'));
}

#[test]
fn exit_status_2_is_wrong_usage() {
    let dir = Directory::new("usage");
    for arguments in
        ["", "--model arm a", "--model sc --mo-insertion a", "-d 1 a", "--strategy pct --unroll 1 a"]
    {
        let run = dir.litmus(arguments);
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{arguments}");
        assert!(run.err.starts_with("error: "), "{}", run.err);
    }
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
    assert!(run.out.contains("litmus") && run.out.contains("Exit status"));
    assert!(!run.out.contains("replay"), "only what works is shown");
}
