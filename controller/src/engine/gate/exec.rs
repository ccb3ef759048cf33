//! Programs that the program executes, in its own process or in others.
//!
//! qemu only passes an `execve` on, and the kernel does not know what to do with a program for AArch64 (unless somebody
//! has told it, by binfmt_misc). So the `execve` that qemu makes becomes one of qemu itself, with that program as its
//! argument. In the program's own process the new program is under control like the first one; in others it runs
//! natively. Programs for this machine run in other processes only.
//!
//! Without qemu, in the program's own process a patched copy is executed, and nothing else changes.

use super::host::Host;
use super::qemu::{self, Command};
use super::run::Run;
use super::thread::Thread;
use crate::engine::EngineError;
use crate::engine::ending::Ending as _;
use crate::engine::execution::Execution as _;
use crate::engine::sites::What;
use crate::engine::thread::FIRST_TID;
use crate::os::Tid;
use crate::os::memory::ProcessMemory;
use crate::os::ptrace::{EnteredCall, Resume, Stopped};
use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use wmtrace_model::strategy::Strategy;

/// The most that arguments and environment may take, with what we add to them: they are put on a stack of qemu's.
const MOST: usize = 48 << 10;

/// The most strings of a list.
const MOST_STRINGS: usize = 4096;

impl<S: Strategy> Run<'_, S> {
    /// A thread of the program (`index`) or of another process is about to execute something.
    pub(super) fn executes(
        &mut self,
        index: Option<usize>,
        stopped: &Stopped,
        call: &EnteredCall,
        tid: Tid,
    ) -> Result<(), EngineError> {
        let memory = ProcessMemory::open(tid)?;
        let (path, lists) = self.asked(tid, call, &memory);
        // What is not there, or must not be executed, is the kernel's to refuse.
        let executable = |path: &Path| {
            std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        };
        let Some(path) = path.filter(|path| executable(path)) else { return Ok(()) };
        if !super::files::is_program(&path) {
            return match index {
                Some(index) => {
                    let (place, path) = (self.place_of(index), path.display());
                    let what = format!("{place}: execve of {path}, which is no program for AArch64");
                    Err(EngineError::Unsupported(what))
                }
                None => Ok(()),
            };
        }
        match &self.engine.host {
            Host::Qemu { qemu, .. } => {
                let (Some(args), Some(env)) = (strings(&memory, lists[0]), strings(&memory, lists[1])) else {
                    return Ok(());
                };
                let options = &self.engine.options;
                let sysroot = qemu::sysroot(options.emulator.sysroot.as_deref(), &path)?;
                let command = Command { path: path.as_os_str().as_bytes().to_vec(), args, env };
                let (args, env) = command.of_qemu(qemu, sysroot.as_deref(), options.entropy)?;
                let place = put(&memory, call.sp, [&args, &env]).ok_or_else(|| {
                    EngineError::Unsupported(format!("execve of {} with so many arguments", path.display()))
                })?;
                let [first, second, third] = place;
                let args = [first, second, third, 0, 0, 0];
                stopped.set_call(&EnteredCall { number: libc::SYS_execve, args, ..*call })?;
            }
            Host::Native if index.is_none() => {}
            Host::Native => {
                let engine = &mut *self.engine;
                let name = path.to_string_lossy();
                let copy = engine.files.program(&name, &mut engine.library, &engine.options)?;
                let place = call.sp.saturating_sub(1024) & !15;
                memory.write(place, &[copy.as_bytes(), &[0]].concat())?;
                let mut changed = *call;
                changed.args[usize::from(call.number != libc::SYS_execve)] = place;
                stopped.set_call(&changed)?;
            }
        }
        self.programs.insert(tid, path);
        Ok(())
    }

    /// The file that an `execve` or `execveat` names, and where its lists of strings are.
    fn asked(&self, tid: Tid, call: &EnteredCall, memory: &ProcessMemory) -> (Option<PathBuf>, [u64; 2]) {
        let [first, second, third, fourth, ..] = call.args;
        let plain = call.number == libc::SYS_execve;
        let at = if plain { first } else { second };
        let lists = if plain { [second, third] } else { [third, fourth] };
        let name = memory.c_string(at, libc::PATH_MAX as usize);
        let name = Path::new(OsStr::from_bytes(&name));
        // To the program its own file is what it runs, not qemu.
        if name == Path::new("/proc/self/exe") || name == PathBuf::from(format!("/proc/{tid}/exe")) {
            return (Some(self.program_of(tid)), lists);
        }
        let directory = match first as i32 {
            descriptor if !plain && descriptor != libc::AT_FDCWD => format!("/proc/{tid}/fd/{descriptor}"),
            _ => format!("/proc/{tid}/cwd"),
        };
        let directory = std::fs::read_link(directory).ok();
        let path = match name.as_os_str().is_empty() {
            true if plain => None,
            true => directory,
            false => directory.map(|directory| directory.join(name)),
        };
        (path, lists)
    }

    /// The program that a process runs.
    pub(super) fn program_of(&self, tid: Tid) -> PathBuf {
        let known = self.programs.get(&tid).or_else(|| self.programs.get(&self.process));
        known.unwrap_or(&self.engine.program.path).clone()
    }

    /// Another process begins with what its maker runs.
    pub(super) fn inherits(&mut self, child: Tid, maker: Tid) {
        let program = self.program_of(maker);
        self.programs.insert(child, program);
        let handlers = self.inherited.get(&maker).unwrap_or(&self.handlers).clone();
        self.inherited.insert(child, handlers);
    }

    /// The process runs another program now, in a new qemu.
    pub(super) fn executed_another(&mut self, stopped: Stopped) -> Result<(), EngineError> {
        // Only the thread that asked for it is left, and it is the first one now.
        let index = self.current;
        let id = self.threads[index].id;
        let site = self.site_here(index, What::call("exec"));
        self.replaced(index, site);
        if let Some(program) = self.programs.remove(&self.threads[index].tid) {
            self.programs.insert(self.process, program);
        }
        self.by_tid = HashMap::from([(self.process, index)]);
        self.threads[index] = Thread::new(self.process, id, FIRST_TID);
        self.memory = ProcessMemory::open_window(self.process, self.engine.host.window())?;
        self.host = ProcessMemory::open(self.process)?;
        (self.begun, self.watching) = (false, false);
        self.modules.clear();
        self.biases.clear();
        self.others.clear();
        self.pointers.clear();
        self.shared.clear();
        self.handlers.clear();
        Ok(stopped.resume(Resume::Free, 0)?)
    }
}

/// A list of strings that ends with a null pointer.
fn strings(memory: &ProcessMemory, mut at: u64) -> Option<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    while at != 0 && all.len() < MOST_STRINGS {
        match memory.read_u64(at)? {
            0 => return Some(all),
            string => all.push(memory.c_string(string, MOST)),
        }
        at += 8;
    }
    // No list at all is an empty one.
    (at == 0).then_some(all)
}

/// Puts lists of strings below a stack: where the first string of the first list is, and where the lists are. `None` if
/// there is no room.
fn put(memory: &ProcessMemory, stack: u64, lists: [&[CString]; 2]) -> Option<[u64; 3]> {
    let pointers: usize = lists.iter().map(|list| 8 * (list.len() + 1)).sum();
    let all = || lists.iter().flat_map(|list| list.iter());
    let len = pointers + all().map(|string| string.as_bytes_with_nul().len()).sum::<usize>();
    // What leaf functions keep below the stack stays.
    let start = stack.checked_sub(1024 + len as u64)? & !15;
    if len > MOST {
        return None;
    }
    let mut bytes = Vec::with_capacity(len);
    let mut at = start + pointers as u64;
    for list in lists {
        for string in list {
            bytes.extend(at.to_le_bytes());
            at += string.as_bytes_with_nul().len() as u64;
        }
        bytes.extend([0; 8]);
    }
    bytes.extend(all().flat_map(CString::as_bytes_with_nul).copied());
    memory.write(start, &bytes).ok()?;
    let first = start + pointers as u64;
    Some([first, start, start + 8 * (lists[0].len() as u64 + 1)])
}
