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
mod afterwards;
mod ahead;
mod children;
mod code;
mod does;
#[cfg(test)]
mod does_as_the_processor;
mod flow;
mod from;
mod library;
mod managed;
mod native;
mod pids;
mod process;
mod registers;
mod run;
mod sea;
mod server;
mod shared;
mod stacks;
mod syscalls;
mod thread;
mod unwind;

use super::moved::ExecutedBy;
use super::private::{Begun, Private};
use super::world::Streams;
use super::{calls, modules, sites, time, world};
use crate::engine::evidence::Evidence;
use crate::engine::kept::Written;
use crate::engine::{Engine, EngineError, EngineOptions, ModuleInfo, Outcome, Program, SiteInfo, Sites};
use crate::os::Tid;
use crate::os::launch::{self, LaunchError, Start};
use crate::os::tick::Tick;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use wmtrace_decoder::effect::Arch;
use wmtrace_decoder::orders::Atomic;
use wmtrace_model::machine::Machine;
use wmtrace_model::op::Site;
use wmtrace_model::strategy::Strategy;

use code::Code;
use from::Sought;
use modules::Library;
use server::Serving;
use sites::SiteTable;

/// Runs executions of one program. It and the processes that it makes belong to the thread that made it.
pub(crate) struct StepEngine {
    program: Program,
    options: EngineOptions,
    library: Library,
    code: Code,
    sites: SiteTable,
    streams: Streams,
    private: Private,
    /// The processors that the program believes to have.
    affinity: nix::sched::CpuSet,
    /// The path that the program was executed by.
    executed_by: Vec<u8>,
    server: Serving,
    /// Where the function of `--from` is.
    from: Option<Sought>,
    /// Whether simple instructions are done, not run.
    shortcuts: bool,
    /// Processes that the program makes go on and on.
    restless: bool,
    _tick: Tick,
}

impl StepEngine {
    /// Prepares to run a program. Nothing is started yet.
    pub(crate) fn new(program: &Program, options: &EngineOptions) -> Result<StepEngine, EngineError> {
        let os = |error: std::io::Error| EngineError::io("", &error);
        let own = launch::affinity();
        world::pin(&own);
        let affinity = program.conditions.affinity(own);
        Ok(StepEngine {
            program: program.clone(),
            options: options.clone(),
            library: Library::new(Arch::X86_64),
            code: Code::default(),
            sites: SiteTable::default(),
            streams: Streams::new(&program.stdin).map_err(os)?,
            private: Private::new(program, &options.files, options.timeout, true)?,
            affinity,
            executed_by: Vec::new(),
            server: Serving::Undecided,
            from: options.from.as_deref().map(Sought::new),
            shortcuts: true,
            restless: false,
            _tick: Tick::start().map_err(os)?,
        })
    }

    /// Starts a process, stopped before its first instruction.
    fn start(&mut self) -> Result<Tid, EngineError> {
        self.streams.rewind().map_err(|error| EngineError::io("", &error))?;
        let string = |bytes: &[u8]| {
            CString::new(bytes).map_err(|_| EngineError::Input("an argument contains a zero byte".to_owned()))
        };
        let ExecutedBy { path, through } = self.program.executed_by();
        self.executed_by.clone_from(&path);
        let path = string(&path)?;
        let mut args = vec![string(self.program.name.as_bytes())?];
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
            limits: &self.program.conditions.limits,
            stdin: &self.streams.stdin,
            stdout: &self.streams.stdout,
            stderr: &self.streams.stderr,
            gates: false,
            view: self.private.view(),
        };
        let launched = launch::launch(&start);
        drop(through);
        launched.map_err(|error| match error {
            LaunchError::Exec(error) => {
                EngineError::Input(format!("cannot run {}: {error}", self.program.path.display()))
            }
            error @ LaunchError::Load => {
                EngineError::Input(format!("cannot run {}: {error}", self.program.path.display()))
            }
            LaunchError::Fork(error) => EngineError::io("cannot make a process", &error),
            error => EngineError::Os(error.to_string()),
        })
    }
}

impl Engine for StepEngine {
    fn execute<S: Strategy>(&mut self, machine: &mut Machine<S>) -> Result<Outcome, EngineError> {
        let prepared = matches!(&self.server, Serving::Ready(server) if server.finds_files_by_name());
        match (self.private.begin(prepared)?, &self.server) {
            (Begun::Renewed, Serving::Ready(server)) if server.goes_back().is_ok() => {}
            (Begun::Unchanged, _) => {}
            _ => self.server = Serving::Impossible,
        }
        let outcome = match self.server {
            Serving::Ready(_) => run::Run::resumed(self, machine)?.finish(),
            Serving::Undecided | Serving::Impossible => {
                let process = self.start()?;
                run::Run::new(self, machine, process)?.finish()
            }
        };
        self.private.ended(outcome)
    }

    fn written(&self) -> Option<Written> {
        self.private.written()
    }

    fn allow_shortcuts(&mut self, allowed: bool) {
        self.shortcuts = allowed;
    }

    fn evidence(&mut self) -> Vec<Evidence> {
        self.code.notes.take()
    }
}

impl Sites for StepEngine {
    fn site(&self, site: Site) -> SiteInfo {
        self.sites.info(site)
    }

    fn atomic(&self, site: Site) -> Atomic {
        self.sites.atomic(site)
    }

    fn may_be_compilers(&self, site: Site, other: Site) -> bool {
        self.sites.may_be_compilers(site, other)
    }

    fn is_volatile(&self, site: Site, addr: u64) -> bool {
        self.sites.is_volatile(site, addr)
    }

    fn global(&self, addr: u64) -> Option<String> {
        self.sites.global(addr)
    }

    fn modules(&self) -> Vec<ModuleInfo> {
        self.library.infos()
    }
}
