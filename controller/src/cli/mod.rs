//! The command line: what clap reads (`…Args`), and what it means once checked (`…Options`). Everything behind this
//! module sees only options that make sense together.

mod environment;
mod inspect;
mod litmus;
mod recorded;
mod scrub;
mod test;
mod values;

pub(crate) use inspect::InspectOptions;
pub(crate) use litmus::{Exploration, LitmusOptions, Output, Sampling};
pub(crate) use recorded::{ExplainOptions, Explained, ReplayOptions, Shown};
pub(crate) use scrub::ScrubOptions;
pub(crate) use test::{Arch, ExpectExit, Limits, Races, ReportFormat, TestOptions};
pub(crate) use values::Format;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use inspect::InspectArgs;
use litmus::LitmusArgs;
use recorded::{ExplainArgs, ReplayArgs};
use scrub::ScrubArgs;
use test::TestArgs;

const EXAMPLES: &str = "\
Each execution lets one thread run at a time and decides, as the memory model allows, which store each \
load reads. What goes wrong (data races, failed assertions, crashes, deadlocks, livelocks, use after free, \
uninitialised loads, wrong exit statuses, executions without end) is reported with both sides, and written \
to a recording that `wmtrace replay` repeats and `wmtrace explain` explains. Compile with -g: debug \
information is how wmtrace knows the memory orders that the source asked for.

Examples:
  wmtrace ./queue_test                     1000 executions, up to the first bug
  wmtrace -n 20000 --keep-going ./queue_test
                                           every bug of 20,000 executions
  wmtrace --time 60 -j4 -- ./queue_test --gtest_filter=Push.*
                                           a minute, four executions at a time;
                                           what follows the program is its own
  wmtrace --model tso ./queue_test         can this binary fail on x86-64?
  wmtrace replay wmtrace-out/queue_test-race-1-1-3.wmtrec
                                           execution number 3 again
  wmtrace explain wmtrace-out/queue_test-race-1-1-3.wmtrec
                                           what happened there, and why it can
  wmtrace --format sarif ./queue_test      for code scanning (or json, junit)

A program whose name is one of the commands above is reached as `./litmus` or after `--`.

Exit status:
  0  no bug
  1  bug found
  2  wrong usage or input
  3  tool error, something unsupported, or interrupted before a bug was found";

/// Weak-memory testing: finds the executions of a concurrent program that no interleaving explains.
#[derive(Parser)]
#[command(
    name = "wmtrace",
    version,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    override_usage = "wmtrace [OPTIONS] [--] PROGRAM [ARGS…]\n       wmtrace COMMAND …"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Subcommands>,
    #[command(flatten)]
    test: TestArgs,
}

#[derive(Subcommand)]
enum Subcommands {
    /// Runs a recorded execution again
    Replay(ReplayArgs),
    /// Shows a recorded execution, and why it could happen
    Explain(ExplainArgs),
    /// A copy of a recording without environment and input, to send away
    Scrub(ScrubArgs),
    /// The atomics and fences of a program, their memory orders, and where these came from
    Inspect(InspectArgs),
    /// Which final states litmus tests in herd's C format can reach under a memory model
    Litmus(LitmusArgs),
    #[command(hide = true)]
    Campaign(Anything),
    #[command(hide = true)]
    Relax(Anything),
}

/// What is given to a command that is not there yet.
#[derive(clap::Args)]
struct Anything {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<std::ffi::OsString>,
}

/// A command with checked options.
pub(crate) enum Command {
    /// `wmtrace PROGRAM`
    Test(Box<TestOptions>),
    /// `wmtrace replay`
    Replay(ReplayOptions),
    /// `wmtrace explain`
    Explain(ExplainOptions),
    /// `wmtrace scrub`
    Scrub(ScrubOptions),
    /// `wmtrace litmus`
    Litmus(LitmusOptions),
    /// `wmtrace inspect`
    Inspect(InspectOptions),
    /// One that is not there yet, and what to do instead.
    Missing(&'static str),
}

impl Cli {
    /// The command, if its options make sense together.
    pub(crate) fn checked(self) -> Result<Command, clap::Error> {
        match self.command {
            None => self.test.checked().map(|options| Command::Test(Box::new(options))),
            Some(Subcommands::Replay(args)) => Ok(Command::Replay(args.into())),
            Some(Subcommands::Explain(args)) => args.checked().map(Command::Explain),
            Some(Subcommands::Scrub(args)) => Ok(Command::Scrub(args.into())),
            Some(Subcommands::Litmus(args)) => args.checked().map(Command::Litmus),
            Some(Subcommands::Inspect(args)) => Ok(Command::Inspect(args.into())),
            Some(Subcommands::Campaign(_)) => Ok(Command::Missing(
                "`wmtrace campaign` is not there yet: scripts/app tests a program with several models and strategies",
            )),
            Some(Subcommands::Relax(_)) => Ok(Command::Missing(
                "`wmtrace relax` is not there yet: `wmtrace --model tso PROGRAM` (or pso, pslo) tests what relaxed hardware does",
            )),
        }
    }
}

/// clap's message and usage for a mistake that clap cannot see, of a command or of the main one.
fn usage_of(subcommand: Option<&str>, kind: ErrorKind, message: &str) -> clap::Error {
    let mut command = Cli::command();
    command.build();
    let of = subcommand.and_then(|name| command.find_subcommand_mut(name).cloned());
    of.unwrap_or(command).error(kind, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_finds_no_contradiction_in_the_definition() {
        Cli::command().debug_assert();
    }
}
