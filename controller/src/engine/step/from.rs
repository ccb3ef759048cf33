//! `--from FUNCTION` on x86-64: where the function is, and what is watched until it is entered.
//!
//! Beside the function itself these are functions of the C runtime that synchronise, from the first thread on: a thread that
//! waits in one of them when the function is entered returns from it later, and the model must know what it has waited for.

use super::calls::{Call, Kind};
use super::modules::{Binary, Module};
use super::run::Run;
use super::sea::Sea;
use super::sites::What;
use super::thread::Mode;
use crate::engine::EngineError;
use crate::engine::execution::Execution as _;
use crate::engine::library::LibraryCalls as _;
use crate::engine::prelude::Prelude as _;
use crate::inspect::files::ProgramFiles;
use crate::inspect::names::{identifier, is_function};
use crate::nearest::Nearest;
use crate::os::proc;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use wmtrace_decoder::debug::{Debug, demangle};
use wmtrace_model::strategy::Strategy;

/// The function, and where it is in the files that were looked at.
pub(super) struct Sought {
    name: String,
    files: HashMap<String, Vec<u64>>,
}

/// What is watched until the function is entered.
#[derive(Default)]
pub(super) struct Prelude {
    /// Where the function begins.
    functions: HashSet<u64>,
    /// Functions of the C runtime.
    entries: HashMap<u64, Kind>,
}

impl Sought {
    pub(super) fn new(name: &str) -> Sought {
        Sought { name: name.to_owned(), files: HashMap::new() }
    }

    /// Where functions of this name begin in the file. Symbols are asked first: that is quick.
    fn find(&mut self, binary: &Binary) -> &[u64] {
        let wanted = self.name.as_str();
        self.files.entry(binary.path.clone()).or_insert_with(|| {
            let word = identifier(wanted);
            let mut found = Found::new(wanted);
            for symbol in binary.image.symbols().iter().filter(|it| it.function && it.name.contains(word)) {
                found.look(&demangle(&symbol.name), symbol.addr);
            }
            if found.is_empty() {
                let mut debug =
                    Debug::new(binary.image, Arc::new(ProgramFiles::new(Path::new(&binary.path))));
                debug.only(word, &[]);
                debug.each_function(&mut |name, at| at.into_iter().for_each(|at| found.look(name, at)));
            }
            found.addresses()
        })
    }
}

/// Functions of a name: those that are called exactly so, with or without parameters, or else those with other names
/// before it.
struct Found<'a> {
    wanted: &'a str,
    exact: Vec<u64>,
    ending: Vec<u64>,
}

impl<'a> Found<'a> {
    fn new(wanted: &'a str) -> Found<'a> {
        Found { wanted, exact: Vec::new(), ending: Vec::new() }
    }

    fn look(&mut self, name: &str, at: u64) {
        if name == self.wanted || name.split('(').next() == Some(self.wanted) {
            self.exact.push(at);
        } else if is_function(name, self.wanted) {
            self.ending.push(at);
        }
    }

    fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.ending.is_empty()
    }

    fn addresses(self) -> Vec<u64> {
        let mut found = if self.exact.is_empty() { self.ending } else { self.exact };
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl<S: Strategy> Run<'_, S> {
    /// A program begins: it runs natively until the function is entered, if one was named.
    pub(super) fn begin_prelude(&mut self) -> Result<(), EngineError> {
        self.prelude = Prelude::default();
        self.course.prelude = self.engine.from.is_some();
        if self.course.prelude { self.watch_function() } else { Ok(()) }
    }

    /// Code was loaded: the function may be in it.
    pub(super) fn watch_function(&mut self) -> Result<(), EngineError> {
        let mappings = proc::mappings(self.process);
        let begun = std::time::Instant::now();
        self.modules = self.engine.library.modules(&mappings, &self.engine.options)?;
        let Some(sought) = &mut self.engine.from else { return Ok(()) };
        for module in self.modules.iter().filter(|module| module.binary.managed) {
            for at in sought.find(&module.binary) {
                let at = at.wrapping_add(module.bias);
                if self.prelude.functions.insert(at) {
                    self.sea.watch(&self.memory, at)?;
                }
            }
        }
        self.course.not_counted(begun);
        Ok(())
    }

    /// The first thread is about to be made: from now on threads may wait for each other.
    pub(super) fn watch_calls(&mut self) -> Result<(), EngineError> {
        if !self.prelude.entries.is_empty() {
            return Ok(());
        }
        let mappings = proc::mappings(self.process);
        self.modules = self.engine.library.modules(&mappings, &self.engine.options)?;
        for (at, kind) in self.modules.iter().flat_map(Module::entries) {
            if kind.synchronises() && self.prelude.entries.insert(at, kind).is_none() {
                self.sea.watch(&self.memory, at)?;
            }
        }
        Ok(())
    }

    /// A thread has come to one of these places, or to where one of these functions returns.
    pub(super) fn breakpoint_in_prelude(&mut self, index: usize, at: u64) -> Result<(), EngineError> {
        let regs = self.threads[index].regs;
        while let Some(call) = self.threads[index].calls.pop_if(|call| regs.rsp > call.sp) {
            if call.watched {
                self.sea.unwatch(&self.memory, call.ret)?;
            }
            let returns = regs.rip == call.ret && regs.rsp == call.sp + 8 && regs.rax as u32 == 0;
            if let (true, Kind::Join | Kind::TryJoin, Some(child)) = (returns, call.kind, call.child) {
                self.threads[child.index()].joined = true;
            }
        }
        if self.prelude.functions.contains(&at) {
            return self.enters_function();
        }
        let Some(&kind) = self.prelude.entries.get(&at) else { return Ok(()) };
        let mut call = self.call(index, kind, regs.rsp);
        if self.is_internal(index, kind, call.ret, true) {
            return Ok(());
        }
        self.sea.watch(&self.memory, call.ret)?;
        call.watched = true;
        if matches!(kind, Kind::Join | Kind::TryJoin) {
            call.child = self.handles.get(&call.args[0]).copied();
        }
        self.threads[index].calls.push(call);
        Ok(())
    }

    /// The function is entered: all code under the model is covered, wherever threads are in it. If there is one thread only,
    /// it goes on natively, until it makes another.
    fn enters_function(&mut self) -> Result<(), EngineError> {
        self.sea.drain(&self.memory)?;
        (self.sea, self.prelude) = (Sea::default(), Prelude::default());
        self.prelude_is_over();
        if self.alive() <= 1 {
            self.threads.iter_mut().for_each(|thread| thread.calls.clear());
            return Ok(());
        }
        self.take_control()?;
        for index in 0..self.threads.len() {
            if self.threads[index].mode == Mode::Ended {
                continue;
            }
            self.find_callers(index);
            for at in 0..self.threads[index].calls.len() {
                let Call { ret, kind, .. } = self.threads[index].calls[at];
                let watched = !self.sea.covers(ret);
                if watched {
                    self.sea.watch(&self.memory, ret)?;
                }
                let site = self.site_here(index, What::call(kind.name()));
                let call = &mut self.threads[index].calls[at];
                (call.watched, call.site) = (watched, site);
            }
        }
        Ok(())
    }

    /// The function was never entered: whether it is there at all.
    pub(super) fn check_found(&self) -> Result<(), EngineError> {
        let Some(sought) = self.engine.from.as_ref().filter(|it| it.files.values().all(Vec::is_empty)) else {
            return Ok(());
        };
        let mut nearest = Nearest::new(&sought.name);
        let mut inlined = false;
        for path in sought.files.keys() {
            let Some(binary) = self.modules.iter().map(|it| &it.binary).find(|it| it.path == *path) else {
                continue;
            };
            let mut debug = Debug::new(binary.image, Arc::new(ProgramFiles::new(Path::new(path))));
            debug.each_function(&mut |name, at| {
                inlined |= is_function(name, &sought.name);
                if at.is_some() {
                    nearest.offer_function(name);
                }
            });
        }
        let what = match inlined {
            true => "the compiler has inlined every call of it: name a function that it is inlined into"
                .to_owned(),
            false => {
                format!("no function of the program or its libraries is called so{}", nearest.question())
            }
        };
        Err(EngineError::Input(format!("--from {}: {what}", sought.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::Found;

    #[test]
    fn the_exact_name_comes_first() {
        let find = |wanted: &str| {
            let mut found = Found::new(wanted);
            let names = ["main", "app::main", "queue::push(int)", "queue::push(long)", "stack::push(int)"];
            names.into_iter().zip(0..).for_each(|(name, at)| found.look(name, at));
            found.addresses()
        };
        assert_eq!(find("main"), [0]);
        assert_eq!(find("queue::push"), [2, 3]);
        assert_eq!(find("push"), [2, 3, 4]);
        assert_eq!(find("queue::push(long)"), [3]);
        assert!(find("ush").is_empty());
    }
}
