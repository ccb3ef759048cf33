//! Engines: what runs a program's threads one event at a time, as a [`Machine`] says.
//!
//! An engine owns the processes; it knows nothing of campaigns, bugs or reports. Those see an execution as an
//! [`Outcome`] (how it ended), the machine's events and findings, and the engine's [`Sites`] (where in the code).

mod aliases;
mod answers;
pub(crate) mod busy;
mod calls;
mod channels;
mod copies;
mod ending;
pub(crate) mod evidence;
mod execution;
mod expiring;
#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
pub(crate) mod fake_programs;
mod flight;
mod futex;
pub(crate) mod gate;
mod joins;
pub(crate) mod journal;
pub(crate) mod kept;
mod lacks;
mod library;
mod locks;
pub(crate) mod misuse;
mod modules;
mod moved;
mod own;
mod own_paths;
mod places;
mod prelude;
mod private;
mod refusals;
mod ringing;
mod runtime;
mod schedule;
mod sites;
// It is about x86-64's instructions and registers from end to end; elsewhere its programs are refused.
#[cfg_attr(not(target_arch = "x86_64"), path = "no_step.rs")]
pub(crate) mod step;
mod stuck;
mod syscalls;
mod thread;
mod time;
mod timeouts;
mod timers;
mod unwind;
mod waits;
mod world;

pub(crate) use modules::is_meant;
pub(crate) use syscalls::name as syscall_name;

use crate::conditions::Conditions;
use evidence::{Evidence, Standing};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use wmtrace_decoder::orders::{Assume, Atomic, Source};
use wmtrace_model::machine::{Machine, Mismatch};
use wmtrace_model::op::{ModelKind, Site, ThreadId};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::{Divergence, Strategy};

/// The program under test, and how it is started.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// The path that it is told; another one if it was moved since it was recorded.
    pub(crate) told: PathBuf,
    /// What it is told that it is called: what the user typed.
    pub(crate) name: OsString,
    /// Without the program's own name.
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: PathBuf,
    /// What it reads from its standard input, the same in every execution.
    pub(crate) stdin: Vec<u8>,
    pub(crate) conditions: Conditions,
}

/// What an engine must know beside the machine's configuration.
#[derive(Clone, Debug)]
pub(crate) struct EngineOptions {
    pub(crate) model: ModelKind,
    /// Accesses that may be plain are plain: their races are bugs.
    pub(crate) unsure_is_plain: bool,
    pub(crate) assume: Assume,
    /// The text of the user's orders file.
    pub(crate) orders: Option<String>,
    /// File names (or parts of paths) of modules to run under the model, and natively, beside the usual ones.
    pub(crate) managed: Vec<String>,
    pub(crate) unmanaged: Vec<String>,
    /// The function from which on everything is under the model, instead of the first thread.
    pub(crate) from: Option<String>,
    /// Real time that one execution may take.
    pub(crate) timeout: Duration,
    /// Decides what `getrandom` and AT_RANDOM give. The same for all executions of a campaign.
    pub(crate) entropy: u64,
    pub(crate) emulator: Emulator,
    pub(crate) files: FileOptions,
    /// Whether executions are compared, and a [`journal::Journal`] is kept.
    pub(crate) verify: bool,
}

impl EngineOptions {
    /// Whether the model looks at memory orders of the source.
    pub(crate) fn is_c11(&self) -> bool {
        self.model == ModelKind::C11
    }
}

/// What runs programs for another architecture than this machine's, where the user wants something else than what is
/// found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Emulator {
    /// The emulator.
    pub(crate) qemu: Option<PathBuf>,
    /// The directory with the program's dynamic linker and libraries.
    pub(crate) sysroot: Option<PathBuf>,
}

/// Which files executions see and change.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct FileOptions {
    /// The user's own. Otherwise each execution has a view of them in which its changes are its own.
    pub(crate) shared: bool,
    /// What no execution sees: where recordings go.
    pub(crate) hidden: Option<PathBuf>,
    /// Commands of the user's before and after each execution.
    pub(crate) setup: Option<String>,
    pub(crate) cleanup: Option<String>,
}

/// Runs executions of one program.
pub(crate) trait Engine: Sites {
    /// Runs one execution to its end. The machine is new or reset, and belongs to this execution.
    fn execute<S: Strategy>(&mut self, machine: &mut Machine<S>) -> Result<Outcome, EngineError>;

    /// Whether the next executions may do things in a quicker way than the program itself would. They are the same
    /// either way, and `--verify` checks that.
    fn allow_shortcuts(&mut self, allowed: bool);

    /// What the last execution has written to files, if it has.
    fn written(&self) -> Option<kept::Written>;

    /// What the orders and fences of code are known by that threads have met since this was asked last.
    fn evidence(&mut self) -> Vec<Evidence>;
}

/// Tells where in the code a [`Site`] is. Sites stay valid as long as the engine lives, and the same place and
/// call stack has the same number in each execution of a campaign.
pub(crate) trait Sites {
    /// Everything that is known of a site.
    fn site(&self, site: Site) -> SiteInfo;
    /// Whether what happens there is atomic: the same as above, and quick.
    fn atomic(&self, site: Site) -> Atomic;
    /// Whether the load there, or the part of it that the access at the other site touches, may be the compiler's: the
    /// source may not have it.
    fn may_be_compilers(&self, site: Site, other: Site) -> bool;
    /// Whether the source calls the access there volatile, which is to this address of the last execution.
    fn is_volatile(&self, site: Site, addr: u64) -> bool;
    /// The global variable at an address of the last execution, by its name in the source.
    fn global(&self, addr: u64) -> Option<String>;
    /// The build-id, or a checksum where it has none, of the program and of each library it has loaded, by path.
    fn modules(&self) -> Vec<ModuleInfo>;
}

/// A file whose code the program runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ModuleInfo {
    pub(crate) path: String,
    /// In hexadecimal digits.
    pub(crate) build_id: String,
    /// Whether it runs under the model.
    pub(crate) managed: bool,
}

/// A place in the code, and how a thread came there.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SiteInfo {
    /// Innermost first, inlined functions included. The first is the access itself; never empty.
    pub(crate) stack: Vec<Location>,
    /// The instruction's text; empty where it is none (a system call, a library function).
    pub(crate) instruction: String,
    /// The order the model gives the access, and who says so. `None` for what is no access.
    pub(crate) order: Option<(Order, Source)>,
    /// Whether the access is atomic, as far as is known.
    pub(crate) atomic: Atomic,
    /// How well its order is known.
    pub(crate) standing: Standing,
    /// `load`, `store`, `rmw`, `fence`, or what else happens here: `lock`, `free` …
    pub(crate) op: &'static str,
}

/// One frame of a stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Location {
    /// The file's name of the module; empty if the address is in none.
    pub(crate) module: String,
    /// The address in the module (in the process, if it is in none).
    pub(crate) offset: u64,
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    /// 0: not known.
    pub(crate) line: u32,
    /// 0: not known.
    pub(crate) column: u32,
    /// Whether the function is inlined into the next frame's.
    pub(crate) inlined: bool,
}

/// A fault of the processor, as the kernel tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// `si_code`: what kind of fault it is.
    pub(crate) code: i32,
    /// `si_addr`: what was accessed; of SIGILL and SIGFPE, the instruction.
    pub(crate) address: u64,
}

/// How an execution ended.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum End {
    /// The program has ended by itself, with this status.
    Exited(i32),
    /// A signal has ended it.
    Killed {
        signal: i32,
        /// Who was hit, if it was a thread that the machine knows.
        thread: Option<ThreadId>,
        /// What the processor says of a SIGSEGV, SIGBUS, SIGILL or SIGFPE; `None` if somebody has sent the signal.
        fault: Option<Fault>,
    },
    /// Nobody can go on: all are blocked.
    Deadlock,
    /// Nobody can go on: some spin for ever.
    Livelock,
    /// It took longer than [`EngineOptions::timeout`].
    TimedOut,
    /// It had more events than the machine's configuration allows.
    TooManyEvents,
    /// A replay is not the recorded execution.
    Diverged(Divergence),
    /// The strategy has no interest in the rest.
    Abandoned,
}

/// What became of an execution.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Outcome {
    pub(crate) end: End,
    /// Every thread that was alive at the end, unless the program simply exited.
    pub(crate) threads: Vec<ThreadState>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether output was cut off at the limit.
    pub(crate) truncated: bool,
    /// What was not supported or not under control, each once, in words.
    pub(crate) warnings: Vec<String>,
    /// The file of the program that made the first thread, if that is known.
    pub(crate) executes: Option<PathBuf>,
    /// What it did with its time, if a limit has ended it.
    pub(crate) spent: Option<busy::Spent>,
    /// What the program has observed beside its own accesses, if executions are compared.
    pub(crate) journal: journal::Journal,
    /// What it did that nobody may do, beside what the machine has found.
    pub(crate) misuses: Vec<misuse::Misuse>,
    /// What the kernel refused it for want of something that wmtrace's own processes use, too: how it ended proves nothing.
    pub(crate) lacks: Option<String>,
    /// The function from which on it would have been tested was never entered.
    pub(crate) untested: bool,
}

/// A thread at the end of an execution.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ThreadState {
    pub(crate) thread: ThreadId,
    /// In words: `waits for the mutex 0x…`, `spins`, `waits in read`, `runs`, `failed`.
    pub(crate) doing: String,
    /// Innermost first.
    pub(crate) stack: Vec<Location>,
    /// The last jumps that were taken in the functions of the stack, as far as they are known.
    pub(crate) jumps: Vec<Jump>,
}

/// A jump that was taken.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Jump {
    /// The first frame of the stack that is of its function.
    pub(crate) frame: usize,
    pub(crate) from: Location,
}

/// Why an execution could not be made. None of these is a bug of the program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    /// The user's mistake: no such file, not executable, wrong architecture.
    #[error("{0}")]
    Input(String),
    /// wmtrace does not do this.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// An operation of the operating system failed, in words.
    #[error("{0}")]
    Os(String),
    /// There was not enough of something for all executions that run at a time, or for this one alone.
    #[error("{0}")]
    Exhausted(String),
    /// wmtrace is wrong.
    #[error("internal error: {0}; please report this")]
    Mismatch(#[from] Mismatch),
    /// The user has interrupted wmtrace.
    #[error("interrupted")]
    Interrupted,
}

impl From<crate::os::OsError> for EngineError {
    fn from(error: crate::os::OsError) -> EngineError {
        EngineError::io(&format!("{} of process {}", error.what, error.pid), &error.error)
    }
}
