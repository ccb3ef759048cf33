//! What the integration tests share: running a program once or many times, certified.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod conductor;

use wmtrace_model::axioms::certify;
use wmtrace_model::litmus::parse::parse;
use wmtrace_model::litmus::program::Program;
use wmtrace_model::litmus::sim::{self, Outcome};
use wmtrace_model::machine::{Config, Machine};
use wmtrace_model::op::ModelKind;
use wmtrace_model::strategy::{Parameters, Strategy, StrategyKind, build};

/// A program from its text.
pub(crate) fn program(text: &str) -> Program {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs the program once with this strategy; the execution must satisfy its model's axioms.
pub(crate) fn run_with<S: Strategy>(program: &Program, config: Config, strategy: S) -> (Outcome, Machine<S>) {
    let mut machine = Machine::new(config, strategy);
    let outcome = sim::run(program, &mut machine, None);
    if let Err(violation) = certify(machine.execution()) {
        panic!("{}: {violation}\n{:#?}", program.name, machine.execution());
    }
    (outcome, machine)
}

/// Parameters of a strategy.
pub(crate) fn parameters(depth: u32, k: u32, k_com: u32, history: u32) -> Parameters {
    Parameters { depth, k, k_com, history, eager: false, aim: None }
}

/// How many of `runs` executions (seeds `0..runs`) satisfy `hit`.
pub(crate) fn count(
    program: &Program,
    model: ModelKind,
    kind: StrategyKind,
    parameters: &Parameters,
    runs: u64,
    hit: impl Fn(&Outcome) -> bool,
) -> u64 {
    let run = |seed| run_with(program, Config::new(model), build(kind, parameters, seed)).0;
    (0..runs).filter(|&seed| hit(&run(seed))).count() as u64
}

/// Whether `hits` of `runs` is within five standard deviations of the binomial distribution with probability
/// `p`: a right implementation fails this once in two million tries, and the seeds are fixed.
pub(crate) fn is_binomial(hits: u64, runs: u64, p: f64) -> bool {
    let (hits, runs) = (hits as f64, runs as f64);
    (hits - runs * p).abs() <= 5.0 * (runs * p * (1.0 - p)).sqrt()
}
