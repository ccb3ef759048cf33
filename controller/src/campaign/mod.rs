//! A campaign: many executions of one program, and what they add up to.
//!
//! [`pool`] runs executions, [`judge`] says what is wrong with one, [`merge`] adds up. What is found depends on the
//! program, the options and the seed, and neither on the number of workers nor on who was faster.

pub(crate) mod blame;
pub(crate) mod cause;
mod causes;
pub(crate) mod command;
pub(crate) mod confirm;
pub(crate) mod judge;
pub(crate) mod limits;
mod meeting;
mod merge;
pub(crate) mod owner;
mod pool;
pub(crate) mod run;
mod said;
pub(crate) mod setup;
mod signal;
#[cfg(test)]
mod tests;
mod unmatched;
mod verify;
mod wrapped;

pub(crate) use verify::Difference;

use crate::bug::Bug;
use crate::engine::evidence::Ledger;
use crate::launch::Launch;
use crate::saved;
use judge::Occurrence;
use limits::Inconclusive;
use merge::Merger;
use pool::{Control, Work, round_size};
use run::{Failure, Output, Ran};
use setup::Setup;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use wmtrace_model::op::ModelKind;
use wmtrace_model::plan::{Plan, Planned};
use wmtrace_model::strategy::{Parameters, StrategyKind};
use wrapped::Wrapped;

/// How much is done, and how.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) strategy: StrategyKind,
    /// Whether other strategies take part.
    pub(crate) mixed: bool,
    pub(crate) depth: Option<u32>,
    pub(crate) events: Option<u32>,
    pub(crate) history: u32,
    pub(crate) seed: u64,
    pub(crate) runs: u64,
    pub(crate) time: Option<Duration>,
    pub(crate) jobs: u16,
    pub(crate) keep_going: bool,
    pub(crate) verify: bool,
    /// Where recordings go.
    pub(crate) out: PathBuf,
}

impl Order {
    /// One execution that was recorded.
    pub(crate) fn replay(strategy: StrategyKind, depth: u32, history: u32, seed: u64) -> Order {
        Order {
            strategy,
            mixed: false,
            depth: Some(depth),
            events: None,
            history,
            seed,
            runs: 1,
            time: None,
            jobs: 1,
            keep_going: false,
            verify: false,
            out: PathBuf::new(),
        }
    }
}

/// Why a campaign ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// All executions were made.
    Done,
    FirstBug,
    Time,
    Interrupted,
    Failed,
}

/// What a campaign found.
#[derive(Debug)]
pub(crate) struct Campaign {
    pub(crate) model: ModelKind,
    pub(crate) executions: u64,
    pub(crate) buggy: u64,
    /// Those that were given up.
    pub(crate) inconclusive: Inconclusive,
    /// Of all executions.
    pub(crate) events: u64,
    pub(crate) bugs: Vec<Bug>,
    /// Races that are none if an access is atomic after all.
    pub(crate) possible: Vec<Bug>,
    /// Suppressions that have matched something, by their numbers.
    pub(crate) suppressions_used: BTreeSet<usize>,
    /// There are more of them than are kept.
    pub(crate) more_possible: bool,
    /// Of the last execution.
    pub(crate) parameters: Option<Parameters>,
    pub(crate) warnings: Vec<String>,
    /// What the orders of the program's accesses are known by.
    pub(crate) ledger: Ledger,
    pub(crate) stop: Stop,
    pub(crate) failure: Option<Failure>,
    /// What was tested, if the program that was started has executed another.
    pub(crate) wrapped: Option<Wrapped>,
    /// What the program wrote in the first execution.
    pub(crate) output: Output,
}

/// Who is told how far a campaign is.
pub(crate) trait Observer {
    /// An execution has ended, or was given up.
    fn executed(&mut self, buggy: bool, given_up: bool);
}

/// Runs the campaign.
pub(crate) fn run<L: Launch>(
    launch: &L,
    setup: &Setup,
    order: &Order,
    observer: &mut dyn Observer,
) -> Campaign {
    let deadline = order.time.map(|time| Instant::now() + time);
    let control = Control::new(deadline);
    let (send_job, jobs) = channel();
    let (send_result, results) = channel();
    let jobs = Mutex::new(jobs);
    let mut campaign = Campaign {
        model: setup.engine.model,
        executions: 0,
        buggy: 0,
        inconclusive: Inconclusive::default(),
        events: 0,
        bugs: Vec::new(),
        possible: Vec::new(),
        suppressions_used: BTreeSet::new(),
        more_possible: false,
        parameters: None,
        warnings: Vec::new(),
        ledger: Ledger::default(),
        stop: Stop::Failed,
        failure: None,
        wrapped: None,
        output: Output::default(),
    };
    std::thread::scope(|scope| {
        let work = Work { jobs: &jobs, results: send_result, control: &control, verify: order.verify };
        let (tell, started) = channel();
        let mut workers = Vec::new();
        let mut missing: BTreeSet<String> = BTreeSet::new();
        match pool::worker(scope, launch, setup, work.clone(), tell.clone()) {
            Ok(first) => workers.push(first),
            Err(error) => {
                campaign.failure = Some(error.into());
                return;
            }
        }
        match started.recv() {
            Ok(Ok(())) => {
                for _ in 1..order.jobs {
                    match pool::worker(scope, launch, setup, work.clone(), tell.clone()) {
                        Ok(worker) => workers.push(worker),
                        Err(error) => drop(missing.insert(error.to_string())),
                    }
                }
                // Who is there is known before anybody is asked to leave.
                drop(tell);
                missing.extend(started.iter().filter_map(|it| it.err().map(|error| error.to_string())));
                // From here on only workers can send: if all of them are gone, nobody waits.
                drop(work);
                let merger = Merger::new(setup, order, &mut campaign);
                rounds(merger, order, &control, &send_job, &results, observer);
            }
            Ok(Err(error)) => campaign.failure = Some(error.into()),
            Err(_) => {
                let message = "the engine has failed inside wmtrace".to_string();
                campaign.failure = Some(judge::Defect::Other(message).into());
            }
        }
        drop(send_job);
        for worker in workers {
            // A panic has been reported by the promise that it broke.
            let _ = worker.join();
        }
        campaign.warnings.extend(missing.iter().map(|error| merge::fewer(error)));
    });
    campaign
}

/// Plans, runs and merges round after round.
fn rounds(
    mut merger: Merger<'_>,
    order: &Order,
    control: &Control,
    jobs: &Sender<Planned>,
    results: &Receiver<pool::Done>,
    observer: &mut dyn Observer,
) {
    // `-k` is the papers' k: each strategy takes the one it knows.
    let mut plan =
        Plan::new(order.strategy, order.depth, order.events, order.events, order.history, order.seed);
    plan = plan.eager(merger.inserts());
    if order.mixed {
        plan = plan.mixed();
    }
    let mut begun = 0;
    for round in 0.. {
        let size = round_size(round).min(order.runs - begun);
        if size == 0 {
            return merger.stop(Stop::Done);
        }
        for _ in 0..size {
            // Fails only if no worker is left, and then nothing comes back.
            let _ = jobs.send(plan.next_execution());
        }
        let mut slots: Vec<Option<Result<Ran, Failure>>> = (0..size).map(|_| None).collect();
        let mut open = size;
        while open > 0 {
            let Ok((index, result)) = results.recv() else { break };
            if let Some(Err(Failure::Crowded { planned, why })) = result {
                merger.fewer(&why);
                let _ = jobs.send(planned);
                continue;
            }
            open -= 1;
            if let Some(result) = &result {
                let bug = result.as_ref().is_ok_and(|ran| ran.occurrences.iter().any(Occurrence::counts));
                if result.is_err() || (bug && !order.keep_going) {
                    control.cutoff.fetch_min(index, Ordering::Relaxed);
                }
                let given_up = result.as_ref().is_ok_and(|ran| ran.given_up.is_some());
                observer.executed(bug, given_up);
            }
            slots[(index - begun) as usize] = result;
        }
        begun += size;
        for slot in slots {
            match slot {
                Some(Ok(ran)) => {
                    if ran.planned.index == 0 && merger.is_of_another_model(&ran) {
                        return merger.stop(Stop::Done);
                    }
                    let clamped = |count| u32::try_from(count).unwrap_or(u32::MAX);
                    plan.observe(clamped(ran.steps), clamped(ran.communications));
                    plan.met(&ran.meetings);
                    if merger.add(ran) {
                        return merger.stop(Stop::FirstBug);
                    }
                }
                Some(Err(failure)) => return merger.fail(failure),
                // Not run: for want of time, or of interest. The one that made it uninteresting came before it.
                None => {}
            }
        }
        if crate::os::interrupt::requested() {
            return merger.stop(Stop::Interrupted);
        }
        if control.is_over() {
            return merger.stop(Stop::Time);
        }
    }
}
