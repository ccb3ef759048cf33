//! Adds executions up, in order of their numbers: the same bug in many of them is one bug, with a count.

use super::run::{Failure, Ran};
use super::{Campaign, Order, Setup, Stop, saved};
use crate::bug::{Bug, Key};
use crate::engine::{EngineError, ModuleInfo};
use std::collections::BTreeMap;
use wmtrace_model::plan::Planned;
use wmtrace_model::recording::Recording;

/// Races that are only possible, in a report: who wants to see more asks for them.
const MOST_POSSIBLE: usize = 16;

pub(super) struct Merger<'a> {
    setup: &'a Setup,
    order: &'a Order,
    campaign: &'a mut Campaign,
    /// Where in the lists a bug is.
    places: BTreeMap<(bool, Key), usize>,
}

impl<'a> Merger<'a> {
    pub(super) fn new(setup: &'a Setup, order: &'a Order, campaign: &'a mut Campaign) -> Merger<'a> {
        Merger { setup, order, campaign, places: BTreeMap::new() }
    }

    /// Whether stores may overtake others in modification order.
    pub(super) fn inserts(&self) -> bool {
        self.setup.config().insertion
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
        for warning in ran.warnings {
            if !self.campaign.warnings.contains(&warning) {
                self.campaign.warnings.push(warning);
            }
        }
        let mut buggy = false;
        for occurrence in ran.occurrences {
            buggy |= !occurrence.possible;
            let list =
                if occurrence.possible { &mut self.campaign.possible } else { &mut self.campaign.bugs };
            let known = self.places.get(&(occurrence.possible, occurrence.key.clone()));
            if let Some(&place) = known {
                list[place].count += 1;
                continue;
            }
            if occurrence.possible && list.len() == MOST_POSSIBLE {
                self.campaign.more_possible = true;
                continue;
            }
            // The first occurrence of all is the first of its worker: it has details.
            let Some(detail) = occurrence.detail else { continue };
            self.places.insert((occurrence.possible, occurrence.key.clone()), list.len());
            list.push(Bug {
                key: occurrence.key,
                count: 1,
                first_execution: ran.planned.index,
                strategy: ran.planned.strategy,
                depth: ran.planned.parameters.depth,
                detail: *detail,
                recording: None,
            });
            if let (false, Some((recording, modules))) = (occurrence.possible, &ran.recorded) {
                let number = self.campaign.bugs.len();
                self.save(number, &ran.planned, recording, modules);
            }
        }
        self.campaign.buggy += u64::from(buggy);
        buggy && !self.order.keep_going
    }

    /// Writes the recording of the newest bug at once: a campaign may be killed at any moment.
    fn save(&mut self, number: usize, planned: &Planned, recording: &Recording, modules: &[ModuleInfo]) {
        let Some(bug) = self.campaign.bugs.last_mut() else { return };
        let saved = saved::Saved::new(self.setup, self.order, planned, &bug.key, modules);
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

    pub(super) fn stop(self, stop: Stop) {
        self.campaign.stop = stop;
    }

    pub(super) fn fail(self, failure: Failure) {
        self.campaign.stop = match failure {
            Failure::Engine(EngineError::Interrupted) => Stop::Interrupted,
            Failure::Engine(_) | Failure::Defect(_) | Failure::Execution { .. } | Failure::Difference(_) => {
                Stop::Failed
            }
        };
        if self.campaign.stop == Stop::Failed {
            self.campaign.failure = Some(failure);
        }
    }
}
