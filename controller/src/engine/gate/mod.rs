//! The gate engine: an unmodified AArch64 program, one thread at a time, one event at a time; in qemu-user, or natively
//! on an AArch64 machine ([`host`]).
//!
//! The code that qemu runs is a patched copy ([`patch`]): instructions that matter stop in the supervisor, by a system
//! call that the kernel points out (seccomp), outside qemu's own execution loop. So threads can be held as long as one
//! likes, and what they read, write and find can be decided ([`access`]). Which instructions those are, [`scan`] says.
//! Everything between runs at qemu's speed.
//!
//! Threads of the program are threads of qemu, one to one; the program's memory is a window of qemu's
//! ([`qemu::WINDOW`]). System calls have gates too, so that the program's are told from qemu's own ([`syscalls`]).
//! Executions are copies of a program that is about to make its first thread ([`server`]).

mod access;
mod asm;
mod block;
mod code;
mod elf;
mod exclusive;
mod exec;
mod files;
mod frame;
mod handlers;
mod host;
mod islands;
mod library;
mod passage;
mod patch;
mod place;
mod process;
mod qemu;
mod run;
mod scan;
mod server;
mod shared;
mod signals;
mod stops;
mod syscalls;
mod thread;
mod unwind;

use super::modules::Library;
use super::private::{Begun, Private};
use super::sites::SiteTable;
use super::world::{self, Streams};
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
use files::Files;
use host::Host;
use qemu::Command;
use server::Serving;
use unwind::Unwind;

/// Runs executions of one program. It and the processes that it makes belong to the thread that made it.
pub(crate) struct GateEngine {
    program: Program,
    options: EngineOptions,
    host: Host,
    library: Library,
    files: Files,
    code: Code,
    unwind: Unwind,
    sites: SiteTable,
    streams: Streams,
    private: Private,
    server: Serving,
    signals: signals::Numbers,
    /// The processors that the program believes to have.
    affinity: nix::sched::CpuSet,
    _tick: Tick,
}

impl GateEngine {
    /// Prepares to run a program. Nothing is started yet.
    pub(crate) fn new(program: &Program, options: &EngineOptions) -> Result<GateEngine, EngineError> {
        let os = |error: std::io::Error| EngineError::io("", &error);
        let host = Host::find(program, &options.emulator)?;
        let own = launch::affinity();
        world::pin(&own);
        let affinity = program.conditions.affinity(own);
        // The program opens files of ours, which nobody may who is in a user namespace.
        let private = Private::new(program, &options.files, options.timeout, false)?;
        Ok(GateEngine {
            program: program.clone(),
            options: options.clone(),
            host,
            library: Library::new(Arch::Aarch64),
            files: Files::default(),
            code: Code::default(),
            unwind: Unwind::default(),
            sites: SiteTable::default(),
            streams: Streams::new(&program.stdin).map_err(os)?,
            private,
            server: Serving::Undecided,
            signals: signals::Numbers::new(),
            affinity,
            _tick: Tick::start().map_err(os)?,
        })
    }

    /// Starts the program, or a qemu for it, stopped before its first instruction.
    fn start(&mut self) -> Result<Tid, EngineError> {
        /// How often a copy is tried that somebody may still write: a child of another thread's, before its own program.
        const TRIES: u32 = 200;
        self.streams.rewind().map_err(|error| EngineError::io("", &error))?;
        let string = |bytes: &[u8]| {
            CString::new(bytes).map_err(|_| EngineError::Input("a path contains a zero byte".to_owned()))
        };
        let command = Command::new(&self.program);
        let (path, (args, env)) = match &self.host {
            Host::Qemu { qemu, sysroot } => {
                let command = command.of_qemu(qemu, sysroot.as_deref(), self.options.entropy)?;
                (string(qemu.as_os_str().as_bytes())?, command)
            }
            Host::Native => {
                let path = self.program.path.to_string_lossy();
                let copy = self.files.program(&path, &mut self.library, &self.options)?;
                (string(copy.as_bytes())?, command.of_program()?)
            }
        };
        let start = Start {
            path,
            args,
            env,
            cwd: string(self.program.cwd.as_os_str().as_bytes())?,
            limits: &self.program.conditions.limits,
            stdin: &self.streams.stdin,
            stdout: &self.streams.stdout,
            stderr: &self.streams.stderr,
            gates: true,
            view: self.private.view(),
        };
        let mut started = launch::launch(&start);
        for _ in 0..TRIES {
            match &started {
                Err(LaunchError::Exec(error)) if error.raw_os_error() == Some(libc::ETXTBSY) => {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    started = launch::launch(&start);
                }
                _ => break,
            }
        }
        started.map_err(|error| match error {
            LaunchError::Exec(error) => {
                let what = match &self.host {
                    Host::Qemu { qemu, .. } => qemu.display(),
                    Host::Native => self.program.path.display(),
                };
                EngineError::Input(format!("cannot run {what}: {error}"))
            }
            LaunchError::Fork(error) => EngineError::io("cannot make a process", &error),
            error => EngineError::Os(error.to_string()),
        })
    }
}

impl Engine for GateEngine {
    fn execute<S: Strategy>(&mut self, machine: &mut Machine<S>) -> Result<Outcome, EngineError> {
        if self.private.begin(false)? != Begun::Unchanged {
            self.server = Serving::Impossible;
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

    /// There are none.
    fn allow_shortcuts(&mut self, _allowed: bool) {}

    fn evidence(&mut self) -> Vec<Evidence> {
        self.code.notes.take()
    }
}

impl Sites for GateEngine {
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
