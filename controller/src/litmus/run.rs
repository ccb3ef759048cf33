//! Runs a test's executions, all of them or a sample, and certifies each against the model's axioms.

use crate::cli::{Exploration, LitmusOptions, Sampling};
use crate::litmus::progress::Progress;
use crate::litmus::tally::Tally;
use crate::litmus::{Failure, events, human};
use wmtrace_model::axioms::{Violation, certify, certify_race};
use wmtrace_model::litmus::program::Program;
use wmtrace_model::litmus::sim::{self, End};
use wmtrace_model::machine::{Config, Finding, Machine};
use wmtrace_model::plan::{Plan, Planned};
use wmtrace_model::strategy::{Exhaustive, Strategy, build};

/// Runs the test as the options say.
pub(crate) fn explore(options: &LitmusOptions, program: &Program) -> Result<Tally, Failure> {
    let mut config = Config::new(options.model);
    config.insertion = options.mo_insertion;
    config.max_events = options.max_events;
    match options.exploration {
        Exploration::Exhaustive { unroll, max_executions } => {
            // Loops are cut instead: holding spinning threads back would leave executions out.
            config.spin = false;
            exhaust(options, config, program, unroll, max_executions)
        }
        Exploration::Sampled(sampling) => sample(options, config, program, sampling),
    }
}

fn exhaust(
    options: &LitmusOptions,
    config: Config,
    program: &Program,
    unroll: u32,
    max_executions: u64,
) -> Result<Tally, Failure> {
    let mut machine = Machine::new(config, Exhaustive::new(options.model));
    let mut tally = Tally::new(program, options.all_terms);
    let mut progress = Progress::new(options.progress, None);
    for _ in 0..max_executions {
        machine.reset();
        run_one(program, &mut machine, Some(unroll), &mut tally)?;
        progress.tick();
        if !machine.strategy_mut().advance() {
            tally.exhausted = true;
            break;
        }
        if tally.is_full() {
            break;
        }
    }
    Ok(tally)
}

fn sample(
    options: &LitmusOptions,
    config: Config,
    program: &Program,
    sampling: Sampling,
) -> Result<Tally, Failure> {
    let Sampling { strategy, depth, events, history, seed, runs } = sampling;
    let history = history.unwrap_or(1);
    // `-k` is the papers' k: each strategy takes the one it knows.
    let mut plan = Plan::new(strategy, depth, events, events, history, seed);
    let strategy_for = |planned: Planned| build(strategy, &planned.parameters, planned.seed);
    let mut machine = Machine::new(config, strategy_for(plan.next_execution()));
    let mut tally = Tally::new(program, options.all_terms);
    let mut progress = Progress::new(options.progress, Some(runs));
    for _ in 0..runs {
        run_one(program, &mut machine, None, &mut tally)?;
        progress.tick();
        if tally.is_full() {
            break;
        }
        let (steps, communications) = machine.counts();
        let clamped = |count| u32::try_from(count).unwrap_or(u32::MAX);
        plan.observe(clamped(steps), clamped(communications));
        *machine.strategy_mut() = strategy_for(plan.next_execution());
        machine.reset();
    }
    Ok(tally)
}

/// Runs one execution, certifies it, and counts it.
fn run_one<S: Strategy>(
    program: &Program,
    machine: &mut Machine<S>,
    unroll: Option<u32>,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let outcome = sim::run(program, machine, unroll);
    let execution = machine.execution();
    // With every event and its own number, which the message is about.
    let detail = || human::execution(program, &events::all_rows(program, execution));
    let wrong = |message: String| Failure::Tool { message, detail: detail() };
    if outcome.end == End::Abandoned {
        // Its continuations have all been seen, in another order.
        return Ok(());
    }
    let uncertified =
        |violation: Violation| wrong(format!("an execution fails its certificate: {violation}"));
    certify(execution).map_err(uncertified)?;
    let mut races = Vec::new();
    for finding in machine.findings() {
        match finding {
            Finding::Race(race) => {
                certify_race(execution, race).map_err(uncertified)?;
                races.push(*race);
            }
            Finding::UseAfterFree { .. } | Finding::Uninitialised { .. } | Finding::AllocationRace(_) => {
                return Err(wrong(format!("a litmus test allocates nothing, but: {finding:?}")));
            }
        }
    }
    tally.races(&races, execution);
    match outcome.end {
        End::Finished => tally.finished(program, &outcome.state, execution),
        End::Stuck(stuck) => tally.stuck(stuck, execution),
        End::Cut => tally.cut += 1,
        End::Limit => tally.over_limit += 1,
        End::Mismatch(mismatch) => return Err(wrong(mismatch.to_string())),
        End::Diverged(divergence) => return Err(wrong(format!("no replay, but: {divergence}"))),
        End::Abandoned => {}
    }
    Ok(())
}
