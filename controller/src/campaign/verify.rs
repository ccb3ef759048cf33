//! `--verify`: whether two runs with the same choices are the same execution. If not, something that the program can
//! observe is not under control.

use super::causes;
use crate::engine::journal::{Journal, Observation};
use crate::engine::{End, Outcome, Sites};
use crate::events;
use std::fmt;
use wmtrace_model::execution::{EventId, Execution};
use wmtrace_model::machine::Finding;
use wmtrace_model::plan::Planned;

/// What is compared of an execution.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(super) execution: Execution,
    findings: Vec<Finding>,
    end: End,
    pub(super) journal: Journal,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Seen {
    pub(crate) fn of(outcome: &Outcome, execution: &Execution, findings: &[Finding]) -> Seen {
        Seen {
            execution: execution.clone(),
            findings: findings.to_vec(),
            end: outcome.end.clone(),
            journal: outcome.journal.clone(),
            stdout: outcome.stdout.clone(),
            stderr: outcome.stderr.clone(),
        }
    }

    /// What makes another execution if it differs.
    fn observations(&self) -> Vec<&Observation> {
        self.journal.observations.iter().filter(|it| it.what.counts()).collect()
    }
}

/// The first difference between two runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    pub(crate) execution: u64,
    pub(crate) seed: u64,
    /// The event, if events differ, or the one before which something else does.
    pub(crate) event: Option<u32>,
    pub(crate) what: String,
    /// What is not under control and may be the cause.
    pub(crate) causes: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "execution {} run twice with the same choices: {}", self.execution, self.what)?;
        if !self.causes.is_empty() {
            write!(f, "; likely cause: {}", self.causes.join("; "))?;
        }
        Ok(())
    }
}

/// What differs first, in the order in which things happen.
pub(crate) fn compare(
    first: &Seen,
    second: &Seen,
    planned: Planned,
    sites: &dyn Sites,
) -> Option<Difference> {
    let (event, what) = difference(first, second, sites)?;
    let causes = causes::of(first, second, event, sites);
    Some(Difference { execution: planned.index, seed: planned.seed, event, what, causes })
}

fn difference(first: &Seen, second: &Seen, sites: &dyn Sites) -> Option<(Option<u32>, String)> {
    let (a, b) = (&first.execution.events, &second.execution.events);
    // How far an execution comes until its time is over is left to chance, and without shortcuts it is not as far.
    let cut = [first, second].iter().any(|seen| seen.end == End::TimedOut);
    let whole = |at: &usize, shorter: usize| !cut || *at < shorter;
    let events = first_difference(a, b).filter(|at| whole(at, a.len().min(b.len())));
    let (x, y) = (first.observations(), second.observations());
    let observed = first_difference(&x, &y).filter(|at| whole(at, x.len().min(y.len())));
    // What the kernel says differs before the events that depend on it do.
    if let Some(at) = observed {
        let pair = [x.get(at).copied(), y.get(at).copied()];
        let before = pair.iter().flatten().map(|it| it.events).min().unwrap_or(0);
        if events.is_none_or(|event| before as usize <= event) {
            return Some((Some(before), causes::observed(pair, sites)));
        }
    }
    if let Some(at) = events {
        let side = |seen: &Seen| match seen.execution.events.len() {
            len if at < len => show(&seen.execution, at, sites),
            _ => "nothing more".to_string(),
        };
        return Some((Some(at as u32), format!("event e{at} is `{}`, then `{}`", side(first), side(second))));
    }
    if cut {
        return None;
    }
    if first.execution.bytes != second.execution.bytes {
        return Some((None, "a read took its bytes from other stores".to_string()));
    }
    if first.findings != second.findings {
        return Some((None, "the same events, but other findings".to_string()));
    }
    if first.end != second.end {
        return Some((
            None,
            format!("the same events, but it ended as {:?}, then as {:?}", first.end, second.end),
        ));
    }
    if first.stdout != second.stdout || first.stderr != second.stderr {
        return Some((None, "the same events, but other output".to_string()));
    }
    None
}

fn show(execution: &Execution, at: usize, sites: &dyn Sites) -> String {
    let line = events::line(execution, sites, EventId(at as u32));
    format!("{} {} at {}", line.thread, line.text, line.place)
}

/// The first index at which the two differ, or one of them ends.
pub(super) fn first_difference<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    (common < a.len().max(b.len())).then_some(common)
}
