//! The end of an execution: what each thread was doing, and that no process is left.

use super::busy::Busyness as _;
use super::execution::Execution;
use super::expiring::Expiring as _;
use super::lacks::Lacks as _;
use super::schedule::Schedule as _;
use super::sites::StackId;
use super::syscalls::name;
use super::thread::Mode;
use super::{End, EngineError, Jump, Outcome, ThreadState};
use crate::os::ptrace::{self, Resume, Stop, Stopped};
use wmtrace_model::op::Site;

/// Functions whose last jumps are kept.
const MOST_JUMPS: usize = 8;

pub(super) trait Ending: Execution {
    /// Runs the execution to its end, whatever that is, and leaves no process behind.
    fn run_to_end(&mut self) -> Result<Outcome, EngineError> {
        let result = self.go();
        let threads = if result.is_ok() { self.thread_states() } else { Vec::new() };
        self.kill_all();
        let it = self.parts();
        // Somebody killed the process while we looked at it: that is its end.
        let end = match (result, it.course.end.take()) {
            (Err(error), None) => return Err(error),
            (_, Some(end)) => end,
            (Ok(()), None) => return Err(EngineError::Os("an execution without an end".to_owned())),
        };
        let (spent, lacks) = (self.spent(&end), self.lacks(&end));
        let it = self.parts();
        let (stdout, stderr, truncated) = it.streams.collect();
        let threads = if matches!(end, End::Exited(_) | End::Abandoned) { Vec::new() } else { threads };
        let warnings = std::mem::take(&mut it.course.warnings);
        let executes = it.course.executes.take();
        let journal = it.course.journal.take().unwrap_or_default();
        let untested = it.course.prelude;
        let misuses = std::mem::take(&mut it.course.misuses.found);
        Ok(Outcome {
            end,
            threads,
            stdout,
            stderr,
            truncated,
            warnings,
            executes,
            spent,
            journal,
            misuses,
            lacks,
            untested,
        })
    }

    /// Ends every process of this execution, and waits for their ends.
    fn kill_all(&mut self) {
        let it = self.parts();
        if std::mem::replace(&mut it.course.reaped, true) {
            return;
        }
        ptrace::kill(it.process);
        let children = &mut it.course.children;
        for &child in children.iter() {
            ptrace::kill(child);
        }
        // One that has stopped on its way out does not notice being killed.
        for thread in it.threads {
            if let Some(stopped) = thread.stopped.take() {
                let _ = stopped.resume(Resume::Free, 0);
            }
        }
        let mut alive = true;
        while alive || !children.is_empty() {
            match ptrace::wait_any(true) {
                Some((tid, Stop::Exited(_) | Stop::Killed(_))) => {
                    alive &= tid != it.process;
                    children.remove(&tid);
                }
                Some((tid, Stop::Fork(child) | Stop::Vfork(child))) => {
                    ptrace::kill(child);
                    children.insert(child);
                    let _ = Stopped::new(tid).resume(Resume::Free, 0);
                }
                Some((tid, _)) => {
                    ptrace::kill(tid);
                    let _ = Stopped::new(tid).resume(Resume::Free, 0);
                }
                // Nobody is left, or the tick came.
                None if std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) => return,
                // A thread that has executed something is gone without a word: it has its process's number then.
                None => children.retain(|child| std::path::Path::new(&format!("/proc/{child}")).exists()),
            }
        }
    }

    /// The process runs another program now: this thread is the only one that is left.
    fn replaced(&mut self, index: usize, site: Site) {
        let it = self.parts();
        for other in (0..it.threads.len()).filter(|&other| other != index) {
            let thread = &mut it.threads[other];
            if thread.mode == Mode::Ended {
                continue;
            }
            if thread.mode == Mode::Asleep {
                it.machine.interrupt(thread.id);
            }
            it.course.clock.cancel(other);
            it.machine.exit(thread.id, site);
            (thread.mode, thread.stopped) = (Mode::Ended, None);
        }
        // Of a program that never had another thread the machine knows nothing, and a copy of it is told nothing.
        if it.threads.len() > 1 {
            it.machine.alone(it.threads[index].id, site);
        }
        it.course.heap.clear();
        it.course.locks.clear();
        it.course.timers.executes();
        (it.course.restarting, it.course.caught) = (0, 0);
        it.course.waits.executes();
        self.descriptors_left();
    }

    /// What each thread was doing at the end.
    fn thread_states(&mut self) -> Vec<ThreadState> {
        let mut states = Vec::new();
        for index in 0..self.parts().threads.len() {
            if self.parts().threads[index].mode == Mode::Ended {
                continue;
            }
            let (pc, stack) = self.here(index);
            let doing = self.doing(index);
            let jumps = self.jumps(index, pc, stack);
            let it = self.parts();
            let stack = it.sites.stack_of(pc, stack, it.modules);
            states.push(ThreadState { thread: it.threads[index].id, doing, stack, jumps });
        }
        states
    }

    /// The last jumps of the functions that the thread is in, which is at `pc`.
    fn jumps(&mut self, index: usize, pc: u64, stack: StackId) -> Vec<Jump> {
        let last = self.last_jumps(index);
        let it = self.parts();
        let place = |pc: u64| it.sites.stack_of(pc, StackId::default(), it.modules);
        let (mut frame, mut next, mut jumps) = (0, Some((pc, stack)), Vec::new());
        for jump in last.into_iter().take(MOST_JUMPS) {
            let Some((pc, stack)) = next else { break };
            let from = jump.and_then(|(from, _)| place(from).into_iter().next());
            jumps.extend(from.map(|from| Jump { frame, from }));
            frame += place(pc).len();
            next = it.sites.last_call(stack);
        }
        jumps
    }

    /// In words.
    fn doing(&mut self, index: usize) -> String {
        let it = self.parts();
        let thread = &it.threads[index];
        let call = thread.calls.last().filter(|call| call.kind.synchronises());
        let syscall = || thread.syscall.map(|it| name(it.number));
        match (thread.mode, call) {
            (Mode::Asleep, Some(call)) => format!("waits in {} of {:#x}", call.kind.name(), call.args[0]),
            (Mode::Asleep, None) => match thread.syscall {
                Some(it) if it.number == libc::SYS_futex as u64 => {
                    format!("waits for the futex word {:#x}", it.args[0])
                }
                Some(it) => format!("sleeps in {}", name(it.number)),
                None => "sleeps".to_owned(),
            },
            (Mode::Away, _) => format!("waits in {}", syscall().unwrap_or_else(|| "the kernel".to_owned())),
            (Mode::Ready, _) if it.machine.is_spinning(thread.id) => "spins".to_owned(),
            (Mode::Ready, Some(call)) => format!("is about to {}", call.kind.name()),
            (Mode::Ready, None) => "runs".to_owned(),
            (Mode::Running, _) => match &it.course.end {
                Some(End::Killed { thread: Some(hit), .. }) if *hit == thread.id => "failed".to_owned(),
                _ => "runs".to_owned(),
            },
            (Mode::Ended, _) => "has ended".to_owned(),
        }
    }
}

impl<E: Execution> Ending for E {}
