//! Ten thousand random programs: what the machine reaches is what the oracle allows.
//!
//! Under every model the outcomes are a subset of the oracle's. They are equal under sc and tso. Under c11 they
//! are those of the axioms with everything in execution order (`Inserting`, `Appending`), which is RC11 with SC
//! fences in execution order where there are no SC or plain accesses, and RC11 itself where there are no SC
//! fences either. Every execution is certified on the way. Prints how much of RC11, PSO and PSLO is reached.

mod explore;
#[allow(dead_code, reason = "each test binary uses its own part of the oracle")]
mod oracle;

use explore::SETUPS;
use oracle::random::{self, Contents};
use oracle::{Model, Reading, outcomes};
use std::thread;
use wmtrace_model::op::ModelKind;

const SEED: u64 = 20_260_101;
const PROGRAMS: u64 = 10_000;
const WORKERS: u64 = 2;

/// Bounds on one program, so that a few large ones do not take all the time: coherent candidates of the
/// oracle, and executions of one machine.
const MAX_CANDIDATES: usize = 2_000;
const MAX_EXECUTIONS: usize = 5_000;

/// Outcomes of an axiomatic model, and how many of them a machine has reached.
#[derive(Clone, Copy, Default, Debug)]
struct Share {
    reached: usize,
    allowed: usize,
}

#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    programs: u64,
    too_large: u64,
    /// Programs with SC accesses; with SC fences only; with neither. Plain accesses may be in the first.
    sc_accesses: u64,
    sc_fences: u64,
    neither: u64,
    /// RC11's outcomes of programs with SC accesses, reached with insertion.
    rc11: Share,
    /// RC11's outcomes of programs with SC fences only, reached with insertion.
    rc11_fences: Share,
    pso: Share,
    pslo: Share,
}

impl Share {
    fn add(&mut self, reached: usize, allowed: usize) {
        self.reached += reached;
        self.allowed += allowed;
    }

    fn join(self, other: Share) -> Share {
        Share { reached: self.reached + other.reached, allowed: self.allowed + other.allowed }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = 100.0 * self.reached as f64 / self.allowed as f64;
        write!(f, "{} of {} outcomes ({percent:.3} %)", self.reached, self.allowed)
    }
}

impl Tally {
    fn join(self, other: Tally) -> Tally {
        Tally {
            programs: self.programs + other.programs,
            too_large: self.too_large + other.too_large,
            sc_accesses: self.sc_accesses + other.sc_accesses,
            sc_fences: self.sc_fences + other.sc_fences,
            neither: self.neither + other.neither,
            rc11: self.rc11.join(other.rc11),
            rc11_fences: self.rc11_fences.join(other.rc11_fences),
            pso: self.pso.join(other.pso),
            pslo: self.pslo.join(other.pslo),
        }
    }

    /// Checks program number `index` and counts it.
    fn check(&mut self, index: u64) {
        let program = random::program(SEED, index);
        let contents = random::contents(&program);
        let fail = |what: String| -> ! {
            panic!(
                "{what}\n{}\nto repeat: WMTRACE_PROGRAM={index} cargo test -p wmtrace-model --test random_programs",
                random::show(&program)
            )
        };
        let Ok(oracle) = outcomes(&program, 0, MAX_CANDIDATES) else {
            self.too_large += 1;
            return;
        };
        let mut reached = Vec::new();
        for setup in SETUPS {
            let Ok(states) = explore::states(&program, setup, 0, MAX_EXECUTIONS) else {
                self.too_large += 1;
                return;
            };
            setup.compare(&states, &oracle).unwrap_or_else(|difference| fail(difference));
            reached.push((setup, states.len()));
        }

        // The oracle's own models agree where they should, so that equality means what the module says.
        let rc11 = oracle.of(Model::C11(Reading::Rc11));
        let inserting = oracle.of(Model::C11(Reading::Inserting));
        let Contents { sc_accesses, sc_fences, plain } = contents;
        if !sc_accesses && !plain && inserting != oracle.of(Model::C11(Reading::Rc11Exec)) {
            fail("without SC accesses, insertion is RC11 with SC fences in execution order".to_owned());
        }
        if !sc_accesses && !plain && !sc_fences && inserting != rc11 {
            fail("without SC, insertion is RC11".to_owned());
        }

        self.programs += 1;
        for (setup, reached) in reached {
            match (setup.model, setup.insertion) {
                (ModelKind::Pso, _) => self.pso.add(reached, oracle.of(Model::Pso).len()),
                (ModelKind::Pslo, _) => self.pslo.add(reached, oracle.of(Model::Pslo).len()),
                (ModelKind::C11, true) if sc_accesses => self.rc11.add(reached, rc11.len()),
                (ModelKind::C11, true) if sc_fences && !plain => self.rc11_fences.add(reached, rc11.len()),
                _ => {}
            }
        }
        match (sc_accesses, sc_fences) {
            (true, _) => self.sc_accesses += 1,
            (false, true) => self.sc_fences += 1,
            (false, false) => self.neither += 1,
        }
    }
}

#[test]
fn the_machine_reaches_what_the_oracle_allows() {
    if let Ok(index) = std::env::var("WMTRACE_PROGRAM") {
        Tally::default().check(index.parse().expect("a number"));
        return;
    }
    // Each worker takes every other program until it has its share, so the set does not depend on their speed.
    let worker = |first: u64| {
        let mut tally = Tally::default();
        let mut index = first;
        while tally.programs < PROGRAMS / WORKERS {
            tally.check(index);
            index += WORKERS;
        }
        tally
    };
    let tally = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|first| scope.spawn(move || worker(first))).collect();
        workers.into_iter().fold(Tally::default(), |sum, it| match it.join() {
            Ok(tally) => sum.join(tally),
            Err(panic) => std::panic::resume_unwind(panic),
        })
    });
    println!("{} programs, besides {} that are too large", tally.programs, tally.too_large);
    println!("{} with SC accesses: {} of RC11 reached", tally.sc_accesses, tally.rc11);
    println!("{} with SC fences only: {} of RC11 reached", tally.sc_fences, tally.rc11_fences);
    println!("{} without SC: exactly RC11", tally.neither);
    println!("pso: {} of the axioms reached; pslo: {}", tally.pso, tally.pslo);
    // Every class has its part in the result.
    let smallest = tally.sc_accesses.min(tally.sc_fences).min(tally.neither);
    assert!(smallest > PROGRAMS / 10, "{tally:?}");
}
