//! An engine for tests: runs a litmus program on the model's `sim`, and pretends that it is a process. A condition that
//! holds at the end is a failed assertion.

use super::evidence::{Evidence, Standing};
use super::journal::{Journal, Observation, Observed};
use super::{
    End, Engine, EngineError, EngineOptions, Location, ModuleInfo, Outcome, Program, SiteInfo, Sites,
    ThreadState,
};
use crate::launch::Launch;
use crate::litmus::names;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use wmtrace_decoder::orders::{Atomic, Source};
use wmtrace_model::litmus::parse::parse;
use wmtrace_model::litmus::program::{Instr, Program as Litmus};
use wmtrace_model::litmus::sim;
use wmtrace_model::machine::Machine;
use wmtrace_model::op::{ModelKind, Site, Stuck, ThreadId};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::Strategy;

/// Starts fake engines of one program.
pub(crate) struct Fake {
    pub(crate) program: Litmus,
    /// Plain accesses may be atomic.
    pub(crate) unsure: bool,
    pub(crate) build_id: &'static str,
    /// What executions that run to their end end with, unless the condition holds.
    pub(crate) end: End,
    pub(crate) stderr: &'static str,
    /// From this execution (of all engines) on, the program observes something random.
    pub(crate) random_from: u64,
    /// What the engine refuses to do, from this execution on.
    pub(crate) refuses_from: u64,
    /// How many engines may be there without anybody lacking something.
    pub(crate) enough_for: usize,
    /// How many there are.
    pub(crate) engines: AtomicUsize,
    pub(crate) launches: AtomicU64,
    pub(crate) executions: AtomicU64,
}

impl Fake {
    pub(crate) fn new(text: &str) -> Fake {
        Fake {
            program: parse(text).expect("a litmus test"),
            unsure: false,
            build_id: "1234",
            end: End::Exited(0),
            stderr: "",
            random_from: u64::MAX,
            refuses_from: u64::MAX,
            enough_for: usize::MAX,
            engines: AtomicUsize::new(0),
            launches: AtomicU64::new(0),
            executions: AtomicU64::new(0),
        }
    }

    /// What the program is refused now.
    fn lacks(&self) -> Option<String> {
        (self.engines.load(Ordering::Relaxed) > self.enough_for).then(|| "no thread for it".to_string())
    }
}

impl Drop for FakeEngine<'_> {
    fn drop(&mut self) {
        self.fake.engines.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Borrowed, so that a test can look at it afterwards.
impl<'a> Launch for &'a Fake {
    type Engine = FakeEngine<'a>;

    fn name(&self, _: &crate::target::Target) -> &'static str {
        "fake"
    }

    fn launch(&self, _program: &Program, options: &EngineOptions) -> Result<FakeEngine<'a>, EngineError> {
        self.launches.fetch_add(1, Ordering::Relaxed);
        self.engines.fetch_add(1, Ordering::Relaxed);
        Ok(FakeEngine { fake: self, model: options.model })
    }
}

pub(crate) struct FakeEngine<'a> {
    fake: &'a Fake,
    model: ModelKind,
}

impl Engine for FakeEngine<'_> {
    fn written(&self) -> Option<super::kept::Written> {
        None
    }

    fn execute<S: Strategy>(&mut self, machine: &mut Machine<S>) -> Result<Outcome, EngineError> {
        assert_eq!(machine.config().model, self.model);
        let fake = self.fake;
        let number = fake.executions.fetch_add(1, Ordering::Relaxed);
        if number >= fake.refuses_from {
            return Err(EngineError::Unsupported("instruction xbegin at fake+0x10".to_string()));
        }
        let sim::Outcome { end, state } = sim::run(&fake.program, machine, None);
        let condition = fake.program.condition.as_ref();
        let holds = end == sim::End::Finished && condition.is_some_and(|it| it.formula.holds(&state));
        let (end, stderr) = match end {
            sim::End::Finished if holds => {
                let end = End::Killed { signal: libc::SIGABRT, thread: Some(ThreadId(0)), fault: None };
                (end, "fake: fake.c:9: P0: Assertion `ok' failed.\n")
            }
            sim::End::Finished => (fake.end.clone(), fake.stderr),
            sim::End::Stuck(Stuck::Deadlock) => (End::Deadlock, ""),
            sim::End::Stuck(Stuck::Livelock) => (End::Livelock, ""),
            sim::End::Cut => (End::TimedOut, ""),
            sim::End::Limit => (End::TooManyEvents, ""),
            sim::End::Abandoned => (End::Abandoned, ""),
            sim::End::Diverged(divergence) => (End::Diverged(divergence), ""),
            sim::End::Mismatch(mismatch) => return Err(mismatch.into()),
        };
        let threads = match end {
            End::Exited(_) => Vec::new(),
            _ => (0..fake.program.threads.len()).map(|index| self.state(index)).collect(),
        };
        // A system call at the place of the last event, whose result is the same each time or not.
        let mut journal = Journal::default();
        if let Some(last) = machine.execution().events.last() {
            let result = if number >= fake.random_from { number } else { 0 };
            let what = Observed::Call { number: libc::SYS_read as u64, result };
            let (events, thread) = (machine.execution().events.len() as u32 - 1, last.thread);
            journal.observations.push(Observation { events, thread, site: Some(last.site), what });
        }
        Ok(Outcome {
            end,
            threads,
            stdout: b"hello\x1b[31m\n".to_vec(),
            stderr: stderr.as_bytes().to_vec(),
            truncated: false,
            warnings: Vec::new(),
            executes: None,
            spent: None,
            journal,
            misuses: Vec::new(),
            lacks: fake.lacks(),
            untested: false,
        })
    }

    /// There are none.
    fn allow_shortcuts(&mut self, _allowed: bool) {}

    fn evidence(&mut self) -> Vec<Evidence> {
        Vec::new()
    }
}

impl FakeEngine<'_> {
    fn state(&self, index: usize) -> ThreadState {
        let at = sim::site(index, 0);
        ThreadState {
            thread: ThreadId(index as u32),
            doing: "waits".to_string(),
            stack: self.site(at).stack,
            jumps: Vec::new(),
        }
    }
}

impl Sites for FakeEngine<'_> {
    fn site(&self, site: Site) -> SiteInfo {
        let program = &self.fake.program;
        let (thread, _) = names::instruction(site);
        let (op, order) = match names::instruction_at(program, site) {
            Some(Instr::Load { order, .. }) => ("load", Some(*order)),
            Some(Instr::Store { order, .. }) => ("store", Some(*order)),
            Some(Instr::Rmw { order, .. } | Instr::Cas { order, .. }) => ("rmw", Some(*order)),
            Some(Instr::Fence { order }) => ("fence", Some(*order)),
            _ => ("", None),
        };
        let plain = order == Some(Order::Na);
        SiteInfo {
            stack: vec![Location {
                module: "fake".to_string(),
                offset: site.0.into(),
                function: Some(format!("P{thread}")),
                file: Some("fake.c".to_string()),
                line: names::line(program, site).unwrap_or(0),
                column: 0,
                inlined: false,
            }],
            instruction: String::new(),
            order: order.map(|order| (order, Source::Dwarf)),
            standing: Standing::Known,
            atomic: match (plain, self.fake.unsure) {
                (false, _) => Atomic::Yes,
                (true, true) => Atomic::Unsure,
                (true, false) => Atomic::No,
            },
            op,
        }
    }

    fn atomic(&self, site: Site) -> Atomic {
        self.site(site).atomic
    }

    fn may_be_compilers(&self, _: Site, _: Site) -> bool {
        false
    }

    fn is_volatile(&self, _: Site, _: u64) -> bool {
        false
    }

    fn global(&self, _: u64) -> Option<String> {
        None
    }

    fn modules(&self) -> Vec<ModuleInfo> {
        let module = |path: &str, managed| ModuleInfo {
            path: path.to_string(),
            build_id: self.fake.build_id.to_string(),
            managed,
        };
        vec![module("/opt/fake", true), module("/lib/libc.so.6", false)]
    }
}
