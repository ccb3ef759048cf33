//! Ten thousand random programs: what the machine reaches is what the oracle allows.
//!
//! Under every model the outcomes are a subset of the oracle's. They are equal under sc and tso. Under c11 they
//! are those of the axioms with everything in execution order (`Inserting`, `Appending`), which is RC11 with SC
//! fences in execution order where there are no SC or plain accesses, and RC11 itself where there are no SC
//! fences either. Every execution is certified on the way. Prints how much of RC11, PSO and PSLO is reached.

mod explore;
#[allow(dead_code, reason = "each test binary uses its own part of the oracle")]
mod oracle;

use explore::{SETUPS, explore};
use oracle::random::{self, Contents};
use oracle::{Model, Reading, outcomes};
use std::io::Write;
use std::thread;
use wmtrace_model::op::ModelKind;

const SEED: u64 = 20_260_101;
const PROGRAMS: u64 = 10_000;
const WORKERS: u64 = 2;

/// Bounds on one program, so that a few large ones do not take all the time. One that has more coherent
/// candidates, or executions under a model for which we claim equality, is passed over. Of pso and pslo, where
/// every commit is a step of its own, large programs are explored in part: what is reached is still checked.
const MAX_CANDIDATES: usize = 2_000;
const MAX_EXECUTIONS: usize = 10_000;
const MAX_BUFFERED_EXECUTIONS: usize = 1_000;

/// How many outcomes an axiomatic model has over a class of programs, and how many of them a machine reached.
#[derive(Clone, Copy, Default, Debug)]
struct Share {
    programs: u64,
    reached: usize,
    allowed: usize,
}

impl Share {
    fn add(&mut self, reached: usize, allowed: usize) {
        *self = self.join(Share { programs: 1, reached, allowed });
    }

    fn join(self, other: Share) -> Share {
        Share {
            programs: self.programs + other.programs,
            reached: self.reached + other.reached,
            allowed: self.allowed + other.allowed,
        }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = 100.0 * self.reached as f64 / self.allowed as f64;
        write!(f, "{percent:.2} % ({} of {}, {} programs)", self.reached, self.allowed, self.programs)
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    programs: u64,
    too_large: u64,
    /// RC11's outcomes, reached by c11 with insertion: of programs with SC accesses, with SC fences only, and
    /// without either. Programs with plain accesses are in none of them.
    sc_accesses: Share,
    sc_fences: Share,
    no_sc: Share,
    /// The axioms' outcomes of programs that were explored completely.
    pso: Share,
    pslo: Share,
}

impl Tally {
    /// Shows the result of a passing test, too: written to the stream itself, it is not captured.
    fn print(&self) {
        let text = format!(
            "\n{} programs, besides {} that are too large\n\
             RC11's outcomes reached by c11 with insertion:\n  with SC accesses    {}\n  with SC fences only {}\n  \
             without SC          {}\n\
             the axioms' outcomes reached by pso and pslo, of programs explored completely:\n  \
             pso                 {}\n  pslo                {}\n",
            self.programs, self.too_large, self.sc_accesses, self.sc_fences, self.no_sc, self.pso, self.pslo,
        );
        std::io::stdout().write_all(text.as_bytes()).expect("standard output");
    }

    fn join(self, other: Tally) -> Tally {
        Tally {
            programs: self.programs + other.programs,
            too_large: self.too_large + other.too_large,
            sc_accesses: self.sc_accesses.join(other.sc_accesses),
            sc_fences: self.sc_fences.join(other.sc_fences),
            no_sc: self.no_sc.join(other.no_sc),
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
            let limit = if setup.exact().is_some() { MAX_EXECUTIONS } else { MAX_BUFFERED_EXECUTIONS };
            let explored = explore(&program, setup, 0, limit);
            setup.compare(&explored, &oracle).unwrap_or_else(|difference| fail(difference));
            if setup.exact().is_some() && !explored.complete {
                self.too_large += 1;
                return;
            }
            reached.push((setup, explored));
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
        for (setup, explored) in reached {
            let reached = explored.states.len();
            match (setup.model, setup.insertion) {
                (ModelKind::Pso, _) if explored.complete => {
                    self.pso.add(reached, oracle.of(Model::Pso).len());
                }
                (ModelKind::Pslo, _) if explored.complete => {
                    self.pslo.add(reached, oracle.of(Model::Pslo).len());
                }
                (ModelKind::C11, true) if !plain => match (sc_accesses, sc_fences) {
                    (true, _) => self.sc_accesses.add(reached, rc11.len()),
                    (false, true) => self.sc_fences.add(reached, rc11.len()),
                    (false, false) => self.no_sc.add(reached, rc11.len()),
                },
                _ => {}
            }
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
    tally.print();
    // Every class has its part in the result.
    for class in [tally.sc_accesses, tally.sc_fences, tally.no_sc, tally.pso, tally.pslo] {
        assert!(class.programs > PROGRAMS / 10, "{tally:?}");
    }
}
