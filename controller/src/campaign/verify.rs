//! `--verify`: whether two runs with the same choices are the same execution. If not, something that the program can
//! observe is not under control.

use crate::engine::{End, Outcome, Sites};
use crate::events;
use std::fmt;
use wmtrace_model::execution::{EventId, Execution};
use wmtrace_model::machine::Finding;
use wmtrace_model::plan::Planned;

/// What is compared of an execution.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Seen {
    execution: Execution,
    findings: Vec<Finding>,
    end: End,
    trace: Vec<u64>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Seen {
    pub(crate) fn of(outcome: &Outcome, execution: &Execution, findings: &[Finding]) -> Seen {
        Seen {
            execution: execution.clone(),
            findings: findings.to_vec(),
            end: outcome.end.clone(),
            trace: outcome.trace.clone(),
            stdout: outcome.stdout.clone(),
            stderr: outcome.stderr.clone(),
        }
    }
}

/// The first difference between two runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    pub(crate) execution: u64,
    pub(crate) seed: u64,
    /// The event, if events differ.
    pub(crate) event: Option<u32>,
    pub(crate) what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "execution {} run twice with the same choices: {}", self.execution, self.what)
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
    Some(Difference { execution: planned.index, seed: planned.seed, event, what })
}

fn difference(first: &Seen, second: &Seen, sites: &dyn Sites) -> Option<(Option<u32>, String)> {
    let (a, b) = (&first.execution.events, &second.execution.events);
    // How far an execution comes until its time is over is left to chance, and without shortcuts it is not as far.
    let cut = [first, second].iter().any(|seen| seen.end == End::TimedOut);
    let whole = |at: &usize, shorter: usize| !cut || *at < shorter;
    let events = first_difference(a, b).filter(|at| whole(at, a.len().min(b.len())));
    let shorter = first.trace.len().min(second.trace.len());
    let traces = first_difference(&first.trace, &second.trace).filter(|at| whole(at, shorter));
    // A result of a system call differs before the events that depend on it do. Whether the engine has as many
    // entries as events is its own business: positions are compared only if so.
    let comparable = first.trace.len() == a.len() && second.trace.len() == b.len();
    let earlier = |at: &usize| events.is_none_or(|event| comparable && *at < event);
    if let Some(at) = traces.filter(earlier) {
        let place = (comparable && at < a.len()).then(|| format!(" ({})", show(&first.execution, at, sites)));
        let what = format!("observation {at} of the program differs{}", place.unwrap_or_default());
        return Some((comparable.then_some(at as u32), what));
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
fn first_difference<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    (common < a.len().max(b.len())).then_some(common)
}
