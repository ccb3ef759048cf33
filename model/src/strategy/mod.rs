//! Strategies: which of the possible steps is taken. They choose; they never judge what is legal.
//!
//! The [`Machine`](crate::machine::Machine) offers the enabled agents and the candidates of a read, and the
//! strategy answers with an index. One algorithm a file; all draw from one seeded [`Rng`](crate::rng::Rng).

use crate::op::{Agent, Op, ThreadId};
use core::fmt;

/// A step that could be taken now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Choice {
    /// Who would act.
    pub agent: Agent,
    /// The operation it would perform; for a buffer, a store to its place.
    pub op: Op,
    /// How many operations the thread had performed before this one (for a buffer: how many commits the
    /// machine had made). `(agent, serial)` names an event: it is the same while the event is pending.
    pub serial: u32,
}

/// The answer to [`Strategy::pick`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pick {
    /// Take the choice with this index.
    Take(usize),
    /// Stop this execution: it leads nowhere new.
    Abandon,
    /// Stop: this is not the execution that was recorded.
    Diverged(Divergence),
}

/// What a read can choose from: `count` candidates, 0 the oldest that its thread may still read, `count - 1`
/// the newest in modification order. There are at least two; a read with one candidate asks nobody.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReadChoice {
    /// The event that reads.
    pub choice: Choice,
    /// How many stores it may read.
    pub count: usize,
}

/// Chooses among legal steps.
pub trait Strategy {
    /// The name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// A thread exists from now on. Threads are announced in order of their ids.
    fn started(&mut self, thread: ThreadId) {
        let _ = thread;
    }

    /// Which of the enabled steps comes next. `enabled` is never empty; its order is deterministic: threads by
    /// id, then buffers.
    fn pick(&mut self, enabled: &[Choice]) -> Pick;

    /// Which candidate the read takes: below `read.count`.
    fn read(&mut self, read: &ReadChoice) -> usize;

    /// At which of `count` places a store enters modification order (`--mo-insertion`): 0 the earliest
    /// allowed, `count - 1` the end. Only asked when `count` is at least two.
    fn place(&mut self, choice: &Choice, count: usize) -> usize;

    /// Which of `count` sleepers is woken. Only asked when `count` is at least two.
    fn wake(&mut self, count: usize) -> usize;

    /// Whether a weak compare-and-swap that reads the expected value fails all the same.
    fn spurious(&mut self, choice: &Choice) -> bool {
        let _ = choice;
        false
    }

    /// The step was taken; `enabled` is what it was chosen from.
    fn taken(&mut self, choice: &Choice, enabled: &[Choice]) {
        let _ = (choice, enabled);
    }

    /// The machine overrules the strategy for this read: a spinning thread takes the newest store.
    fn forced(&mut self, choice: &Choice) {
        let _ = choice;
    }
}

/// Where a replay left the recorded execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The number of the step, from 0.
    pub step: u32,
    /// What differs.
    pub what: Difference,
}

/// How a step of a replay differs from the recorded one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Difference {
    /// The recorded agent cannot act now.
    NotEnabled(Agent),
    /// The agent is about to do something else than recorded.
    OtherOperation(Agent),
    /// A choice has another number of alternatives than recorded.
    OtherChoices(Agent),
    /// The recording has ended, the execution has not.
    PastTheEnd,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: ", self.step)?;
        match self.what {
            Difference::NotEnabled(agent) => write!(f, "{agent} acted in the recording, but cannot act now"),
            Difference::OtherOperation(agent) => write!(f, "{agent} does something else than recorded"),
            Difference::OtherChoices(agent) => {
                write!(f, "{agent} has other stores to choose from than recorded")
            }
            Difference::PastTheEnd => write!(f, "the recording ends here, the execution goes on"),
        }
    }
}

/// Whether two pending steps of different agents race in POS's sense: the same bytes, one of them written.
/// (The exhaustive strategy needs a finer notion, which depends on the model.)
pub fn conflict(a: &Choice, b: &Choice) -> bool {
    match (a.op.place(), b.op.place()) {
        (Some(x), Some(y)) => x.overlaps(y) && (a.op.writes() || b.op.writes()),
        _ => false,
    }
}
