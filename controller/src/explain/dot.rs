//! The execution as a DOT graph: a column a thread, with po, rf, mo, fr and sw.

use super::graph::Graph;
use crate::events::{describe, sources};
use crate::litmus::events::Location;
use crate::text::dot_string as quoted;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use wmtrace_model::execution::{EventId, Label, Source};
use wmtrace_model::op::ThreadId;

/// The graph of these events, with a newline at its end.
pub(super) fn graph(name: &str, graph: &Graph<'_>, shown: &BTreeSet<EventId>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, name, graph, shown);
    out
}

fn write(out: &mut String, name: &str, graph: &Graph<'_>, shown: &BTreeSet<EventId>) -> fmt::Result {
    let execution = graph.execution;
    writeln!(out, "digraph {} {{", quoted(name))?;
    writeln!(out, "  graph [layout=neato, splines=true];")?;
    writeln!(out, "  node [shape=box, color=white, fontname=\"monospace\", height=0.3, margin=0.05];")?;
    writeln!(out, "  edge [fontname=\"monospace\", fontsize=10];")?;
    let mut threads: Vec<ThreadId> = shown.iter().map(|id| execution.event(*id).thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let widest = shown.iter().map(|id| describe(execution, *id).chars().count()).max().unwrap_or(0);
    let width = 2.0 + 0.12 * widest as f64;
    for (column, thread) in threads.iter().enumerate() {
        let x = column as f64 * width;
        writeln!(out, "  {thread} [label=\"{thread}\", fontsize=18, pos=\"{x:.2},0!\"];")?;
    }
    let mut last: Vec<Option<EventId>> = vec![None; threads.len()];
    for (row, id) in (1..).zip(shown) {
        let event = execution.event(*id);
        let Ok(column) = threads.binary_search(&event.thread) else { continue };
        let label = quoted(&format!("{id}: {}", describe(execution, *id)));
        let (x, y) = (column as f64 * width, -(f64::from(row)) * 0.5);
        writeln!(out, "  {id} [label={label}, pos=\"{x:.2},{y:.2}!\"];")?;
        // A commit is no event of the program: it comes after its store, not in po.
        if let Label::Commit { store } = event.label {
            edge(out, shown, store, *id, "commit", "gray")?;
        } else if let Some(before) = last[column].replace(*id) {
            edge(out, shown, before, *id, "po", "black")?;
        }
    }
    communication(out, graph, shown)?;
    for (from, to) in &graph.sw {
        edge(out, shown, *from, *to, "sw", "darkgreen")?;
    }
    writeln!(out, "}}")
}

/// rf, mo (between neighbours) and fr (to the next store in mo), from each place's initial value on.
fn communication(out: &mut String, graph: &Graph<'_>, shown: &BTreeSet<EventId>) -> fmt::Result {
    let execution = graph.execution;
    let places: BTreeSet<Location> = shown.iter().filter_map(|id| graph.locations[id.index()]).collect();
    for (number, at) in places.iter().enumerate() {
        let stores = graph.mo.get(at).into_iter().flatten().filter(|id| shown.contains(id));
        let stores: Vec<EventId> = stores.copied().collect();
        let init = format!("init{number}");
        let y = -0.5 * number as f64;
        writeln!(
            out,
            "  {init} [label={}, pos=\"-3,{y:.2}!\"];",
            quoted(&format!("init: {}", at.place.addr))
        )?;
        if let Some(first) = stores.first() {
            labelled(out, &init, &first.to_string(), "mo", "blue")?;
        }
        for pair in stores.windows(2) {
            edge(out, shown, pair[0], pair[1], "mo", "blue")?;
        }
        for read in shown.iter().filter(|id| graph.locations[id.index()] == Some(*at)) {
            for source in sources(execution, *read) {
                let next = match source {
                    Source::Init => {
                        labelled(out, &init, &read.to_string(), "rf", "red")?;
                        stores.first()
                    }
                    Source::Store(store) => {
                        edge(out, shown, store, *read, "rf", "red")?;
                        stores.iter().skip_while(|it| **it != store).nth(1)
                    }
                };
                if let Some(next) = next.filter(|next| *next != read) {
                    edge(out, shown, *read, *next, "fr", "orange")?;
                }
            }
        }
    }
    Ok(())
}

/// An edge between events, if both are there.
fn edge(
    out: &mut String,
    shown: &BTreeSet<EventId>,
    from: EventId,
    to: EventId,
    label: &str,
    colour: &str,
) -> fmt::Result {
    if !shown.contains(&from) || !shown.contains(&to) {
        return Ok(());
    }
    labelled(out, &from.to_string(), &to.to_string(), label, colour)
}

fn labelled(out: &mut String, from: &str, to: &str, label: &str, colour: &str) -> fmt::Result {
    writeln!(out, "  {from} -> {to} [label=\"{label}\", color={colour}, fontcolor={colour}];")
}
