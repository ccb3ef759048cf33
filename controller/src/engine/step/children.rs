//! Processes that the program makes run natively, and nobody schedules them. So that what they do does not come at a
//! moment that is left to chance, the program's threads stand still while they run: a child goes on until it sleeps or
//! ends whenever a system call may have set it going.

use super::run::Run;
use crate::engine::EngineError;
use crate::engine::execution::Execution as _;
use crate::os::{proc, ptrace};
use std::time::{Duration, Instant};
use wmtrace_model::strategy::Strategy;

/// Processor time after which a child is no longer waited for: it may be waiting for one of the threads.
const LONGEST: Duration = Duration::from_millis(300);

/// The same for all of them, in real time: there may be ever new ones. Long, for a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(5);

impl<S: Strategy> Run<'_, S> {
    /// Waits until no child can go on by itself. Where they run for too long that is given up, for the whole campaign.
    /// While there is one thread only, children and it go on side by side, as ever.
    pub(super) fn children_settle(&mut self) -> Result<(), EngineError> {
        if self.sea.is_empty() {
            return Ok(());
        }
        let until = Instant::now() + PATIENCE;
        while !self.course.children.is_empty() && !self.engine.restless && self.course.end.is_none() {
            let running = self.course.children.iter().copied().find(|&child| proc::runs(child));
            let mut served = false;
            while let Some((tid, stop)) = ptrace::wait_any(false) {
                self.arrives(tid, stop)?;
                served = true;
            }
            match running {
                None if !served => break,
                Some(child) if proc::used(child, child) >= LONGEST || Instant::now() >= until => {
                    self.engine.restless = true;
                    if let Some(journal) = &mut self.course.journal {
                        journal.child_runs_for_long(child);
                    }
                }
                _ if Instant::now() >= until => self.engine.restless = true,
                _ => {
                    self.parts().course.check_limits()?;
                    // They share our processor.
                    std::thread::yield_now();
                }
            }
        }
        Ok(())
    }
}
