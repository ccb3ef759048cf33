//! Explores all executions of a litmus program on the machine, and certifies each of them.

use std::collections::BTreeSet;
use wmtrace_model::axioms::certify;
use wmtrace_model::litmus::program::{Program, State};
use wmtrace_model::litmus::sim::{self, End};
use wmtrace_model::machine::{Config, Machine};
use wmtrace_model::op::ModelKind;
use wmtrace_model::strategy::exhaustive::Exhaustive;

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

/// There are more executions than the caller wants to see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooMany;

/// The final states of the program, loops going back at most `unroll` times.
///
/// # Errors
/// When there are more than `limit` executions.
///
/// # Panics
/// When an execution does not satisfy its model's axioms, or ends in a way that a litmus program cannot.
pub(crate) fn states(
    program: &Program,
    setup: Setup,
    unroll: u32,
    limit: usize,
) -> Result<BTreeSet<State>, TooMany> {
    let mut config = Config::new(setup.model);
    config.insertion = setup.insertion;
    config.spin = false;
    let mut machine = Machine::new(config, Exhaustive::new(setup.model));
    let mut states = BTreeSet::new();
    for _ in 0..limit {
        let outcome = sim::run(program, &mut machine, Some(unroll));
        match outcome.end {
            End::Finished | End::Cut => {
                let execution = machine.execution();
                if let Err(violation) = certify(execution) {
                    panic!("{}, {}: {violation:?}\n{execution:#?}", program.name, setup.name);
                }
            }
            End::Abandoned => {}
            other => panic!("{}, {}: {other:?}", program.name, setup.name),
        }
        if outcome.end == End::Finished {
            states.insert(outcome.state);
        }
        if !machine.strategy_mut().advance() {
            return Ok(states);
        }
        machine.reset();
    }
    Err(TooMany)
}
