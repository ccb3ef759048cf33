//! Golden output from executions made by hand: the printers, without the machine. `INSTA_UPDATE=always cargo test`
//! writes new snapshots, to be reviewed in the diff.

use super::tally::Tally;
use super::{Failure, events, human, json};
use crate::cli::{Cli, Command, LitmusOptions};
use crate::exit::Exit;
use clap::Parser as _;
use wmtrace_model::execution::{Access, Event, EventId, Execution, Label, Mo, Race, Rf, Source};
use wmtrace_model::litmus::parse::parse;
use wmtrace_model::litmus::program::{Program, State};
use wmtrace_model::op::{ModelKind, Place, Site, Stuck, ThreadId};
use wmtrace_model::order::Order;

const SB: &str = r#"C SB"\
Expect=forbidden
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(y, memory_order_acquire);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  int r1 = atomic_load_explicit(x, memory_order_acquire);
}
exists (0:r0=0 /\ 1:r1=0)"#;

pub(super) fn options(arguments: &[&str]) -> LitmusOptions {
    let command_line = ["wmtrace", "litmus", "SB.litmus"].iter().chain(arguments);
    match Cli::try_parse_from(command_line).and_then(Cli::checked) {
        Ok(Command::Litmus(options)) => options,
        Ok(_) => unreachable!("the line says litmus"),
        Err(error) => panic!("{error}"),
    }
}

fn execution(model: ModelKind, events: &[(u32, u32, Label)]) -> Execution {
    let mut execution = Execution::new(model);
    execution.events.extend(events.iter().map(|&(thread, instruction, label)| Event {
        thread: ThreadId(thread),
        site: Site(thread << 16 | instruction),
        epoch: 0,
        label,
    }));
    execution
}

fn store(at: Place, value: u128, mo: Mo) -> Label {
    Label::Store { at, order: Order::Relaxed, value, mo }
}

fn load(at: Place, value: u128, from: Source) -> Label {
    Label::Load { at, order: Order::Acquire, value, rf: Rf::One(from), locked: false }
}

/// Both stores, then both loads; each load reads 0 or 1.
fn sb(program: &Program, r0: i64, r1: i64) -> (State, Execution) {
    let [x, y] = [0, 1].map(|at: usize| program.locations[at].place);
    let source = |value, id| if value == 0 { Source::Init } else { Source::Store(EventId(id)) };
    let execution = execution(
        ModelKind::C11,
        &[
            (0, 0, store(x, 1, Mo::Last)),
            (1, 0, store(y, 1, Mo::Last)),
            (0, 1, load(y, r0 as u128, source(r0, 1))),
            (0, 2, Label::Exit),
            (1, 1, load(x, r1 as u128, source(r1, 0))),
            (1, 2, Label::Exit),
        ],
    );
    (State { registers: vec![vec![r0], vec![r1]], memory: vec![1, 1] }, execution)
}

/// All four outcomes of SB, the last of them twice.
fn sb_tally(program: &Program, all: bool) -> Tally {
    let mut tally = Tally::new(program, all);
    for (r0, r1) in [(1, 1), (0, 0), (0, 1), (1, 0), (1, 0)] {
        let (state, execution) = sb(program, r0, r1);
        tally.finished(program, &state, &execution);
    }
    tally.exhausted = true;
    tally
}

#[test]
fn human_table() {
    let program = parse(SB).unwrap();
    let tally = sb_tally(&program, false);
    assert!(tally.is_bug(&program), "reached, although marked as forbidden");
    insta::assert_snapshot!(human::report(&options(&[]), "SB.litmus", &program, &tally));
}

#[test]
fn human_verbose_sampled_and_quiet() {
    let program = parse(SB).unwrap();
    let sampled = options(&["-v", "--strategy", "pctwm", "-n", "5", "-s", "7"]);
    let tally = sb_tally(&program, true);
    let verbose = human::report(&sampled, "SB.litmus", &program, &tally);
    let quiet = human::report(&options(&["-q"]), "SB.litmus", &program, &tally);
    let mut cut = sb_tally(&program, true);
    cut.cut = 1;
    let incomplete = human::report(&options(&["-q"]), "SB.litmus", &program, &cut);
    insta::assert_snapshot!(format!("{verbose}\n---\n{quiet}\n---\n{incomplete}"));
}

#[test]
fn dot_graph() {
    let program = parse(SB).unwrap();
    let report = human::report(&options(&["--dot"]), "SB.litmus", &program, &sb_tally(&program, false));
    insta::assert_snapshot!(report);
}

#[test]
fn json_report() {
    let program = parse(SB).unwrap();
    let mut report = json::Report::new(&options(&["--format", "json"]));
    let mut tally = sb_tally(&program, false);
    tally.races(&[race(&program)], &sb(&program, 0, 0).1);
    report.add("SB.litmus", &program, &tally);
    report.fail("bad.litmus", &Failure::Parse(parse("C bad {").unwrap_err()));
    report.fail("none.litmus", &Failure::Unreadable("cannot read it".to_string()));
    // The program prints it in one line.
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
}

/// A race between SB's first store and last load, as if they were not atomic.
fn race(program: &Program) -> Race {
    let access = |thread: u32, instruction: u32, store| Access {
        thread: ThreadId(thread),
        site: Site(thread << 16 | instruction),
        epoch: 0,
        addr: program.locations[0].place.addr,
        len: 4,
        store,
        atomic: true,
    };
    Race { first: access(0, 0, true), second: access(1, 1, false), events: 5 }
}

#[test]
fn what_has_no_final_state_is_told() {
    let program = parse(SB).unwrap();
    let mut tally = Tally::new(&program, false);
    let (_, execution) = sb(&program, 1, 1);
    tally.stuck(Stuck::Livelock, &execution);
    tally.stuck(Stuck::Deadlock, &execution);
    let race = race(&program);
    tally.races(&[race, race], &execution);
    tally.races(&[Race { first: race.second, second: race.first, events: 5 }], &execution);
    tally.cut = 3;
    tally.over_limit = 4;
    assert_eq!(tally.races.len(), 1, "the same two accesses the other way round");
    insta::assert_snapshot!(human::report(&options(&[]), "SB.litmus", &program, &tally));
}

/// Insertion, RMWs, and stores that are held, committed in another order, and never committed.
#[test]
fn modification_orders() {
    let program = parse("C t {} P0 (atomic_int* x) {} P1 () {}").unwrap();
    let x = program.locations[0].place;
    let rmw = Label::Rmw {
        at: x,
        order: Order::AcqRel,
        read: 1,
        rf: Rf::One(Source::Store(EventId(1))),
        written: u128::from(u32::MAX),
        mo: Mo::After(Source::Store(EventId(1))),
    };
    let order = |execution: &Execution| {
        let locations = events::locations(execution);
        events::modification_order(execution, &locations)[&events::Location { place: x, life: 0 }].clone()
    };
    let inserted = execution(
        ModelKind::C11,
        &[
            (0, 0, store(x, 9, Mo::Last)),
            (1, 0, store(x, 1, Mo::After(Source::Init))),
            (1, 1, rmw),
            (0, 1, Label::Fence { order: Order::SeqCst }),
        ],
    );
    assert_eq!(order(&inserted), [1, 2, 0].map(EventId));
    let held = execution(
        ModelKind::Pso,
        &[
            (0, 0, store(x, 1, Mo::Held)),
            (1, 0, store(x, 2, Mo::Held)),
            (1, 1, store(x, 3, Mo::Held)),
            (1, 1, Label::Commit { store: EventId(1) }),
            (0, 1, Label::Commit { store: EventId(0) }),
        ],
    );
    assert_eq!(order(&held), [1, 0, 2].map(EventId));
    let mut shown = Vec::new();
    for execution in [&inserted, &held] {
        shown.extend(events::rows(&program, execution).iter().map(human::describe));
    }
    assert_eq!(
        shown,
        [
            "store x=9 relaxed",
            "store x=1 relaxed",
            "rmw x=1->-1 acq_rel",
            "fence seq_cst",
            "store x=1 relaxed",
            "store x=2 relaxed",
            "store x=3 relaxed",
            "commit x=2 of e1",
            "commit x=1 of e0",
        ]
    );
}

/// What each quantifier makes of formulas that hold sometimes, never and always.
#[test]
fn verdicts() {
    // Condition, values of r in the executions, herd's answer, a bug, the value in the execution shown.
    type Case = (&'static str, &'static [i64], bool, bool, Option<u128>);
    let cases: [Case; 8] = [
        ("exists 0:r=1", &[0, 1], true, false, Some(1)),
        ("exists 0:r=1", &[0], false, false, None),
        ("~exists 0:r=1", &[0, 1], false, true, Some(1)),
        ("~exists 0:r=1", &[0], true, false, None),
        ("forall 0:r=1", &[0, 1], false, true, Some(0)),
        ("forall 0:r=1", &[1], true, false, None),
        ("forall 0:r=1", &[], true, false, None),
        ("exists ~(0:r=1 \\/ x=0) /\\ (0:r!=2 \\/ true)", &[0], false, false, None),
    ];
    for (condition, values, holds, bug, shown) in cases {
        let program = parse(&format!("C t {{}} P0 (atomic_int* x) {{ int r = *x; }} {condition}")).unwrap();
        let mut tally = Tally::new(&program, false);
        for &value in values {
            let label = load(program.locations[0].place, value as u128, Source::Init);
            let state = State { registers: vec![vec![value]], memory: vec![0] };
            tally.finished(&program, &state, &execution(ModelKind::C11, &[(0, 0, label)]));
        }
        let quantifier = program.condition.as_ref().unwrap().quantifier;
        assert_eq!((tally.holds(quantifier), tally.is_bug(&program)), (holds, bug), "{condition} {values:?}");
        let value = tally.shown.map(|shown| match shown.execution.events[0].label {
            Label::Load { value, .. } => value,
            ref other => panic!("{other:?}"),
        });
        assert_eq!(value, shown, "{condition} {values:?}");
    }
}

/// What is printed can be read again, and means the same.
#[test]
fn conditions_are_printed_as_they_parse() {
    for condition in [
        "exists (0:r=1 /\\ x=-2)",
        "~exists ((0:r=1 \\/ x=2) /\\ 0:r!=3)",
        "forall (0:r=1 \\/ x=2 /\\ 0:r=3 \\/ true)",
        "exists (~(0:r=1 \\/ x=2))",
        "exists (~~false)",
    ] {
        let program = parse(&format!("C t {{}} P0 (atomic_int* x) {{ int r = *x; }} {condition}")).unwrap();
        assert_eq!(super::names::condition(&program, program.condition.as_ref().unwrap()), condition);
    }
}

/// A failed certificate comes with the execution that its event numbers are about.
#[test]
fn tool_errors_show_the_execution() {
    let program = parse(SB).unwrap();
    let detail = human::execution(&program, &events::all_rows(&program, &sb(&program, 0, 1).1));
    let failure = Failure::Tool { message: "an execution fails its certificate: e2".to_string(), detail };
    let mut printed = Vec::new();
    failure.print("a\u{7}.litmus", &mut printed).unwrap();
    assert_eq!(failure.exit(), Exit::Tool);
    insta::assert_snapshot!(String::from_utf8(printed).unwrap());
}

/// States are kept up to a bound, and long executions are shown up to one.
#[test]
fn memory_and_output_are_bounded() {
    let registers: String = (0..4000).map(|number| format!("int r{number} = 0;")).collect();
    let program = parse(&format!("C t {{}} P0 (atomic_int* x) {{ {registers} }}")).unwrap();
    let mut tally = Tally::new(&program, false);
    let at = program.locations[0].place;
    let long = execution(ModelKind::C11, &[(0, 0, store(at, 1, Mo::Last)); 600]);
    let mut state = State { registers: vec![vec![0; 4000]], memory: vec![0] };
    while !tally.is_full() {
        state.registers[0][7] += 1;
        tally.finished(&program, &state, &long);
    }
    assert!((1000..4000).contains(&tally.states.len()), "8 million numbers: {}", tally.states.len());
    tally.states.clear();
    tally.stuck(Stuck::Livelock, &long);
    let report = human::report(&options(&[]), "t.litmus", &program, &tally);
    assert!(report.contains("\n  e499   store x=1 relaxed"));
    assert!(report.contains("\n  … and 100 more events\n"));
}
