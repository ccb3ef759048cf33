//! An execution as a DOT graph: a column a thread, with po, rf, mo and fr.

use crate::litmus::events::{self, Row};
use crate::litmus::human::describe;
use crate::text::dot_string as quoted;
use std::fmt::{self, Write as _};
use wmtrace_model::execution::{Execution, Source};
use wmtrace_model::litmus::program::Program;

/// The graph, with a newline at its end.
pub(crate) fn graph(program: &Program, execution: &Execution) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_graph(&mut out, program, execution);
    out
}

/// A node's place, in inches: graphviz draws edges well and columns badly, so it is told. Row 0 is the top.
fn place(x: f64, row: usize) -> String {
    format!("pos=\"{x:.2},{:.2}!\"", 0.0 - row as f64)
}

fn write_graph(out: &mut String, program: &Program, execution: &Execution) -> fmt::Result {
    let rows = events::rows(program, execution);
    writeln!(out, "digraph {} {{", quoted(&program.name))?;
    writeln!(out, "  graph [layout=neato, splines=true];")?;
    writeln!(out, "  node [shape=box, color=white, fontname=\"monospace\", height=0.3, margin=0.05];")?;
    writeln!(out, "  edge [fontname=\"monospace\", fontsize=10];")?;
    let threads = program.threads.len();
    // The widest label (monospace, 14 points), and room for the edges.
    let widest = rows.iter().map(|row| describe(row).chars().count()).max().unwrap_or(0);
    let width = 2.0 + 0.12 * widest as f64;
    let occurs = |name: &String| rows.iter().any(|row| row.location.as_ref() == Some(name));
    let locations: Vec<usize> =
        (0..program.locations.len()).filter(|&it| occurs(&program.locations[it].name)).collect();
    for (position, &index) in locations.iter().enumerate() {
        let location = &program.locations[index];
        let label = quoted(&format!("init: {}={}", location.name, location.init));
        // Spread over the width of the threads' columns.
        let column = (position as f64 + 0.5) * threads as f64 / locations.len() as f64 - 0.5;
        writeln!(out, "  init{index} [label={label}, {}];", place(column * width, 0))?;
    }
    for thread in 0..threads {
        let x = thread as f64 * width;
        writeln!(out, "  P{thread} [label=\"P{thread}\", fontsize=18, {}];", place(x, 1))?;
        let of_thread: Vec<&Row> = rows.iter().filter(|row| row.thread as usize == thread).collect();
        for (position, row) in of_thread.iter().enumerate() {
            let label = quoted(&format!("{}: {}", row.id, describe(row)));
            writeln!(out, "  {} [label={label}, {}];", row.id, place(x, position + 2))?;
        }
        // A commit is no event of the program: it comes after its store, not in po.
        let (commits, in_po): (Vec<&Row>, Vec<&Row>) =
            of_thread.into_iter().partition(|row| row.commits.is_some());
        for pair in in_po.windows(2) {
            edge(out, &pair[0].id.to_string(), &pair[1].id.to_string(), "po", "black")?;
        }
        for commit in commits {
            if let Some(store) = commit.commits {
                edge(out, &store.to_string(), &commit.id.to_string(), "commit", "gray")?;
            }
        }
    }
    communication(out, program, &rows)?;
    writeln!(out, "}}")
}

/// rf, mo (between neighbours) and fr (to the next store in mo), from each location's initial value on.
fn communication(out: &mut String, program: &Program, rows: &[Row]) -> fmt::Result {
    let orders = events::orders(rows);
    for (index, location) in program.locations.iter().enumerate() {
        let initial = format!("init{index}");
        let name = |source: Source| match source {
            Source::Store(id) => id.to_string(),
            Source::Init => initial.clone(),
        };
        let stores = orders.get(location.name.as_str()).map_or(&[][..], Vec::as_slice);
        let mut before = Source::Init;
        for store in stores {
            edge(out, &name(before), &store.id.to_string(), "mo", "blue")?;
            before = Source::Store(store.id);
        }
        for row in rows.iter().filter(|row| row.location.as_ref() == Some(&location.name)) {
            for source in &row.from {
                edge(out, &name(*source), &row.id.to_string(), "rf", "red")?;
                let next = match source {
                    Source::Init => stores.first(),
                    Source::Store(id) => stores.iter().skip_while(|store| store.id != *id).nth(1),
                };
                if let Some(next) = next.filter(|next| next.id != row.id) {
                    edge(out, &row.id.to_string(), &next.id.to_string(), "fr", "orange")?;
                }
            }
        }
    }
    Ok(())
}

fn edge(out: &mut String, from: &str, to: &str, label: &str, colour: &str) -> fmt::Result {
    writeln!(out, "  {from} -> {to} [label=\"{label}\", color={colour}, fontcolor={colour}];")
}
