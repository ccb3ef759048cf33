//! The fork server: everything before the program's first thread happens once.
//!
//! A process that is about to make its first thread is stopped there for good, and copied for each execution. The
//! copy is made by the process itself, with a `clone` in the place of the one it wants to make; then its registers
//! are put back, so that it is about to make that one again. The copy is our own child (CLONE_PARENT): nobody else
//! has to be told when it ends.
//!
//! What a copy would share with the next one (pipes, sockets, shared memory, children) or lack (timers) rules this
//! out; offsets of files are put back.

use super::calls::Kind;
use super::modules::Module;
use super::run::Run;
use super::sea::Sea;
use super::sites::StackId;
use super::thread::{Frame, Thread};
use crate::engine::{EngineError, copies};
use crate::os::memory::ProcessMemory;
use crate::os::ptrace::{self, Regs, Resume, Stop, Stopped};
use crate::os::{Tid, proc};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use wmtrace_model::op::Site;
use wmtrace_model::strategy::Strategy;

/// The length of a `syscall` instruction.
pub(super) const SYSCALL_LEN: usize = 2;

/// Whether executions can be copies of a process.
pub(super) enum Serving {
    /// No execution has made a thread yet.
    Undecided,
    /// Each execution starts the program anew.
    Impossible,
    Ready(Box<Server>),
}

/// A process at its first thread's creation.
pub(super) struct Server {
    process: Tid,
    /// About to make the thread.
    parked: Regs,
    /// Its open files, and where it is in each of them.
    files: Vec<(File, u64)>,
    pub(super) moment: Moment,
    /// Its working directory, if it has nothing else open among private files.
    cwd: Option<PathBuf>,
}

/// What an execution has found out up to this moment.
#[derive(Clone)]
pub(super) struct Moment {
    sea: Sea,
    modules: Vec<Module>,
    entries: HashMap<u64, Kind>,
    allocators: Vec<(u64, u64)>,
    course: copies::Moment,
    stack: Range<u64>,
    frames: Vec<Frame>,
    calls_made: StackId,
    clear_tid: u64,
    robust_list: u64,
}

impl<'e, S: Strategy> Run<'e, S> {
    /// The program is about to make its first thread: if it can be copied, it is, and this execution goes on in the
    /// first copy. Whether the thread's system call is still to be made by whoever asked.
    pub(super) fn park(&mut self, index: usize) -> Result<bool, EngineError> {
        if !matches!(self.engine.server, Serving::Undecided) || self.threads.len() != 1 {
            return Ok(true);
        }
        let files = proc::open_files(self.process);
        let cwd = self.only_its_directory(&files);
        let shared = self.can_be_copied(&files).then(|| proc::share_files(self.process, &files));
        let Some(Ok(files)) = shared else {
            self.engine.server = Serving::Impossible;
            return Ok(true);
        };
        let call = self.threads[index].syscall.expect("it is about to make a thread");
        let mut parked = self.threads[index].regs;
        // Back to the instruction, with the number of the call in its place.
        parked.rip -= SYSCALL_LEN as u64;
        parked.rax = call.number;
        parked.orig_rax = u64::MAX;
        self.skip(index, 0)?;
        let thread = &mut self.threads[index];
        thread.stopped.as_ref().expect("it has stopped").set_regs(&parked)?;
        // That the call was not made is nothing that the program sees.
        self.course.journal.as_mut().and_then(|journal| journal.observations.pop());
        let moment = Moment {
            sea: self.sea.clone(),
            modules: self.modules.clone(),
            entries: self.entries.clone(),
            allocators: self.allocators.clone(),
            course: copies::Moment::new(&self.course, &mut self.engine.streams),
            stack: self.threads[index].stack.clone(),
            frames: self.threads[index].frames.clone(),
            calls_made: self.threads[index].calls_made,
            clear_tid: self.threads[index].clear_tid,
            robust_list: self.threads[index].robust_list,
        };
        // In a static program the instruction is under the sea; the server needs it, the copies do not.
        self.sea.expose(&self.memory, parked.rip, SYSCALL_LEN, false)?;
        let mut server = Server { process: self.process, parked, files, moment, cwd };
        let copy = server.copy()?;
        self.engine.server = Serving::Ready(Box::new(server));
        self.process = copy;
        self.memory = ProcessMemory::open(copy)?;
        self.sea.expose(&self.memory, parked.rip, SYSCALL_LEN, true)?;
        self.by_tid = HashMap::from([(copy, 0)]);
        let thread = &mut self.threads[index];
        (thread.tid, thread.stopped, thread.regs, thread.dirty) =
            (copy, Some(Stopped::new(copy)), parked, false);
        Ok(false)
    }

    /// Whether a copy of the process is as good as the process.
    fn can_be_copied(&self, files: &[proc::OpenFile]) -> bool {
        let shared = || proc::mappings(self.process).iter().any(|mapping| mapping.shared && mapping.writable);
        // What it has written would be every copy's.
        let changed = self.engine.private.is_changed();
        self.course.children.is_empty() && copies::are_harmless(files) && !shared() && !changed
    }

    /// The working directory of a process that has no other private file open.
    fn only_its_directory(&self, files: &[proc::OpenFile]) -> Option<PathBuf> {
        let is_private = |file: &proc::OpenFile| self.engine.private.place(&file.target).is_some();
        let cwd = std::fs::read_link(format!("/proc/{}/cwd", self.process)).ok()?;
        (!files.iter().any(is_private)).then_some(cwd)
    }

    /// An execution that begins with a copy.
    pub(super) fn resumed(
        engine: &'e mut super::StepEngine,
        machine: &'e mut wmtrace_model::machine::Machine<S>,
    ) -> Result<Run<'e, S>, EngineError> {
        let Serving::Ready(server) = &mut engine.server else {
            unreachable!("asked only when there is a server");
        };
        let moment = server.moment.clone();
        let (parked, copy) = (server.parked, server.copy()?);
        let course = moment.course.restore(&engine.options, &mut engine.streams)?;
        let id = machine.spawn(None, Site::default()).map_err(|error| EngineError::Os(error.to_string()))?;
        let mut thread = Thread::new(copy, id, super::thread::FIRST_TID, parked);
        thread.stopped = Some(Stopped::new(copy));
        thread.stack_use = Self::first_frames(&moment.stack);
        (thread.stack, thread.clear_tid) = (moment.stack, moment.clear_tid);
        thread.robust_list = moment.robust_list;
        (thread.frames, thread.calls_made) = (moment.frames, moment.calls_made);
        let mut run = Run::with(engine, machine, copy, thread, course)?;
        (run.sea, run.modules, run.entries) = (moment.sea, moment.modules, moment.entries);
        run.allocators = moment.allocators;
        run.sea.expose(&run.memory, parked.rip, SYSCALL_LEN, true)?;
        Ok(run)
    }
}

impl Server {
    /// Whether copies of the process find private files by their names only.
    pub(super) fn finds_files_by_name(&self) -> bool {
        self.cwd.is_some()
    }

    /// Files have new ones behind their names: the process goes to its working directory once more.
    pub(super) fn goes_back(&self) -> Result<(), EngineError> {
        /// Below the stack there may be something that a function without calls has put there.
        const RED_ZONE: u64 = 128;
        let lost = || EngineError::Os("the working directory of the prepared process is gone".to_owned());
        let name = self.cwd.as_ref().ok_or_else(lost)?.as_os_str().as_bytes();
        let name = [name, &[0]].concat();
        let memory = ProcessMemory::open(self.process)?;
        let at = (self.parked.rsp - RED_ZONE - name.len() as u64) & !15;
        let mut before = vec![0; name.len()];
        if !memory.read(at, &mut before) {
            return Err(lost());
        }
        memory.write(at, &name)?;
        let (result, _) = self.call(libc::SYS_chdir, [at, 0, 0])?;
        memory.write(at, &before)?;
        if result == 0 { Ok(()) } else { Err(lost()) }
    }

    /// A copy of the process, stopped where the process is.
    fn copy(&mut self) -> Result<Tid, EngineError> {
        for (file, offset) in &mut self.files {
            // Not every file has a place.
            let _ = file.seek(SeekFrom::Start(*offset));
        }
        let flags = (libc::CLONE_PARENT | libc::SIGCHLD) as u64;
        let (result, copy) = self.call(libc::SYS_clone, [flags, 0, 0])?;
        let copy = copy.ok_or_else(|| {
            let errno = (result as i64).unsigned_abs() as i32;
            EngineError::io("cannot make a process", &std::io::Error::from_raw_os_error(errno))
        })?;
        wait_for(copy)?;
        // What it sends to its group is for its own processes, not for the next copy.
        let _ = nix::unistd::setpgid(copy.pid(), copy.pid());
        Stopped::new(copy).set_regs(&self.parked)?;
        Ok(copy)
    }

    /// Makes the process do a system call: its result, and the process that it made.
    fn call(&self, number: i64, args: [u64; 3]) -> Result<(u64, Option<Tid>), EngineError> {
        let here = || Stopped::new(self.process);
        here().resume(Resume::Free, 0)?;
        wait_for(self.process)?;
        let mut regs = here().regs()?;
        regs.orig_rax = number as u64;
        [regs.rdi, regs.rsi, regs.rdx] = args;
        (regs.r10, regs.r8) = (0, 0);
        here().set_regs(&regs)?;
        let mut made = None;
        loop {
            here().resume(Resume::ToSyscall, 0)?;
            match wait_for(self.process)? {
                Stop::Fork(child) | Stop::Clone(child) => made = Some(child),
                Stop::Syscall => break,
                _ => {}
            }
        }
        let result = here().regs()?.rax;
        here().set_regs(&self.parked)?;
        Ok((result, made))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        ptrace::kill(self.process);
        loop {
            match wait_for(self.process) {
                Ok(Stop::Exited(_) | Stop::Killed(_)) | Err(_) => break,
                Ok(_) => {
                    let _ = Stopped::new(self.process).resume(Resume::Free, 0);
                }
            }
        }
    }
}

/// Waits for this process, while no other one runs.
fn wait_for(process: Tid) -> Result<Stop, EngineError> {
    match ptrace::wait_one(process) {
        Some(Stop::Exited(_) | Stop::Killed(_)) | None => {
            Err(EngineError::Os("the prepared process is gone: somebody killed it".to_owned()))
        }
        Some(stop) => Ok(stop),
    }
}
