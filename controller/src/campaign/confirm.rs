//! What is done with bugs before they are reported: each is replayed from its recording, and looked for under the model of
//! this processor.
//!
//! A bug of c11, pso or pslo need not be one that this binary can show on x86-64. So a few hundred executions under tso are
//! made, the first of them aimed at the memory that the bug is about. A race is found there if its two accesses meet
//! ([`meeting`](super::meeting)); every other bug if it happens.

use super::judge::{Ended, Known, judge};
use super::meeting::meetings;
use super::setup::Setup;
use crate::bug::{Bug, Key, Kind, Side};
use crate::engine::{Engine, EngineError, Sites as _};
use crate::launch::Launch;
use crate::os::interrupt;
use crate::replay;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use wmtrace_model::machine::Machine;
use wmtrace_model::op::{Addr, ModelKind, Site};
use wmtrace_model::plan::Plan;
use wmtrace_model::strategy::{Meet, Meeting, StrategyKind, build};

/// Executions under tso, at most.
const EXECUTIONS: u64 = 200;

/// Whether a bug can happen on this processor.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Here {
    Possible,
    NotSeen,
    #[default]
    NotApplicable,
}

impl Here {
    /// The name in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Here::Possible => "possible",
            Here::NotSeen => "not_seen",
            Here::NotApplicable => "not_applicable",
        }
    }
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Confirmation {
    /// Whether the recording has shown the same bug again; `None` if that was not tried.
    pub(crate) replayed: Option<bool>,
    pub(crate) here: Here,
    /// Executions that were made to find out.
    pub(crate) tried: u64,
}

/// Confirms the bugs; what to warn of.
pub(crate) fn confirm<L: Launch>(launch: &L, setup: &Setup, bugs: &mut [Bug], time: Duration) -> Vec<String> {
    let mut warnings = Vec::new();
    for bug in bugs.iter_mut() {
        // How far an execution comes in a time is not the same twice.
        let (Some(path), false) = (&bug.recording, bug.key.kind == Kind::Timeout) else { continue };
        if interrupt::requested() {
            break;
        }
        match replay::from_file(launch, path, None) {
            Ok(_) => bug.confirmation.replayed = Some(true),
            Err(_) if interrupt::requested() => {}
            Err(refused) => {
                bug.confirmation.replayed = Some(false);
                let (path, why) = (path.display(), refused.message);
                warnings.push(format!("a bug did not happen again when {path} was replayed: {why}"));
            }
        }
    }
    let model = setup.engine.model;
    if setup.target.arch != "x86_64" || time.is_zero() {
        return warnings;
    }
    if matches!(model, ModelKind::Tso | ModelKind::Sc) {
        // The execution itself is one that the processor may make.
        bugs.iter_mut().for_each(|bug| (bug.confirmation.here, bug.confirmation.tried) = (Here::Possible, 1));
        return warnings;
    }
    if let Err(error) = search(launch, setup, bugs, time) {
        warnings.push(format!("whether the bugs are possible on this processor is not known: {error}"));
    }
    warnings
}

/// What is looked for of one bug: its keys, at the first place and the further ones.
fn keys(bug: &Bug) -> Vec<Key> {
    let further =
        bug.places.iter().map(|it| Key::new(bug.key.kind, it.sides.iter().filter_map(Side::place), ""));
    std::iter::once(bug.key.clone()).chain(further).collect()
}

fn search<L: Launch>(launch: &L, setup: &Setup, bugs: &mut [Bug], time: Duration) -> Result<(), EngineError> {
    let searched = |bug: &Bug| bug.key.kind != Kind::Timeout;
    if !bugs.iter().any(searched) {
        return Ok(());
    }
    let deadline = Instant::now() + time;
    let mut setup = setup.clone();
    setup.engine.model = ModelKind::Tso;
    setup.engine.timeout = setup.engine.timeout.min(time);
    let mut engine = launch.launch(&setup.program, &setup.engine)?;
    let mut plan = Plan::new(StrategyKind::Pctwm, None, None, None, 1, setup.engine.entropy).mixed();
    // The first aims: what the bugs are about.
    let sides = bugs.iter().flat_map(|bug| &bug.detail.sides);
    let aims = sides.filter_map(|side| {
        let (thread, (addr, _)) = (side.thread?, side.memory?);
        Some(Meeting { thread, addr: Addr(addr), heard: false, relaxed: true })
    });
    plan.met(&aims.collect::<Vec<_>>());
    let wanted: Vec<Vec<Key>> = bugs.iter().map(keys).collect();
    let numbers: BTreeMap<String, usize> = {
        let races = bugs.iter().zip(&wanted).filter(|(bug, _)| bug.key.kind == Kind::Race);
        let places: BTreeSet<String> =
            races.flat_map(|(_, keys)| keys.iter().flat_map(|key| key.places.clone())).collect();
        places.into_iter().zip(0..).collect()
    };
    let mut known: BTreeMap<Site, Option<usize>> = BTreeMap::new();
    for bug in bugs.iter_mut().filter(|bug| searched(bug)) {
        bug.confirmation.here = Here::NotSeen;
    }
    for _ in 0..EXECUTIONS {
        let open = |bug: &Bug| bug.confirmation.here == Here::NotSeen;
        if !bugs.iter().any(open) || Instant::now() >= deadline || interrupt::requested() {
            break;
        }
        let planned = plan.next_execution();
        let strategy = build(planned.strategy, &planned.parameters, planned.seed);
        let mut machine = Machine::new(setup.config(), Meet::new(strategy));
        let outcome = engine.execute(&mut machine)?;
        if let Some(lacks) = outcome.lacks {
            return Err(EngineError::Exhausted(lacks));
        }
        let (steps, communications) = machine.counts();
        let clamped = |count| u32::try_from(count).unwrap_or(u32::MAX);
        plan.observe(clamped(steps), clamped(communications));
        plan.met(&machine.strategy().meetings());
        let ended = Ended { outcome: &outcome, execution: machine.execution(), findings: machine.findings() };
        let found = judge(setup.rules, &setup.suppressions, &engine, &ended, &mut Known::new());
        let found = found.map_err(|defect| EngineError::Os(defect.to_string()))?;
        let modules = engine.modules();
        let met = meetings(machine.execution(), |site| {
            *known.entry(site).or_insert_with(|| {
                let stack = engine.site(site).stack;
                let place = stack.get(super::blame::blamed(&stack, &modules))?;
                numbers.get(Key::new(Kind::Race, [place], "").places.first()?).copied()
            })
        });
        for (bug, keys) in bugs.iter_mut().zip(&wanted).filter(|(bug, _)| open(bug)) {
            bug.confirmation.tried += 1;
            let happened = |key: &Key| match (key.kind, &key.places[..]) {
                (Kind::Race, [a, b]) => match (numbers.get(a), numbers.get(b)) {
                    (Some(&a), Some(&b)) => met.contains(&(a.min(b), a.max(b))),
                    _ => false,
                },
                _ => found.iter().any(|it| it.key == *key),
            };
            if keys.iter().any(happened) {
                bug.confirmation.here = Here::Possible;
            }
        }
    }
    Ok(())
}
