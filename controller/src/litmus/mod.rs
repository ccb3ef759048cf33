//! `wmtrace litmus`: reads each test, runs it on the model crate's `sim` engine, certifies every execution, and
//! reports.

mod dot;
pub(crate) mod events;
#[cfg(test)]
mod fuzz;
mod human;
mod input;
mod json;
pub(crate) mod names;
mod progress;
mod run;
mod tally;
#[cfg(test)]
mod tests;

use crate::cli::{LitmusOptions, Output};
use crate::exit::Exit;
use crate::text::{Printable, printable_json};
use std::io::{self, Write};
use wmtrace_model::litmus::parse::ParseError;

/// Why there is no answer for a file.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It cannot be read.
    Unreadable(String),
    /// It is not a litmus test.
    Parse(ParseError),
    /// wmtrace is wrong: an execution does not satisfy the model's axioms, or the like. With what helps to find
    /// out why.
    Tool { message: String, detail: String },
}

impl Failure {
    fn position(&self) -> Option<(u32, u32)> {
        match self {
            Failure::Parse(error) => Some((error.line, error.column)),
            Failure::Unreadable(_) | Failure::Tool { .. } => None,
        }
    }

    fn message(&self) -> String {
        match self {
            Failure::Unreadable(message) => message.clone(),
            Failure::Parse(error) => error.message.clone(),
            Failure::Tool { message, .. } => format!("tool error: {message}"),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Failure::Unreadable(_) | Failure::Parse(_) => Exit::Usage,
            Failure::Tool { .. } => Exit::Tool,
        }
    }

    /// `FILE:line:column: message`
    fn print(&self, file: &str, err: &mut dyn Write) -> io::Result<()> {
        let position = self.position().map(|(line, column)| format!("{line}:{column}:")).unwrap_or_default();
        writeln!(err, "{}:{position} {}", Printable(file), Printable(&self.message()))?;
        if let Failure::Tool { detail, .. } = self {
            write!(err, "{detail}")?;
        }
        Ok(())
    }
}

/// Runs the command. Results go to `out`; what is wrong with a file goes to `err`, and the next file is tried. `exit`
/// becomes the worst that was found.
///
/// # Errors
/// When `out` or `err` cannot be written.
pub(crate) fn main(
    options: &LitmusOptions,
    out: &mut dyn Write,
    err: &mut dyn Write,
    exit: &mut Exit,
) -> io::Result<()> {
    let mut report = json::Report::new(options);
    for warning in &options.warnings {
        writeln!(err, "wmtrace: {warning}")?;
    }
    for (index, path) in options.files.iter().enumerate() {
        let file = path.to_string_lossy();
        let answer = input::read(path).and_then(|program| {
            let tally = run::explore(options, &program)?;
            Ok((program, tally))
        });
        match answer {
            Ok((program, tally)) => {
                if tally.is_bug(&program) {
                    *exit = (*exit).max(Exit::Bug);
                }
                if options.output == Output::Json {
                    report.add(&file, &program, &tally);
                } else {
                    let gap = if index > 0 && options.output != Output::Line { "\n" } else { "" };
                    write!(out, "{gap}{}", human::report(options, &file, &program, &tally))?;
                }
            }
            Err(failure) => {
                *exit = (*exit).max(failure.exit());
                report.fail(&file, &failure);
                failure.print(&file, err)?;
            }
        }
    }
    if options.output == Output::Json {
        writeln!(out, "{}", printable_json(&serde_json::to_string(&report)?))?;
    }
    out.flush()
}
