//! What the code that engines share asks of this one.

use super::run::Run;
use super::thread::{Slot, Thread};
use crate::engine::EngineError;
use crate::engine::calls::Told;
use crate::engine::execution::{Execution, Parts};
use crate::engine::sites::StackId;
use crate::os::proc::Mapping;
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
        Run::mappings(self)
    }

    fn here(&mut self, index: usize) -> (u64, StackId) {
        Run::here(self, index)
    }

    fn registers(&mut self, index: usize) -> (Vec<u64>, u64) {
        let regs = &self.threads[index].regs;
        (regs.state().collect(), regs.sp())
    }

    fn advance(&mut self, index: usize) -> Result<(), EngineError> {
        Run::advance(self, index)
    }

    fn begins_operation(&mut self, index: usize) {
        self.threads[index].passed = 0;
    }

    fn perform_part(&mut self, index: usize, how: How) -> Result<(), EngineError> {
        Run::perform_part(self, index, how)
    }

    fn perform_fence(&mut self, index: usize) -> Result<(), EngineError> {
        self.threads[index].slot = Some(Slot::Exec);
        self.retired(self.threads[index].id, 0, 0)
    }

    fn tell(&mut self, index: usize, told: &[Told]) {
        Run::tell(self, index, told);
    }

    fn skip(&mut self, index: usize, result: u64) -> Result<(), EngineError> {
        Run::skip(self, index, result);
        Ok(())
    }

    fn pass(&mut self, index: usize, may_block: bool) -> Result<(), EngineError> {
        Run::pass(self, index, may_block)
    }

    fn interrupts(&mut self, index: usize) {
        self.give_back_returns(index);
    }

    fn real_signal(&mut self, signal: i32) -> Option<i32> {
        Run::real_signal(self, signal)
    }

    /// qemu keeps them to itself.
    fn shows_blocked_signals(&self) -> bool {
        self.engine.host.is_native()
    }

    fn begins_anew(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        thread.has_asked(thread.asked.len().saturating_sub(1));
        thread.slot = Some(Slot::Retry);
    }

    /// Gates look for signals.
    fn may_be_hit(&mut self) {}

    fn about_to_end(&mut self, _: usize) {}

    fn leaves_for_good(&mut self, index: usize) -> Result<(), EngineError> {
        Run::leaves_for_good(self, index)
    }

    fn has_ended(&mut self, index: usize) -> Result<(), EngineError> {
        Run::has_ended(self, index)
    }

    fn poll(&mut self) -> Result<bool, EngineError> {
        self.pump(false)
    }

    fn wait_for_any(&mut self) -> Result<(), EngineError> {
        Run::wait_for_any(self)
    }

    fn is_watched(&self) -> bool {
        self.watching
    }

    fn site_unwatched(&mut self, _: usize) -> Option<Site> {
        None
    }

    fn look_for_returned(&mut self) -> Result<(), EngineError> {
        Run::look_for_returned(self)
    }
}
