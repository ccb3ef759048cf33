//! `wmtrace env ./program`, `wmtrace sh -c 'exec ./program'`: what is started first is not what is tested. The program that
//! makes the first thread decides which model is usual, since it is its memory orders that are known or not.
//!
//! Which one that is shows in the first execution. If another model is usual for it, that execution counts for nothing, and
//! the campaign begins anew. So the result is the same as if that program had been named.

use super::run::Ran;
use super::setup::{Setup, usual_model};
use crate::cli::Arch;
use crate::target;
use std::path::PathBuf;
use wmtrace_model::op::ModelKind;

/// A program that another one has executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wrapped {
    pub(crate) path: PathBuf,
    model: ModelKind,
    because: &'static str,
}

impl Wrapped {
    /// The program that was tested in an execution, if it is another than the one that was started, and nobody has asked for
    /// a model.
    pub(super) fn of(setup: &Setup, ran: &Ran) -> Option<Wrapped> {
        let path = ran.executes.clone().filter(|_| setup.is_usual_model())?;
        if std::fs::canonicalize(&setup.target.path).is_ok_and(|first| first == path) {
            return None;
        }
        let target = target::examine(&path, Arch::Auto).ok()?;
        let (model, because) = usual_model(&target, false);
        Some(Wrapped { path, model, because })
    }

    /// Whether the campaign has to begin anew.
    pub(super) fn wants_another_model(&self, setup: &Setup) -> bool {
        self.model != setup.engine.model
    }

    /// How it does.
    pub(super) fn setup(&self, setup: &Setup) -> Setup {
        let mut setup = setup.clone();
        (setup.engine.model, setup.because) = (self.model, self.because);
        setup
    }

    /// What the user should know.
    pub(super) fn warning(&self, setup: &Setup) -> String {
        let (first, path) = (setup.name(), self.path.display());
        format!("{first} executes {path}, which is tested: it decides the model ({})", self.model)
    }
}
