//! One execution: a qemu, its threads, and what is known of the program's memory. The loop between the threads and the
//! machine is [`crate::engine::schedule`]'s.

use super::GateEngine;
use super::handlers::Handlers;
use super::thread::Thread;
use crate::engine::ending::Ending as _;
use crate::engine::execution::Course;
use crate::engine::modules::Module;
use crate::engine::thread::FIRST_TID;
use crate::engine::time::Clock;
use crate::engine::{End, EngineError, Outcome};
use crate::os::memory::{ProcessMemory, Window};
use crate::os::proc::Mapping;
use crate::os::ptrace::{self, Resume, Stop, Stopped};
use crate::os::{Tid, proc};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;
use wmtrace_model::machine::Machine;
use wmtrace_model::op::{Site, ThreadId};
use wmtrace_model::strategy::Strategy;

pub(super) struct Run<'e, S: Strategy> {
    pub(super) engine: &'e mut GateEngine,
    pub(super) machine: &'e mut Machine<S>,
    pub(super) course: Course,
    pub(super) process: Tid,
    /// The program's memory, by its own addresses.
    pub(super) memory: ProcessMemory,
    /// That of qemu, which natively is the same.
    pub(super) host: ProcessMemory,
    pub(super) modules: Vec<Module>,
    /// What is added to the addresses of each copy, as far as it has been loaded.
    pub(super) biases: HashMap<usize, u64>,
    /// Functions of the C runtime that were called through registers, as far as their names say something.
    pub(super) names: HashMap<u64, Option<Rc<str>>>,
    /// The program has begun: what it opens from now on is its own business.
    pub(super) begun: bool,
    /// There is more than one thread, and gates are shut.
    pub(super) watching: bool,
    /// By [`ThreadId`].
    pub(super) threads: Vec<Thread>,
    pub(super) by_tid: HashMap<Tid, usize>,
    /// Threads of qemu's own, and new ones that have not come to a gate yet.
    pub(super) others: HashSet<Tid>,
    /// Stops of threads that nobody has announced yet.
    pub(super) strangers: HashMap<Tid, Stop>,
    /// What processes run that have executed something since their beginning, or have been made by such.
    pub(super) programs: HashMap<Tid, PathBuf>,
    /// Bytes of stacks that other threads have touched, in units of eight.
    pub(super) shared: HashSet<u64>,
    /// Handlers of signals, and those of processes that the program has made.
    pub(super) handlers: Handlers,
    pub(super) inherited: HashMap<Tid, Handlers>,
    /// Threads, by their thread pointers.
    pub(super) pointers: Vec<(u64, ThreadId)>,
    /// The thread that went on last.
    pub(super) current: usize,
}

impl<'e, S: Strategy> Run<'e, S> {
    /// An execution that begins with a qemu that is about to run.
    pub(super) fn new(
        engine: &'e mut GateEngine,
        machine: &'e mut Machine<S>,
        process: Tid,
    ) -> Result<Run<'e, S>, EngineError> {
        let id = machine.spawn(None, Site::default()).map_err(|error| EngineError::Os(error.to_string()))?;
        loop {
            match ptrace::wait_any(true) {
                Some((tid, Stop::Exec)) if tid == process => break,
                Some((tid, Stop::Exited(_) | Stop::Killed(_))) if tid == process => {
                    return Err(EngineError::Os("a process was killed before it began".to_owned()));
                }
                Some((tid, Stop::Signal(signal))) => Stopped::new(tid).resume(Resume::Free, signal)?,
                Some((tid, _)) => Stopped::new(tid).resume(Resume::Free, 0)?,
                None if crate::os::interrupt::requested() => {
                    ptrace::kill(process);
                    let _ = ptrace::wait_one(process);
                    return Err(EngineError::Interrupted);
                }
                None => {}
            }
        }
        let thread = Thread::new(process, id, FIRST_TID);
        let course = Course::new(Clock::new(engine.options.entropy), &engine.options);
        let mut run = Run::with(engine, machine, process, thread, course)?;
        Stopped::new(process).resume(Resume::Free, 0)?;
        run.wait_for(0)?;
        Ok(run)
    }

    /// An execution with one thread so far.
    pub(super) fn with(
        engine: &'e mut GateEngine,
        machine: &'e mut Machine<S>,
        process: Tid,
        thread: Thread,
        course: Course,
    ) -> Result<Run<'e, S>, EngineError> {
        engine.library.belongs_to(process);
        Ok(Run {
            memory: ProcessMemory::open_window(process, engine.host.window())?,
            host: ProcessMemory::open(process)?,
            course,
            engine,
            machine,
            process,
            modules: Vec::new(),
            biases: HashMap::new(),
            names: HashMap::new(),
            begun: false,
            watching: false,
            threads: vec![thread],
            by_tid: HashMap::from([(process, 0)]),
            others: HashSet::new(),
            strangers: HashMap::new(),
            programs: HashMap::new(),
            shared: HashSet::new(),
            handlers: Handlers::new(),
            inherited: HashMap::new(),
            pointers: Vec::new(),
            current: 0,
        })
    }

    /// Runs the execution to its end, whatever that is, and leaves no process behind.
    pub(super) fn finish(mut self) -> Result<Outcome, EngineError> {
        let mut outcome = self.run_to_end()?;
        if !self.begun && matches!(outcome.end, End::Exited(_) | End::Killed { .. }) {
            let said = String::from_utf8_lossy(&outcome.stderr);
            let said = said.lines().next().unwrap_or("nothing");
            let who = self.engine.host.name();
            return Err(EngineError::Unsupported(format!(
                "{who} did not start the program, and said: {said}"
            )));
        }
        if !self.engine.host.is_native() {
            remove_qemus_words(&mut outcome.stderr);
        }
        Ok(outcome)
    }

    /// Whether the address is of code under the model.
    pub(super) fn is_managed(&self, addr: u64) -> bool {
        self.modules.iter().any(|module| module.binary.managed && module.contains(addr))
    }

    /// Where the thread is, for messages.
    pub(super) fn place_of(&self, index: usize) -> String {
        let gate = &self.engine.files.gates[self.threads[index].gate];
        format!("{}+{:#x}", self.engine.files.copies[gate.file].binary.name, gate.at)
    }

    /// The mappings of the program's memory, by its own addresses, with the names of the files that were copied.
    pub(super) fn mappings(&self) -> Vec<Mapping> {
        let all = proc::mappings(self.memory.thread()).into_iter();
        let Window { base, len } = self.engine.host.window();
        all.filter(|mapping| mapping.start >= base && mapping.end <= base + len)
            .map(|mapping| {
                let copy = self.engine.files.mapped(&mapping);
                let (start, end) = (mapping.start - base, mapping.end - base);
                let name = copy.map_or_else(
                    || mapping.name.clone(),
                    |number| self.engine.files.copies[number].path.clone(),
                );
                Mapping { start, end, name, executable: copy.is_some(), ..mapping }
            })
            .collect()
    }
}

impl<S: Strategy> Drop for Run<'_, S> {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// What qemu itself says on the program's standard error when a signal ends the program.
fn remove_qemus_words(stderr: &mut Vec<u8>) {
    let words = b"qemu: uncaught target signal ";
    if let Some(at) = stderr.windows(words.len()).rposition(|bytes| bytes == words)
        && stderr[at..].iter().filter(|&&byte| byte == b'\n').count() <= 1
    {
        stderr.truncate(at);
    }
}
