//! Results for people, in herd's words where herd has words.

use crate::cli::{Exploration, LitmusOptions, Output};
use crate::litmus::events::{self, Row};
use crate::litmus::tally::{RaceSeen, Tally, Why};
use crate::litmus::{dot, names};
use crate::text::Printable;
use std::fmt::{self, Write as _};
use wmtrace_model::execution::{Access, Source};
use wmtrace_model::litmus::program::{Expect, Program, Quantifier, Term};

/// The report of one test, which `file` holds.
pub(crate) fn report(options: &LitmusOptions, file: &str, program: &Program, tally: &Tally) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = match options.output {
        Output::Line => line(&mut out, options, program, tally),
        Output::Table | Output::Dot | Output::Json => full(&mut out, options, file, program, tally),
    };
    let Some(shown) = tally.shown.as_ref().filter(|_| options.output != Output::Line) else {
        return commented(options, out);
    };
    let title = match shown.why {
        Why::Condition => "Witness execution",
        Why::Race => "Execution with a race",
        Why::Stuck => "Execution in which nobody can go on",
    };
    let _ = writeln!(out, "\n{title}");
    if options.output == Output::Dot {
        return commented(options, out) + &dot::graph(program, &shown.execution);
    }
    out + &execution(program, &events::rows(program, &shown.execution))
}

/// An execution as a table, with what a table does not show.
pub(crate) fn execution(program: &Program, rows: &[Row]) -> String {
    table(program, rows) + &modification_orders(program, rows)
}

/// With `--dot`, the text is a comment of the graph: all of the output is DOT.
fn commented(options: &LitmusOptions, text: String) -> String {
    if options.output != Output::Dot {
        return text;
    }
    text.lines().map(|line| format!("// {line}").trim_end().to_string() + "\n").collect()
}

/// Everything that matters in one line.
fn line(out: &mut String, options: &LitmusOptions, program: &Program, tally: &Tally) -> fmt::Result {
    observation(out, program, tally)?;
    for (what, count) in [("races", tally.races.len() as u64), ("stuck", tally.stuck_count())] {
        if count > 0 {
            write!(out, " {what} {count}")?;
        }
    }
    // A sample never is complete, and never claims to be; but what it runs, it should run to the end.
    let complete = match options.exploration {
        Exploration::Exhaustive { .. } => tally.complete(),
        Exploration::Sampled(_) => tally.cut == 0 && tally.over_limit == 0 && !tally.is_full(),
    };
    let incomplete = if complete { "" } else { " (incomplete)" };
    writeln!(out, "{incomplete}{}", if tally.is_bug(program) { " (bug)" } else { "" })
}

fn observation(out: &mut String, program: &Program, tally: &Tally) -> fmt::Result {
    let name = Printable(&program.name);
    match program.condition {
        Some(_) => {
            let (word, positive, negative) = (tally.observation(), tally.count(true), tally.count(false));
            write!(out, "Observation {name} {word} {positive} {negative}")
        }
        None => {
            let count = tally.states.len();
            write!(out, "Observation {name} {count} state{}", if count == 1 { "" } else { "s" })
        }
    }
}

fn full(
    out: &mut String,
    options: &LitmusOptions,
    file: &str,
    program: &Program,
    tally: &Tally,
) -> fmt::Result {
    let insertion = if options.mo_insertion { " with --mo-insertion" } else { "" };
    write!(out, "Test {}: {}{insertion}, ", Printable(&program.name), options.model)?;
    match options.exploration {
        Exploration::Exhaustive { .. } => writeln!(out, "exhaustive")?,
        Exploration::Sampled(sampling) => {
            let (strategy, runs, seed) = (sampling.strategy, executions(sampling.runs), sampling.seed);
            write!(out, "{strategy}, {runs}, seed {seed}")?;
            let given =
                [("depth", sampling.depth), ("events", sampling.events), ("history", sampling.history)];
            for (name, value) in given {
                if let Some(value) = value {
                    write!(out, ", {name} {value}")?;
                }
            }
            out.push('\n');
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
    if let Some(condition) = program.condition.as_ref().filter(|_| tally.is_broken(program)) {
        match condition.quantifier {
            Quantifier::Exists => {
                let count = executions(tally.count(true));
                writeln!(out, "Bug: the condition holds in {count}, and the test expects it never to")?;
            }
            Quantifier::NotExists => {
                writeln!(out, "Bug: what `~exists` rules out holds in {}", executions(tally.count(true)))?;
            }
            Quantifier::Forall => {
                writeln!(out, "Bug: what `forall` claims fails in {}", executions(tally.count(false)))?;
            }
        }
    }
    for seen in &tally.races {
        race(out, file, program, seen)?;
    }
    left_out(out, options, tally)
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

fn race(out: &mut String, file: &str, program: &Program, seen: &RaceSeen) -> fmt::Result {
    let side = |access: &Access| {
        let place = names::location(program, access.addr).map_or("?", |location| &location.name);
        let op = if access.store { "store" } else { "load" };
        let line = names::line(program, access.site).map(|line| format!(" at {}:{line}", Printable(file)));
        let (thread, order) = (access.thread.0, names::order_of(program, access));
        format!("P{thread} {op} {place} ({order}){}", line.unwrap_or_default())
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
            if !tally.exhausted && !tally.is_full() {
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
    if tally.is_full() {
        let (states, count) = (tally.states.len(), executions(tally.executions()));
        writeln!(out, "Incomplete: stopped after {count}, with {states} different states: no more are kept")?;
    }
    Ok(())
}

/// Events that a table shows. Who needs more reads the JSON.
const MAX_ROWS: usize = 500;

/// One row an event, one column a thread.
fn table(program: &Program, rows: &[Row]) -> String {
    let threads = program.threads.len();
    let columns = threads + 3;
    let mut heading = vec!["event".to_string()];
    heading.extend((0..threads).map(|thread| format!("P{thread}")));
    heading.extend(["reads from".to_string(), "line".to_string()]);
    let mut lines = vec![heading];
    let left_out = rows.len().saturating_sub(MAX_ROWS);
    for row in &rows[..rows.len() - left_out] {
        let mut line = vec![String::new(); columns];
        line[0] = row.id.to_string();
        line[row.thread as usize + 1] = describe(row);
        line[threads + 1] = sources(&row.from);
        line[threads + 2] = row.line.map(|line| line.to_string()).unwrap_or_default();
        lines.push(line);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("  {cell:<width$}"));
        out.push_str(cells.collect::<String>().trim_end());
        out.push('\n');
    }
    if left_out > 0 {
        let _ = writeln!(out, "  … and {left_out} more events");
    }
    out
}

/// The stores of each location that has several: which of them is the newest is half of what a witness says.
fn modification_orders(program: &Program, rows: &[Row]) -> String {
    let mut out = String::new();
    for (location, stores) in events::orders(rows).into_iter().filter(|(_, stores)| stores.len() > 1) {
        let init = program.locations.iter().find(|it| it.name == location).map_or(0, |it| it.init);
        let _ = write!(out, "  Modification order of {location}: {init} (init)");
        for store in stores {
            let _ = write!(out, ", {} ({})", store.written.unwrap_or(0), store.id);
        }
        out.push('\n');
    }
    out
}

/// `store x=1 relaxed`, `fetch_add x=0->1 seq_cst`, `fence acquire`, `commit x=1 of e3`.
pub(crate) fn describe(row: &Row) -> String {
    let mut text = match row.op {
        "failed_cas" => "failed cas".to_string(),
        "failed_weak_cas" => "failed weak cas".to_string(),
        op => op.to_string(),
    };
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
    if let Some(store) = row.commits {
        text += &format!(" of {store}");
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
