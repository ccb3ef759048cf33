//! `wmtrace`: weak-memory testing. See `wmtrace --help`.

mod cli;
mod exit;
mod inspect;
mod litmus;
mod text;

use clap::Parser as _;
use cli::{Cli, Command};
use exit::Exit;
use std::io::{self, ErrorKind, Write as _, stderr, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::parse().checked() {
        Ok(Command::Litmus(options)) => {
            let mut exit = Exit::Clean;
            let written = litmus::main(&options, &mut stdout().lock(), &mut stderr(), &mut exit);
            ended(written, exit)
        }
        Ok(Command::Inspect(options)) => {
            let mut exit = Exit::Clean;
            let written = inspect::main(&options, &mut stdout().lock(), &mut stderr(), &mut exit);
            ended(written, exit)
        }
        // clap's way out: the message and the usage on stderr, status 2.
        Err(error) => error.exit(),
    }
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
