//! Reports. All formats show one data structure, [`CampaignReport`].

mod human;
mod json;
mod junit;
pub(crate) mod progress;
mod sarif;
pub(crate) mod source;
#[cfg(test)]
mod tests;

use crate::bug::Bug;
use crate::campaign::limits::Inconclusive;
use crate::campaign::run::{Failure, Output};
use crate::campaign::setup::Setup;
use crate::campaign::{Campaign, Difference, Order, Stop};
use crate::cli::{Races, ReportFormat, Shown, TestOptions};
use crate::engine::EngineError;
use crate::engine::evidence::Ledger;
use crate::exit::Exit;
use crate::replay::Refused;
use crate::target::TargetError;
use crate::text::{Printable, printable_json};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::time::Duration;
use wmtrace_model::op::ModelKind;
use wmtrace_model::strategy::StrategyKind;

/// "No bug" says nothing then.
const ONE_THREAD: &str = "there was never a second thread, so that nothing was tested (other processes that the program \
                          starts run natively)";

/// Of warnings, a few are enough to see what kind they are.
const MORE_POSSIBLE: &str = "there are more possible races than are shown: --races on calls all of them bugs, debug information \
                             (-g, not -g1) or --orders tells which are none";

/// What a campaign, or a replay, found.
#[derive(Debug)]
pub(crate) struct CampaignReport {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) arch: &'static str,
    pub(crate) engine: &'static str,
    pub(crate) model: ModelKind,
    /// Why this model.
    pub(crate) because: &'static str,
    /// Whether races were looked for.
    pub(crate) races: bool,
    /// What the program's orders are known by.
    pub(crate) ledger: Ledger,
    pub(crate) strategy: String,
    /// Whether nobody asked for one depth, and several were tried.
    pub(crate) depth_schedule: bool,
    /// What was asked for, or that of the last execution.
    pub(crate) depth: u32,
    pub(crate) history: u32,
    /// Of the last execution; 0 if there was none.
    pub(crate) k: u32,
    pub(crate) k_com: u32,
    pub(crate) seed: u64,
    pub(crate) executions: u64,
    pub(crate) buggy: u64,
    /// Executions that were given up.
    pub(crate) inconclusive: Inconclusive,
    pub(crate) elapsed: Duration,
    /// Of all executions.
    pub(crate) events: u64,
    pub(crate) bugs: Vec<Bug>,
    pub(crate) possible: Vec<Bug>,
    pub(crate) unsupported: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// What kept wmtrace from doing its work, in one line.
    pub(crate) error: Option<String>,
    /// Whose fault that is.
    pub(crate) error_exit: Exit,
    pub(crate) difference: Option<Difference>,
    pub(crate) stop: Stop,
    pub(crate) verified: bool,
    /// What the program wrote in the first execution.
    pub(crate) output: Output,
}

impl CampaignReport {
    /// The report of a campaign that is about to begin: nothing was found yet.
    pub(crate) fn new(setup: &Setup, order: &Order, engine: &'static str) -> CampaignReport {
        let (path, args) = (setup.program.path.as_os_str(), &setup.program.args);
        let report = CampaignReport::of(path, args, setup.engine.model, order, engine);
        let races = setup.engine.model == ModelKind::C11 && setup.rules.races != Races::Off;
        CampaignReport { arch: setup.target.arch, because: setup.because, races, ..report }
    }

    /// The report of a campaign that cannot begin.
    pub(crate) fn refused(options: &TestOptions, order: &Order, error: &TargetError) -> CampaignReport {
        let model = options.model.unwrap_or(ModelKind::C11);
        let mut report = CampaignReport::of(&options.program, &options.args, model, order, "step");
        (report.stop, report.error) = (Stop::Failed, Some(error.to_string()));
        report.error_exit = match error {
            TargetError::Input(_) => Exit::Usage,
        };
        report
    }

    /// The report of a recording that was not replayed: nothing of it can be relied on.
    pub(crate) fn not_replayed(refused: Refused) -> CampaignReport {
        let order = Order::replay(StrategyKind::Random, 0, 1, 0);
        let mut report = CampaignReport::of(OsStr::new(""), &[], ModelKind::C11, &order, "step");
        (report.stop, report.error, report.error_exit) = (Stop::Failed, Some(refused.message), refused.exit);
        report
    }

    fn of(
        program: &OsStr,
        args: &[OsString],
        model: ModelKind,
        order: &Order,
        engine: &'static str,
    ) -> CampaignReport {
        let lossy = |text: &OsString| text.to_string_lossy().into_owned();
        CampaignReport {
            program: program.to_string_lossy().into_owned(),
            args: args.iter().map(lossy).collect(),
            arch: "unknown",
            engine,
            model,
            because: "",
            races: false,
            ledger: Ledger::default(),
            strategy: order.strategy.name().to_string(),
            depth_schedule: order.depth.is_none(),
            depth: order.depth.unwrap_or(0),
            history: order.history,
            k: 0,
            k_com: 0,
            seed: order.seed,
            executions: 0,
            buggy: 0,
            inconclusive: Inconclusive::default(),
            elapsed: Duration::ZERO,
            events: 0,
            bugs: Vec::new(),
            possible: Vec::new(),
            unsupported: Vec::new(),
            warnings: Vec::new(),
            error: None,
            error_exit: Exit::Clean,
            difference: None,
            stop: Stop::Done,
            verified: order.verify,
            output: Output::default(),
        }
    }

    /// Adds what a campaign found in this time.
    pub(crate) fn add(&mut self, campaign: Campaign, elapsed: Duration) {
        self.model = campaign.model;
        self.ledger = campaign.ledger;
        self.executions = campaign.executions;
        self.buggy = campaign.buggy;
        self.inconclusive = campaign.inconclusive;
        self.events = campaign.events;
        self.bugs = campaign.bugs;
        self.possible = campaign.possible;
        self.output = campaign.output;
        self.warnings.extend(campaign.warnings);
        if campaign.more_possible {
            self.warnings.push(MORE_POSSIBLE.to_string());
        }
        if let Some(parameters) = campaign.parameters {
            (self.k, self.k_com) = (parameters.k, parameters.k_com);
            if self.depth_schedule {
                self.depth = parameters.depth;
            }
        }
        self.stop = campaign.stop;
        self.elapsed = elapsed;
        if let Some(failure) = campaign.failure {
            self.fail(failure);
        } else if self.executions > 0 && self.events == 0 && self.bugs.is_empty() {
            self.warnings.push(ONE_THREAD.to_string());
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.error = Some(failure.to_string());
        self.error_exit = Exit::Tool;
        match failure {
            Failure::Engine(EngineError::Unsupported(what)) => self.unsupported.push(what),
            Failure::Engine(EngineError::Input(_)) => self.error_exit = Exit::Usage,
            Failure::Engine(
                EngineError::Os(_)
                | EngineError::Exhausted(_)
                | EngineError::Mismatch(_)
                | EngineError::Interrupted,
            ) => {}
            Failure::Defect(_) | Failure::Execution { .. } | Failure::Crowded { .. } => {}
            Failure::Difference(difference) => self.difference = Some(difference),
        }
    }

    /// The exit status that this means.
    pub(crate) fn exit(&self) -> Exit {
        let found = match (!self.bugs.iter().any(Bug::counts), self.stop) {
            (false, _) => Exit::Bug,
            // Nobody knows what the rest would have shown.
            (true, Stop::Interrupted) => Exit::Tool,
            (true, _) if self.shows_nothing() => Exit::Tool,
            (true, Stop::Done | Stop::FirstBug | Stop::Time | Stop::Failed) => Exit::Clean,
        };
        found.max(self.error_exit)
    }

    /// Whether every execution was given up.
    pub(crate) fn shows_nothing(&self) -> bool {
        self.executions > 0
            && self.inconclusive.count == self.executions
            && !self.bugs.iter().any(Bug::counts)
    }

    /// Executions in a second.
    fn rate(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.executions as f64 / seconds } else { 0.0 }
    }

    /// Events of an execution, on average.
    fn events_each(&self) -> f64 {
        if self.executions > 0 { self.events as f64 / self.executions as f64 } else { 0.0 }
    }
}

/// Writes the report: results to `out`, what went wrong with wmtrace itself to `err`.
///
/// # Errors
/// When one of them cannot be written.
pub(crate) fn write(
    report: &CampaignReport,
    shown: Shown,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<()> {
    match shown.format {
        // The error says it all.
        ReportFormat::Human if report.executions == 0 && report.error.is_some() => {}
        ReportFormat::Human => out.write_all(human::report(report, shown).as_bytes())?,
        ReportFormat::Json => writeln!(out, "{}", printable_json(&json::report(report).to_string()))?,
        ReportFormat::Junit => {
            writeln!(out, "{}", junit::report(report).map_err(io::Error::other)?.trim_end())?;
        }
        ReportFormat::Sarif => writeln!(out, "{}", printable_json(&sarif::report(report).to_string()))?,
    }
    out.flush()?;
    if shown.quiet && shown.format == ReportFormat::Human {
        for warning in &report.warnings {
            writeln!(err, "wmtrace: warning: {}", Printable(warning))?;
        }
    }
    if let Some(error) = &report.error {
        writeln!(err, "wmtrace: {}", Printable(error))?;
    }
    Ok(())
}
