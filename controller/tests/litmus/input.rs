//! Wrong input and wrong usage: status 2, and one clear line.

use crate::support::{Directory, Run, sb};
use std::fs::File;

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
    assert_eq!(dir.litmus("binary.litmus").err, "binary.litmus:1:3: this is not UTF-8 text\n");
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
fn standard_input_is_a_file_too() {
    let dir = Directory::new("stdin");
    dir.file("good.litmus", sb("", "relaxed", ""));
    dir.file("bad.litmus", "C bad\n{}\nP0 (int* x) { *x = ; }");
    let piped = |name: &str| {
        Run::from(dir.command("-q -").stdin(File::open(dir.path(name)).unwrap()).output().unwrap())
    };
    assert_eq!(piped("good.litmus").out, dir.litmus("-q good.litmus").out);
    assert_eq!(piped("bad.litmus").err, "-:3:20: expected an expression, found `;`\n");
}

/// Programs with little or nothing in them have answers all the same.
#[test]
fn small_programs() {
    let dir = Directory::new("small");
    for model in ["sc", "tso", "pso", "pslo", "c11"] {
        for strategy in ["", "--strategy random -n 1", "--strategy pctwm -n 1", "--strategy pos -n 1"] {
            let options = format!("--model {model} {strategy}");
            let empty = dir.answer(&options, "C empty {} P0 () {} P1 () {} exists (true)");
            assert_eq!(
                (&empty["observation"], &empty["executions"]),
                (&"Always".into(), &1.into()),
                "{options}"
            );
            let pure = dir.answer(&options, "C pure {} P0 () { int r = 1; r += 2; }");
            assert_eq!(pure["states"][0]["values"], serde_json::json!({"0:r": 3}), "{options}");
        }
    }
    let run = dir.litmus("-q t.litmus");
    assert_eq!(run.out, "Observation pure 1 state\n");
}

/// As many threads as a test can have, and names as long as a line.
#[test]
fn large_programs() {
    let dir = Directory::new("large");
    let thread = |number| format!("P{number} (atomic_int* x) {{ atomic_fetch_add(x, 1); }}\n");
    let text = format!("C many {{}} {} forall (x=64)", (0..64).map(thread).collect::<String>());
    let answer = dir.answer("--max-executions 50", &text);
    assert_eq!(
        (&answer["holds"], &answer["executions"], &answer["complete"]),
        (&true.into(), &50.into(), &false.into())
    );
    assert_eq!(dir.answer("--strategy pctwm -n 50", &text)["finished"], 50);
    let name = "n".repeat(5000);
    dir.file(
        "name.litmus",
        format!("C {name} {{}} P0 (atomic_int* {name}) {{ *{name} = 1; }} exists ({name}=1)"),
    );
    assert_eq!(dir.litmus("name.litmus").status, Some(0));
    dir.file("name.litmus", format!("C {name} {{}} P0 () {{ {name} }}"));
    assert!(dir.litmus("name.litmus").err.len() < 400);
}
