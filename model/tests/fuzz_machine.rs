//! Random programs against the machine, through its public interface: threads that come and go, every kind of
//! operation on places that overlap in every way, plain ranges, the heap, locks and the kernel,
//! memory that somebody else writes; every model and
//! strategy, with the usual limits and with tiny ones.
//!
//! Of every run: the machine and the engine agree about memory, the execution satisfies its model's axioms, every
//! race is certified, and every finding is one that a slow reference sees in the engine's own log: a race is an
//! unordered pair, and the first one is found (where nothing makes the machine forget: the usual limits, bytes of
//! one size, no heap); a use after free is found exactly where one is; an uninitialised load read a byte that
//! nobody wrote. The same seed again is the same run, and
//! so is a replay of its choices.
//!
//! All seeds are fixed. A failure prints its setup, which this runs again, with its log and its events:
//! `FUZZ_SEED=… cargo test -p wmtrace-model --test fuzz_machine one_seed -- --nocapture`.

mod fuzz;

use fuzz::engine::{Setup, machine, run, strategy};
use fuzz::reference;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use wmtrace_model::axioms::{certify, certify_race};
use wmtrace_model::machine::{Finding, Limits};
use wmtrace_model::op::ModelKind;
use wmtrace_model::recording::Recording;
use wmtrace_model::rng::Rng;
use wmtrace_model::strategy::{Recorder, Replay, StrategyKind};

/// Findings are checked one by one: none may be lost to a limit on their number.
const ROOMY: usize = 100_000;

/// The setup of a seed. Half of them are c11, which has the most rules.
fn setup(seed: u64) -> Setup {
    let mut rng = Rng::new(Rng::seed_of(0xF022, seed));
    let model = if rng.below(2) == 0 { ModelKind::C11 } else { ModelKind::ALL[rng.below(5)] };
    let mut limits = Limits { findings: ROOMY, ..Limits::default() };
    if rng.below(3) == 0 {
        limits.history = 1 + rng.below(4);
        limits.pages = 1 + rng.below(3);
        limits.held = 1 + rng.below(2);
    }
    Setup {
        model,
        insertion: model == ModelKind::C11 && rng.below(2) == 0,
        limits,
        strategy: StrategyKind::ALL[rng.below(StrategyKind::ALL.len())],
        mixed: rng.below(2) == 0,
        heap: rng.below(2) == 0,
        sites: rng.below(8) != 0,
        foreign: rng.below(3) == 0,
        seed,
    }
}

fn check(setup: &Setup) {
    let run_twice = catch_unwind(AssertUnwindSafe(|| {
        let recording = Recording::new("fuzz", setup.model, "", setup.seed);
        let recorder = || Recorder::new(strategy(setup), recording.clone());
        let mut machine = machine(setup, recorder());
        let it = run(setup, &mut machine);
        if let Err(violation) = certify(&it.execution) {
            panic!("{violation}");
        }
        for finding in &it.findings {
            if let Finding::Race(race) = finding
                && let Err(violation) = certify_race(&it.execution, race)
            {
                panic!("{violation}: {race:#?}");
            }
        }
        if setup.sites {
            reference::check(&it, setup.limits.pages >= Limits::default().pages);
        }
        if setup.seed.is_multiple_of(3) {
            let first = core::mem::replace(machine.strategy_mut(), recorder()).into_parts().1;
            assert!(it == run(setup, &mut machine), "another run of the same seed is another run");
            assert!(first == *machine.strategy().recording());
            let mut replay = fuzz::engine::machine(setup, Replay::new(&first));
            assert!(it == run(setup, &mut replay), "its replay is another run");
            assert_eq!(replay.strategy().clone().finish(), None);
        }
        it.log.len()
    }));
    if let Err(panic) = run_twice {
        eprintln!("{setup:#?}");
        resume_unwind(panic);
    }
}

/// All seeds of one share of four, so that the test harness runs them side by side.
fn check_share(share: u64) {
    (0..SEEDS).filter(|seed| seed % 4 == share).for_each(|seed| check(&setup(seed)));
}

const SEEDS: u64 = 28_000;

#[test]
fn random_programs_0() {
    check_share(0);
}

#[test]
fn random_programs_1() {
    check_share(1);
}

#[test]
fn random_programs_2() {
    check_share(2);
}

#[test]
fn random_programs_3() {
    check_share(3);
}

/// Runs one seed, for a closer look.
#[test]
fn one_seed() {
    let Ok(seed) = std::env::var("FUZZ_SEED") else { return };
    let setup = setup(seed.parse().expect("a number"));
    let it = run(&setup, &mut machine(&setup, strategy(&setup)));
    println!("{setup:#?}");
    for (line, entry) in it.log.iter().enumerate() {
        println!("{line:4} {entry:?}");
    }
    for (id, event) in it.execution.iter() {
        println!("{id} {} {:?} {:?}", event.thread, event.site, event.label);
    }
    println!("{:#?}", it.findings);
    check(&setup);
}
