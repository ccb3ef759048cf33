//! `wmtrace inspect`: its arguments, and what they mean.

use super::values::{AssumeArg, Format};
use clap::Args;
use std::path::PathBuf;
use wmtrace_decoder::orders::Assume;

const INSPECT_EXAMPLES: &str = "\
Orders come from the first of these that knows: the orders file, debug information, source text, the
instruction set, and the policy of --assume. An order that only a running thread can tell is `runtime`.
Shared objects that the program loads are not followed: inspect them one by one.

Examples:
  wmtrace inspect ./queue                         its atomics and fences
  wmtrace inspect --function Queue::push ./queue  those of one function, wherever it is inlined
  wmtrace inspect --all --format json ./queue     every access to memory, for scripts

An orders file has one rule a line; the narrowest rule wins:
  function Queue::push release
  queue.cpp:42 acquire
  libqueue.so+0x1234 relaxed

Exit status:
  0  the program was inspected
  2  wrong usage, or no program that wmtrace knows (64-bit little-endian ELF, x86-64 or AArch64)
  3  tool error";

#[derive(Args)]
#[command(after_help = INSPECT_EXAMPLES)]
pub(super) struct InspectArgs {
    /// An ELF program or shared object
    program: PathBuf,

    /// Only this function (with or without namespaces and parameters), wherever it is inlined
    #[arg(long, value_name = "F")]
    function: Option<String>,

    /// Plain accesses too, and those that may be plain
    #[arg(long)]
    all: bool,

    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// Orders that you know better
    #[arg(long, value_name = "FILE")]
    orders: Option<PathBuf>,

    /// The order of atomics that nothing tells
    #[arg(long, value_enum, default_value_t = AssumeArg::Isa)]
    assume: AssumeArg,
}

/// What `wmtrace inspect` is to do.
#[derive(Debug)]
pub(crate) struct InspectOptions {
    pub(crate) program: PathBuf,
    /// Only this function.
    pub(crate) function: Option<String>,
    /// Plain accesses too.
    pub(crate) all: bool,
    pub(crate) format: Format,
    /// The user's orders file.
    pub(crate) orders: Option<PathBuf>,
    pub(crate) assume: Assume,
}

impl From<InspectArgs> for InspectOptions {
    fn from(args: InspectArgs) -> InspectOptions {
        InspectOptions {
            program: args.program,
            function: args.function,
            all: args.all,
            format: args.format,
            orders: args.orders,
            assume: args.assume.into(),
        }
    }
}
