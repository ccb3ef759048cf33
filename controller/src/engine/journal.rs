//! What `--verify` compares, and what it names when two executions differ.
//!
//! Events have the values that the program's own accesses read and wrote. Beside them a program observes what the kernel and
//! native code give it, and signals. And there is what goes on by itself while its threads are held: timers, and processes
//! that it has made. Nothing of this is noted without `--verify`.

use super::execution::Execution;
use super::sites::What;
use super::thread::Syscall;
use super::time::mix;
use crate::os::proc::Mapping;
use crate::os::{Tid, calls};
use std::collections::HashMap;
use std::path::PathBuf;
use wmtrace_model::op::{Site, ThreadId};

/// The most that is kept of each kind: a program must not fill the memory.
const MOST_OBSERVATIONS: usize = 1 << 22;
const MOST_SOURCES: usize = 64;

/// The most bytes of what a system call has written that are looked at.
const MOST_BYTES: u64 = 1 << 20;

/// Something that a thread has observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Observation {
    /// How many events there were before it.
    pub(crate) events: u32,
    pub(crate) thread: ThreadId,
    /// Where, if that is known.
    pub(crate) site: Option<Site>,
    pub(crate) what: Observed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Observed {
    /// What a system call has returned, as far as that is the same each time.
    Call {
        number: u64,
        result: u64,
    },
    /// What the kernel has written to memory for it (a hash).
    Bytes {
        number: u64,
        hash: u64,
    },
    Signal(i32),
    /// What native code has returned, if it returns anything.
    Native(u64),
}

impl Observed {
    /// Whether executions that differ in this are different ones. What a program never looks at may differ (times of files,
    /// registers that a function leaves behind), but where something else differs, too, this tells why.
    pub(crate) fn counts(&self) -> bool {
        matches!(self, Observed::Call { .. } | Observed::Signal(_))
    }
}

/// Something that goes on by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    /// How many events there were when it began.
    pub(crate) events: u32,
    pub(crate) thread: ThreadId,
    /// Where, if that is known.
    pub(crate) site: Option<Site>,
    /// The system call that has begun it; for native code, none.
    pub(crate) call: Option<u64>,
    pub(crate) what: Begun,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Begun {
    Timer,
    Process(Process),
    /// Native code was interrupted after a second.
    Interrupted,
}

/// What a process that the program has made, and those that that one has made, have done.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Process {
    /// A system call by which it has slept in real time.
    pub(crate) sleeps: Option<u64>,
    pub(crate) makes_threads: bool,
    pub(crate) makes_processes: bool,
    /// It was not waited for any more.
    pub(crate) runs_for_long: bool,
}

/// Everything that was noted in an execution.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Journal {
    pub(crate) observations: Vec<Observation>,
    pub(crate) sources: Vec<Source>,
    /// Files that the program has opened to write, and that others see.
    pub(crate) files: Vec<PathBuf>,
    /// Memory that other processes may write.
    pub(crate) shared: Vec<Mapping>,
    /// Processes and threads that the program has made, and theirs: which source they belong to.
    family: HashMap<Tid, usize>,
}

impl Journal {
    pub(super) fn observe(&mut self, observation: Observation) {
        if self.observations.len() < MOST_OBSERVATIONS {
            self.observations.push(observation);
        }
    }

    /// Its number, if there are not too many.
    fn begin(&mut self, source: Source) -> Option<usize> {
        (self.sources.len() < MOST_SOURCES).then(|| {
            self.sources.push(source);
            self.sources.len() - 1
        })
    }

    /// Memory that is shared with others, as it is now.
    fn share(&mut self, mappings: Vec<Mapping>) {
        for mapping in mappings.into_iter().filter(|mapping| mapping.shared && mapping.writable) {
            if self.shared.len() < MOST_SOURCES && !self.shared.contains(&mapping) {
                self.shared.push(mapping);
            }
        }
    }

    /// Whether this is the number of a process that the program has made.
    pub(super) fn is_process(&self, number: u64) -> bool {
        i32::try_from(number).is_ok_and(|number| self.family.contains_key(&Tid(number)))
    }

    fn process(&mut self, tid: Tid) -> Option<&mut Process> {
        let source = self.sources.get_mut(*self.family.get(&tid)?)?;
        match &mut source.what {
            Begun::Process(process) => Some(process),
            Begun::Timer | Begun::Interrupted => None,
        }
    }

    /// A process of the program's makes a thread, or a process of its own.
    pub(super) fn child_makes(&mut self, parent: Tid, child: Tid, is_thread: bool) {
        if let Some(&source) = self.family.get(&parent) {
            self.family.insert(child, source);
        }
        if let Some(process) = self.process(parent) {
            process.makes_threads |= is_thread;
            process.makes_processes |= !is_thread;
        }
    }

    /// A process of the program's makes a system call.
    pub(super) fn child_calls(&mut self, tid: Tid, number: u64) {
        if sleeps(number as i64)
            && let Some(process) = self.process(tid)
        {
            process.sleeps.get_or_insert(number);
        }
    }

    /// It is not waited for: it, or one before it, goes on for too long.
    pub(super) fn child_runs_for_long(&mut self, tid: Tid) {
        if let Some(process) = self.process(tid) {
            process.runs_for_long = true;
        }
    }
}

/// Whether the call does nothing but sleep, in real time.
fn sleeps(number: i64) -> bool {
    matches!(number, libc::SYS_nanosleep | libc::SYS_clock_nanosleep)
}

/// Whether the call tells of a file what nearly always differs and hardly ever matters: its number, its times.
fn describes_file(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_fstat | calls::SYS_stat | calls::SYS_lstat | libc::SYS_newfstatat | libc::SYS_statx
    )
}

/// Whether the call opens a file to write.
fn opens_to_write(call: &Syscall) -> bool {
    let flags = match call.number as i64 {
        calls::SYS_open => call.args[1],
        libc::SYS_openat => call.args[2],
        calls::SYS_creat => libc::O_WRONLY as u64,
        _ => return false,
    };
    flags as i32 & libc::O_ACCMODE != libc::O_RDONLY
}

/// Whether the call maps memory that others may have, too.
fn maps_shared(call: &Syscall) -> bool {
    let flags = call.args[3] as i32;
    match call.number as i64 {
        libc::SYS_mmap => flags & libc::MAP_TYPE != libc::MAP_PRIVATE,
        libc::SYS_shmat => true,
        _ => false,
    }
}

pub(super) trait Noting: Execution {
    /// Notes what the thread has observed.
    fn note(&mut self, index: usize, what: Observed) {
        if self.parts().course.journal.is_none() {
            return;
        }
        let site = self.is_watched().then(|| self.site_here(index, What::call("observes")));
        self.note_at(index, site, what);
    }

    fn note_at(&mut self, index: usize, site: Option<Site>, what: Observed) {
        let it = self.parts();
        let (events, thread) = (it.machine.execution().events.len() as u32, it.threads[index].id);
        if let Some(journal) = &mut it.course.journal {
            journal.observe(Observation { events, thread, site, what });
        }
    }

    /// The thread is back from a system call, whoever has done it. `shown`: its result, as far as that is the same each time.
    fn note_call(&mut self, index: usize, call: &Syscall, shown: u64) {
        if self.parts().course.journal.is_none() {
            return;
        }
        self.note(index, Observed::Call { number: call.number, result: shown });
        if opens_to_write(call) && (shown as i64) >= 0 {
            self.note_file(shown);
        }
        if maps_shared(call) {
            let mappings = self.mappings();
            if let Some(journal) = &mut self.parts().course.journal {
                journal.share(mappings);
            }
        }
    }

    /// The program has opened a file to write.
    fn note_file(&mut self, descriptor: u64) {
        let it = self.parts();
        let file = std::fs::read_link(format!("/proc/{}/fd/{descriptor}", it.process));
        if let (Ok(file), Some(journal)) = (file, &mut it.course.journal)
            && file.is_absolute()
            && !file.starts_with("/dev")
            && it.private.place(&file).is_none()
            && journal.files.len() < MOST_SOURCES
            && !journal.files.contains(&file)
        {
            journal.files.push(file);
        }
    }

    /// What the kernel has written for it.
    fn note_bytes(&mut self, index: usize, call: &Syscall, ranges: Option<&[(u64, u64, bool)]>) {
        let it = self.parts();
        if it.course.journal.is_none() || describes_file(call.number as i64) {
            return;
        }
        let mut hash = 0;
        for &(start, len, _) in ranges.unwrap_or_default().iter().filter(|range| range.2) {
            for bytes in it.memory.read_some(start, len.min(MOST_BYTES) as usize).chunks(8) {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                hash = mix(hash, u64::from_le_bytes(word));
            }
        }
        if hash != 0 {
            self.note(index, Observed::Bytes { number: call.number, hash });
        }
    }

    /// Something goes on by itself from now on.
    fn note_source(&mut self, index: usize, call: Option<u64>, what: Begun) -> Option<usize> {
        self.parts().course.journal.as_ref()?;
        let site = match self.is_watched() {
            true => Some(self.site_here(index, What::call("begins"))),
            false => self.site_unwatched(index),
        };
        let it = self.parts();
        let (events, thread) = (it.machine.execution().events.len() as u32, it.threads[index].id);
        it.course.journal.as_mut()?.begin(Source { events, thread, site, call, what })
    }

    /// The thread has made a process.
    fn note_child(&mut self, index: usize, child: Tid) {
        let call = self.parts().threads[index].syscall.map(|call| call.number);
        let source = self.note_source(index, call, Begun::Process(Process::default()));
        let Some(source) = source else { return };
        let mappings = self.mappings();
        if let Some(journal) = &mut self.parts().course.journal {
            journal.family.insert(child, source);
            journal.share(mappings);
        }
    }
}

impl<E: Execution> Noting for E {}
