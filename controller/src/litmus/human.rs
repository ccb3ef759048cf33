//! Results for people, in herd's words where herd has words.

use crate::cli::{Exploration, LitmusOptions, Output};
use crate::litmus::events::{self, Row};
use crate::litmus::tally::{RaceSeen, Tally, Why};
use crate::litmus::{dot, names};
use crate::text::Printable;
use std::fmt::{self, Write as _};
use wmtrace_model::execution::{Access, Execution, Source};
use wmtrace_model::litmus::program::{Expect, Program, Term};

/// The report of one test.
pub(crate) fn report(options: &LitmusOptions, program: &Program, tally: &Tally) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = if options.output == Output::Line {
        line(&mut out, options, program, tally)
    } else {
        full(&mut out, options, program, tally)
    };
    out
}

/// Everything that matters in one line.
fn line(out: &mut String, options: &LitmusOptions, program: &Program, tally: &Tally) -> fmt::Result {
    observation(out, program, tally)?;
    for (what, count) in [("races", tally.races.len() as u64), ("stuck", tally.stuck_count())] {
        if count > 0 {
            write!(out, " {what} {count}")?;
        }
    }
    // A sample never is complete, and never claims to be.
    let claims = matches!(options.exploration, Exploration::Exhaustive { .. });
    writeln!(out, "{}", if claims && !tally.complete() { " (incomplete)" } else { "" })
}

fn observation(out: &mut String, program: &Program, tally: &Tally) -> fmt::Result {
    let name = Printable(&program.name);
    match program.condition {
        Some(_) => {
            let (word, positive, negative) = (tally.observation(), tally.count(true), tally.count(false));
            write!(out, "Observation {name} {word} {positive} {negative}")
        }
        None => write!(out, "Observation {name} {} states", tally.states.len()),
    }
}

fn full(out: &mut String, options: &LitmusOptions, program: &Program, tally: &Tally) -> fmt::Result {
    let insertion = if options.mo_insertion { " with --mo-insertion" } else { "" };
    write!(out, "Test {}: {}{insertion}, ", Printable(&program.name), options.model)?;
    match options.exploration {
        Exploration::Exhaustive { .. } => writeln!(out, "exhaustive")?,
        Exploration::Sampled(sampling) => {
            let (strategy, runs, seed) = (sampling.strategy, executions(sampling.runs), sampling.seed);
            writeln!(out, "{strategy}, {runs}, seed {seed}")?;
        }
    }
    states(out, program, tally)?;
    if let Some(condition) = &program.condition {
        writeln!(out, "{}", if tally.holds(condition.quantifier) { "Ok" } else { "No" })?;
        writeln!(out, "Witnesses")?;
        writeln!(out, "Positive: {} Negative: {}", tally.count(true), tally.count(false))?;
        writeln!(out, "Condition {}", names::condition(program, condition))?;
    }
    observation(out, program, tally)?;
    out.push('\n');
    if let Some(expect) = program.expect {
        let word = match expect {
            Expect::Forbidden => "Never",
            Expect::Allowed => "Sometimes",
            Expect::Required => "Always",
        };
        writeln!(out, "Expected {word}")?;
    }
    for seen in &tally.races {
        race(out, program, seen)?;
    }
    left_out(out, options, tally)?;
    if let Some(shown) = &tally.shown {
        out.push('\n');
        if options.output == Output::Dot {
            out.push_str(&dot::graph(program, &shown.execution));
        } else {
            let title = match shown.why {
                Why::Condition => "Witness execution",
                Why::Race => "Execution with a race",
                Why::Stuck => "Execution in which nobody can go on",
            };
            writeln!(out, "{title}")?;
            out.push_str(&table(program, &shown.execution));
        }
    }
    Ok(())
}

fn states(out: &mut String, program: &Program, tally: &Tally) -> fmt::Result {
    writeln!(out, "States {}", tally.states.len())?;
    let name = |term: &Term| names::term(program, *term);
    let headings: Vec<String> = tally.terms.iter().map(name).collect();
    for (values, seen) in &tally.states {
        let mark = if seen.witness { '*' } else { ':' };
        write!(out, "{:<8}{mark}>", seen.count)?;
        for (heading, value) in headings.iter().zip(values) {
            write!(out, " {heading}={value};")?;
        }
        out.push('\n');
    }
    Ok(())
}

fn race(out: &mut String, program: &Program, seen: &RaceSeen) -> fmt::Result {
    let side = |access: &Access| {
        let place = names::location(program, access.addr).map_or("?", |location| &location.name);
        let op = if access.store { "store" } else { "load" };
        format!("P{} {op} {place} ({})", access.thread.0, names::order_of(program, access))
    };
    let (first, second) = (side(&seen.race.first), side(&seen.race.second));
    writeln!(out, "Race: {first} and {second}, unordered, in {}", executions(seen.count))
}

/// A number of executions, in words.
fn executions(count: u64) -> String {
    format!("{count} execution{}", if count == 1 { "" } else { "s" })
}

/// What the states do not show: executions that have no final state, or were not run.
fn left_out(out: &mut String, options: &LitmusOptions, tally: &Tally) -> fmt::Result {
    if tally.deadlocks > 0 {
        writeln!(out, "Deadlock: {}", executions(tally.deadlocks))?;
    }
    if tally.livelocks > 0 {
        writeln!(out, "Livelock: {}", executions(tally.livelocks))?;
    }
    if tally.over_limit > 0 {
        let (count, limit) = (executions(tally.over_limit), options.max_events);
        writeln!(out, "Incomplete: {count} given up after {limit} events (--max-events)")?;
    }
    match options.exploration {
        Exploration::Exhaustive { unroll, max_executions } => {
            if tally.cut > 0 {
                let (count, limit) = (executions(tally.cut), unroll);
                writeln!(out, "Incomplete: {count} given up after {limit} rounds of a loop (--unroll)")?;
            }
            if !tally.exhausted {
                let limit = executions(max_executions);
                writeln!(out, "Incomplete: stopped after {limit} (--max-executions)")?;
            }
        }
        Exploration::Sampled(_) => {
            if tally.cut > 0 {
                let count = executions(tally.cut);
                writeln!(out, "Endless: {count} given up in a loop that touches no memory")?;
            }
        }
    }
    Ok(())
}

/// One row an event, one column a thread.
pub(crate) fn table(program: &Program, execution: &Execution) -> String {
    let threads = program.threads.len();
    let columns = threads + 3;
    let mut heading = vec!["event".to_string()];
    heading.extend((0..threads).map(|thread| format!("P{thread}")));
    heading.extend(["reads from".to_string(), "mo".to_string()]);
    let mut lines = vec![heading];
    for row in events::rows(program, execution) {
        let mut line = vec![String::new(); columns];
        line[0] = row.id.to_string();
        line[row.thread as usize + 1] = describe(&row);
        line[threads + 1] = sources(&row.from);
        line[threads + 2] = row.mo.map(|place| place.to_string()).unwrap_or_default();
        lines.push(line);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("  {cell:<width$}"));
        out.push_str(cells.collect::<String>().trim_end());
        out.push('\n');
    }
    out
}

/// `store x=1 relaxed`, `rmw x=0->1 seq_cst`, `fence acquire`, `commit e3 x`.
pub(crate) fn describe(row: &Row) -> String {
    let mut text = row.op.replace('_', " ");
    if let Some(store) = row.commits {
        text += &format!(" {store}");
    }
    if let Some(location) = &row.location {
        text += &format!(" {location}");
    }
    match (row.read, row.written) {
        (Some(read), Some(written)) => text += &format!("={read}->{written}"),
        (Some(value), None) | (None, Some(value)) => text += &format!("={value}"),
        (None, None) => {}
    }
    if let Some(order) = row.order {
        text += &format!(" {order}");
    }
    text
}

fn sources(from: &[Source]) -> String {
    let name = |source: &Source| match source {
        Source::Init => "init".to_string(),
        Source::Store(id) => id.to_string(),
    };
    from.iter().map(name).collect::<Vec<_>>().join(", ")
}
