//! `wmtrace replay` and `wmtrace explain`: what is done with a recording.

use super::test::ReportFormat;
use super::usage_of;
use clap::Args;
use clap::error::ErrorKind;
use std::path::PathBuf;

const REPLAY_HELP: &str = "\
The recording has every choice, the arguments, environment, standard input, limits and options of its execution. \
Another build of the program is refused, by its build-id. A replay that differs names what has changed since.

Exit status:
  1  the recorded bug has happened again
  2  the recording cannot be read, or is of another program
  3  the execution is not the recorded one: the first step that differs is named";

#[derive(Args)]
#[command(after_help = REPLAY_HELP)]
pub(super) struct ReplayArgs {
    /// A recording that wmtrace wrote
    recording: PathBuf,

    /// Where the program is now, if it is not where it was recorded
    ///
    /// It must be the same build. Without this option wmtrace looks where the program was, then beside the recording, in
    /// the directory above it, and in the working directory.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,

    /// How the report is printed
    #[arg(long, value_enum, default_value_t = ReportFormat::Human)]
    format: ReportFormat,

    /// One line
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Also what is usually left out: all of the output, more events
    #[arg(short, long)]
    verbose: bool,
}

const EXPLAIN_HELP: &str = "\
Runs the recorded execution again and shows its events, a column for each thread, with what each load reads \
and why it may, and which order is missing. Only events that have to do with the bug, unless --all is given.

Examples:
  wmtrace explain wmtrace-out/dekker-assertion-1-1-0.wmtrec
  wmtrace explain --html wmtrace-out/dekker-assertion-1-1-0.wmtrec > dekker.html
  wmtrace explain --dot wmtrace-out/dekker-assertion-1-1-0.wmtrec | dot -Tsvg > dekker.svg

Exit status: 0 if the execution could be shown, else as `wmtrace replay`.";

#[derive(Args)]
#[command(after_help = EXPLAIN_HELP)]
pub(super) struct ExplainArgs {
    /// A recording that wmtrace wrote
    recording: PathBuf,

    /// Where the program is now, if it is not where it was recorded
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,

    /// Every event
    #[arg(long)]
    all: bool,

    /// A DOT graph with po, rf, mo, fr and sw instead of text
    #[arg(long, conflicts_with = "html")]
    dot: bool,

    /// One HTML page that needs nothing else, with stacks and source lines, instead of text
    #[arg(long)]
    html: bool,
}

/// What `wmtrace replay` is to do.
#[derive(Debug)]
pub(crate) struct ReplayOptions {
    pub(crate) recording: PathBuf,
    /// Where the program is now.
    pub(crate) program: Option<PathBuf>,
    pub(crate) shown: Shown,
}

/// How much of a report is printed, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shown {
    pub(crate) format: ReportFormat,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
}

/// What `wmtrace explain` is to do.
#[derive(Debug)]
pub(crate) struct ExplainOptions {
    pub(crate) recording: PathBuf,
    /// Where the program is now.
    pub(crate) program: Option<PathBuf>,
    pub(crate) all: bool,
    pub(crate) format: Explained,
}

/// How an explanation is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Explained {
    Text,
    Dot,
    Html,
}

impl From<ReplayArgs> for ReplayOptions {
    fn from(args: ReplayArgs) -> ReplayOptions {
        let ReplayArgs { recording, program, format, quiet, verbose } = args;
        ReplayOptions { recording, program, shown: Shown { format, quiet, verbose } }
    }
}

impl ExplainArgs {
    pub(super) fn checked(self) -> Result<ExplainOptions, clap::Error> {
        let ExplainArgs { recording, program, all, dot, html } = self;
        if recording.as_os_str() == "-" {
            // The program that is run again must not compete for our standard input.
            return Err(usage_of(
                Some("explain"),
                ErrorKind::InvalidValue,
                "a recording is read from a file, not from `-`",
            ));
        }
        let format = match (dot, html) {
            (true, _) => Explained::Dot,
            (_, true) => Explained::Html,
            _ => Explained::Text,
        };
        Ok(ExplainOptions { recording, program, all, format })
    }
}
