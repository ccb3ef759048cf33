//! One execution, from its parameters to what it did wrong.

use super::judge::{Defect, Ended, Known, Occurrence, judge};
use super::limits::GivenUp;
use super::setup::Setup;
use super::verify::{self, Difference};
use crate::engine::evidence::Evidence;
use crate::engine::kept::Written;
use crate::engine::{End, Engine, EngineError, ModuleInfo, Outcome};
use std::path::PathBuf;
use wmtrace_model::machine::Machine;
use wmtrace_model::plan::Planned;
use wmtrace_model::recording::Recording;
use wmtrace_model::strategy::{Meet, Meeting, Recorder, Strategy, build};

/// What became of an execution.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) planned: Planned,
    pub(crate) events: u64,
    /// What the strategies count: steps, and those of them that communicate.
    pub(crate) steps: u64,
    pub(crate) communications: u64,
    /// Where threads met.
    pub(crate) meetings: Vec<Meeting>,
    pub(crate) occurrences: Vec<Occurrence>,
    /// The choices, if some occurrence has details.
    pub(crate) recorded: Option<(Recording, Vec<ModuleInfo>)>,
    /// What it has written to files, if some occurrence has details.
    pub(crate) written: Option<Written>,
    /// Why it was given up before its end, if it was.
    pub(crate) given_up: Option<GivenUp>,
    pub(crate) warnings: Vec<String>,
    /// What is new of what the program's orders are known by, and the files that its code is in, if there is anything.
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) modules: Vec<ModuleInfo>,
    /// The file of the program that made the first thread.
    pub(crate) executes: Option<PathBuf>,
    /// What the kernel refused the program for want of something that wmtrace uses, too.
    pub(crate) lacks: Option<String>,
    /// What the program wrote, in the first execution.
    pub(crate) output: Option<Output>,
}

/// What a program wrote.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Output {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether there was more.
    pub(crate) truncated: bool,
}

/// Why there is no execution.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Defect(#[from] Defect),
    #[error(
        "execution {index}: {defect} (the options were those given, and the seed of the execution {seed:#x})"
    )]
    Execution { index: u64, seed: u64, defect: Defect },
    #[error("the program is not under control: {0}")]
    Difference(Difference),
    /// There is not enough of something for all workers: this one has left, and another does its work.
    #[error("{why}")]
    Crowded { planned: Planned, why: String },
}

type Strategies = Recorder<Meet<Box<dyn Strategy + Send>>>;

/// Runs executions on one engine, in one thread.
pub(crate) struct Runner<'a, E> {
    engine: E,
    setup: &'a Setup,
    verify: bool,
    known: Known,
    machine: Option<Machine<Strategies>>,
}

impl<'a, E: Engine> Runner<'a, E> {
    pub(crate) fn new(engine: E, setup: &'a Setup, verify: bool) -> Runner<'a, E> {
        Runner { engine, setup, verify, known: Known::new(), machine: None }
    }

    /// Runs one execution (twice, to compare, if asked to) and judges it. Executions come in order of their
    /// numbers: details belong to the first occurrence.
    pub(crate) fn run(&mut self, planned: Planned) -> Result<Ran, Failure> {
        let outcome = self.execute(planned)?;
        if self.verify {
            let machine = self.machine.as_ref().expect("it has just run");
            let first = verify::Seen::of(&outcome, machine.execution(), machine.findings());
            self.engine.allow_shortcuts(false);
            let again = self.execute(planned);
            self.engine.allow_shortcuts(true);
            let again = again?;
            if let Some(lacks) = outcome.lacks.as_ref().or(again.lacks.as_ref()) {
                return Err(EngineError::Exhausted(lacks.clone()).into());
            }
            let machine = self.machine.as_ref().expect("it has just run");
            let second = verify::Seen::of(&again, machine.execution(), machine.findings());
            if let Some(difference) = verify::compare(&first, &second, planned, &self.engine) {
                return Err(Failure::Difference(difference));
            }
        }
        let machine = self.machine.as_ref().expect("it has just run");
        if let End::Diverged(divergence) = &outcome.end {
            return Err(Defect::Other(format!("no replay, but: {divergence}")).into());
        }
        let ended = Ended { outcome: &outcome, execution: machine.execution(), findings: machine.findings() };
        // Of an execution that counts only if nothing is wrong with it, nobody remembers anything.
        let (mut forgotten, rules) = (Known::new(), self.setup.rules);
        let known = if outcome.lacks.is_some() { &mut forgotten } else { &mut self.known };
        let occurrences = judge(rules, &self.setup.suppressions, &self.engine, &ended, known)
            .map_err(|defect| Failure::Execution { index: planned.index, seed: planned.seed, defect })?;
        let details = occurrences.iter().any(|occurrence| occurrence.detail.is_some());
        let recorded = details.then(|| (machine.strategy().recording().clone(), self.engine.modules()));
        let (steps, communications) = machine.counts();
        let evidence = self.engine.evidence();
        let modules =
            if evidence.is_empty() && planned.index > 0 { Vec::new() } else { self.engine.modules() };
        Ok(Ran {
            planned,
            events: machine.events(),
            steps,
            communications,
            meetings: machine.strategy().inner().meetings(),
            occurrences,
            recorded,
            written: if details { self.engine.written() } else { None },
            given_up: GivenUp::of(&outcome, self.setup.limited()),
            warnings: outcome.warnings,
            evidence,
            modules,
            executes: outcome.executes,
            lacks: outcome.lacks,
            output: (planned.index == 0).then_some(Output {
                stdout: outcome.stdout,
                stderr: outcome.stderr,
                truncated: outcome.truncated,
            }),
        })
    }

    fn execute(&mut self, planned: Planned) -> Result<Outcome, EngineError> {
        let strategy = build(planned.strategy, &planned.parameters, planned.seed);
        let model = self.setup.engine.model;
        let recording = Recording::new(&self.setup.target.build_id, model, "", planned.seed);
        let recorder = Recorder::new(Meet::new(strategy), recording);
        let machine = match &mut self.machine {
            // The memory of the last execution serves the next.
            Some(machine) => {
                *machine.strategy_mut() = recorder;
                machine.reset();
                machine
            }
            None => self.machine.insert(Machine::new(self.setup.config(), recorder)),
        };
        self.engine.execute(machine)
    }
}
