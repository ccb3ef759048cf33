//! `wmtrace`: weak-memory testing. See `wmtrace --help`.

mod cli;
mod exit;
mod litmus;
mod text;

use clap::Parser as _;
use cli::{Cli, Command};
use exit::Exit;
use std::io::{ErrorKind, Write as _, stderr, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::parse().checked() {
        Ok(Command::Litmus(options)) => match litmus::main(&options, &mut stdout().lock(), &mut stderr()) {
            Ok(exit) => exit.into(),
            // Whoever reads our output has seen enough (`wmtrace … | head`): nothing went wrong here.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Clean.into(),
            Err(error) => {
                // If this cannot be written either, the status has to do.
                let _ = writeln!(stderr(), "wmtrace: cannot write the report: {error}");
                Exit::Tool.into()
            }
        },
        // clap's way out: the message and the usage on stderr, status 2.
        Err(error) => error.exit(),
    }
}
