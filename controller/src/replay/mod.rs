//! `wmtrace replay`: a recorded execution again. The same choices, checked step by step; the same bug, or an error.

mod noting;
#[cfg(test)]
mod tests;

pub(crate) use noting::{Choice, Noting};

use crate::bug::{Bug, Kind};
use crate::campaign::confirm::Confirmation;
use crate::campaign::judge::{Ended, Known, Occurrence, judge};
use crate::campaign::setup::Setup;
use crate::campaign::{Order, Stop};
use crate::cli::ReplayOptions;
use crate::engine::{End, Engine, EngineError, Outcome, Sites};
use crate::events;
use crate::exit::Exit;
use crate::launch::Launch;
use crate::os::interrupt;
use crate::report::{self, CampaignReport};
use crate::saved::{self, Saved};
use crate::target::TargetError;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use wmtrace_model::execution::{EventId, Execution};
use wmtrace_model::machine::Machine;
use wmtrace_model::recording::Recording;
use wmtrace_model::strategy::{Difference, Divergence, Replay, StrategyKind};

/// A replay may be slower than the recording was: this much time it always has.
const PATIENCE: Duration = Duration::from_secs(120);

/// An execution that has happened again.
pub(crate) struct Replayed<E> {
    pub(crate) engine: E,
    pub(crate) setup: Setup,
    pub(crate) saved: Saved,
    pub(crate) execution: Execution,
    pub(crate) findings: Vec<wmtrace_model::machine::Finding>,
    /// What each event that had a choice chose.
    pub(crate) choices: Vec<Choice>,
    pub(crate) bug: Bug,
    pub(crate) warnings: Vec<String>,
    events: u64,
}

/// Why it has not, in one line.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) message: String,
    pub(crate) exit: Exit,
}

impl Refused {
    fn input(message: String) -> Refused {
        Refused { message, exit: Exit::Usage }
    }

    fn tool(message: String) -> Refused {
        Refused { message, exit: Exit::Tool }
    }
}

impl From<TargetError> for Refused {
    fn from(error: TargetError) -> Refused {
        match error {
            TargetError::Input(message) => Refused::input(message),
        }
    }
}

impl From<EngineError> for Refused {
    fn from(error: EngineError) -> Refused {
        match error {
            EngineError::Input(message) => Refused::input(message),
            EngineError::Unsupported(_)
            | EngineError::Os(_)
            | EngineError::Exhausted(_)
            | EngineError::Mismatch(_)
            | EngineError::Interrupted => Refused::tool(error.to_string()),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// When `out` or `err` cannot be written.
pub(crate) fn main<L: Launch>(
    launch: &L,
    options: &ReplayOptions,
    out: &mut dyn Write,
    err: &mut dyn Write,
    exit: &mut Exit,
) -> io::Result<()> {
    let began = Instant::now();
    match from_file(launch, &options.recording, options.program.as_deref()) {
        Ok(replayed) => {
            let engine = launch.name(&replayed.setup.target);
            let report = report_of(replayed, engine, began.elapsed());
            *exit = report.exit();
            report::write(&report, options.shown, out, err)
        }
        Err(refused) => {
            *exit = refused.exit;
            report::write(&CampaignReport::not_replayed(refused), options.shown, out, err)
        }
    }
}

/// Replays the recording in a file; the program is where it was recorded, or near, or `program`.
pub(crate) fn from_file<L: Launch>(
    launch: &L,
    path: &Path,
    program: Option<&Path>,
) -> Result<Replayed<L::Engine>, Refused> {
    let (recording, saved) = saved::read(path).map_err(Refused::input)?;
    let setup = saved.setup(&recording, path, program)?;
    let mut replayed = replay(launch, &recording, saved, setup)?;
    replayed.bug.recording = Some(path.to_owned());
    replayed.bug.files = Some(saved::files_of(path)).filter(|files| files.is_dir());
    Ok(replayed)
}

/// Replays a recording whose program was looked at.
pub(crate) fn replay<L: Launch>(
    launch: &L,
    recording: &Recording,
    saved: Saved,
    mut setup: Setup,
) -> Result<Replayed<L::Engine>, Refused> {
    // Not worth failing for: without it, Ctrl-C ends wmtrace, and the program with it.
    let _ = interrupt::install();
    if saved.bug.kind != Kind::Timeout {
        setup.engine.timeout = setup.engine.timeout.max(PATIENCE);
    }
    let mut engine = launch.launch(&setup.program, &setup.engine)?;
    let mut machine = Machine::new(setup.config(), Noting::new(Replay::new(recording)));
    let mut outcome = engine.execute(&mut machine)?;
    // Which libraries there are is known only now.
    let (managed, native) = saved.other_builds(&engine.modules());
    if let Some(path) = managed.first() {
        return Err(Refused::input(format!("{path} is another build than the recorded one")));
    }
    let mut warnings: Vec<String> =
        native.iter().map(|path| format!("{path} is another build than the recorded one")).collect();
    if let Some(what) = saved.scrubbed() {
        warnings.push(format!("the recording was scrubbed: {what} are not the recorded ones"));
    }
    warnings.extend(saved.other_directory(&setup.program));
    warnings.append(&mut outcome.warnings);
    if let Some(lacks) = outcome.lacks {
        return Err(Refused::tool(lacks));
    }
    if let Some(divergence) = machine.strategy().divergence() {
        if !is_the_end_of_time(&saved, &outcome, divergence) {
            let message =
                diverged(divergence, machine.execution(), &engine) + &conditions(&saved, &setup, &native);
            return Err(Refused::tool(message));
        }
        outcome.end = End::TimedOut;
    }
    let ended = Ended { outcome: &outcome, execution: machine.execution(), findings: machine.findings() };
    let occurrences = judge(setup.rules, &setup.suppressions, &engine, &ended, &mut Known::new())
        .map_err(|defect| Refused::tool(defect.to_string()))?;
    let Some(bug) = expected(&saved, occurrences) else {
        let kind = saved.bug.kind.title();
        let why = conditions(&saved, &setup, &native);
        return Err(Refused::tool(format!(
            "every step was as recorded, but the {kind} has not happened again: the program is not under control{why}"
        )));
    };
    let choices = machine.strategy().choices(machine.execution());
    let (execution, findings) = (machine.execution().clone(), machine.findings().to_vec());
    let events = machine.events();
    Ok(Replayed { engine, setup, saved, execution, findings, choices, bug, warnings, events })
}

/// Whether the replay has only gone on, or not come as far as, where time was over.
fn is_the_end_of_time(saved: &Saved, outcome: &Outcome, divergence: Divergence) -> bool {
    (saved.cut || saved.bug.kind == Kind::Timeout)
        && match divergence.what {
            Difference::PastTheEnd => true,
            Difference::EndsEarly => outcome.end == End::TimedOut,
            Difference::NotEnabled(_) | Difference::OtherOperation(_) | Difference::OtherChoices(_) => false,
        }
}

/// The strategy that found it, for the report: a replay makes the recorded choices, whoever made them.
fn strategy_of(saved: &Saved) -> StrategyKind {
    StrategyKind::from_name(&saved.strategy).unwrap_or(StrategyKind::Random)
}

/// The recorded bug among those that have happened. Every step was as recorded, so that it is that execution: where another
/// version of wmtrace names the places of the bug otherwise, its kind and what the program has said tell.
fn expected(saved: &Saved, occurrences: Vec<Occurrence>) -> Option<Bug> {
    let alike = |it: &Occurrence| it.key.kind == saved.bug.kind && it.key.text == saved.bug.text;
    let exact = occurrences.iter().position(|it| it.key == saved.bug);
    let place = exact.or_else(|| occurrences.iter().position(|it| alike(it) && !it.possible))?;
    let found = occurrences.into_iter().nth(place)?;
    Some(Bug {
        key: found.key,
        count: 1,
        first_execution: saved.execution,
        strategy: strategy_of(saved),
        depth: saved.depth,
        detail: *found.detail?,
        recording: None,
        files: None,
        places: Vec::new(),
        confirmation: Confirmation::default(),
        suppressed: None,
    })
}

/// The first difference, in words.
fn diverged(divergence: Divergence, execution: &Execution, sites: &dyn Sites) -> String {
    let mut message = format!("the execution is not the recorded one: {divergence}");
    if let Some(last) = execution.events.len().checked_sub(1) {
        let line = events::line(execution, sites, EventId(last as u32));
        message +=
            &format!("; the last event was {}: {} {} at {}", line.id, line.thread, line.text, line.place);
    }
    message
}

/// What is not as it was when the execution was recorded, for the end of a line.
fn conditions(saved: &Saved, setup: &Setup, other_builds: &[String]) -> String {
    let mut clauses: Vec<String> = other_builds
        .first()
        .map(|path| format!("{path} is another build than the recorded one"))
        .into_iter()
        .chain(saved.differences(&setup.program))
        .collect();
    if saved.has_other_linker_cache() {
        clauses.push(format!(
            "packages were installed or removed since ({} is another), so that libraries lie elsewhere",
            saved::LINKER_CACHE
        ));
    }
    if let Some(what) = saved.scrubbed() {
        clauses.push(format!("{what} were taken out of the recording (`wmtrace scrub`)"));
    }
    if saved.wmtrace != env!("CARGO_PKG_VERSION") {
        clauses.push(format!("wmtrace {} has written the recording", saved.wmtrace));
    }
    if clauses.is_empty() {
        return "; nothing that wmtrace knows of has changed since, so that the program depends on something else \
                (`wmtrace --verify` looks for it)"
            .to_owned();
    }
    format!("; since it was recorded: {}", clauses.join("; "))
}

fn report_of<E>(replayed: Replayed<E>, engine: &'static str, elapsed: Duration) -> CampaignReport {
    let Replayed { setup, saved, bug, warnings, events, .. } = replayed;
    let order = Order::replay(strategy_of(&saved), saved.depth, saved.history, saved.seed);
    let report = CampaignReport::new(&setup, &order, engine);
    CampaignReport {
        k: saved.k,
        k_com: saved.k_com,
        executions: 1,
        buggy: 1,
        elapsed,
        events,
        bugs: vec![bug],
        warnings,
        stop: Stop::Done,
        ..report
    }
}
