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

/// Who has which column.
pub(super) struct Columns {
    threads: Vec<ThreadId>,
    /// Too many threads: one column says who, one says what.
    narrow: bool,
}

impl Columns {
    /// A column for each thread of these events, if there are not more than `most`.
    pub(super) fn of(graph: &Graph<'_>, shown: &BTreeSet<EventId>, most: usize) -> Columns {
        let threads: BTreeSet<ThreadId> = shown.iter().map(|id| graph.execution.event(*id).thread).collect();
        let threads: Vec<ThreadId> = threads.into_iter().collect();
        Columns { narrow: threads.len() > most, threads }
    }

    /// The names of all columns, the threads' among them.
    pub(super) fn heading(&self) -> Vec<String> {
        let threads = match self.narrow {
            true => vec!["thread".to_string(), String::new()],
            false => self.threads.iter().map(ToString::to_string).collect(),
        };
        let around = |name: &str| std::iter::once(name.to_string());
        around("event").chain(threads).chain(around("reads from")).chain(around("where")).collect()
    }

    /// The threads' columns of an event.
    pub(super) fn cells(&self, graph: &Graph<'_>, id: EventId) -> Vec<String> {
        let (thread, text) = (graph.execution.event(id).thread, events::describe(graph.execution, id));
        match self.narrow {
            true => vec![thread.to_string(), text],
            false => {
                let cell = |of: &ThreadId| if *of == thread { text.clone() } else { String::new() };
                self.threads.iter().map(cell).collect()
            }
        }
    }
}

pub(super) fn table(case: &Case<'_>, graph: &Graph<'_>, shown: &BTreeSet<EventId>) -> String {
    let columns = Columns::of(graph, shown, COLUMNS);
    let mut lines = vec![columns.heading()];
    for id in shown {
        let mut line = vec![id.to_string()];
        line.extend(columns.cells(graph, *id));
        line.push(reads_from(case, graph, *id));
        let site = graph.execution.event(*id).site;
        line.push(Printable(&events::place(case.sites, site)).to_string());
        lines.push(line);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
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
pub(super) fn reads_from(case: &Case<'_>, graph: &Graph<'_>, id: EventId) -> String {
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
