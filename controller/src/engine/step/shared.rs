//! What the code that engines share asks of this one.

use super::calls::Told;
use super::run::Run;
use super::server::SYSCALL_LEN;
use super::sites::StackId;
use super::thread::Thread;
use crate::engine::EngineError;
use crate::engine::execution::{Execution, Parts};
use crate::os::proc::{self, Mapping};
use crate::os::ptrace;
use wmtrace_model::op::{How, Site};
use wmtrace_model::strategy::Strategy;

impl<S: Strategy> Execution for Run<'_, S> {
    type Strategy = S;
    type Thread = Thread;

    fn parts(&mut self) -> Parts<'_, S, Thread> {
        Parts {
            machine: self.machine,
            course: &mut self.course,
            threads: &mut self.threads,
            memory: &self.memory,
            process: self.process,
            modules: &self.modules,
            sites: &mut self.engine.sites,
            options: &self.engine.options,
            streams: &mut self.engine.streams,
            private: &mut self.engine.private,
            affinity: &self.engine.affinity,
        }
    }

    fn mappings(&self) -> Vec<Mapping> {
        proc::mappings(self.process)
    }

    fn here(&mut self, index: usize) -> (u64, StackId) {
        Run::here(self, index)
    }

    fn last_jumps(&mut self, index: usize) -> Vec<Option<(u64, u64)>> {
        let (pc, thread) = (Run::here(self, index).0, &self.threads[index]);
        // What has left managed code by a call has saved its own.
        let inside = self.sea.covers(thread.regs.rip) || thread.tail.is_some();
        let functions = thread.frames.iter().rev().map(|frame| frame.jumps);
        let functions = inside.then_some(thread.jumps).into_iter().chain(functions);
        // The one that it is at has led nowhere yet.
        functions.map(|jumps| jumps.into_iter().flatten().find(|(from, _)| *from != pc)).collect()
    }

    fn registers(&mut self, index: usize) -> (Vec<u64>, u64) {
        let regs = &self.threads[index].regs;
        let kept = [regs.rbx, regs.rbp, regs.rsp, regs.r12, regs.r13, regs.r14, regs.r15, regs.rip];
        let given = [regs.orig_rax, regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9, regs.fs_base];
        (kept.into_iter().chain(given).collect(), regs.rsp)
    }

    fn advance(&mut self, index: usize) -> Result<(), EngineError> {
        Run::advance(self, index)
    }

    fn begins_operation(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        thread.paused = false;
        thread.looked.clear();
    }

    fn perform_part(&mut self, index: usize, how: How) -> Result<(), EngineError> {
        Run::perform_part(self, index, how)
    }

    fn perform_fence(&mut self, index: usize) -> Result<(), EngineError> {
        Run::perform_fence(self, index)
    }

    fn tell(&mut self, index: usize, told: &[Told]) {
        Run::tell(self, index, told);
    }

    fn skip(&mut self, index: usize, result: u64) -> Result<(), EngineError> {
        Run::skip(self, index, result)
    }

    fn pass(&mut self, index: usize, may_block: bool) -> Result<(), EngineError> {
        Run::pass(self, index, may_block)
    }

    fn interrupts(&mut self, _: usize) {}

    fn real_signal(&mut self, signal: i32) -> Option<i32> {
        Some(signal)
    }

    fn shows_blocked_signals(&self) -> bool {
        true
    }

    fn begins_anew(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let Some(call) = thread.syscall.take() else { return };
        // It does not happen this time.
        thread.regs.orig_rax = u64::MAX;
        thread.regs.rax = call.number;
        thread.regs.rip -= SYSCALL_LEN as u64;
        thread.dirty = true;
    }

    fn may_be_hit(&mut self) {
        self.threads.iter_mut().for_each(|thread| thread.may_be_hit = true);
    }

    fn about_to_end(&mut self, index: usize) {
        self.leaves_stack(index);
    }

    fn leaves_for_good(&mut self, _: usize) -> Result<(), EngineError> {
        Ok(())
    }

    fn has_ended(&mut self, index: usize) -> Result<(), EngineError> {
        Run::has_ended(self, index)
    }

    fn poll(&mut self) -> Result<bool, EngineError> {
        let Some((tid, stop)) = ptrace::wait_any(false) else { return Ok(false) };
        self.arrives(tid, stop)?;
        Ok(true)
    }

    fn wait_for_any(&mut self) -> Result<(), EngineError> {
        Run::wait_for_any(self)
    }

    fn is_watched(&self) -> bool {
        !self.sea.is_empty()
    }

    fn site_unwatched(&mut self, index: usize) -> Option<Site> {
        self.site_of_caller(index)
    }

    fn look_for_returned(&mut self) -> Result<(), EngineError> {
        Run::look_for_returned(self)
    }
}
