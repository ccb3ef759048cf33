//! The step engine: an unmodified x86-64 program under ptrace, one thread at a time, one event at a time.
//!
//! Managed code (the program and its own libraries) lies under a sea of breakpoints ([`sea`]): the engine lets
//! single instructions, or short stretches without an event, surface and run in place, follows jumps, calls and
//! returns itself ([`flow`]), and asks the machine before each access that the model decides on ([`access`]). The C
//! runtime runs natively, with breakpoints where it synchronises or allocates ([`calls`]). System calls stop at
//! their entry; those that block or that would make a run differ from the last one are emulated ([`syscalls`]).
//!
//! Until the program makes its first thread nothing of this happens but the system calls.

mod access;
mod calls;
mod code;
mod flow;
mod futex;
mod library;
mod managed;
mod modules;
mod native;
mod pids;
mod process;
mod registers;
mod run;
mod sea;
mod server;
mod sites;
mod syscalls;
mod thread;
mod time;
mod unwind;

use crate::engine::{Engine, EngineError, EngineOptions, ModuleInfo, Outcome, Program, SiteInfo, Sites};
use crate::os::launch::{self, LaunchError, Start};
use crate::os::tick::Tick;
use crate::os::{OsError, Tid};
use std::ffi::CString;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use wmtrace_model::machine::Machine;
use wmtrace_model::op::Site;
use wmtrace_model::strategy::Strategy;

use code::Code;
use modules::Library;
use server::Serving;
use sites::SiteTable;

/// The most output of an execution that is kept.
const MAX_OUTPUT: u64 = 16 << 20;

/// Runs executions of one program. It and the processes that it makes belong to the thread that made it.
pub(crate) struct StepEngine {
    program: Program,
    options: EngineOptions,
    library: Library,
    code: Code,
    sites: SiteTable,
    streams: Streams,
    /// The processors that the program believes to have.
    affinity: nix::sched::CpuSet,
    server: Serving,
    _tick: Tick,
}

/// The program's standard streams, in memory.
struct Streams {
    stdin: File,
    stdout: File,
    stderr: File,
}

impl Streams {
    fn new(input: &[u8]) -> std::io::Result<Streams> {
        let mut stdin = launch::memory_file("stdin")?;
        stdin.write_all(input)?;
        let append = |file: File| -> std::io::Result<File> {
            nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_APPEND))?;
            Ok(file)
        };
        Ok(Streams {
            stdin,
            stdout: append(launch::memory_file("stdout")?)?,
            stderr: append(launch::memory_file("stderr")?)?,
        })
    }

    fn rewind(&mut self) -> std::io::Result<()> {
        self.stdin.seek(SeekFrom::Start(0))?;
        self.stdout.set_len(0)?;
        self.stderr.set_len(0)
    }

    /// What was written, and whether some was left out.
    fn collect(&mut self) -> (Vec<u8>, Vec<u8>, bool) {
        let take = |file: &mut File| {
            let mut bytes = Vec::new();
            // A file in memory: reading it does not fail.
            let _ =
                file.seek(SeekFrom::Start(0)).and_then(|_| (&*file).take(MAX_OUTPUT).read_to_end(&mut bytes));
            let cut = file.metadata().is_ok_and(|data| data.len() > bytes.len() as u64);
            (bytes, cut)
        };
        let (stdout, cut_out) = take(&mut self.stdout);
        let (stderr, cut_err) = take(&mut self.stderr);
        (stdout, stderr, cut_out || cut_err)
    }
}

impl StepEngine {
    /// Prepares to run a program. Nothing is started yet.
    pub(crate) fn new(program: &Program, options: &EngineOptions) -> Result<StepEngine, EngineError> {
        let os = |error: std::io::Error| EngineError::Os(error.to_string());
        let affinity = launch::affinity();
        // Each engine has a processor of its own, as long as there are some; its processes inherit it. The first one
        // stays where the scheduler has put it: other wmtraces are somewhere else, then.
        let cpus: Vec<usize> =
            (0..nix::sched::CpuSet::count()).filter(|&cpu| affinity.is_set(cpu).unwrap_or(false)).collect();
        if !cpus.is_empty() {
            static ENGINES: AtomicUsize = AtomicUsize::new(0);
            static FIRST: OnceLock<Option<usize>> = OnceLock::new();
            // The first one stays where the kernel has put us: other wmtraces may run here, too.
            let here = *FIRST.get_or_init(launch::processor);
            let first = cpus.iter().position(|&cpu| Some(cpu) == here).unwrap_or(0);
            launch::pin(cpus[(first + ENGINES.fetch_add(1, Ordering::Relaxed)) % cpus.len()]);
        }
        Ok(StepEngine {
            program: program.clone(),
            options: options.clone(),
            library: Library::default(),
            code: Code::default(),
            sites: SiteTable::default(),
            streams: Streams::new(&program.stdin).map_err(os)?,
            affinity,
            server: Serving::Undecided,
            _tick: Tick::start().map_err(os)?,
        })
    }

    /// Starts a process, stopped before its first instruction.
    fn start(&mut self) -> Result<Tid, EngineError> {
        self.streams.rewind().map_err(|error| EngineError::Os(error.to_string()))?;
        let string = |bytes: &[u8]| {
            CString::new(bytes).map_err(|_| EngineError::Input("an argument contains a zero byte".to_owned()))
        };
        let path = string(self.program.path.as_os_str().as_bytes())?;
        let mut args = vec![path.clone()];
        for arg in &self.program.args {
            args.push(string(arg.as_bytes())?);
        }
        let mut env = Vec::new();
        for (name, value) in &self.program.env {
            env.push(string(&[name.as_bytes(), b"=", value.as_bytes()].concat())?);
        }
        let start = Start {
            path,
            args,
            env,
            cwd: string(self.program.cwd.as_os_str().as_bytes())?,
            stdin: &self.streams.stdin,
            stdout: &self.streams.stdout,
            stderr: &self.streams.stderr,
        };
        launch::launch(&start).map_err(|error| match error {
            LaunchError::Exec(error) => {
                EngineError::Input(format!("cannot run {}: {error}", self.program.path.display()))
            }
            error @ (LaunchError::Fork(_) | LaunchError::Trace(_)) => EngineError::Os(error.to_string()),
        })
    }
}

impl Engine for StepEngine {
    fn execute<S: Strategy>(&mut self, machine: &mut Machine<S>) -> Result<Outcome, EngineError> {
        if let Serving::Ready(_) = self.server {
            return run::Run::resumed(self, machine)?.finish();
        }
        let process = self.start()?;
        run::Run::new(self, machine, process)?.finish()
    }
}

impl Sites for StepEngine {
    fn site(&self, site: Site) -> SiteInfo {
        self.sites.info(site)
    }

    fn modules(&self) -> Vec<ModuleInfo> {
        self.library.infos()
    }
}

impl From<OsError> for EngineError {
    fn from(error: OsError) -> EngineError {
        EngineError::Os(error.to_string())
    }
}
