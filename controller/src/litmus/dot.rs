//! An execution as a DOT graph: a column a thread, with po, rf, mo and fr.

use crate::litmus::events::{self, Row};
use crate::litmus::human::describe;
use std::fmt::{self, Write as _};
use wmtrace_model::execution::{EventId, Execution, Source};
use wmtrace_model::litmus::program::Program;
use wmtrace_model::op::Place;

/// The graph, with a newline at its end.
pub(crate) fn graph(program: &Program, execution: &Execution) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_graph(&mut out, program, execution);
    out
}

/// A string in DOT's quotes. Control characters have no place in a picture.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            char if char.is_control() => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

fn write_graph(out: &mut String, program: &Program, execution: &Execution) -> fmt::Result {
    let rows = events::rows(program, execution);
    writeln!(out, "digraph {} {{", quoted(&program.name))?;
    writeln!(out, "  node [shape=plaintext, fontname=\"monospace\"];")?;
    writeln!(out, "  edge [fontname=\"monospace\", fontsize=10];")?;
    for thread in 0..program.threads.len() {
        let of_thread: Vec<&Row> = rows.iter().filter(|row| row.thread as usize == thread).collect();
        writeln!(out, "  subgraph cluster_{thread} {{ label=\"P{thread}\"; color=gray;")?;
        for row in &of_thread {
            let label = format!("{}: {}", row.id, describe(row));
            writeln!(out, "    {} [label={}];", row.id, quoted(&label))?;
        }
        // A commit is no event of the program: it has its place in time, not in po.
        let in_po: Vec<&&Row> = of_thread.iter().filter(|row| row.commits.is_none()).collect();
        for pair in in_po.windows(2) {
            writeln!(out, "    {} -> {} [label=\"po\"];", pair[0].id, pair[1].id)?;
        }
        writeln!(out, "  }}")?;
    }
    communication(out, program, execution, &rows)?;
    writeln!(out, "}}")
}

/// rf, mo (between neighbours) and fr (to the next store in mo), each location's initial value being a node.
fn communication(out: &mut String, program: &Program, execution: &Execution, rows: &[Row]) -> fmt::Result {
    let orders = events::modification_order(execution);
    let name = |source: Source, at: Place| match source {
        Source::Store(id) => id.to_string(),
        Source::Init => match program.locations.iter().position(|location| location.place == at) {
            Some(index) => format!("init{index}"),
            None => "init".to_string(),
        },
    };
    let used = |at: Place| rows.iter().any(|row| execution.event(row.id).label.place() == Some(at));
    for location in program.locations.iter().filter(|location| used(location.place)) {
        let label = format!("{}={}", location.name, location.init);
        writeln!(out, "  {} [label={}];", name(Source::Init, location.place), quoted(&label))?;
    }
    for (at, stores) in &orders {
        let mut before = Source::Init;
        for store in stores {
            edge(out, &name(before, *at), *store, "mo", "blue")?;
            before = Source::Store(*store);
        }
    }
    for row in rows {
        let Some(at) = execution.event(row.id).label.place() else { continue };
        for source in &row.from {
            edge(out, &name(*source, at), row.id, "rf", "red")?;
            let stores = orders.get(&at).map_or(&[][..], Vec::as_slice);
            let next = match source {
                Source::Init => stores.first(),
                Source::Store(id) => stores.iter().skip_while(|store| *store != id).nth(1),
            };
            if let Some(next) = next.filter(|next| **next != row.id) {
                edge(out, &row.id.to_string(), *next, "fr", "orange")?;
            }
        }
    }
    Ok(())
}

fn edge(out: &mut String, from: &str, to: EventId, label: &str, colour: &str) -> fmt::Result {
    // These do not rank the nodes: time runs down each thread's column.
    writeln!(
        out,
        "  {from} -> {to} [label=\"{label}\", color={colour}, fontcolor={colour}, constraint=false];"
    )
}
