//! In the place of the step engine on machines that do not run x86-64's programs.

use super::{Engine, EngineError, EngineOptions, ModuleInfo, Outcome, Program, SiteInfo, Sites};
use crate::engine::evidence::Evidence;
use wmtrace_decoder::orders::Atomic;
use wmtrace_model::machine::Machine;
use wmtrace_model::op::Site;
use wmtrace_model::strategy::Strategy;

/// There is none.
pub(crate) enum StepEngine {}

impl StepEngine {
    pub(crate) fn new(program: &Program, _: &EngineOptions) -> Result<StepEngine, EngineError> {
        let path = program.path.display();
        Err(EngineError::Unsupported(format!(
            "{path}: a program for x86-64, which this machine does not run"
        )))
    }
}

impl Engine for StepEngine {
    fn execute<S: Strategy>(&mut self, _: &mut Machine<S>) -> Result<Outcome, EngineError> {
        match *self {}
    }

    fn written(&self) -> Option<super::kept::Written> {
        match *self {}
    }

    fn allow_shortcuts(&mut self, _: bool) {
        match *self {}
    }

    fn evidence(&mut self) -> Vec<Evidence> {
        match *self {}
    }
}

impl Sites for StepEngine {
    fn site(&self, _: Site) -> SiteInfo {
        match *self {}
    }

    fn atomic(&self, _: Site) -> Atomic {
        match *self {}
    }

    fn may_be_compilers(&self, _: Site, _: Site) -> bool {
        match *self {}
    }

    fn is_volatile(&self, _: Site, _: u64) -> bool {
        match *self {}
    }

    fn global(&self, _: u64) -> Option<String> {
        match *self {}
    }

    fn modules(&self) -> Vec<ModuleInfo> {
        match *self {}
    }
}
