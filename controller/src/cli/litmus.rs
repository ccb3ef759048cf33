//! `wmtrace litmus`: its arguments, and what they mean.

use super::usage_of;
use super::values::{Format, ModelArg, without_effect};
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use wmtrace_model::op::ModelKind;
use wmtrace_model::strategy::StrategyKind;

const LITMUS_EXAMPLES: &str = "\
Examples:
  wmtrace litmus SB.litmus                        every execution that C11 allows
  wmtrace litmus --model tso *.litmus             the same for x86-TSO
  wmtrace litmus --mo-insertion 2+2W.litmus       also stores that overtake others
  wmtrace litmus --strategy pctwm -d 2 -n 10000 MP.litmus
                                                  10,000 executions that PCTWM samples
  wmtrace litmus --dot SB.litmus | dot -Tsvg > SB.svg
                                                  a picture of the witness

A test may say what its author expects in a line before the init block:
  Expect=forbidden | allowed | required           (or Result=Never | Sometimes | Always, or the
                                                   Linux kernel's comment (* Result: Never *))

Exit status (of several files, the highest):
  0  every condition is as it should be
  1  a bug: `~exists` or `forall` is broken, `exists` is reached in a test marked
     as forbidden, a data race (c11), or threads that can never go on
  2  wrong usage, or a file that cannot be read as a litmus test
  3  tool error: an execution fails its certificate";

#[derive(Args)]
#[command(after_help = LITMUS_EXAMPLES)]
pub(super) struct LitmusArgs {
    /// Litmus tests in herd's C format; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The memory model; `auto` is c11, since litmus tests say their orders
    #[arg(long, value_enum, default_value_t = ModelArg::C11)]
    model: ModelArg,

    /// Let stores enter modification order before others that their thread has not seen (c11)
    #[arg(long)]
    mo_insertion: bool,

    /// How executions are chosen
    #[arg(long, value_enum, default_value_t = StrategyArg::Exhaustive)]
    strategy: StrategyArg,

    /// Bug depth d of pct and pctwm [default: a schedule over depths]
    #[arg(allow_negative_numbers = true, short, long, value_name = "D")]
    depth: Option<u32>,

    /// Number of events k (pctwm: of communication events) [default: estimated]
    #[arg(allow_negative_numbers = true, short = 'k', long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    events: Option<u32>,

    /// History depth H: how many of the newest stores a read of pctwm, basicposwm or poswm chooses from
    /// [default: 1]
    #[arg(allow_negative_numbers = true, short = 'y', long, value_name = "H", value_parser = clap::value_parser!(u32).range(1..))]
    history: Option<u32>,

    /// Seed of the samples [default: 1]
    #[arg(allow_negative_numbers = true, short, long)]
    seed: Option<u64>,

    /// How many executions to sample [default: 1000]
    #[arg(allow_negative_numbers = true, short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,

    /// Rounds of a loop that exhaustive exploration follows before it gives an execution up [default: 3]
    #[arg(allow_negative_numbers = true, long, value_name = "N")]
    unroll: Option<u32>,

    /// Executions after which exhaustive exploration stops, incomplete [default: 1000000]
    #[arg(allow_negative_numbers = true, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_executions: Option<u64>,

    /// Events after which one execution is given up
    #[arg(allow_negative_numbers = true, long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    max_events: u64,

    /// Print the witness execution as a DOT graph instead of a table, and the rest as its comments
    #[arg(long)]
    dot: bool,

    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,

    /// One line per test, and no progress bar
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// States with all registers and locations, not only those of the condition and of `locations […]`
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StrategyArg {
    /// Every execution, once
    Exhaustive,
    /// Threads and stores to read uniformly at random
    Random,
    /// Random priorities with d-1 change points; reads uniform
    Pct,
    /// PCT for weak memory: d reads see other threads' stores, the others do not
    Pctwm,
    /// A random priority for each event; reads uniform
    Basicpos,
    /// The same, with priorities redrawn after a race; reads uniform
    Pos,
    /// basicpos, reading one of the newest H stores
    Basicposwm,
    /// pos, reading one of the newest H stores
    Poswm,
}

/// What `wmtrace litmus` is to do.
#[derive(Debug)]
pub(crate) struct LitmusOptions {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) model: ModelKind,
    pub(crate) mo_insertion: bool,
    pub(crate) exploration: Exploration,
    pub(crate) max_events: u64,
    pub(crate) output: Output,
    /// Show every register and location.
    pub(crate) all_terms: bool,
    /// Whether a progress bar may be drawn.
    pub(crate) progress: bool,
    /// Options that have no effect, in words.
    pub(crate) warnings: Vec<String>,
}

/// How executions are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exploration {
    /// All of them.
    Exhaustive { unroll: u32, max_executions: u64 },
    /// Some of them.
    Sampled(Sampling),
}

/// How executions are sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sampling {
    pub(crate) strategy: StrategyKind,
    /// `None`: a schedule over depths.
    pub(crate) depth: Option<u32>,
    /// `None`: estimated.
    pub(crate) events: Option<u32>,
    /// `None`: 1.
    pub(crate) history: Option<u32>,
    pub(crate) seed: u64,
    pub(crate) runs: u64,
}

impl Exploration {
    fn without_effect(self) -> Vec<String> {
        match self {
            Exploration::Exhaustive { .. } => Vec::new(),
            Exploration::Sampled(Sampling { strategy, depth, events, history, .. }) => {
                without_effect(strategy, depth, events, history)
            }
        }
    }
}

/// What is printed for each test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Output {
    /// The answer in one line.
    Line,
    /// States, answer, and the witness as a table.
    Table,
    /// States, answer, and the witness as a graph.
    Dot,
    /// Everything, as one JSON object.
    Json,
}

fn usage(kind: ErrorKind, message: &str) -> clap::Error {
    usage_of(Some("litmus"), kind, message)
}

impl StrategyArg {
    /// The strategy that samples; `None` for the one that does not.
    fn sampling(self) -> Option<StrategyKind> {
        Some(match self {
            StrategyArg::Exhaustive => return None,
            StrategyArg::Random => StrategyKind::Random,
            StrategyArg::Pct => StrategyKind::Pct,
            StrategyArg::Pctwm => StrategyKind::Pctwm,
            StrategyArg::Basicpos => StrategyKind::BasicPos,
            StrategyArg::Pos => StrategyKind::Pos,
            StrategyArg::Basicposwm => StrategyKind::BasicPosWm,
            StrategyArg::Poswm => StrategyKind::PosWm,
        })
    }
}

impl LitmusArgs {
    pub(super) fn checked(self) -> Result<LitmusOptions, clap::Error> {
        let model = self.model.kind().unwrap_or(ModelKind::C11);
        if self.mo_insertion && model != ModelKind::C11 {
            let message = format!("--mo-insertion is part of c11: it has no meaning with --model {model}");
            return Err(usage(ErrorKind::ArgumentConflict, &message));
        }
        let output = match (self.format, self.dot, self.quiet) {
            (Format::Json, false, _) => Output::Json,
            (Format::Human, true, false) => Output::Dot,
            (Format::Human, false, true) => Output::Line,
            (Format::Human, false, false) => Output::Table,
            (Format::Json, true, _) => {
                let message = "--dot and --format json exclude each other: the JSON has the witness's events";
                return Err(usage(ErrorKind::ArgumentConflict, message));
            }
            (Format::Human, true, true) => {
                let message = "--dot and --quiet exclude each other";
                return Err(usage(ErrorKind::ArgumentConflict, message));
            }
        };
        let exploration = self.exploration()?;
        Ok(LitmusOptions {
            exploration,
            model,
            mo_insertion: self.mo_insertion,
            max_events: self.max_events,
            output,
            all_terms: self.verbose,
            progress: !self.quiet,
            warnings: exploration.without_effect(),
            files: self.files,
        })
    }

    fn exploration(&self) -> Result<Exploration, clap::Error> {
        let only_sampled = [
            ("--depth", self.depth.is_some()),
            ("--events", self.events.is_some()),
            ("--history", self.history.is_some()),
            ("--seed", self.seed.is_some()),
            ("--runs", self.runs.is_some()),
        ];
        let only_exhaustive =
            [("--unroll", self.unroll.is_some()), ("--max-executions", self.max_executions.is_some())];
        let misplaced = |options: &[(&str, bool)], why: &str| match options.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(usage(ErrorKind::ArgumentConflict, &format!("{option} {why}"))),
            None => Ok(()),
        };
        let Some(strategy) = self.strategy.sampling() else {
            misplaced(&only_sampled, "is for samples: choose a --strategy other than exhaustive")?;
            return Ok(Exploration::Exhaustive {
                unroll: self.unroll.unwrap_or(3),
                max_executions: self.max_executions.unwrap_or(1_000_000),
            });
        };
        misplaced(&only_exhaustive, "is for exhaustive exploration: leave --strategy out")?;
        Ok(Exploration::Sampled(Sampling {
            strategy,
            depth: self.depth,
            events: self.events,
            history: self.history,
            seed: self.seed.unwrap_or(1),
            runs: self.runs.unwrap_or(1000),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Command};
    use super::*;
    use clap::Parser as _;

    fn litmus(arguments: &str) -> Result<LitmusOptions, clap::Error> {
        let line = ["wmtrace", "litmus"].into_iter().chain(arguments.split_whitespace());
        Cli::try_parse_from(line)?.checked().map(|command| match command {
            Command::Litmus(options) => options,
            _ => panic!("{arguments}"),
        })
    }

    #[test]
    fn defaults() {
        let options = litmus("a b").unwrap();
        assert_eq!(options.files, ["a", "b"].map(PathBuf::from));
        assert_eq!(options.model, ModelKind::C11);
        assert_eq!(options.output, Output::Table);
        assert_eq!(options.exploration, Exploration::Exhaustive { unroll: 3, max_executions: 1_000_000 });
    }

    #[test]
    fn sampling() {
        let options = litmus("--strategy poswm -y 2 -k 9 -d 1 -s 4 -n 5 --model auto a").unwrap();
        let Exploration::Sampled(sampling) = options.exploration else { panic!("{options:?}") };
        assert_eq!((sampling.depth, sampling.events, sampling.history), (Some(1), Some(9), Some(2)));
        assert_eq!(
            options.warnings,
            ["--depth has no effect with --strategy poswm", "--events has no effect with --strategy poswm"]
        );
        assert_eq!((sampling.strategy, sampling.seed, sampling.runs), (StrategyKind::PosWm, 4, 5));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let wrong = [
            ("", "required arguments"),
            ("--model arm a", "invalid value 'arm'"),
            ("--model tso --mo-insertion a", "no meaning with --model tso"),
            ("-d 3 a", "--depth is for samples"),
            ("--strategy exhaustive -s 3 a", "--seed is for samples"),
            ("--strategy pct --unroll 3 a", "--unroll is for exhaustive exploration"),
            ("--dot --format json a", "exclude each other"),
            ("--dot -q a", "exclude each other"),
            ("-q -v a", "cannot be used with"),
            ("--strategy pct -n 0 a", "invalid value '0'"),
        ];
        for (arguments, message) in wrong {
            let error = litmus(arguments).expect_err(arguments);
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(message), "{arguments}: {error}");
        }
    }
}
