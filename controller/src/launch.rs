//! Where engines come from. Everything above the engines is generic over [`Launch`], so that tests can bring an engine
//! of their own; [`engine`] is the one place where the real one is made.

use crate::engine::step::StepEngine;
use crate::engine::{Engine, EngineError, EngineOptions, Program};

/// Starts engines. An engine stays in the thread that started it.
pub(crate) trait Launch: Sync {
    type Engine: Engine;

    /// The name in reports.
    fn name(&self) -> &'static str;

    fn launch(&self, program: &Program, options: &EngineOptions) -> Result<Self::Engine, EngineError>;
}

/// Starts `step` engines.
pub(crate) struct Step;

impl Launch for Step {
    type Engine = StepEngine;

    fn name(&self) -> &'static str {
        "step"
    }

    fn launch(&self, program: &Program, options: &EngineOptions) -> Result<StepEngine, EngineError> {
        engine(program, options)
    }
}

/// The engine for this program.
fn engine(program: &Program, options: &EngineOptions) -> Result<StepEngine, EngineError> {
    StepEngine::new(program, options)
}
