//! Numbers of processes and threads. The program knows itself by numbers that are the same in each execution, and
//! that no process of the system has; the kernel must be told the real ones. Other processes that the program makes
//! have their real numbers, and know the program by the same as the program itself.

use super::run::Run;
use super::syscalls::UNTRACED;
use crate::engine::EngineError;
use crate::engine::syscalls::{numbers, returns_number};
use crate::engine::thread::{FIRST_TID, Mode, Syscall};
use crate::os::memory::ProcessMemory;
use crate::os::ptrace::{self, Regs, Resume, Stopped};
use crate::os::{Tid, signals};
use wmtrace_model::strategy::Strategy;

fn argument(regs: &mut Regs, index: usize) -> &mut u64 {
    match index {
        0 => &mut regs.rdi,
        1 => &mut regs.rsi,
        _ => &mut regs.rdx,
    }
}

/// What another process is about to make must not escape us. Whether its arguments in registers have changed.
fn stays_traced(tid: Tid, call: &Syscall, regs: &mut Regs) -> Result<bool, EngineError> {
    match call.number as i64 {
        libc::SYS_clone if regs.rdi & UNTRACED != 0 => {
            regs.rdi &= !UNTRACED;
            Ok(true)
        }
        libc::SYS_clone3 => {
            let memory = ProcessMemory::open(tid)?;
            if let Some(flags) = memory.read_u64(regs.rdi).filter(|flags| flags & UNTRACED != 0) {
                memory.write(regs.rdi, &(flags & !UNTRACED).to_le_bytes())?;
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}

impl<S: Strategy> Run<'_, S> {
    /// The kernel's number for one of the program's; others are as they are.
    fn real(&self, number: i32) -> i32 {
        if number == FIRST_TID {
            return self.process.0;
        }
        if number == -FIRST_TID {
            return -self.process.0;
        }
        let found = self.threads.iter().find(|it| it.virtual_tid == number && it.mode != Mode::Ended);
        found.map_or(number, |thread| thread.tid.0)
    }

    /// Puts the kernel's numbers into the arguments of a system call; whether there were others.
    fn translate(&self, call: &Syscall, regs: &mut Regs) -> bool {
        let mut changed = false;
        for &index in numbers(call) {
            let given = call.args[index] as i32;
            let real = self.real(given);
            if real != given {
                *argument(regs, index) = real as u64;
                changed = true;
            }
        }
        changed
    }

    /// The kernel is told who the program means by this system call, which it is about to do.
    pub(super) fn name_for_kernel(&mut self, index: usize, call: &Syscall) {
        let mut regs = self.threads[index].regs;
        if self.translate(call, &mut regs) {
            self.threads[index].regs = regs;
            self.threads[index].dirty = true;
        }
    }

    /// The system call is done: its arguments are the program's again, and so is what it returns.
    pub(super) fn name_for_program(&mut self, index: usize, call: &Syscall) {
        let mut regs = self.threads[index].regs;
        for &argument_index in numbers(call) {
            *argument(&mut regs, argument_index) = call.args[argument_index];
        }
        if returns_number(call.number as i64) && regs.rax == self.process.0 as u64 {
            regs.rax = FIRST_TID as u64;
        }
        let thread = &mut self.threads[index];
        let changed = regs.rax != thread.regs.rax || !numbers(call).is_empty();
        if changed {
            thread.regs = regs;
            thread.dirty = true;
        }
    }

    /// A signal that the program or one of its timers has sent looks like that to who receives it.
    pub(super) fn sign(&self, info: &mut libc::siginfo_t) -> bool {
        let own = ptrace::sender(info) == Some(self.process.0);
        if own {
            ptrace::set_sender(info, FIRST_TID);
        }
        signals::unmask(info) || own
    }

    /// Another process is at the entry or exit of a system call.
    pub(super) fn serve_call(&mut self, tid: Tid, enters: bool) -> Result<(), EngineError> {
        let stopped = Stopped::new(tid);
        if enters {
            let mut regs = stopped.regs()?;
            let args = [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9];
            let call = Syscall { number: regs.orig_rax, args };
            self.engine.private.calls(call.number as i64);
            if let Some(journal) = &mut self.course.journal {
                journal.child_calls(tid, call.number);
            }
            let translated = self.translate(&call, &mut regs) | stays_traced(tid, &call, &mut regs)?;
            if translated {
                stopped.set_regs(&regs)?;
            }
            if translated || returns_number(call.number as i64) {
                self.children_calls.insert(tid, call);
            }
        } else if let Some(call) = self.children_calls.remove(&tid) {
            let mut regs = stopped.regs()?;
            [regs.rdi, regs.rsi, regs.rdx] = [call.args[0], call.args[1], call.args[2]];
            if returns_number(call.number as i64) && regs.rax == self.process.0 as u64 {
                regs.rax = FIRST_TID as u64;
            }
            stopped.set_regs(&regs)?;
        }
        Ok(stopped.resume(self.how_child(tid), 0)?)
    }

    /// How another process goes on: to the exit of its system call, if that must be seen.
    pub(super) fn how_child(&self, tid: Tid) -> Resume {
        if self.children_calls.contains_key(&tid) { Resume::ToSyscall } else { Resume::Free }
    }
}
