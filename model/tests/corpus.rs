//! The litmus corpus: every test under every machine, against `targets/litmus/expected.txt` and the oracle.
//!
//! The table says whether the condition is reachable: `yes`, `no`, or `no*` where the axioms allow it and the
//! machine does not produce it by design, with the reason. Nothing in the table is believed: a `yes` and a
//! `no*` need the oracle's consent, a `no` its refusal, and the reason is the axiom that makes the difference.
//! `WMTRACE_PROMOTE=1` writes the table anew, to be reviewed like any other change.

#[allow(dead_code, reason = "each test binary uses its own part of the oracle")]
mod explore;
#[allow(dead_code, reason = "each test binary uses its own part of the oracle")]
mod oracle;

use explore::{SETUPS, Setup, explore, explore_by};
use oracle::{Model, Outcomes, Reading, outcomes};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use wmtrace_model::litmus::parse::parse;
use wmtrace_model::litmus::program::{Program, Quantifier, State};
use wmtrace_model::op::ModelKind;
use wmtrace_model::strategy::Exhaustive;

/// Loops go back at most so often, in the machine as in the oracle.
const UNROLL: u32 = 2;
const LIMIT: usize = 10_000_000;

const HEADER: &str = "\
# Is the condition of the test reachable? One line a test, checked by model/tests/corpus.rs.
#
#   yes   the machine reaches it, and the axioms allow it
#   no    the axioms forbid it
#   no*   the axioms allow it, but the machine does not produce it by design; the last column says why:
#         lb        needs a cycle of po and rf, which C++20 does not forbid, but RC11 and wmtrace do
#         mo        needs a modification order other than the order of execution; see --mo-insertion
#         sc-order  needs an SC order other than the order of execution
#         barrier   RELAXER's store-store barrier commits everything at once, more than it must
#         plain     a race: a plain load reads the newest store, which is one of the answers
";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Yes,
    No,
    ByDesign,
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::ByDesign => "no*",
        }
    }

    fn parse(word: &str) -> Option<Verdict> {
        [Verdict::Yes, Verdict::No, Verdict::ByDesign].into_iter().find(|verdict| verdict.name() == word)
    }
}

/// A line of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    verdicts: [Verdict; SETUPS.len()],
    reason: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../targets/litmus")
}

fn corpus() -> Vec<Program> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).expect("the corpus").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "litmus"));
    files.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let program = parse(&text).unwrap_or_else(|error| panic!("{}:{error}", path.display()));
        assert_eq!(path.file_stem().and_then(|stem| stem.to_str()), Some(program.name.as_str()));
        let condition = program.condition.as_ref().expect("a condition");
        assert_eq!(
            condition.quantifier,
            Quantifier::Exists,
            "{}: the table speaks of `exists`",
            program.name
        );
        program
    };
    files.iter().map(read).collect()
}

fn table() -> BTreeMap<String, Entry> {
    let text = std::fs::read_to_string(folder().join("expected.txt")).unwrap_or_default();
    let mut table = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a line has words").to_owned();
        let mut verdict =
            || words.next().and_then(Verdict::parse).unwrap_or_else(|| panic!("expected.txt: {line}"));
        let verdicts = std::array::from_fn(|_| verdict());
        let reason = words.collect::<Vec<_>>().join(" ");
        assert!(table.insert(name, Entry { verdicts, reason }).is_none(), "twice in expected.txt: {line}");
    }
    table
}

fn render(table: &BTreeMap<String, Entry>) -> String {
    let mut text = HEADER.to_owned();
    let mut row = |name: &str, columns: [&str; SETUPS.len()], reason: &str| {
        let mut line = format!("{name:<26}");
        for (setup, column) in SETUPS.iter().zip(columns) {
            write!(line, " {column:<width$}", width = setup.name.len().max(4)).expect("a string");
        }
        writeln!(text, "{}", format!("{line}  {reason}").trim_end()).expect("a string");
    };
    row("# test", SETUPS.map(|setup| setup.name), "why not");
    for (name, entry) in table {
        row(name, entry.verdicts.map(Verdict::name), &entry.reason);
    }
    text
}

/// Whether the condition holds in one of the states.
fn reachable(program: &Program, states: &BTreeSet<State>) -> bool {
    let formula = &program.condition.as_ref().expect("a condition").formula;
    states.iter().any(|state| formula.holds(state))
}

/// Explores the test on the machine, and holds the result against the oracle. For `no*`, also why.
fn verdict(program: &Program, setup: Setup, oracle: &Outcomes) -> (Verdict, Option<&'static str>) {
    let explored = explore(program, setup, UNROLL, LIMIT);
    assert!(explored.complete, "{}: too large", program.name);
    setup.compare(&explored, oracle).unwrap_or_else(|difference| panic!("{}: {difference}", program.name));
    if reachable(program, &explored.states) {
        return (Verdict::Yes, None);
    }
    let allows = |model| reachable(program, oracle.of(model));
    let reason = match setup.model {
        ModelKind::C11 if !allows(Model::C11(Reading::Cxx20Cyclic)) => None,
        ModelKind::C11 if !allows(Model::C11(Reading::Cxx20)) => Some("lb"),
        ModelKind::C11 if !allows(Model::C11(Reading::Rc11Exec)) => Some("sc-order"),
        ModelKind::C11 if !allows(Model::C11(Reading::Inserting)) => Some("plain"),
        ModelKind::C11 => Some("mo"),
        ModelKind::Pso | ModelKind::Pslo => allows(setup.allowing()[0]).then_some("barrier"),
        // These two are exact.
        ModelKind::Sc | ModelKind::Tso => None,
    };
    (if reason.is_some() { Verdict::ByDesign } else { Verdict::No }, reason)
}

#[test]
fn every_test_under_every_model() {
    let mut found = BTreeMap::new();
    for program in corpus() {
        let oracle = outcomes(&program, UNROLL as usize, LIMIT).expect("a small test");
        let answers = SETUPS.map(|setup| verdict(&program, setup, &oracle));
        let mut reasons: Vec<&str> = answers.iter().filter_map(|&(_, reason)| reason).collect();
        reasons.dedup();
        let entry = Entry { verdicts: answers.map(|(verdict, _)| verdict), reason: reasons.join(" ") };
        found.insert(program.name.clone(), entry);
    }
    if std::env::var_os("WMTRACE_PROMOTE").is_some() {
        std::fs::write(folder().join("expected.txt"), render(&found)).expect("the table can be written");
        return;
    }
    let expected = table();
    for (name, entry) in &found {
        assert_eq!(
            expected.get(name),
            Some(entry),
            "{name}: the table (left) differs. If the machine is right, promote with\n  \
             WMTRACE_PROMOTE=1 cargo test -p wmtrace-model --test corpus"
        );
    }
    let stale: Vec<_> = expected.keys().filter(|name| !found.contains_key(*name)).collect();
    assert!(stale.is_empty(), "in expected.txt, but not in the corpus: {stale:?}");
}

/// RELAXER, §4.2: PSO reorders stores, PSLO also loads; neither does TSO.
#[test]
fn pso_and_pslo_are_weaker_than_tso_where_relaxer_says_so() {
    let reaches = |test: &str, machine: &str| {
        let program = corpus().into_iter().find(|program| program.name == test).expect("in the corpus");
        let setup = SETUPS.into_iter().find(|setup| setup.name == machine).expect("a machine");
        reachable(&program, &explore(&program, setup, UNROLL, LIMIT).states)
    };
    for (test, machines) in [
        // Two stores are swapped.
        ("MP+rlx", ["pso", "pslo"].as_slice()),
        ("2+2W+rlx", &["pso", "pslo"]),
        ("S+rlx", &["pso", "pslo"]),
        ("ISA2+rlx", &["pso", "pslo"]),
        // Two loads are swapped.
        ("MP+rel+rlx", &["pslo"]),
        ("WRC+rlx", &["pslo"]),
        ("IRIW+rlx", &["pslo"]),
        // Nothing is swapped that any of them keeps.
        ("LB+rlx", &[]),
        ("MP+rel+acq", &[]),
    ] {
        for machine in ["tso", "pso", "pslo"] {
            assert_eq!(reaches(test, machine), machines.contains(&machine), "{test} under {machine}");
        }
    }
}

#[test]
fn the_corpus_is_as_large_as_promised() {
    assert!(corpus().len() >= 60);
}

/// What the exhaustive strategy leaves out because it commutes changes no outcome. For the models whose outcomes
/// are exactly the oracle's that is shown already; it matters most for pso and pslo.
#[test]
fn the_reduction_loses_nothing() {
    let mut compared = [0; SETUPS.len()];
    for program in corpus() {
        for (setup, compared) in SETUPS.into_iter().zip(&mut compared) {
            let all = explore_by(&program, setup.config(), UNROLL, 5_000, Exhaustive::without_reduction());
            if all.complete {
                let reduced = explore(&program, setup, UNROLL, LIMIT);
                assert_eq!(reduced.states, all.states, "{}, {}", program.name, setup.name);
                *compared += 1;
            }
        }
    }
    // The others have too many executions to look at one by one.
    assert!(compared.iter().all(|&compared| compared >= 60), "{compared:?}");
}

/// A machine that may remember next to nothing (one store of a cell, one cell, one held store) reaches fewer
/// states, and never one that it would not reach otherwise; nor does it see a race where there is none.
#[test]
fn forgetting_loses_behaviour_and_invents_none() {
    let mut lost = 0;
    for program in corpus() {
        for setup in SETUPS {
            let all = explore(&program, setup, UNROLL, 20_000);
            if !all.complete {
                continue;
            }
            for keep_events in [true, false] {
                let mut config = setup.config();
                (config.limits.history, config.limits.cells, config.limits.held) = (1, 1, 1);
                config.limits.pages = 1;
                config.keep_events = keep_events;
                // What commutes is another question when cells come and go: look at everything.
                let few = explore_by(&program, config, UNROLL, 5_000, Exhaustive::without_reduction());
                let (name, setup) = (&program.name, setup.name);
                assert!(few.states.is_subset(&all.states), "{name}, {setup}, events kept: {keep_events}");
                assert!(!few.race || all.race, "{name}, {setup}, events kept: {keep_events}");
                lost += usize::from(few.states.len() < all.states.len());
            }
        }
    }
    assert!(lost > 50, "the limits take effect: {lost}");
}
