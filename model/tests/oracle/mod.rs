//! An axiomatic oracle: the final states that a small program can have under a model, by brute force.
//!
//! It enumerates every candidate execution (all paths, all `rf`, all `mo`) and keeps those that satisfy the
//! model's axioms, written with boolean matrices as the papers write them. It shares no code with the machine
//! or with `wmtrace_model::axioms`: only programs and states, which are data.
//!
//! * [`walk`]: the events of one thread along one path.
//! * [`candidate`]: all candidates of a program.
//! * [`relation`]: the matrices.
//! * [`c11`], [`hardware`]: the axioms.

pub(crate) mod c11;
pub(crate) mod candidate;
pub(crate) mod hardware;
pub(crate) mod random;
pub(crate) mod relation;
pub(crate) mod walk;

pub(crate) use c11::Reading;
use candidate::{Candidate, TooLarge, Which, candidates};
use std::collections::BTreeSet;
use wmtrace_model::litmus::program::{Program, State};

/// The models that the oracle knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Model {
    Sc,
    Tso,
    Pso,
    Pslo,
    /// C11 in one of its readings.
    C11(Reading),
}

impl Model {
    pub(crate) const ALL: [Model; 11] = [
        Model::Sc,
        Model::Tso,
        Model::Pso,
        Model::Pslo,
        Model::C11(Reading::Rc11),
        Model::C11(Reading::Rc11Exec),
        Model::C11(Reading::Cxx20),
        Model::C11(Reading::Cxx20Cyclic),
        Model::C11(Reading::Strong),
        Model::C11(Reading::Inserting),
        Model::C11(Reading::Appending),
    ];

    /// Whether the model allows the candidate, which is known to be coherent.
    pub(crate) fn allows(self, candidate: &Candidate) -> bool {
        match self {
            Model::Sc => hardware::allows_sc(candidate),
            Model::Tso => hardware::allows_tso(candidate),
            Model::Pso => hardware::allows_pso(candidate),
            Model::Pslo => hardware::allows_pslo(candidate),
            Model::C11(reading) => c11::allows(candidate, reading),
        }
    }

    fn index(self) -> usize {
        Model::ALL.iter().position(|&model| model == self).expect("all of them")
    }
}

/// The final states of a program, by model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcomes {
    by_model: [BTreeSet<State>; Model::ALL.len()],
}

impl Outcomes {
    /// The states that the model allows.
    pub(crate) fn of(&self, model: Model) -> &BTreeSet<State> {
        &self.by_model[model.index()]
    }

    /// Adds the final state of a coherent candidate to every model that allows it.
    pub(crate) fn add(&mut self, candidate: &Candidate) {
        for (model, states) in Model::ALL.into_iter().zip(&mut self.by_model) {
            // One witness a state is enough.
            if !states.contains(&candidate.state) && model.allows(candidate) {
                states.insert(candidate.state.clone());
            }
        }
    }
}

/// The final states of the program under every model, loops going back at most `unroll` times: an execution
/// that would go on is dropped.
///
/// # Errors
/// When the program has more than about `limit` coherent candidates.
pub(crate) fn outcomes(program: &Program, unroll: usize, limit: usize) -> Result<Outcomes, TooLarge> {
    let mut outcomes = Outcomes::default();
    candidates(program, unroll, Which::Coherent, limit, &mut |candidate| outcomes.add(candidate))?;
    Ok(outcomes)
}
