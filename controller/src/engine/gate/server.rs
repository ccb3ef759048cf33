//! The fork server: everything before the program's first thread happens once.
//!
//! A program that is about to make its first thread is held there for good, and copied for each execution. qemu makes
//! the copy: the held thread is steered through a `fork` of the program's, in the place of the `clone` that it wants to
//! make, since a process that is copied behind qemu's back has locks that nobody gives back, and no helper threads. The
//! copy's registers are then put back, so that it is at the gate of that `clone`. It is our own child (CLONE_PARENT is
//! added to what qemu asks the kernel for): nobody else has to be told when it ends.
//!
//! With a program's first thread qemu throws away all code that it has translated, and from then on translates for more
//! than one. So the server has had a thread already, which has ended at once.
//!
//! Natively there is none yet: it was not tried there, and starting a program costs little.
//!
//! What a copy would share with the next one (pipes, sockets, shared memory, children) or lack (timers) rules this out;
//! offsets of files are put back.

use super::GateEngine;
use super::block::{Block, NEXT, SIZE};
use super::handlers::Handlers;
use super::run::Run;
use super::thread::Thread;
use crate::engine::EngineError;
use crate::engine::copies::{Moment, are_harmless};
use crate::engine::modules::Module;
use crate::engine::thread::FIRST_TID;
use crate::os::launch::gate;
use crate::os::memory::ProcessMemory;
use crate::os::ptrace::{self, Resume, Stop, Stopped};
use crate::os::{Tid, proc};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use wmtrace_model::machine::Machine;
use wmtrace_model::op::{Site, ThreadId};
use wmtrace_model::strategy::Strategy;

/// AArch64's numbers of system calls.
const CLONE: u64 = 220;
const EXIT: u64 = 93;
const LSEEK: u64 = 62;

/// How far below the stack pointer the server's own thread has its stack.
const BELOW: u64 = 0x4000;

/// Whether executions can be copies of a process.
pub(super) enum Serving {
    /// No execution has made a thread yet.
    Undecided,
    /// Each execution starts the program anew.
    Impossible,
    Ready(Box<Server>),
}

/// A program at its first thread's creation.
pub(super) struct Server {
    process: Tid,
    memory: ProcessMemory,
    /// At the gate of that `clone`.
    parked: Block,
    /// Through the system call of that gate, to the gate behind it.
    through: u64,
    files: Vec<proc::OpenFile>,
    moment: Moment,
    thread: Parked,
    modules: Vec<Module>,
    biases: HashMap<usize, u64>,
    handlers: Handlers,
}

/// The thread that is about to make another one.
#[derive(Clone)]
struct Parked {
    gate: usize,
    on_stack: Vec<u8>,
    stack: Range<u64>,
    top: u64,
    clear_tid: u64,
    robust_list: u64,
    written: u64,
}

/// A copy, stopped at a gate, and the helper threads that its qemu has.
struct Copied {
    process: Tid,
    helpers: HashSet<Tid>,
}

impl<'e, S: Strategy> Run<'e, S> {
    /// The program is about to make its first thread: if it can be copied, it is, and this execution goes on in the
    /// first copy, before the gate that it is at. Whether it does.
    pub(super) fn park(&mut self, index: usize) -> Result<bool, EngineError> {
        if !matches!(self.engine.server, Serving::Undecided) || self.threads.len() != 1 {
            return Ok(false);
        }
        let files = proc::open_files(self.process);
        let room = self.threads[index].regs.address().checked_sub(BELOW);
        let has_room = room.is_some_and(|at| self.memory.may_write(at - 2 * SIZE as u64));
        let shared = self.mappings().iter().any(|mapping| mapping.shared && mapping.writable);
        if self.engine.host.is_native()
            || !has_room
            || shared
            || !self.course.children.is_empty()
            || !self.programs.is_empty()
            || !are_harmless(&files)
            // What it has written would be every copy's.
            || self.engine.private.is_changed()
        {
            self.engine.server = Serving::Impossible;
            return Ok(false);
        }
        let thread = &self.threads[index];
        let gate = &self.engine.files.gates[thread.gate];
        let through = gate.post.wrapping_add(self.biases.get(&gate.file).copied().unwrap_or(0));
        let parked = Parked {
            gate: thread.gate,
            on_stack: thread.on_stack.clone(),
            stack: thread.stack.clone(),
            top: thread.top,
            clear_tid: thread.clear_tid,
            robust_list: thread.robust_list,
            written: thread.written,
        };
        let server = Server {
            process: self.process,
            memory: ProcessMemory::open_window(self.process, self.engine.host.window())?,
            parked: thread.regs,
            through,
            files,
            moment: Moment::new(&self.course, &mut self.engine.streams),
            thread: parked,
            modules: self.modules.clone(),
            biases: self.biases.clone(),
            handlers: self.handlers.clone(),
        };
        // It belongs to the server from now on.
        self.threads[index].stopped = None;
        server.make_thread()?;
        let copied = server.copy()?;
        self.process = copied.process;
        self.memory = ProcessMemory::open_window(copied.process, self.engine.host.window())?;
        self.host = ProcessMemory::open(copied.process)?;
        self.by_tid = HashMap::from([(copied.process, index)]);
        self.others = copied.helpers;
        self.threads[index] = server.thread(copied.process, self.threads[index].id);
        self.engine.server = Serving::Ready(Box::new(server));
        Ok(true)
    }

    /// An execution that begins with a copy.
    pub(super) fn resumed(
        engine: &'e mut GateEngine,
        machine: &'e mut Machine<S>,
    ) -> Result<Run<'e, S>, EngineError> {
        let Serving::Ready(server) = &engine.server else {
            unreachable!("asked only when there is a server");
        };
        let copied = server.copy()?;
        let id = machine.spawn(None, Site::default()).map_err(|error| EngineError::Os(error.to_string()))?;
        let thread = server.thread(copied.process, id);
        let (modules, biases) = (server.modules.clone(), server.biases.clone());
        let (moment, handlers) = (server.moment.clone(), server.handlers.clone());
        let course = moment.restore(&engine.options, &mut engine.streams)?;
        let mut run = Run::with(engine, machine, copied.process, thread, course)?;
        (run.modules, run.biases, run.others) = (modules, biases, copied.helpers);
        (run.handlers, run.begun, run.watching) = (handlers, true, true);
        run.engine.unwind.set_modules(&run.modules);
        Ok(run)
    }
}

impl Server {
    /// The thread of a copy, at the gate where the server's is.
    fn thread(&self, process: Tid, id: ThreadId) -> Thread {
        let mut thread = Thread::new(process, id, FIRST_TID);
        let Parked { gate, on_stack, stack, top, clear_tid, robust_list, written } = self.thread.clone();
        (thread.gate, thread.on_stack, thread.stack, thread.top) = (gate, on_stack, stack, top);
        (thread.clear_tid, thread.robust_list, thread.written) = (clear_tid, robust_list, written);
        (thread.regs, thread.dirty) = (self.parked, true);
        thread.stopped = Some(Stopped::new(process));
        thread
    }

    /// Makes the held thread (of the server, or one of its own that stands at the same place) ask for something.
    fn ask(&self, number: u64, args: [u64; 5], at: u64) -> Result<(), EngineError> {
        let mut block = self.parked;
        for (register, &value) in args.iter().enumerate() {
            block.set_x(register as u32, value);
        }
        block.set_x(8, number);
        let mut bytes = block.bytes();
        // Where it is, and where it goes on.
        bytes[8 * super::block::SP..][..8].copy_from_slice(&at.to_le_bytes());
        bytes[8 * NEXT..][..8].copy_from_slice(&self.through.to_le_bytes());
        Ok(self.memory.write(at, &bytes)?)
    }

    /// The server has a thread of its own, which ends at once.
    fn make_thread(&self) -> Result<(), EngineError> {
        const THREAD: i32 = libc::CLONE_VM
            | libc::CLONE_FS
            | libc::CLONE_FILES
            | libc::CLONE_SIGHAND
            | libc::CLONE_THREAD
            | libc::CLONE_SYSVSEM;
        let stack = (self.parked.address() - BELOW) & !15;
        self.ask(CLONE, [THREAD as u64, stack, 0, 0, 0], self.parked.address())?;
        Stopped::new(self.process).resume(Resume::Free, 0)?;
        let (mut here, mut other, mut over) = (false, None, false);
        while !(here && over) {
            let (tid, stop) = wait()?;
            match stop {
                Stop::Filtered if !is_gate(&Stopped::new(tid))? => {
                    Stopped::new(tid).resume(Resume::Free, 0)?;
                }
                Stop::Filtered if tid == self.process => here = true,
                Stop::Filtered if other.is_none() => {
                    other = Some(tid);
                    self.ask(EXIT, [0; 5], stack - SIZE as u64)?;
                    Stopped::new(tid).resume(Resume::Free, 0)?;
                }
                Stop::Exited(_) | Stop::Killed(_) if tid == self.process => return Err(gone()),
                Stop::Exited(_) | Stop::Killed(_) => over |= other == Some(tid),
                stop => Stopped::new(tid).resume(Resume::Free, signal(stop))?,
            }
        }
        Ok(())
    }

    /// A copy of the process, stopped where the process is.
    fn copy(&self) -> Result<Copied, EngineError> {
        let at = self.parked.address();
        for file in &self.files {
            self.ask(LSEEK, [file.fd as u64, file.offset, libc::SEEK_SET as u64, 0, 0], at)?;
            Stopped::new(self.process).resume(Resume::Free, 0)?;
            while wait()? != (self.process, Stop::Filtered) {}
        }
        self.ask(CLONE, [libc::SIGCHLD as u64, 0, 0, 0, 0], at)?;
        Stopped::new(self.process).resume(Resume::ToSyscall, 0)?;
        let (mut here, mut copy, mut there) = (false, None, false);
        let mut helpers = HashSet::new();
        while !(here && there && copy.is_some()) {
            let (tid, stop) = wait()?;
            let stopped = Stopped::new(tid);
            match stop {
                Stop::Syscall if tid == self.process && copy.is_none() => {
                    if let Some(mut call) = stopped.entered_call()?
                        && call.number == libc::SYS_clone
                    {
                        call.args[0] |= libc::CLONE_PARENT as u64;
                        stopped.set_call(&call)?;
                    }
                    stopped.resume(Resume::ToSyscall, 0)?;
                }
                Stop::Fork(child) | Stop::Clone(child) | Stop::Vfork(child) => {
                    if tid == self.process {
                        copy = Some(child);
                    } else {
                        helpers.insert(child);
                    }
                    stopped.resume(Resume::Free, 0)?;
                }
                Stop::Filtered if !is_gate(&stopped)? => stopped.resume(Resume::Free, 0)?,
                Stop::Filtered if tid == self.process && copy.is_some() => here = true,
                Stop::Filtered if tid == self.process => {
                    return Err(EngineError::Exhausted(
                        "cannot make a process: the prepared program cannot be copied".to_owned(),
                    ));
                }
                // Who has made it may say so later.
                Stop::Filtered => there = true,
                Stop::Exited(_) | Stop::Killed(_) => return Err(gone()),
                stop => stopped.resume(Resume::Free, signal(stop))?,
            }
        }
        let process = copy.ok_or_else(gone)?;
        // What it sends to its group is for its own processes, not for the next copy.
        let _ = nix::unistd::setpgid(process.pid(), process.pid());
        Ok(Copied { process, helpers })
    }
}

fn is_gate(stopped: &Stopped) -> Result<bool, EngineError> {
    let call = stopped.filtered_call()?;
    Ok(call.number == libc::SYS_write && gate(call.args[0]).is_some())
}

/// The next stop of anybody: nobody else runs.
fn wait() -> Result<(Tid, Stop), EngineError> {
    loop {
        if let Some(found) = ptrace::wait_any(true) {
            return Ok(found);
        }
        if crate::os::interrupt::requested() {
            return Err(EngineError::Interrupted);
        }
        if std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
            return Err(gone());
        }
    }
}

fn gone() -> EngineError {
    EngineError::Os("the prepared process is gone: somebody killed it".to_owned())
}

/// What is delivered when a thread goes on.
fn signal(stop: Stop) -> i32 {
    if let Stop::Signal(signal) = stop { signal } else { 0 }
}

impl Drop for Server {
    fn drop(&mut self) {
        ptrace::kill(self.process);
        loop {
            match ptrace::wait_any(true) {
                Some((tid, Stop::Exited(_) | Stop::Killed(_))) if tid == self.process => break,
                Some((_, Stop::Exited(_) | Stop::Killed(_))) => {}
                Some((tid, _)) => {
                    let _ = Stopped::new(tid).resume(Resume::Free, 0);
                }
                // Nobody is left, or the tick came.
                None if std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) => break,
                None => {}
            }
        }
    }
}
