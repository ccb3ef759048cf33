//! Where engines come from. Everything above the engines is generic over [`Launch`], so that tests can bring an engine
//! of their own; [`Real`] is the one place where the real ones are made.

use crate::engine::evidence::Evidence;
use crate::engine::gate::GateEngine;
use crate::engine::kept::Written;
use crate::engine::step::StepEngine;
use crate::engine::{Engine, EngineError, EngineOptions, ModuleInfo, Outcome, Program, SiteInfo, Sites};
use crate::target::{self, Target};
use std::path::Path;
use wmtrace_decoder::orders::Atomic;
use wmtrace_model::machine::Machine;
use wmtrace_model::op::Site;
use wmtrace_model::strategy::Strategy;

/// Starts engines. An engine stays in the thread that started it.
pub(crate) trait Launch: Sync {
    type Engine: Engine;

    /// The name in reports of the engine for a program.
    fn name(&self, target: &Target) -> &'static str;

    fn launch(&self, program: &Program, options: &EngineOptions) -> Result<Self::Engine, EngineError>;
}

/// Starts the engine that the program's architecture asks for.
pub(crate) struct Real;

/// An engine that runs real programs.
pub(crate) enum RealEngine {
    Step(Box<StepEngine>),
    Gate(Box<GateEngine>),
}

impl Launch for Real {
    type Engine = RealEngine;

    fn name(&self, target: &Target) -> &'static str {
        if target.arch == "aarch64" { "gate" } else { "step" }
    }

    fn launch(&self, program: &Program, options: &EngineOptions) -> Result<RealEngine, EngineError> {
        // Threads, memory and mappings of the program are seen there.
        if !Path::new("/proc/self/maps").exists() {
            return Err(EngineError::Os("there is no /proc here: wmtrace cannot do without it".to_owned()));
        }
        Ok(match target::is_aarch64(&program.path) {
            true => RealEngine::Gate(Box::new(GateEngine::new(program, options)?)),
            false => RealEngine::Step(Box::new(StepEngine::new(program, options)?)),
        })
    }
}

impl Engine for RealEngine {
    fn execute<S: Strategy>(&mut self, machine: &mut Machine<S>) -> Result<Outcome, EngineError> {
        match self {
            RealEngine::Step(engine) => engine.execute(machine),
            RealEngine::Gate(engine) => engine.execute(machine),
        }
    }

    fn allow_shortcuts(&mut self, allowed: bool) {
        match self {
            RealEngine::Step(engine) => engine.allow_shortcuts(allowed),
            RealEngine::Gate(engine) => engine.allow_shortcuts(allowed),
        }
    }

    fn written(&self) -> Option<Written> {
        match self {
            RealEngine::Step(engine) => engine.written(),
            RealEngine::Gate(engine) => engine.written(),
        }
    }

    fn evidence(&mut self) -> Vec<Evidence> {
        match self {
            RealEngine::Step(engine) => engine.evidence(),
            RealEngine::Gate(engine) => engine.evidence(),
        }
    }
}

impl Sites for RealEngine {
    fn site(&self, site: Site) -> SiteInfo {
        match self {
            RealEngine::Step(engine) => engine.site(site),
            RealEngine::Gate(engine) => engine.site(site),
        }
    }

    fn atomic(&self, site: Site) -> Atomic {
        match self {
            RealEngine::Step(engine) => engine.atomic(site),
            RealEngine::Gate(engine) => engine.atomic(site),
        }
    }

    fn may_be_compilers(&self, site: Site, other: Site) -> bool {
        match self {
            RealEngine::Step(engine) => engine.may_be_compilers(site, other),
            RealEngine::Gate(engine) => engine.may_be_compilers(site, other),
        }
    }

    fn is_volatile(&self, site: Site, addr: u64) -> bool {
        match self {
            RealEngine::Step(engine) => engine.is_volatile(site, addr),
            RealEngine::Gate(engine) => engine.is_volatile(site, addr),
        }
    }

    fn global(&self, addr: u64) -> Option<String> {
        match self {
            RealEngine::Step(engine) => engine.global(addr),
            RealEngine::Gate(engine) => engine.global(addr),
        }
    }

    fn modules(&self) -> Vec<ModuleInfo> {
        match self {
            RealEngine::Step(engine) => engine.modules(),
            RealEngine::Gate(engine) => engine.modules(),
        }
    }
}
