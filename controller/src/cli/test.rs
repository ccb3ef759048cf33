//! `wmtrace PROGRAM`, the main job: its arguments, and what they mean.

use super::environment::Environment;
use super::recorded::Shown;
use super::usage_of;
use super::values::{AssumeArg, ModelArg, without_effect};
use crate::engine::Emulator;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use wmtrace_decoder::orders::Assume;
use wmtrace_model::op::ModelKind;
use wmtrace_model::strategy::StrategyKind;

#[derive(Args)]
pub(super) struct TestArgs {
    /// The program to test (looked up in PATH as a shell does), and its arguments
    #[arg(value_name = "PROGRAM [ARGS…]", trailing_var_arg = true)]
    command: Vec<OsString>,

    /// The architecture of the program; `auto` asks the program
    #[arg(long, value_enum, default_value_t = Arch::Auto)]
    arch: Arch,

    /// The qemu-aarch64 that runs programs for AArch64 [default: the one in PATH]
    #[arg(long, value_name = "PATH")]
    qemu: Option<PathBuf>,

    /// Where the dynamic linker and the libraries of a program for AArch64 are [default: where Debian's cross
    /// packages put them]
    #[arg(long, value_name = "DIR")]
    sysroot: Option<PathBuf>,

    /// What runs the program
    #[arg(long, value_enum, default_value_t = EngineArg::Auto)]
    engine: EngineArg,

    /// The memory model; `auto` is c11 where the program's memory orders are known, else tso
    #[arg(long, value_enum, default_value_t = ModelArg::Auto)]
    model: ModelArg,

    /// c11: whether a store may come before stores that its thread has not seen in modification order
    #[arg(long, value_enum, value_name = "WHETHER", default_value_t = Switch::On)]
    mo_insertion: Switch,

    /// How executions are chosen [default: pctwm at several depths, with random executions in between]
    #[arg(long, value_enum)]
    strategy: Option<StrategyArg>,

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

    /// Seed of the executions: the same seed gives the same executions
    #[arg(allow_negative_numbers = true, short, long, default_value_t = 1)]
    seed: u64,

    /// How many executions [default: 1000; with --time, as many as there is time for]
    #[arg(allow_negative_numbers = true, short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,

    /// Seconds after which no more executions are begun
    #[arg(allow_negative_numbers = true, long, value_name = "S", value_parser = seconds)]
    time: Option<Duration>,

    /// Executions at a time; what is found does not depend on it
    #[arg(allow_negative_numbers = true, short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: u16,

    /// Do not stop at the first bug
    #[arg(long)]
    keep_going: bool,

    /// Whether data races are looked for (c11); `on` also reports accesses that may be atomic after all
    #[arg(long, value_enum, default_value_t = Races::Auto)]
    races: Races,

    /// The order of atomics that nothing tells (c11)
    #[arg(long, value_enum, default_value_t = AssumeArg::Isa)]
    assume: AssumeArg,

    /// Orders that you know better (see `wmtrace inspect --help`)
    #[arg(long, value_name = "FILE")]
    orders: Option<PathBuf>,

    /// Also run this library (its file name, or part of its path) under the model
    #[arg(long, value_name = "LIB", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    managed: Vec<String>,

    /// Run this library natively
    #[arg(long, value_name = "LIB", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    unmanaged: Vec<String>,

    /// Everything counts from the moment at which this function is entered (a name as `wmtrace inspect` prints it), not from
    /// the first thread on: until then threads run natively, one at a time
    #[arg(long, value_name = "FUNCTION", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    from: Option<String>,

    /// Bugs that you know of (TOML; beside wmtrace.toml in the working directory, if it is there): those that match are
    /// listed, marked, and count for nothing
    #[arg(long, value_name = "FILE")]
    suppress: Vec<PathBuf>,

    /// Add suppressions of the bugs that are found to this file
    #[arg(long, value_name = "FILE")]
    write_suppressions: Option<PathBuf>,

    /// Seconds in which it is tried whether the bugs are possible on this processor (under tso); 0 does not try
    #[arg(allow_negative_numbers = true, long, value_name = "S", default_value = "2", value_parser = seconds_or_none)]
    confirm: Duration,

    /// Seconds that one execution may take
    #[arg(allow_negative_numbers = true, long, value_name = "S", default_value = "30", value_parser = seconds)]
    timeout: Duration,

    /// Events that one execution may have
    #[arg(allow_negative_numbers = true, long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    max_events: u64,

    /// What an execution is that reaches --timeout or --max-events: nobody knows what the rest of it would have shown
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Limits::Inconclusive)]
    limits: Limits,

    /// The exit status that is right, or `any`
    #[arg(allow_negative_numbers = true, long, value_name = "STATUS", default_value = "0", value_parser = expect_exit)]
    expect_exit: ExpectExit,

    /// What the program reads from its standard input, `-` for all of wmtrace's [default: nothing]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,

    /// Which environment the program gets and recordings keep: `keep` (all of it), `clean` (the same few variables
    /// everywhere), or the names to keep, with commas in between
    #[arg(long, value_name = "keep|clean|LIST", default_value = "keep", value_parser = Environment::parse)]
    env: Environment,

    /// Let executions read and write your files themselves. Otherwise each one sees them as they are, and what it writes
    /// (in its working directory, $HOME, $TMPDIR, /tmp, /var/tmp and /dev/shm) is its own: nobody else sees it, and it
    /// is kept beside the recording if there is a bug
    #[arg(long)]
    shared_files: bool,

    /// A command (for `sh`) to run before each execution, which sees the files that it makes
    #[arg(long, value_name = "CMD", value_parser = command)]
    setup: Option<String>,

    /// A command to run after each execution
    #[arg(long, value_name = "CMD", value_parser = command)]
    cleanup: Option<String>,

    /// Run every execution twice, the second time without wmtrace's shortcuts: the two must be the same. The first event
    /// that differs is an error
    #[arg(long)]
    verify: bool,

    /// How the report is printed
    #[arg(long, value_enum, default_value_t = ReportFormat::Human)]
    format: ReportFormat,

    /// Where recordings of bugs are written
    #[arg(short, long, value_name = "DIR", default_value = "wmtrace-out")]
    out: PathBuf,

    /// One line per bug, and no progress bar
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,

    /// Also what is usually left out: all of the output (without a bug, that of the first execution), more events
    #[arg(short, long)]
    verbose: bool,
}

/// Architectures of programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Arch {
    Auto,
    #[value(name = "x86_64")]
    X86_64,
    Aarch64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineArg {
    Auto,
    /// ptrace, instruction by instruction (x86-64)
    Step,
    /// Patched code in qemu-user (AArch64)
    Gate,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StrategyArg {
    /// PCT for weak memory: d reads see other threads' stores, the others do not
    Pctwm,
    /// pctwm with places instead of reads: each is one of the few with probability 2 to the minus d
    Placewm,
    /// Random priorities with d-1 change points; reads uniform
    Pct,
    /// Threads and stores to read uniformly at random
    Random,
    /// random, with some threads faster than others
    Skewed,
    /// A random priority for each event, redrawn after a race; reads uniform
    Pos,
    /// A random priority for each event; reads uniform
    Basicpos,
    /// basicpos, reading one of the newest H stores
    Basicposwm,
    /// pos, reading one of the newest H stores
    Poswm,
}

/// Which races are bugs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Races {
    /// Those of accesses that are plain for sure; the others are warnings
    Auto,
    /// Also those of accesses that may be plain
    On,
    /// None
    Off,
}

/// What an execution is that reaches a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Limits {
    /// Neither right nor wrong: it is counted apart, and the campaign goes on
    Inconclusive,
    /// A bug of the kind `timeout`: the program is known to end within them
    Bug,
}

/// How a report is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Text for people
    Human,
    /// One JSON object
    Json,
    /// JUnit's XML, for continuous integration
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

/// Which exit statuses are no bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExpectExit {
    Any,
    Status(u8),
}

impl ExpectExit {
    /// Whether the status is one of them.
    pub(crate) fn accepts(self, status: i32) -> bool {
        match self {
            ExpectExit::Any => true,
            ExpectExit::Status(expected) => i32::from(expected) == status,
        }
    }
}

/// What `wmtrace PROGRAM` is to do.
#[derive(Debug)]
pub(crate) struct TestOptions {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) arch: Arch,
    pub(crate) emulator: Emulator,
    /// `None`: as the program's orders are known.
    pub(crate) model: Option<ModelKind>,
    /// Whether stores may overtake others in modification order (c11).
    pub(crate) mo_insertion: bool,
    pub(crate) strategy: StrategyKind,
    /// Whether other strategies take part: neither a strategy nor a depth was asked for.
    pub(crate) mixed: bool,
    /// `None`: a schedule over depths.
    pub(crate) depth: Option<u32>,
    /// `None`: estimated.
    pub(crate) events: Option<u32>,
    pub(crate) history: u32,
    pub(crate) seed: u64,
    pub(crate) runs: u64,
    pub(crate) time: Option<Duration>,
    pub(crate) jobs: u16,
    pub(crate) keep_going: bool,
    pub(crate) races: Races,
    pub(crate) assume: Assume,
    /// The user's orders file.
    pub(crate) orders: Option<PathBuf>,
    pub(crate) managed: Vec<String>,
    pub(crate) unmanaged: Vec<String>,
    /// The function from which on everything counts.
    pub(crate) from: Option<String>,
    /// Files of suppressions, and where new ones go.
    pub(crate) suppress: Vec<PathBuf>,
    pub(crate) write_suppressions: Option<PathBuf>,
    /// Real time to look for bugs under this processor's model.
    pub(crate) confirm: Duration,
    pub(crate) timeout: Duration,
    pub(crate) max_events: u64,
    pub(crate) limits: Limits,
    pub(crate) expect_exit: ExpectExit,
    pub(crate) stdin: Option<PathBuf>,
    pub(crate) env: Environment,
    /// Whether executions see each other's files.
    pub(crate) shared_files: bool,
    /// What is run before and after each.
    pub(crate) setup: Option<String>,
    pub(crate) cleanup: Option<String>,
    pub(crate) verify: bool,
    pub(crate) out: PathBuf,
    pub(crate) shown: Shown,
    /// Options that have no effect, in words.
    pub(crate) warnings: Vec<String>,
}

/// A positive number of seconds, with or without a fraction.
fn seconds(text: &str) -> Result<Duration, String> {
    // A year is for ever, and far from what overflows.
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_string())?;
    if seconds > 0.0 && seconds <= 31_536_000.0 {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("not a positive number of seconds (of at most a year)".to_string())
    }
}

/// The same, or 0.
fn seconds_or_none(text: &str) -> Result<Duration, String> {
    if text.parse() == Ok(0.0) {
        return Ok(Duration::ZERO);
    }
    seconds(text).map_err(|error| error.replace("not a positive", "not 0 or a positive"))
}

/// A command for `sh`.
fn command(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("not a command".to_string()),
        _ => Ok(text.to_string()),
    }
}

fn expect_exit(text: &str) -> Result<ExpectExit, String> {
    match text {
        "any" => Ok(ExpectExit::Any),
        _ => text
            .parse()
            .map(ExpectExit::Status)
            .map_err(|_| "not `any` or a number from 0 to 255".to_string()),
    }
}

impl TestArgs {
    pub(super) fn checked(self) -> Result<TestOptions, clap::Error> {
        let wrong = |kind, message: &str| Err(usage_of(None, kind, message));
        let conflict = |message: &str| wrong(ErrorKind::ArgumentConflict, message);
        let mut command = self.command.into_iter();
        let Some(program) = command.next().filter(|program| !program.is_empty()) else {
            return wrong(
                ErrorKind::MissingRequiredArgument,
                "no program to test: wmtrace [OPTIONS] PROGRAM [ARGS…]",
            );
        };
        let model = self.model.kind();
        let arch = match (self.engine, self.arch) {
            (EngineArg::Step, Arch::Aarch64) => {
                return conflict("--engine step is for x86-64, not for aarch64");
            }
            (EngineArg::Gate, Arch::X86_64) => {
                return conflict("--engine gate is for aarch64, not for x86_64");
            }
            (EngineArg::Step, _) => Arch::X86_64,
            (EngineArg::Gate, _) => Arch::Aarch64,
            (EngineArg::Auto, arch) => arch,
        };
        if let Some(hardware) = model.filter(|model| *model != ModelKind::C11) {
            if self.races == Races::On {
                let message = format!("--races on is for c11: {hardware} has no data races, only outcomes");
                return conflict(&message);
            }
            if self.orders.is_some() {
                let message = format!("--orders is for c11: under {hardware} only the instructions count");
                return conflict(&message);
            }
        }
        if let Some(both) = self.managed.iter().find(|library| self.unmanaged.contains(library)) {
            return conflict(&format!("{both} is both --managed and --unmanaged"));
        }
        let strategy = match self.strategy.unwrap_or(StrategyArg::Pctwm) {
            StrategyArg::Pctwm => StrategyKind::Pctwm,
            StrategyArg::Placewm => StrategyKind::PlaceWm,
            StrategyArg::Pct => StrategyKind::Pct,
            StrategyArg::Random => StrategyKind::Random,
            StrategyArg::Skewed => StrategyKind::Skewed,
            StrategyArg::Pos => StrategyKind::Pos,
            StrategyArg::Basicpos => StrategyKind::BasicPos,
            StrategyArg::Basicposwm => StrategyKind::BasicPosWm,
            StrategyArg::Poswm => StrategyKind::PosWm,
        };
        let mut warnings = without_effect(strategy, self.depth, self.events, self.history);
        let hardware = model.filter(|model| *model != ModelKind::C11);
        if let (Some(model), true) = (hardware, self.assume != AssumeArg::Isa) {
            warnings.push(format!("--assume has no effect with --model {model}"));
        }
        if let (Some(model), Switch::Off) = (hardware, self.mo_insertion) {
            warnings.push(format!("--mo-insertion has no effect with --model {model}"));
        }
        warnings.extend(self.env.missing().into_iter().map(|name| format!("--env: {name} is not set")));
        Ok(TestOptions {
            program,
            args: command.collect(),
            arch,
            emulator: Emulator { qemu: self.qemu, sysroot: self.sysroot },
            model,
            mo_insertion: self.mo_insertion == Switch::On,
            strategy,
            mixed: self.strategy.is_none() && self.depth.is_none(),
            depth: self.depth,
            events: self.events,
            history: self.history.unwrap_or(1),
            seed: self.seed,
            runs: self.runs.unwrap_or(if self.time.is_some() { u64::MAX } else { 1000 }),
            time: self.time,
            jobs: self.jobs,
            keep_going: self.keep_going,
            races: self.races,
            assume: self.assume.into(),
            orders: self.orders,
            managed: self.managed,
            unmanaged: self.unmanaged,
            from: self.from,
            suppress: self.suppress,
            write_suppressions: self.write_suppressions,
            confirm: self.confirm,
            timeout: self.timeout,
            max_events: self.max_events,
            limits: self.limits,
            expect_exit: self.expect_exit,
            stdin: self.stdin,
            env: self.env,
            shared_files: self.shared_files,
            setup: self.setup,
            cleanup: self.cleanup,
            verify: self.verify,
            out: self.out,
            shown: Shown { format: self.format, quiet: self.quiet, verbose: self.verbose },
            warnings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Command};
    use super::*;
    use clap::Parser as _;

    fn parse(arguments: &str) -> Result<Command, clap::Error> {
        let line = ["wmtrace"].into_iter().chain(arguments.split_whitespace());
        Cli::try_parse_from(line)?.checked()
    }

    fn test(arguments: &str) -> Result<TestOptions, clap::Error> {
        parse(arguments).map(|command| match command {
            Command::Test(options) => *options,
            _ => panic!("{arguments}"),
        })
    }

    #[test]
    fn defaults() {
        let options = test("./a").unwrap();
        assert_eq!((options.model, options.strategy), (None, StrategyKind::Pctwm));
        assert!(options.mixed && options.mo_insertion);
        assert_eq!((options.seed, options.runs, options.jobs, options.time), (1, 1000, 1, None));
        assert_eq!((options.depth, options.events, options.history), (None, None, 1));
        assert_eq!((options.expect_exit, options.max_events), (ExpectExit::Status(0), 1_000_000));
        assert!(!options.keep_going && !options.verify && options.warnings.is_empty());
    }

    #[test]
    fn what_follows_the_program_is_its_own() {
        for line in ["-n 5 ./a -n 7 --seed x --help -- litmus", "-n 5 -- ./a -n 7 --seed x --help -- litmus"]
        {
            let options = test(line).unwrap();
            assert_eq!((options.program.to_str(), options.runs), (Some("./a"), 5));
            assert_eq!(options.args, ["-n", "7", "--seed", "x", "--help", "--", "litmus"], "{line}");
        }
        // A program with the name of a command.
        assert_eq!(test("-- litmus a").unwrap().program, "litmus");
        assert_eq!(test("-- --odd").unwrap().program, "--odd");
        assert!(matches!(parse("litmus a"), Ok(Command::Litmus(_))));
        assert!(matches!(parse("replay a"), Ok(Command::Replay(_))));
        assert!(matches!(parse("explain --dot a"), Ok(Command::Explain(_))));
        assert!(matches!(parse("explain --html a"), Ok(Command::Explain(_))));
    }

    /// The design names them: who types one is told, and not that there is no such program.
    #[test]
    fn commands_that_are_not_there_yet() {
        for line in ["campaign a.toml", "campaign --resume a.toml", "relax -n 5 ./a", "relax"] {
            let Ok(Command::Missing(instead)) = parse(line) else { panic!("{line}") };
            assert!(instead.contains("is not there yet"), "{instead}");
        }
        assert_eq!(test("-- relax").unwrap().program, "relax");
        assert_eq!(test("./campaign").unwrap().program, "./campaign");
    }

    #[test]
    fn only_what_was_asked_for_is_tried() {
        assert!(test("-y 2 -k 9 ./a").unwrap().mixed, "they say how, not what");
        for asked in ["--strategy pctwm ./a", "--strategy random ./a", "-d 2 ./a"] {
            assert!(!test(asked).unwrap().mixed, "{asked}");
        }
        assert!(!test("--mo-insertion off ./a").unwrap().mo_insertion);
    }

    #[test]
    fn time_without_a_number_of_runs_is_the_limit() {
        let options = test("--time 1.5 ./a").unwrap();
        assert_eq!((options.time, options.runs), (Some(Duration::from_millis(1500)), u64::MAX));
        assert_eq!(test("--time 2 -n 3 ./a").unwrap().runs, 3);
    }

    #[test]
    fn what_has_no_effect_is_said() {
        let options = test("--strategy random -d 2 --model tso --assume sc ./a").unwrap();
        assert_eq!(
            options.warnings,
            ["--depth has no effect with --strategy random", "--assume has no effect with --model tso"]
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let wrong = [
            ("", "no program to test"),
            ("--seed 3", "no program to test"),
            ("--modle tso ./a", "unexpected argument '--modle'"),
            ("--model arm ./a", "invalid value 'arm'"),
            ("--model tso --races on ./a", "--races on is for c11"),
            ("--model pso --orders f ./a", "--orders is for c11"),
            ("--managed l --unmanaged l ./a", "both --managed and --unmanaged"),
            ("--managed= ./a", "a value is required"),
            ("--unmanaged= ./a", "a value is required"),
            ("--from= ./a", "a value is required"),
            ("--confirm -1 ./a", "not 0 or a positive number"),
            ("-q -v ./a", "cannot be used with"),
            ("-n 0 ./a", "invalid value '0'"),
            ("-j 0 ./a", "invalid value '0'"),
            ("--time 0 ./a", "not a positive number"),
            ("--time nan ./a", "not a positive number"),
            ("--timeout -5 ./a", "not a positive number"),
            ("-j -1 ./a", "-1 is not in 1..=1024"),
            ("-k -1 ./a", "-1 is not in 1..="),
            ("-y -1 ./a", "-1 is not in 1..="),
            ("--max-events -1 ./a", "invalid value '-1'"),
            ("--timeout x ./a", "not a number of seconds"),
            ("--expect-exit 256 ./a", "not `any` or a number"),
            ("--setup= ./a", "not a command"),
            ("explain -", "from a file"),
            ("explain --dot --html a", "cannot be used with"),
        ];
        for (arguments, message) in wrong {
            let Err(error) = parse(arguments) else { panic!("{arguments}") };
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(message), "{arguments}: {error}");
        }
    }
}
