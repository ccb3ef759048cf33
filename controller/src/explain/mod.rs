//! `wmtrace explain`: a recorded execution for people. Runs it again, and says what happened and why it could.

mod cycle;
mod dot;
mod graph;
mod html;
mod table;
#[cfg(test)]
mod tests;
mod why;

use crate::bug::Bug;
use crate::cli::{ExplainOptions, Explained};
use crate::engine::Sites;
use crate::exit::Exit;
use crate::launch::Launch;
use crate::replay::{self, Choice, Replayed};
use crate::text::Printable;
use graph::Graph;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use wmtrace_model::execution::{EventId, Execution};
use wmtrace_model::machine::Finding;
use wmtrace_model::op::ModelKind;

/// What is explained.
struct Case<'a> {
    name: String,
    model: ModelKind,
    strategy: &'a str,
    bug: &'a Bug,
    findings: &'a [Finding],
    choices: &'a [Choice],
    sites: &'a dyn Sites,
}

/// Runs the command.
///
/// # Errors
/// When `out` or `err` cannot be written.
pub(crate) fn main<L: Launch>(
    launch: &L,
    options: &ExplainOptions,
    out: &mut dyn Write,
    err: &mut dyn Write,
    exit: &mut Exit,
) -> io::Result<()> {
    match replay::from_file(launch, &options.recording, options.program.as_deref()) {
        Ok(replayed) => {
            for warning in &replayed.warnings {
                writeln!(err, "wmtrace: warning: {}", Printable(warning))?;
            }
            out.write_all(explain(&replayed, options.all, options.format).as_bytes())?;
            out.flush()
        }
        Err(refused) => {
            *exit = refused.exit;
            writeln!(err, "wmtrace: {}", Printable(&refused.message))
        }
    }
}

/// The explanation, with a newline at its end.
fn explain<E: Sites>(replayed: &Replayed<E>, all: bool, format: Explained) -> String {
    let case = Case {
        name: replayed.setup.name(),
        model: replayed.setup.engine.model,
        strategy: &replayed.saved.strategy,
        bug: &replayed.bug,
        findings: &replayed.findings,
        choices: &replayed.choices,
        sites: &replayed.engine,
    };
    shown(&case, &replayed.execution, all, format)
}

fn shown(case: &Case<'_>, execution: &Execution, all: bool, format: Explained) -> String {
    // What happens after a race proves nothing.
    let until = why::race(case).map_or(execution.events.len(), |race| race.events as usize);
    let mut execution = execution.clone();
    execution.events.truncate(until);
    let graph = Graph::new(&execution);
    let why = why::why(case, &graph);
    let shown: BTreeSet<EventId> = match all {
        true => execution.iter().map(|(id, _)| id).collect(),
        false => table::relevant(case, &graph, &why.mentioned),
    };
    match format {
        Explained::Text => text(case, &graph, &shown, &why),
        Explained::Dot => dot::graph(&case.name, &graph, &shown),
        Explained::Html => html::page(case, &graph, &shown, &why),
    }
}

/// What it is about, in a few words.
fn headline(case: &Case<'_>) -> String {
    format!("{}: {} under {}", case.name, case.bug.key.kind.title(), case.model)
}

fn text(case: &Case<'_>, graph: &Graph<'_>, shown: &BTreeSet<EventId>, why: &why::Why) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}", Printable(&headline(case)));
    let _ = writeln!(out, "  {}\n", Printable(&case.bug.detail.message));
    out += &table::table(case, graph, shown);
    for paragraph in &why.paragraphs {
        out.push('\n');
        out += &wrapped(&Printable(paragraph).to_string());
    }
    out
}

/// The paragraph in lines of at most 110 characters, where words allow it.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 110 {
            lines.push(word.to_string());
        } else {
            let space = if line.is_empty() { "" } else { " " };
            *line += &format!("{space}{word}");
        }
    }
    lines.join("\n") + "\n"
}
