//! Processes and threads: how they begin, what they make, and how they end; and the files that they open.

use super::block::Block;
use super::patch::Kind;
use super::run::Run;
use super::syscalls::clone_arguments;
use super::thread::{Asked, Mode, Slot, Thread};
use crate::engine::execution::Execution as _;
use crate::engine::sites::What;
use crate::engine::thread::FIRST_TID;
use crate::engine::{End, EngineError};
use crate::os::Tid;
use crate::os::launch::gate;
use crate::os::memory::ProcessMemory;
use crate::os::ptrace::{EnteredCall, Resume, Stop, Stopped};
use std::ops::Range;
use std::path::Path;
use std::time::Instant;
use wmtrace_model::op::{Addr, ThreadId};
use wmtrace_model::strategy::Strategy;

/// More processes than this is a fork bomb.
const MAX_CHILDREN: usize = 256;

/// The features of the processor that programs are told of (`asm/hwcap.h`): no SVE, SME, MOPS or RNDR, whose accesses
/// and numbers are not under our control, and no tags of memory. Whoever uses them without asking is refused.
const HWCAP: u64 = !(1 << 22);
const HWCAP2: u64 = 1 << 7 | 1 << 8 | 1 << 13 | 1 << 14 | 1 << 15 | 1 << 17 | 1 << 19 | 1 << 20 | 1 << 21;

impl<S: Strategy> Run<'_, S> {
    /// The program's first instruction. Its world is made the same each time: no vdso, known random bytes.
    pub(super) fn begins(&mut self, index: usize) -> Result<(), EngineError> {
        const AT_NULL: u64 = 0;
        const AT_IGNORE: u64 = 1;
        const AT_HWCAP: u64 = 16;
        const AT_RANDOM: u64 = 25;
        const AT_EXECFN: u64 = 31;
        const AT_HWCAP2: u64 = 26;
        const AT_SYSINFO_EHDR: u64 = 33;
        self.begun = true;
        // The stack: argc, argv, 0, envp, 0, auxiliary vector.
        let sp = self.threads[index].regs.sp();
        let argc = self.memory.read_u64(sp).unwrap_or(0);
        let name = self.memory.read_u64(sp.wrapping_add(8)).unwrap_or(0);
        let mut at = sp.wrapping_add(8 * argc.saturating_add(2));
        let mut left = 1 << 20;
        while self.memory.read_u64(at).is_some_and(|pointer| pointer != 0) && left > 0 {
            at += 8;
            left -= 1;
        }
        at += 8;
        while let (Some(kind), Some(value)) = (self.memory.read_u64(at), self.memory.read_u64(at + 8))
            && kind != AT_NULL
        {
            if kind == AT_SYSINFO_EHDR {
                self.memory.write(at, &AT_IGNORE.to_le_bytes())?;
            }
            let known = match kind {
                AT_HWCAP => HWCAP,
                AT_HWCAP2 => HWCAP2,
                _ => u64::MAX,
            };
            if value & !known != 0 {
                self.memory.write(at + 8, &(value & known).to_le_bytes())?;
            }
            // The kernel has executed a copy of ours.
            if kind == AT_EXECFN && self.engine.host.is_native() {
                self.memory.write(at + 8, &name.to_le_bytes())?;
            }
            if kind == AT_RANDOM {
                let bytes =
                    [self.course.clock.random(), self.course.clock.random()].map(u64::to_le_bytes).concat();
                self.memory.write(value, &bytes)?;
            }
            at += 16;
        }
        self.threads[index].stack = self.stack_of(sp);
        self.threads[index].top = sp;
        self.refresh()
    }

    fn stack_of(&self, sp: u64) -> Range<u64> {
        // The word below the pointer: at the very top it may be another mapping's first.
        let inside = sp.saturating_sub(8);
        let mapping = self.mappings().into_iter().find(|mapping| mapping.contains(inside));
        mapping.map_or(0..0, |mapping| mapping.start..mapping.end)
    }

    /// Looks again which files are loaded, and where.
    pub(super) fn refresh(&mut self) -> Result<(), EngineError> {
        let mappings = self.mappings();
        self.modules = self.engine.library.modules(&mappings, &self.engine.options)?;
        self.biases.clear();
        self.names.clear();
        for (number, copy) in self.engine.files.copies.iter().enumerate() {
            if let Some(module) = self.modules.iter().find(|module| module.binary.path == copy.path) {
                self.biases.insert(number, module.bias);
            }
        }
        self.engine.unwind.set_modules(&self.modules);
        if self.watching {
            self.set_flags(true)?;
        }
        Ok(())
    }

    /// Shuts the gates of a file, or opens them.
    pub(super) fn set_flag(&self, file: usize, shut: bool) -> Result<(), EngineError> {
        let Some(bias) = self.biases.get(&file) else { return Ok(()) };
        let at = self.engine.files.copies[file].flag.wrapping_add(*bias);
        let value = u32::from(shut).to_le_bytes();
        // The end of the segment may not be mapped yet, while the file is being loaded: then it is shut.
        let mut now = [0; 4];
        if self.memory.read(at, &mut now) && now != value {
            self.memory.force(at, &value)?;
        }
        Ok(())
    }

    fn set_flags(&self, shut: bool) -> Result<(), EngineError> {
        self.biases.keys().try_for_each(|&file| self.set_flag(file, shut))
    }

    /// The program is about to have a second thread: from now on everything counts.
    pub(super) fn clone_thread(&mut self, index: usize) -> Result<(), EngineError> {
        if !self.watching {
            self.watching = true;
            self.refresh()?;
        }
        if self.park(index)? {
            // It is at its gate once more, in a copy.
            return Ok(());
        }
        // From where, is known before it goes on.
        self.here(index);
        self.threads[index].slot = Some(Slot::Post);
        self.resume(index)
    }

    /// A thread that nobody knew has come to a gate: the one behind the `clone` that has made it.
    pub(super) fn born(&mut self, tid: Tid, block: &Block) -> Result<usize, EngineError> {
        let made_it = |asked: &Asked| {
            let made = clone_arguments(&asked.call);
            asked.call.number as i64 == libc::SYS_clone && asked.child.is_none() && made.tls == block.x(3)
        };
        let index = self.threads.len();
        let maker = self
            .threads
            .iter()
            .enumerate()
            .find_map(|(maker, thread)| thread.asked.iter().position(made_it).map(|call| (maker, call)));
        let Some((maker, call)) = maker.filter(|_| block.x(0) == 0) else {
            return Err(EngineError::Os("a thread came from nowhere".to_owned()));
        };
        self.threads[maker].asked[call].child = Some(index);
        let made = clone_arguments(&self.threads[maker].asked[call].call);
        let site = self.site_here(maker, What::call("create"));
        let parent = self.threads[maker].id;
        let stack = self.stack_of(block.sp());
        // Whoever had this stack before is gone: what it did there is over.
        self.machine.foreign(parent, site, Addr(stack.start), stack.end - stack.start);
        let id =
            self.machine.spawn(Some(parent), site).map_err(|error| EngineError::Os(error.to_string()))?;
        let mut thread = Thread::new(tid, id, FIRST_TID + id.0 as i32);
        (thread.stack, thread.top) = (stack, block.sp());
        if made.flags & libc::CLONE_CHILD_CLEARTID as u64 != 0 {
            thread.clear_tid = made.child_tid;
        }
        self.pointers.push((made.tls, id));
        self.others.remove(&tid);
        self.by_tid.insert(tid, index);
        self.threads.push(thread);
        Ok(index)
    }

    /// The thread that the C library knows by this number: the address of its descriptor, which ends at the thread's
    /// pointer (glibc and musl alike: "TLS above the thread pointer").
    pub(super) fn by_handle(&self, handle: u64) -> Option<ThreadId> {
        const DESCRIPTOR: u64 = 4096;
        let near =
            |pointer: u64| pointer.checked_sub(handle).filter(|distance| (1..=DESCRIPTOR).contains(distance));
        // The last one: memory of threads that are gone is used again.
        self.pointers.iter().rev().find(|(pointer, _)| near(*pointer).is_some()).map(|&(_, id)| id)
    }

    /// The thread is back from `clone`, and has made another one, which comes to its first gate.
    pub(super) fn cloned(&mut self, index: usize, call: usize) -> Result<(), EngineError> {
        while self.course.end.is_none() && self.threads[index].asked[call].child.is_none() {
            self.pump(true)?;
            self.course.check_limits()?;
        }
        let Asked { call, child, .. } = self.threads[index].asked[call];
        let Some(child) = child else { return Ok(()) };
        let (made, number) = (clone_arguments(&call), self.threads[child].virtual_tid);
        // The program reads its threads' numbers from memory.
        for (flag, at) in
            [(libc::CLONE_PARENT_SETTID, made.parent_tid), (libc::CLONE_CHILD_SETTID, made.child_tid)]
        {
            if made.flags & flag as u64 != 0 {
                self.memory.write(at, &number.to_le_bytes())?;
            }
        }
        let thread = &mut self.threads[index];
        thread.regs.set_x(0, number as u64);
        thread.dirty = true;
        Ok(())
    }

    /// Whether all other threads have ended, and this one knows it.
    pub(super) fn is_alone(&mut self, index: usize) -> bool {
        let thread = &self.threads[index];
        thread.calls.is_empty() && thread.syscall.is_none() && self.others_are_over(index)
    }

    /// Only this thread is left: it runs natively until it makes another one.
    pub(super) fn let_go(&mut self, index: usize) -> Result<(), EngineError> {
        self.tell_passed(index);
        self.flush(index)?;
        let site = self.site_here(index, What::call("alone"));
        self.machine.alone(self.threads[index].id, site);
        self.watching = false;
        self.set_flags(false)?;
        self.threads[index].reading.clear();
        self.course.locks.clear();
        self.course.heap.clear();
        self.shared.clear();
        Ok(())
    }

    /// A file is opened: if it is code that is going to be loaded, it is the patched copy.
    pub(super) fn opens(
        &mut self,
        index: Option<usize>,
        stopped: &Stopped,
        call: &EnteredCall,
    ) -> Result<(), EngineError> {
        let of_linker = index.is_some_and(|index| {
            let gate = self.threads[index].asked.last().map(|asked| &self.engine.files.gates[asked.gate]);
            gate.is_some_and(|gate| self.engine.files.copies[gate.file].linker)
        });
        let own = self.begun && !of_linker;
        if own && !self.engine.host.is_native() {
            return Ok(());
        }
        // `open` has no directory.
        let which = usize::from(call.number == libc::SYS_openat);
        let directory = if which == 0 { libc::AT_FDCWD } else { call.args[0] as i32 };
        let path = self.host.c_string(call.args[which], libc::PATH_MAX as usize);
        let Ok(path) = String::from_utf8(path) else { return Ok(()) };
        if directory != libc::AT_FDCWD && !path.starts_with('/') {
            return Ok(());
        }
        let Ok(cwd) = std::fs::read_link(format!("/proc/{}/cwd", self.memory.thread())) else {
            return Ok(());
        };
        let path = cwd.join(path).to_string_lossy().into_owned();
        let own_file = self.is_own_file(Path::new(&path)).then(|| self.program_of(self.process));
        let own_file = own_file.map(|path| path.to_string_lossy().into_owned());
        let begun = Instant::now();
        let engine = &mut *self.engine;
        let instead = match own {
            true => own_file,
            false => engine.files.copy(&path, &mut engine.library, &engine.options)?,
        };
        self.course.not_counted(begun);
        let Some(copy) = instead else { return Ok(()) };
        // Below the stack, and what lies there of leaf functions.
        let place = call.sp.saturating_sub(1024) & !15;
        self.host.write(place, &[copy.as_bytes(), &[0]].concat())?;
        let mut changed = *call;
        changed.args[which] = place;
        Ok(stopped.set_call(&changed)?)
    }

    /// A process that the program has made has stopped: it goes on, natively.
    pub(super) fn serve_child(&mut self, tid: Tid, stop: Stop) -> Result<(), EngineError> {
        let signal = match stop {
            Stop::Exited(_) | Stop::Killed(_) => {
                self.course.children.remove(&tid);
                self.inherited.remove(&tid);
                return Ok(());
            }
            Stop::Group => return Ok(Stopped::new(tid).resume(Resume::Listen, 0)?),
            Stop::Signal(signal) => signal,
            Stop::Clone(child) | Stop::Fork(child) | Stop::Vfork(child) => {
                self.course.children.insert(child);
                self.engine.private.forks();
                // Threads may be the emulator's own.
                if let (Stop::Fork(_) | Stop::Vfork(_), Some(journal)) = (stop, &mut self.course.journal) {
                    journal.child_makes(tid, child, false);
                }
                self.inherits(child, tid);
                if self.course.children.len() > MAX_CHILDREN {
                    self.course.end = Some(End::Killed { signal: libc::SIGKILL, thread: None, fault: None });
                    self.warn(format!(
                        "the program made more than {MAX_CHILDREN} processes, and was stopped"
                    ));
                }
                if let Some(stop) = self.strangers.remove(&child) {
                    self.serve_child(child, stop)?;
                }
                0
            }
            // At a gate: what it does is no business of the model. Its gates are open from now on.
            Stop::Filtered => {
                let stopped = Stopped::new(tid);
                let call = stopped.filtered_call()?;
                if matches!(call.number, libc::SYS_execve | libc::SYS_execveat) {
                    self.executes(None, &stopped, &call, tid)?;
                }
                let gate = (call.number == libc::SYS_write).then(|| gate(call.args[0])).flatten();
                let gate = gate.and_then(|number| self.engine.files.gates.get(number as usize));
                if gate.is_some_and(|gate| matches!(gate.kind, Kind::Return)) {
                    let what = "a process that was made inside a function of the C runtime";
                    return Err(EngineError::Unsupported(what.to_owned()));
                }
                if gate.is_some_and(|gate| matches!(gate.kind, Kind::Handler)) {
                    self.child_enters_handler(tid, call.args[1])?;
                }
                if gate.is_some() {
                    self.open_child(tid);
                }
                0
            }
            Stop::Syscall | Stop::VforkDone | Stop::Exec | Stop::Exiting(_) | Stop::Other => 0,
        };
        Ok(Stopped::new(tid).resume(Resume::Free, signal)?)
    }

    fn open_child(&self, tid: Tid) {
        let Ok(memory) = ProcessMemory::open_window(tid, self.engine.host.window()) else { return };
        for (&file, bias) in &self.biases {
            let at = self.engine.files.copies[file].flag.wrapping_add(*bias);
            let mut now = [0; 4];
            // One that has executed something else has no such memory.
            if memory.read(at, &mut now) && now == 1u32.to_le_bytes() {
                let _ = memory.force(at, &[0; 4]);
            }
        }
    }

    /// The thread is no more to the model.
    pub(super) fn has_ended(&mut self, index: usize) -> Result<(), EngineError> {
        let site = self.site_here(index, What::call("exit"));
        self.threads[index].calls.clear();
        self.machine.exit(self.threads[index].id, site);
        if !self.threads[index].gone {
            self.goes(index)?;
        }
        self.threads[index].mode = Mode::Ended;
        Ok(())
    }

    /// The way from a thread's gate leads over its stack, and in the end the kernel stores to memory: both must be over
    /// before others learn that it ends. If there are others.
    pub(super) fn leaves_for_good(&mut self, index: usize) -> Result<(), EngineError> {
        let is_there = |thread: &Thread| thread.mode != Mode::Ended && !thread.gone;
        if self.threads.iter().filter(|thread| is_there(thread)).count() > 1 {
            self.goes(index)
        } else {
            Ok(())
        }
    }

    /// The thread goes, and is waited for.
    fn goes(&mut self, index: usize) -> Result<(), EngineError> {
        // Where it was, while its stack is there.
        self.here(index);
        self.threads[index].gone = true;
        self.threads[index].slot = Some(Slot::Post);
        self.start(index)?;
        let tid = self.threads[index].tid;
        // The memory of a thread that has ended is gone, even if it was the first one.
        if let Some(alive) = self.threads.iter().find(|thread| thread.mode != Mode::Ended && !thread.gone)
            && self.memory.thread() == tid
        {
            self.memory.look_through(alive.tid);
        }
        // The first thread of a process stays until all are gone.
        while self.course.end.is_none()
            && if tid == self.process { !self.threads[index].exiting } else { self.by_tid.contains_key(&tid) }
        {
            self.pump(true)?;
            self.course.check_limits()?;
        }
        Ok(())
    }
}
