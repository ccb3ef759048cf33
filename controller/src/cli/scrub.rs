//! `wmtrace scrub`: its arguments.

use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
A recording holds the environment of the program and its standard input: tokens, names, data. The copy has \
neither. Each variable is replaced by one of the same length without a meaning, so that the program's memory \
is laid out as it was; the input is empty. The copy replays where the program does not depend on them, and \
`wmtrace replay` says that it was scrubbed. Arguments, paths and the message of the bug stay.

Example:
  wmtrace scrub wmtrace-out/queue_test-race-1-1-3.wmtrec -o queue_test.wmtrec

Exit status:
  0  the copy was written
  2  the recording cannot be read
  3  the copy cannot be written";

#[derive(Args)]
#[command(after_help = HELP)]
pub(super) struct ScrubArgs {
    /// A recording that wmtrace wrote
    recording: PathBuf,

    /// Where the copy is written
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

/// What `wmtrace scrub` is to do.
#[derive(Debug)]
pub(crate) struct ScrubOptions {
    pub(crate) recording: PathBuf,
    pub(crate) out: PathBuf,
}

impl From<ScrubArgs> for ScrubOptions {
    fn from(args: ScrubArgs) -> ScrubOptions {
        let ScrubArgs { recording, out } = args;
        ScrubOptions { recording, out }
    }
}
