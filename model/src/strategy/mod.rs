//! Strategies: which of the possible steps is taken. They choose; they never judge what is legal.
//!
//! The [`Machine`](crate::machine::Machine) offers the enabled agents and the candidates of a read, and the
//! strategy answers with an index. One algorithm a file; all draw from one seeded [`Rng`].

mod aimed;
mod dependence;
mod exhaustive;
mod fair;
mod meet;
mod pct;
mod pctwm;
mod placewm;
mod points;
mod pos;
mod priority;
mod random;
mod record;
mod replay;
#[cfg(test)]
mod toy;

pub use aimed::{Aim, Aimed};
pub use dependence::dependent;
pub use exhaustive::Exhaustive;
pub use fair::Fair;
pub use meet::{Meet, Meeting};
pub use pct::Pct;
pub use pctwm::Pctwm;
pub use placewm::PlaceWm;
pub use pos::Pos;
pub use random::Random;
pub use record::Recorder;
pub use replay::Replay;

use crate::op::{Agent, Op, ThreadId};
use crate::rng::Rng;
use alloc::boxed::Box;
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

    /// The thread is about to let others go on, by its own will or because it has done nothing for long: it may wait for
    /// one of them, in a way that the machine does not see.
    fn yields(&mut self, thread: ThreadId) {
        let _ = thread;
    }

    /// The machine overrules the strategy for this read: a spinning thread takes the newest store.
    fn forced(&mut self, choice: &Choice) {
        let _ = choice;
    }
}

/// A strategy behind a pointer is a strategy: every method forwards, the defaulted ones too.
macro_rules! forward_strategy {
    ($($pointer:ty),+) => {$(
        impl<S: Strategy + ?Sized> Strategy for $pointer {
            fn name(&self) -> &'static str {
                (**self).name()
            }
            fn started(&mut self, thread: ThreadId) {
                (**self).started(thread);
            }
            fn pick(&mut self, enabled: &[Choice]) -> Pick {
                (**self).pick(enabled)
            }
            fn read(&mut self, read: &ReadChoice) -> usize {
                (**self).read(read)
            }
            fn place(&mut self, choice: &Choice, count: usize) -> usize {
                (**self).place(choice, count)
            }
            fn wake(&mut self, count: usize) -> usize {
                (**self).wake(count)
            }
            fn spurious(&mut self, choice: &Choice) -> bool {
                (**self).spurious(choice)
            }
            fn taken(&mut self, choice: &Choice, enabled: &[Choice]) {
                (**self).taken(choice, enabled);
            }
            fn yields(&mut self, thread: ThreadId) {
                (**self).yields(thread);
            }
            fn forced(&mut self, choice: &Choice) {
                (**self).forced(choice);
            }
        }
    )+};
}
forward_strategy!(&mut S, Box<S>);

/// The strategies that sample executions, one a seed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StrategyKind {
    /// Uniform at every point.
    Random,
    /// Random, with some threads faster than others.
    Skewed,
    /// PCT, with uniform reads.
    Pct,
    /// PCT for weak memory.
    Pctwm,
    /// PCTWM with places instead of events as sinks.
    PlaceWm,
    /// BasicPOS, with uniform reads.
    BasicPos,
    /// POS, with uniform reads.
    Pos,
    /// BasicPOS, reading the last `h`.
    BasicPosWm,
    /// POS, reading the last `h`.
    PosWm,
}

impl StrategyKind {
    /// Every kind.
    pub const ALL: [StrategyKind; 9] = [
        StrategyKind::Random,
        StrategyKind::Skewed,
        StrategyKind::Pct,
        StrategyKind::Pctwm,
        StrategyKind::PlaceWm,
        StrategyKind::BasicPos,
        StrategyKind::Pos,
        StrategyKind::BasicPosWm,
        StrategyKind::PosWm,
    ];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            StrategyKind::Random => "random",
            StrategyKind::Skewed => "skewed",
            StrategyKind::Pct => "pct",
            StrategyKind::Pctwm => "pctwm",
            StrategyKind::PlaceWm => "placewm",
            StrategyKind::BasicPos => "basicpos",
            StrategyKind::Pos => "pos",
            StrategyKind::BasicPosWm => "basicposwm",
            StrategyKind::PosWm => "poswm",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<StrategyKind> {
        StrategyKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The papers' parameters. A strategy takes those it knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// `d`: the depth of the bugs looked for.
    pub depth: u32,
    /// `k`: about how many steps an execution has.
    pub k: u32,
    /// `k_com`: about how many communication events.
    pub k_com: u32,
    /// `h`: how many of the newest candidates a load chooses from; 0 means 1.
    pub history: u32,
    /// Whether a store that every reader may overlook need not wait: see [`Random`].
    pub eager: bool,
    /// The one sink instead of placewm's, if an earlier execution has shown a place for it.
    pub aim: Option<Aim>,
}

/// The strategy of this kind. An execution makes one indirect call per question to it, which is nothing
/// beside the machine's own work.
pub fn build(kind: StrategyKind, parameters: &Parameters, seed: u64) -> Box<dyn Strategy + Send> {
    let &Parameters { depth, k, k_com, history, eager, aim } = parameters;
    match kind {
        StrategyKind::Random if eager => Box::new(Random::new(seed).eager()),
        StrategyKind::Random => Box::new(Random::new(seed)),
        StrategyKind::Skewed if eager => Box::new(Random::new(seed).skewed().eager()),
        StrategyKind::Skewed => Box::new(Random::new(seed).skewed()),
        StrategyKind::Pct => Box::new(Fair::new(Pct::new(seed, depth, k), parameters)),
        StrategyKind::Pctwm => Box::new(Fair::new(Pctwm::new(seed, depth, k_com, history), parameters)),
        StrategyKind::PlaceWm => match aim {
            None => Box::new(Fair::new(PlaceWm::new(seed, depth, history), parameters)),
            Some(aim) if aim.walk => {
                let walk = if eager { Random::new(seed).eager() } else { Random::new(seed) };
                let patience = fair::patience(parameters);
                Box::new(Fair::new(Aimed::new(walk, aim, seed, history, patience), parameters))
            }
            Some(aim) => {
                // Those that depth 0 runs too long, `Fair` sets back.
                let quiet = Pctwm::new(seed, 0, k_com, history);
                Box::new(Fair::new(Aimed::new(quiet, aim, seed, history, u32::MAX), parameters))
            }
        },
        StrategyKind::BasicPos => Box::new(Pos::new(seed, false, None)),
        StrategyKind::Pos => Box::new(Pos::new(seed, true, None)),
        StrategyKind::BasicPosWm => Box::new(Pos::new(seed, false, Some(history))),
        StrategyKind::PosWm => Box::new(Pos::new(seed, true, Some(history))),
    }
}

/// Uniform over the last `history` of `count` candidates; at least one, at most all.
fn recent(rng: &mut Rng, count: usize, history: u32) -> usize {
    let window = (history as usize).clamp(1, count);
    count - window + rng.below(window)
}

/// Where a store enters modification order: half of the time at the end, since the last store is the one that the others
/// see, and else anywhere before.
fn placed(rng: &mut Rng, count: usize) -> usize {
    if rng.below(2) == 0 { count - 1 } else { rng.below(count - 1) }
}

/// Whether a weak compare-and-swap fails for no reason: a quarter of the time. Often enough to test the retry
/// path of every loop, seldom enough that a loop of them ends.
fn spuriously(rng: &mut Rng) -> bool {
    rng.below(4) == 0
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
    /// The execution has ended, the recording has not.
    EndsEarly,
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
            Difference::EndsEarly => write!(f, "the execution ends here, the recording goes on"),
        }
    }
}

/// Whether two pending steps of different agents race in POS's sense: the same bytes, one of them written; or
/// calls that synchronise on the same object.
/// (The exhaustive strategy needs a finer notion, which depends on the model.)
pub fn conflict(a: &Choice, b: &Choice) -> bool {
    match (a.op.place(), b.op.place()) {
        (Some(x), Some(y)) => x.overlaps(y) && (a.op.writes() || b.op.writes() || both_sync(a, b)),
        _ => false,
    }
}

const fn both_sync(a: &Choice, b: &Choice) -> bool {
    matches!((a.op, b.op), (Op::Sync { .. }, Op::Sync { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Addr, ModelKind, Place};
    use crate::order::Order;
    use toy::{End, Toy, load, store, weak_cas};

    #[test]
    fn names_name_one_kind_each() {
        let parameters = Parameters { depth: 2, k: 8, k_com: 4, history: 1, eager: false, aim: None };
        for kind in StrategyKind::ALL {
            assert_eq!(StrategyKind::from_name(kind.name()), Some(kind));
            assert_eq!(build(kind, &parameters, 0).name(), kind.name());
        }
        assert_eq!(StrategyKind::from_name("PCT"), None);
    }

    /// A lock's callers race with each other, and with who writes the lock; not with a mere reader of it. Each may see
    /// what the others did: PCTWM can delay them, or it would never find a deadlock.
    #[test]
    fn calls_that_synchronise_conflict() {
        let at = |addr, width| Place::new(Addr(addr), width);
        let choice = |thread, op| Choice { agent: Agent::Thread(ThreadId(thread)), op, serial: 0 };
        let sync = |thread, at| choice(thread, Op::Sync { at });
        let (lock, word, other) = (at(0x100, 16), at(0x108, 4), at(0x110, 16));
        assert!(conflict(&sync(0, lock), &sync(1, word)));
        assert!(!conflict(&sync(0, lock), &sync(1, other)));
        let order = Order::Relaxed;
        assert!(conflict(&sync(0, lock), &choice(1, Op::Store { at: word, order })));
        assert!(!conflict(&sync(0, lock), &choice(1, Op::Load { at: word, order })));
        assert!(sync(0, lock).op.communicates(), "it stands for a read-modify-write");
        for model in ModelKind::ALL {
            assert!(dependent(model, &sync(0, lock), &sync(1, other)));
        }
    }

    /// Every strategy, under every model: the seed fixes the run; and seeds matter. (Some pair of the 20 seeds
    /// gives different runs: even the coarsest, PCTWM of depth 2, has two orders of threads, so the chance of 20
    /// equal ones is at most 2⁻¹⁹.)
    #[test]
    fn the_seed_fixes_the_run() {
        let parameters = Parameters { depth: 2, k: 8, k_com: 4, history: 2, eager: false, aim: None };
        for model in ModelKind::ALL {
            let toy = Toy::new(
                model,
                &[&[store(0), load(1), weak_cas(2), load(0)], &[store(1), load(0), store(0), load(2)]],
            );
            for kind in StrategyKind::ALL {
                let run = |seed| toy.run(&mut build(kind, &parameters, seed));
                assert!((0..20).all(|seed| run(seed) == run(seed) && run(seed).end == End::Finished));
                assert!((1..20).any(|seed| run(seed) != run(0)), "{kind} under {model}");
            }
        }
    }
}
