//! Explores all executions of a litmus program on the machine, certifies each of them, and holds the outcomes
//! against the oracle's.

use crate::oracle::{Model, Outcomes, Reading, random};
use std::collections::BTreeSet;
use wmtrace_model::axioms::certify;
use wmtrace_model::litmus::program::{Program, State};
use wmtrace_model::litmus::sim::{self, End};
use wmtrace_model::machine::{Config, Machine};
use wmtrace_model::op::ModelKind;
use wmtrace_model::strategy::Exhaustive;

/// A machine to compare with the oracle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Setup {
    /// As in the table of the corpus.
    pub(crate) name: &'static str,
    pub(crate) model: ModelKind,
    pub(crate) insertion: bool,
}

/// Every machine.
pub(crate) const SETUPS: [Setup; 6] = [
    Setup { name: "sc", model: ModelKind::Sc, insertion: false },
    Setup { name: "tso", model: ModelKind::Tso, insertion: false },
    Setup { name: "pso", model: ModelKind::Pso, insertion: false },
    Setup { name: "pslo", model: ModelKind::Pslo, insertion: false },
    Setup { name: "c11", model: ModelKind::C11, insertion: false },
    Setup { name: "c11+insertion", model: ModelKind::C11, insertion: true },
];

/// What the machine has reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Explored {
    pub(crate) states: BTreeSet<State>,
    /// Whether these are all there are.
    pub(crate) complete: bool,
    /// Whether any execution had a race.
    pub(crate) race: bool,
}

/// Runs up to `limit` executions of the program, loops going back at most `unroll` times.
///
/// # Panics
/// When an execution does not satisfy its model's axioms, or ends in a way that a litmus program cannot.
pub(crate) fn explore(program: &Program, setup: Setup, unroll: u32, limit: usize) -> Explored {
    explore_by(program, setup.config(), unroll, limit, Exhaustive::new(setup.model))
}

/// The same, by a given exploration: with or without leaving out what is known to be the same.
pub(crate) fn explore_by(
    program: &Program,
    config: Config,
    unroll: u32,
    limit: usize,
    exhaustive: Exhaustive,
) -> Explored {
    let what = format!("{} {}", config.model, if config.insertion { "with insertion" } else { "" });
    let mut machine = Machine::new(config, exhaustive);
    let mut explored = Explored::default();
    for _ in 0..limit {
        let outcome = sim::run(program, &mut machine, Some(unroll));
        match outcome.end {
            End::Finished | End::Cut => {
                let execution = machine.execution();
                if let Err(violation) = certify(execution) {
                    let (text, events) = (random::show(program), random::show_execution(execution));
                    panic!("{}, {what}: {violation:?}\n{text}\n{events}", program.name);
                }
            }
            End::Abandoned => {}
            other => panic!("{}, {what}: {other:?}", program.name),
        }
        explored.race |= !machine.findings().is_empty();
        if outcome.end == End::Finished {
            explored.states.insert(outcome.state);
        }
        if !machine.strategy_mut().advance() {
            explored.complete = true;
            break;
        }
        machine.reset();
    }
    explored
}

impl Setup {
    /// The machine's settings: no spinning rule, since that would leave executions out.
    pub(crate) fn config(self) -> Config {
        let mut config = Config::new(self.model);
        config.insertion = self.insertion;
        config.spin = false;
        config
    }

    /// The models of the oracle whose outcomes must contain the machine's.
    pub(crate) const fn allowing(self) -> &'static [Model] {
        match self.model {
            ModelKind::Sc => &[Model::Sc],
            ModelKind::Tso => &[Model::Tso],
            ModelKind::Pso => &[Model::Pso],
            ModelKind::Pslo => &[Model::Pslo],
            ModelKind::C11 => &[Model::C11(Reading::Rc11), Model::C11(Reading::Cxx20)],
        }
    }

    /// The model of the oracle whose outcomes are exactly the machine's, if there is one.
    pub(crate) const fn exact(self) -> Option<Model> {
        match self.model {
            ModelKind::Sc => Some(Model::Sc),
            ModelKind::Tso => Some(Model::Tso),
            ModelKind::Pso | ModelKind::Pslo => None,
            ModelKind::C11 if self.insertion => Some(Model::C11(Reading::Inserting)),
            ModelKind::C11 => Some(Model::C11(Reading::Appending)),
        }
    }

    /// Compares the machine's outcomes with the oracle's.
    ///
    /// # Errors
    /// When the machine reaches what the model forbids, or misses what it is meant to reach: which, in words.
    pub(crate) fn compare(self, explored: &Explored, oracle: &Outcomes) -> Result<(), String> {
        for &model in self.allowing() {
            if let Some(state) = explored.states.difference(oracle.of(model)).next() {
                return Err(format!("{} reaches what {model:?} forbids: {state:?}", self.name));
            }
        }
        if let Some(model) = self.exact().filter(|_| explored.complete)
            && let Some(state) = oracle.of(model).difference(&explored.states).next()
        {
            return Err(format!("{} misses what {model:?} allows: {state:?}", self.name));
        }
        Ok(())
    }
}
