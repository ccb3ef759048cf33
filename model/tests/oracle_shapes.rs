//! The oracle itself, on shapes whose answers are known from elsewhere.
//!
//! The other tests trust the oracle, so here it is checked against the papers: where its models differ from
//! each other, how many candidates small programs have, and which models are weaker than which.

#[allow(dead_code, reason = "each test binary uses its own part of the oracle")]
mod oracle;

use oracle::candidate::{Candidate, TooLarge, Which, candidates};
use oracle::{Model, Outcomes, Reading, outcomes, random};
use wmtrace_model::litmus::parse::parse;
use wmtrace_model::litmus::program::Program;

const RC11: Model = Model::C11(Reading::Rc11);
const RC11_EXEC: Model = Model::C11(Reading::Rc11Exec);
const CXX20: Model = Model::C11(Reading::Cxx20);
const CXX20_CYCLIC: Model = Model::C11(Reading::Cxx20Cyclic);
const STRONG: Model = Model::C11(Reading::Strong);
const INSERTING: Model = Model::C11(Reading::Inserting);
const APPENDING: Model = Model::C11(Reading::Appending);

fn corpus(name: &str) -> Program {
    let path = format!("{}/../targets/litmus/{name}.litmus", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    parse(&text).unwrap_or_else(|error| panic!("{path}:{error}"))
}

/// Two threads' statements over `atomic_int`s x and y, nothing asked.
fn two_threads(first: &str, second: &str) -> Program {
    let parameters = "atomic_int* x, atomic_int* y";
    let text = format!(
        "C test\n{{ x = 0; y = 0; }}\nP0 ({parameters}) {{ {first} }}\nP1 ({parameters}) {{ {second} }}"
    );
    parse(&text).unwrap_or_else(|error| panic!("{text}:{error}"))
}

fn allows(program: &Program, model: Model) -> bool {
    let outcomes = outcomes(program, 2, 1_000_000).expect("a small test");
    let formula = &program.condition.as_ref().expect("a condition").formula;
    outcomes.of(model).iter().any(|state| formula.holds(state))
}

fn count(program: &Program, which: Which) -> usize {
    let mut count = 0;
    candidates(program, 2, which, 1_000_000, &mut |_: &Candidate| count += 1).expect("a small test");
    count
}

/// Each line tells two models apart, or shows a barrier at work.
#[test]
fn the_models_differ_where_the_papers_say() {
    let table: &[(&str, &[Model], &[Model])] = &[
        // Store buffering is what TSO allows and SC does not; forwarding too.
        ("SB+rlx", &[Model::Tso, Model::Pso, Model::Pslo, RC11, APPENDING], &[Model::Sc]),
        ("SB+rfi", &[Model::Tso, Model::Pso, Model::Pslo, RC11], &[Model::Sc]),
        ("SB+sc-fences", &[], &Model::ALL),
        ("SB+xchg-rlx", &[Model::Pslo, RC11], &[Model::Tso, Model::Pso]),
        // RELAXER, figures 5 and 6: PSO reorders stores, PSLO loads too; neither a load with a later store.
        ("MP+rlx", &[Model::Pso, Model::Pslo, RC11], &[Model::Sc, Model::Tso]),
        ("MP+rel+rlx", &[Model::Pslo, RC11], &[Model::Tso, Model::Pso]),
        ("MP+rel+acq", &[], &Model::ALL),
        ("2+2W+rlx", &[Model::Pso, INSERTING], &[Model::Tso, APPENDING]),
        ("IRIW+rlx", &[Model::Pslo, RC11], &[Model::Tso, Model::Pso]),
        ("IRIW+rel-acq", &[RC11, CXX20], &[Model::Pslo]),
        // Load buffering needs a po ∪ rf cycle, and one of values is no candidate at all.
        ("LB+rlx", &[CXX20_CYCLIC], &[Model::Sc, Model::Tso, Model::Pso, Model::Pslo, RC11, CXX20]),
        ("LB+datas", &[], &Model::ALL),
        // Release sequences of C++20: through RMWs only.
        ("RS+rmw", &[], &Model::ALL),
        ("RS+own-store", &[RC11, CXX20], &[Model::Tso, Model::Pslo]),
    ];
    for (name, allowed, forbidden) in table {
        let program = corpus(name);
        for &model in *allowed {
            assert!(allows(&program, model), "{name} under {model:?}");
        }
        for &model in *forbidden {
            assert!(!allows(&program, model), "{name} under {model:?}");
        }
    }
}

/// RC11's SC fences are weaker than any execution order of them. Three threads: x=1; F; y=1, then r0=y; z=1,
/// then r1=z; F; r2=x. With r0=r1=1 the first fence executes before the second, which must then see x=1 if
/// fences hand on views in execution order. But no relaxed access synchronises, so RC11 has no psc edge from the
/// first fence to the second. So even without SC accesses, a machine like ours is not exact for RC11.
#[test]
fn rc11_allows_what_no_execution_order_of_sc_fences_gives() {
    let program = corpus("fence-LB-ish");
    assert!(allows(&program, RC11) && allows(&program, CXX20));
    assert!(!allows(&program, RC11_EXEC) && !allows(&program, INSERTING));
}

/// RC11 orders SC loads by mo and fr only; C++20 also through a relaxed store that one of them reads.
#[test]
fn rc11_allows_what_cxx20_forbids_of_sc_loads() {
    let program = corpus("SC-loads+cob");
    assert!(allows(&program, RC11) && allows(&program, RC11_EXEC));
    assert!(!allows(&program, CXX20) && !allows(&program, INSERTING));
}

/// Lahav et al. 2017, §2.1: allowed since the SC order need not agree with happens-before.
#[test]
fn z6u_is_allowed_but_not_in_execution_order() {
    let program = corpus("Z6.U");
    assert!(allows(&program, RC11) && allows(&program, CXX20));
    assert!(!allows(&program, RC11_EXEC) && !allows(&program, INSERTING));
}

/// Counted by hand.
#[test]
fn candidates_are_all_there() {
    // SB: each load has two sources, each location one store.
    assert_eq!(count(&corpus("SB+rlx"), Which::All), 4);
    // CoRR: two loads with two sources each, three of the four coherent.
    assert_eq!(count(&corpus("CoRR"), Which::All), 4);
    assert_eq!(count(&corpus("CoRR"), Which::Coherent), 3);
    // Two increments: each reads 0 or the other's, in two orders; both reading the other is thin air.
    assert_eq!(count(&corpus("RMW+add-add"), Which::All), 3 * 2);
    assert_eq!(count(&corpus("RMW+add-add"), Which::Coherent), 2);
    // 2+2W: two orders of each location's stores.
    assert_eq!(count(&corpus("2+2W+rlx"), Which::Coherent), 4);
}

#[test]
fn a_loop_is_cut_after_its_bound() {
    let spin = "while (atomic_load_explicit(y, memory_order_relaxed) == 0) { }";
    let program = two_threads("atomic_store_explicit(y, 1, memory_order_relaxed);", spin);
    // It may read 0 twice before the bound, then must read 1: three executions.
    assert_eq!(count(&program, Which::Coherent), 3);
    // Nobody writes: nothing ends.
    assert_eq!(count(&two_threads("", spin), Which::All), 0);
}

#[test]
fn values_wrap_at_the_width_of_their_cell() {
    let program = corpus("RMW+char-wraps");
    assert!(allows(&program, Model::Sc));
}

#[test]
fn a_program_that_is_too_large_is_refused() {
    assert_eq!(outcomes(&corpus("CoRR2"), 2, 5), Err(TooLarge));
}

/// Looking at one location at a time loses nothing.
#[test]
fn pruning_by_location_changes_no_outcome() {
    for index in 0..1000 {
        let program = random::program(1, index);
        let Ok(pruned) = outcomes(&program, 0, 100) else { continue };
        let mut all = Outcomes::default();
        let result = candidates(&program, 0, Which::All, 100_000, &mut |candidate| {
            if candidate.is_coherent() {
                all.add(candidate);
            }
        });
        if result.is_ok() {
            assert_eq!(all, pruned, "{}", random::show(&program));
        }
    }
}

/// What is stronger allows less. That the hardware models are stronger than C11 is the soundness of compiling
/// to them.
#[test]
fn stronger_models_allow_less() {
    let pairs = [
        (Model::Sc, Model::Tso),
        (Model::Tso, Model::Pso),
        (Model::Pso, Model::Pslo),
        (Model::Pslo, RC11),
        (Model::Pslo, CXX20),
        (Model::Sc, APPENDING),
        (APPENDING, INSERTING),
        (INSERTING, STRONG),
        (INSERTING, RC11_EXEC),
        (STRONG, RC11),
        (STRONG, CXX20),
        (RC11_EXEC, RC11),
        (CXX20, CXX20_CYCLIC),
    ];
    let mut checked = 0;
    for index in 0..3000 {
        let program = random::program(2, index);
        let Ok(outcomes) = outcomes(&program, 0, 2000) else { continue };
        checked += 1;
        for (stronger, weaker) in pairs {
            assert!(
                outcomes.of(stronger).is_subset(outcomes.of(weaker)),
                "{stronger:?} allows more than {weaker:?}\n{}",
                random::show(&program)
            );
        }
    }
    assert!(checked > 2000, "{checked}");
}
