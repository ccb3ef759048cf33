//! The execution as a table: a column for each thread, one line per event.

use super::Case;
use super::graph::Graph;
use crate::events::{self, sources};
use crate::text::Printable;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use wmtrace_model::execution::{EventId, Label, Source};
use wmtrace_model::op::{Place, ThreadId};
use wmtrace_model::strategy::StrategyKind;

/// Lines without `--all`, and threads that still have columns.
const MOST: usize = 80;
const COLUMNS: usize = 5;

/// The events that have to do with the bug: memory that threads share, synchronisation, the lives of threads, and the
/// heap where the bug is about it.
pub(super) fn relevant(case: &Case<'_>, graph: &Graph<'_>, mentioned: &[EventId]) -> BTreeSet<EventId> {
    let execution = graph.execution;
    let mut users: BTreeMap<Place, (BTreeSet<ThreadId>, bool)> = BTreeMap::new();
    let mut objects: BTreeMap<u64, BTreeSet<ThreadId>> = BTreeMap::new();
    for event in &execution.events {
        if let Some(at) = event.label.place() {
            let (threads, written) = users.entry(at).or_default();
            threads.insert(event.thread);
            *written |= event.label.mo().is_some();
        }
        if let Label::Release { object } | Label::Acquire { object } = event.label {
            objects.entry(object).or_default().insert(event.thread);
        }
    }
    let memory: Vec<(u64, u64)> = case.bug.detail.sides.iter().filter_map(|side| side.memory).collect();
    let touches = |at: u64, len: u64| {
        memory.iter().any(|(addr, size)| *addr < at.saturating_add(len) && at < addr.saturating_add(*size))
    };
    let mut wanted: BTreeSet<EventId> = mentioned.iter().copied().collect();
    for (id, event) in execution.iter() {
        let keep = match event.label {
            Label::Load { at, .. } | Label::Store { at, .. } | Label::Rmw { at, .. } => {
                users.get(&at).is_some_and(|(threads, written)| threads.len() > 1 && *written)
                    || touches(at.addr.0, at.width.into())
            }
            Label::Release { object } | Label::Acquire { object } => {
                objects.get(&object).is_some_and(|threads| threads.len() > 1)
            }
            Label::Alloc { at, len } | Label::Free { at, len } | Label::Foreign { at, len } => {
                touches(at.0, len)
            }
            Label::Commit { store } => wanted.contains(&store),
            Label::Fence { .. }
            | Label::Create { .. }
            | Label::Exit
            | Label::Join { .. }
            | Label::Sleep { .. }
            | Label::Wake { .. } => true,
        };
        if keep {
            wanted.insert(id);
        }
    }
    // The last ones: they are nearest to the failure. What the text mentions stays.
    let surplus = wanted.len().saturating_sub(MOST);
    let mut dropped = 0;
    wanted.retain(|id| {
        let drop = dropped < surplus && !mentioned.contains(id);
        dropped += usize::from(drop);
        !drop
    });
    wanted
}

pub(super) fn table(case: &Case<'_>, graph: &Graph<'_>, shown: &BTreeSet<EventId>) -> String {
    let threads: Vec<ThreadId> = {
        let mut threads: Vec<ThreadId> = shown.iter().map(|id| graph.execution.event(*id).thread).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    };
    let narrow = threads.len() > COLUMNS;
    let columns = if narrow { 2 } else { threads.len() };
    let mut heading = vec!["event".to_string()];
    match narrow {
        true => heading.extend(["thread".to_string(), String::new()]),
        false => heading.extend(threads.iter().map(ToString::to_string)),
    }
    heading.extend(["reads from".to_string(), "where".to_string()]);
    let mut lines = vec![heading];
    for id in shown {
        let event = graph.execution.event(*id);
        let mut line = vec![String::new(); columns + 3];
        line[0] = id.to_string();
        let text = events::describe(graph.execution, *id);
        match (narrow, threads.binary_search(&event.thread)) {
            (true, _) => (line[1], line[2]) = (event.thread.to_string(), text),
            (false, Ok(column)) => line[column + 1] = text,
            (false, Err(_)) => {}
        }
        line[columns + 1] = from(case, graph, *id);
        line[columns + 2] = Printable(&events::place(case.sites, event.site)).to_string();
        lines.push(line);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns + 3).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("  {cell:<width$}"));
        out.push_str(cells.collect::<String>().trim_end());
        out.push('\n');
    }
    let left_out = graph.execution.events.len() - shown.len();
    if left_out > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "  ({left_out} events that have nothing to do with it, or came long before: --all)"
        );
    }
    out
}

/// Where a read has its value from, and what choice there was.
fn from(case: &Case<'_>, graph: &Graph<'_>, id: EventId) -> String {
    let names = sources(graph.execution, id).into_iter().map(|source| match source {
        Source::Init => "init".to_string(),
        Source::Store(store) => store.to_string(),
    });
    let mut text = names.collect::<Vec<_>>().join(", ");
    if let Some(missed) = graph.missed(id) {
        text += &format!(" (stale: {missed} is newer)");
    } else if let Some(choice) = case.choices.iter().find(|choice| choice.event == id)
        && choice.chosen > 0
    {
        // Under PCTWM only a read that was chosen to communicate takes more than it must.
        let sink = if case.strategy == StrategyKind::Pctwm.name() { "a sink: " } else { "" };
        text += &format!(" ({sink}it could have read an older store)");
    }
    text
}
