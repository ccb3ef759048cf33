//! The last thread, when all others have been joined: it runs natively, but what it does with mutexes and handles that
//! the others have used may still be wrong. So the functions that this concerns keep their breakpoints for a while.

use super::calls::{Kind, Object};
use super::run::Run;
use super::sites::What;
use crate::engine::EngineError;
use crate::engine::execution::Execution as _;
use crate::engine::joins::Joins as _;
use crate::engine::library::LibraryCalls as _;
use crate::engine::locks::LockChecks as _;
use std::collections::HashMap;
use wmtrace_model::op::Site;
use wmtrace_model::strategy::Strategy;

/// So many calls are looked at: each costs as much as thousands of instructions.
const CALLS: u32 = 100;

/// The functions that the last thread is still stopped at.
#[derive(Default)]
pub(super) struct Kept {
    entries: HashMap<u64, Kind>,
    left: u32,
}

/// Whether the objects themselves tell what is wrong with a call, or the threads that were there.
fn is_kept(kind: Kind) -> bool {
    match kind {
        Kind::Lock | Kind::Unlock | Kind::RwUnlock | Kind::Join | Kind::TryJoin | Kind::Detach => true,
        Kind::Destroy(object) => matches!(object, Object::Mutex | Object::RwLock),
        _ => false,
    }
}

impl<S: Strategy> Run<'_, S> {
    /// The program's code is uncovered: these functions stay watched.
    pub(super) fn keep_entries(&mut self) -> Result<(), EngineError> {
        self.kept = Kept { entries: HashMap::new(), left: CALLS };
        let entries = self.entries.iter().filter(|&(_, &kind)| is_kept(kind)).map(|(&at, &kind)| (at, kind));
        self.kept.entries = entries.collect();
        for &at in self.kept.entries.keys() {
            self.sea.watch(&self.memory, at)?;
        }
        Ok(())
    }

    /// Nothing is watched any more, or everything.
    pub(super) fn release_entries(&mut self) -> Result<(), EngineError> {
        for at in std::mem::take(&mut self.kept).entries.into_keys() {
            self.sea.unwatch(&self.memory, at)?;
        }
        Ok(())
    }

    /// The last thread is at the entry of such a function.
    pub(super) fn enters_alone(&mut self, index: usize, at: u64) -> Result<(), EngineError> {
        let Some(&kind) = self.kept.entries.get(&at) else { return Ok(()) };
        let mut call = self.call(index, kind, self.threads[index].regs.rsp);
        if self.is_internal(index, kind, call.ret, true) {
            return Ok(());
        }
        if matches!(kind, Kind::Join | Kind::TryJoin | Kind::Detach) {
            call.child = self.handles.get(&call.args[0]).copied();
        }
        let before = self.course.misuses.found.len();
        self.threads[index].calls.push(call);
        // Where it is takes long to find out, and is seldom needed.
        self.check_lock(index, Site::default());
        self.check_join(index, Site::default());
        let object = self.threads[index].calls.pop().map_or(0, |call| call.args[0]);
        let wrong = self.course.misuses.found.len() > before;
        let destroys = kind == Kind::Destroy(Object::Mutex);
        if wrong || destroys {
            self.find_callers(index);
            let site = self.site_here(index, What::call(kind.name()));
            if destroys && !wrong {
                self.destroys_alone(index, object, site);
            }
            self.course.misuses.found[before..].iter_mut().for_each(|misuse| misuse.by.site = site);
        }
        self.kept.left -= 1;
        if self.kept.left == 0 {
            self.release_entries()?;
        }
        Ok(())
    }
}
