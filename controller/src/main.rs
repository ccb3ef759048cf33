//! `wmtrace`: weak-memory testing. See `wmtrace --help`.

#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "what only the step engine uses"))]

mod bug;
mod campaign;
mod cli;
mod conditions;
mod engine;
mod events;
mod exit;
mod explain;
mod inspect;
mod launch;
mod litmus;
mod nearest;
mod os;
mod replay;
mod report;
mod saved;
mod scrub;
mod suppress;
mod target;
mod text;
mod whole;

use clap::Parser as _;
use cli::{Cli, Command};
use exit::Exit;
use launch::Real;
use std::io::{self, ErrorKind, Write as _, stderr, stdout};
use std::process::ExitCode;

#[global_allocator]
static MEMORY: os::allocator::Bounded = os::allocator::Bounded;

/// A defect of wmtrace that ends it has its own status, like any other failure: 101 is none of ours.
fn main() -> ExitCode {
    std::panic::catch_unwind(run).unwrap_or(Exit::Tool.into())
}

fn run() -> ExitCode {
    let command = match Cli::try_parse().and_then(Cli::checked) {
        Ok(command) => command,
        Err(error) => return said(&error),
    };
    let mut exit = Exit::Clean;
    let (out, err) = (&mut stdout().lock(), &mut stderr());
    let written = match command {
        Command::Test(options) => campaign::command::main(&Real, &options, out, err, &mut exit),
        Command::Replay(options) => replay::main(&Real, &options, out, err, &mut exit),
        Command::Explain(options) => explain::main(&Real, &options, out, err, &mut exit),
        Command::Scrub(options) => scrub::main(&options, out, err, &mut exit),
        Command::Litmus(options) => litmus::main(&options, out, err, &mut exit),
        Command::Inspect(options) => inspect::main(&options, out, err, &mut exit),
        Command::Missing(instead) => {
            exit = Exit::Tool;
            writeln!(err, "wmtrace: {instead}")
        }
    };
    ended(written, exit)
}

/// What clap has to say: help and version on stdout, a wrong option with the usage on stderr.
fn said(error: &clap::Error) -> ExitCode {
    let (exit, written) = match error.use_stderr() {
        // If this cannot be written, the status has to do.
        true => (Exit::Usage, error.print().or(Ok(()))),
        false => (Exit::Clean, error.print().and_then(|()| stdout().flush())),
    };
    ended(written, exit)
}

/// The status of a command whose report was written, or not.
fn ended(written: io::Result<()>, exit: Exit) -> ExitCode {
    match written {
        Ok(()) => exit.into(),
        // Whoever reads our output has seen enough (`wmtrace … | head`): what was found so far counts.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => exit.into(),
        Err(error) => {
            // If this cannot be written either, the status has to do.
            let _ = writeln!(stderr(), "wmtrace: cannot write the report: {error}");
            Exit::Tool.into()
        }
    }
}
