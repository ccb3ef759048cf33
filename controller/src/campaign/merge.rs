//! Adds executions up, in order of their numbers: the same bug in many of them is one bug, with a count.

use super::confirm::Confirmation;
use super::limits::Limit;
use super::run::{Failure, Ran};
use super::wrapped::Wrapped;
use super::{Campaign, Order, Setup, Stop, saved};
use crate::bug::{Bug, Further, Key};
use crate::cli::Limits;
use crate::engine::kept::Written;
use crate::engine::{EngineError, ModuleInfo};
use std::collections::{BTreeMap, BTreeSet};
use wmtrace_model::plan::Planned;
use wmtrace_model::recording::Recording;

/// Races that are only possible, in a report: who wants to see more asks for them.
const MOST_POSSIBLE: usize = 16;

/// There are fewer workers than the user wants.
pub(super) fn fewer(why: &str) -> String {
    format!("fewer executions at a time than asked for: {why}")
}

pub(super) struct Merger<'a> {
    setup: &'a Setup,
    order: &'a Order,
    campaign: &'a mut Campaign,
    /// Where in the lists a bug is: which one, and which of its further places.
    places: BTreeMap<(bool, bool, Key), (usize, Option<usize>)>,
}

impl<'a> Merger<'a> {
    pub(super) fn new(setup: &'a Setup, order: &'a Order, campaign: &'a mut Campaign) -> Merger<'a> {
        Merger { setup, order, campaign, places: BTreeMap::new() }
    }

    /// Whether stores may overtake others in modification order.
    pub(super) fn inserts(&self) -> bool {
        self.setup.config().insertion
    }

    /// Whether the first execution shows that this is not the model for what is tested.
    pub(super) fn is_of_another_model(&mut self, ran: &Ran) -> bool {
        self.campaign.wrapped = Wrapped::of(self.setup, ran);
        self.campaign.wrapped.as_ref().is_some_and(|it| it.wants_another_model(self.setup))
    }

    /// Adds an execution. Whether the campaign ends with it.
    pub(super) fn add(&mut self, ran: Ran) -> bool {
        self.campaign.executions += 1;
        self.campaign.events += ran.events;
        self.campaign.parameters = Some(ran.planned.parameters);
        self.campaign.ledger.add(ran.evidence);
        self.campaign
            .ledger
            .modules
            .extend(ran.modules.into_iter().map(|module| (module.path, module.managed)));
        if let Some(output) = ran.output {
            self.campaign.output = output;
        }
        for warning in ran.warnings {
            if !self.campaign.warnings.contains(&warning) {
                self.campaign.warnings.push(warning);
            }
        }
        let cut = ran.given_up.as_ref().is_some_and(|it| it.limit == Limit::Time);
        let counts = |limit| self.setup.rules.limits == Limits::Inconclusive || limit == Limit::NeverEntered;
        if let Some(given_up) = ran.given_up.filter(|it| counts(it.limit)) {
            self.campaign.inconclusive.add(ran.planned.index, given_up);
        }
        let mut buggy = false;
        // Which bugs this execution has: one that shows in many places is still one execution's.
        let mut had = BTreeSet::new();
        for occurrence in ran.occurrences {
            buggy |= occurrence.counts();
            self.campaign.suppressions_used.extend(occurrence.suppressed);
            let list =
                if occurrence.possible { &mut self.campaign.possible } else { &mut self.campaign.bugs };
            let suppressed = occurrence.suppressed.is_some();
            let known = self.places.get(&(occurrence.possible, suppressed, occurrence.key.clone()));
            if let Some(&(place, further)) = known {
                list[place].count += u64::from(had.insert((occurrence.possible, place)));
                if let Some(further) = further {
                    list[place].places[further].count += 1;
                }
                continue;
            }
            if occurrence.possible && suppressed {
                continue;
            }
            if occurrence.possible && list.len() == MOST_POSSIBLE {
                self.campaign.more_possible = true;
                continue;
            }
            // The first occurrence of all is the first of its worker: it has details.
            let Some(detail) = occurrence.detail else { continue };
            let key = (occurrence.possible, suppressed, occurrence.key.clone());
            let same = |bug: &Bug| {
                bug.key.kind == occurrence.key.kind
                    && bug.suppressed.is_some() == suppressed
                    && bug.detail.cause.covers(&detail.cause)
            };
            if let Some(place) = list.iter().position(same).filter(|_| !occurrence.possible) {
                let bug = &mut list[place];
                bug.count += u64::from(had.insert((false, place)));
                self.places.insert(key, (place, Some(bug.places.len())));
                bug.places.push(Further {
                    count: 1,
                    first_execution: ran.planned.index,
                    message: detail.message,
                    sides: detail.sides,
                });
                continue;
            }
            had.insert((occurrence.possible, list.len()));
            self.places.insert(key, (list.len(), None));
            let reason = |entry: usize| self.setup.suppressions.entries[entry].words();
            list.push(Bug {
                key: occurrence.key,
                count: 1,
                first_execution: ran.planned.index,
                strategy: ran.planned.strategy,
                depth: ran.planned.parameters.depth,
                detail: *detail,
                recording: None,
                files: None,
                places: Vec::new(),
                confirmation: Confirmation::default(),
                suppressed: occurrence.suppressed.map(reason),
            });
            if let (false, Some((recording, modules))) = (occurrence.possible, &ran.recorded) {
                let number = self.campaign.bugs.len();
                self.save(number, &ran.planned, recording, modules, cut);
                self.keep(ran.written.as_ref());
            }
        }
        self.campaign.buggy += u64::from(buggy);
        buggy && !self.order.keep_going
    }

    /// Writes the recording of the newest bug at once: a campaign may be killed at any moment.
    fn save(
        &mut self,
        number: usize,
        planned: &Planned,
        recording: &Recording,
        modules: &[ModuleInfo],
        cut: bool,
    ) {
        let Some(bug) = self.campaign.bugs.last_mut() else { return };
        let mut saved = saved::Saved::new(self.setup, self.order, planned, &bug.key, modules);
        saved.cut = cut;
        match saved::write(&self.order.out, &self.setup.name(), number, &saved, recording) {
            Ok(path) => bug.recording = Some(path),
            Err(error) => {
                let out = self.order.out.display();
                let warning = format!("the recording could not be written to {out}: {error}");
                if !self.campaign.warnings.contains(&warning) {
                    self.campaign.warnings.push(warning);
                }
            }
        }
    }

    /// Keeps what the execution of the newest bug has written, beside its recording.
    fn keep(&mut self, written: Option<&Written>) {
        let Some(bug) = self.campaign.bugs.last_mut() else { return };
        let Some(recording) = &bug.recording else { return };
        let directory = saved::files_of(recording);
        // What an older campaign has left under this name is not of this execution.
        let kept = match std::fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => written.map_or(Ok(()), |written| written.keep(&directory)),
        };
        if directory.is_dir() {
            bug.files = Some(directory);
        }
        if let Err(error) = kept {
            let warning = format!("not all that an execution has written could be kept: {error}");
            if !self.campaign.warnings.contains(&warning) {
                self.campaign.warnings.push(warning);
            }
        }
    }

    /// A worker has left.
    pub(super) fn fewer(&mut self, why: &str) {
        let warning = fewer(why);
        if !self.campaign.warnings.contains(&warning) {
            self.campaign.warnings.push(warning);
        }
    }

    pub(super) fn stop(self, stop: Stop) {
        self.campaign.stop = stop;
    }

    pub(super) fn fail(self, failure: Failure) {
        self.campaign.stop = match failure {
            Failure::Engine(EngineError::Interrupted) => Stop::Interrupted,
            Failure::Engine(_)
            | Failure::Defect(_)
            | Failure::Execution { .. }
            | Failure::Difference(_)
            | Failure::Crowded { .. } => Stop::Failed,
        };
        if self.campaign.stop == Stop::Failed {
            self.campaign.failure = Some(failure);
        }
    }
}
