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
        Ok(Command::Litmus(options)) => {
            let mut exit = Exit::Clean;
            match litmus::main(&options, &mut stdout().lock(), &mut stderr(), &mut exit) {
                Ok(()) => {}
                // Whoever reads our output has seen enough (`wmtrace … | head`): what was found so far counts.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(error) => {
                    // If this cannot be written either, the status has to do.
                    let _ = writeln!(stderr(), "wmtrace: cannot write the report: {error}");
                    exit = Exit::Tool;
                }
            }
            exit.into()
        }
        // clap's way out: the message and the usage on stderr, status 2.
        Err(error) => error.exit(),
    }
}
