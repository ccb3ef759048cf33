//! PCTWM: PCT for weak memory (Gao, Chakraborty, Kulahcioglu Ozkan, ASPLOS 2023), Algorithm 1.
//!
//! The depth of a bug is the number of *communications* it needs, not of preemptions: `d` events, the *sinks*,
//! see what other threads wrote; everything else reads its own thread's view. Threads have random priorities
//! above `d` reserved ones. Communication events (loads, RMWs, SC events, fences ⊒ ACQ) are counted as the
//! highest thread reaches them; when the count is element `j` of a random tuple of `d` distinct numbers of
//! `[1, k_com]`, the event is a sink: its thread falls to the reserved priority of that sink, so that the sinks
//! run after all else and in the order of the tuple. A sink reads uniformly among the last `h` candidates.
//!
//! Deviations.
//! - *An event is counted once.* Algorithm 1 counts again when a delayed thread comes back (line 8 runs before
//!   every execution of line 15), which would shift all later numbers, and could delay one event twice.
//! - The buffers of PSO and PSLO, which the paper does not have, rank below every thread that is not lowered and
//!   above the sinks, in random order. With `d = 0` nobody sees a held store until all threads have run or
//!   are blocked; and all of them are visible when the first sink runs.
//! - Events are counted from when there is a second thread: before, there is nobody to communicate with.
//! - Where a store enters modification order (`--mo-insertion`) is no choice of the paper's: for the whole
//!   execution it is decided whether stores keep the order of execution (1/3) or choose, each for itself. So a bug that
//!   needs no insertion is found a third as often at worst, however many stores there are.
//! - Whether a weak compare-and-swap fails spuriously is communication: only sinks have the choice.
//! - With `d = 0` a thread ranks below the one that made it. The paper's threads are there from the start; where they are
//!   made one by one, a thread that runs before its siblings are made is heard of by them under TSO: what their
//!   maker stores after it is behind its stores in the log, and comes with the creation.
//! - A thread that was lowered stays at its sink's priority, for the rest of its events too, until another of
//!   its events is a sink: `threads[d - k] ← t`, taken literally.

use super::points::Points;
use super::priority::{AgentMap, Priority, highest};
use super::{Choice, Pick, ReadChoice, Strategy, StrategyKind, placed, recent, spuriously};
use crate::op::{Agent, ThreadId};
use crate::rng::Rng;

/// What PCTWM knows of an agent.
#[derive(Clone, Copy, Debug)]
struct Rank {
    priority: Priority,
    /// The serial of the thread's last event that was counted.
    counted: Option<u32>,
    /// Whether that event is a sink.
    sink: bool,
}

/// Priority scheduling with `d` random communication sinks.
#[derive(Clone, Debug)]
pub struct Pctwm {
    rng: Rng,
    history: u32,
    ranks: AgentMap<Rank>,
    sinks: Points,
    /// Whether stores may come before others in modification order.
    inserts: bool,
    /// Whether there has only been one thread so far.
    alone: bool,
    /// Who was picked last.
    last: Option<Agent>,
}

impl Pctwm {
    /// PCTWM of depth `depth` for executions of about `k_com` communication events, whose sinks read one of the
    /// last `history` candidates (0 means 1).
    pub fn new(seed: u64, depth: u32, k_com: u32, history: u32) -> Pctwm {
        let mut rng = Rng::new(seed);
        let sinks = Points::draw(&mut rng, depth, k_com);
        let inserts = rng.below(3) > 0;
        Pctwm { rng, history, ranks: AgentMap::new(), sinks, inserts, alone: true, last: None }
    }

    /// Whether the event was chosen as a sink.
    fn is_sink(&self, choice: &Choice) -> bool {
        self.ranks.get(choice.agent).is_some_and(|rank| rank.sink && rank.counted == Some(choice.serial))
    }
}

impl Strategy for Pctwm {
    fn name(&self) -> &'static str {
        StrategyKind::Pctwm.name()
    }

    fn started(&mut self, thread: ThreadId) {
        let Pctwm { rng, ranks, sinks, last, .. } = self;
        if sinks.len() > 0 || thread == ThreadId(0) {
            return;
        }
        // Who ran last makes it; before anybody was picked, that is the first thread.
        let rank = |priority| Rank { priority, counted: None, sink: false };
        let maker = Agent::Thread(last.map_or(ThreadId(0), Agent::thread));
        let maker = ranks.entry(maker, || rank(Priority::normal(rng))).priority;
        ranks.entry(Agent::Thread(thread), || rank(maker.below(rng)));
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        self.alone &= enabled.len() == 1 && enabled[0].agent.thread().0 == 0;
        let Pctwm { rng, ranks, sinks, alone, .. } = self;
        let mut first = |agent| {
            let priority = match agent {
                Agent::Thread(_) => Priority::normal(rng),
                Agent::Buffer(..) => Priority::held(rng),
            };
            Rank { priority, counted: None, sink: false }
        };
        // Every round but the last counts an event that was not counted before, so there are few.
        loop {
            let best = highest(enabled, |choice| ranks.entry(choice.agent, || first(choice.agent)).priority);
            let choice = &enabled[best];
            let rank = ranks.entry(choice.agent, || first(choice.agent));
            let counts = matches!(choice.agent, Agent::Thread(_)) && choice.op.communicates() && !*alone;
            if !counts || rank.counted == Some(choice.serial) {
                return Pick::Take(best);
            }
            let sink = sinks.advance();
            rank.counted = Some(choice.serial);
            rank.sink = sink.is_some();
            match sink {
                Some(position) => rank.priority = Priority::reserved(sinks.len() - position),
                None => return Pick::Take(best),
            }
        }
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        if self.is_sink(&read.choice) { recent(&mut self.rng, read.count, self.history) } else { 0 }
    }

    fn place(&mut self, _choice: &Choice, count: usize) -> usize {
        if self.inserts { placed(&mut self.rng, count) } else { count - 1 }
    }

    fn wake(&mut self, count: usize) -> usize {
        self.rng.below(count)
    }

    fn taken(&mut self, choice: &Choice, _enabled: &[Choice]) {
        self.last = Some(choice.agent);
    }

    fn spurious(&mut self, choice: &Choice) -> bool {
        self.is_sink(choice) && spuriously(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::ModelKind;
    use crate::strategy::toy::{End, Toy, at, load, store};
    use alloc::collections::{BTreeMap, BTreeSet};
    use alloc::vec::Vec;

    /// Whoever makes threads goes first at depth 0, the threads it makes in any order.
    #[test]
    fn depth_0_makes_all_threads_first() {
        let mut firsts = BTreeSet::new();
        for seed in 0..100 {
            let mut strategy = Pctwm::new(seed, 0, 2, 1);
            (0..4).for_each(|thread| strategy.started(ThreadId(thread)));
            let rank = |thread| strategy.ranks.get(Agent::Thread(ThreadId(thread))).map(|rank| rank.priority);
            assert!((1..4).all(|thread| rank(thread) < rank(0)), "{seed}");
            firsts.extend((1..4).max_by_key(|&thread| rank(thread)));
        }
        assert_eq!(firsts.len(), 3);
    }

    /// SB: both loads read the initial value in every execution of depth 0 (§3.2 of the paper).
    #[test]
    fn depth_0_communicates_nothing() {
        for model in [ModelKind::C11, ModelKind::Tso, ModelKind::Pso, ModelKind::Pslo] {
            let toy = Toy::new(model, &[&[store(0), load(1)], &[store(1), load(0)]]);
            for seed in 0..100 {
                let ran = toy.run(&mut Pctwm::new(seed, 0, 2, 1));
                assert_eq!(ran.end, End::Finished);
                assert!(ran.outcome.rf.values().all(Option::is_none), "{model} {seed}: {ran:?}");
            }
        }
    }

    /// P1 (§3.3): one load, so it is the sink; it runs last and, with h = 2, reads each of the last two of the
    /// five stores with probability 1/2. 4000 runs: σ ≈ 31.6; 6σ ≈ 190.
    #[test]
    fn a_sink_runs_last_and_reads_the_last_h() {
        for model in [ModelKind::C11, ModelKind::Tso] {
            let toy = Toy::new(model, &[&[store(0); 5], &[load(0)]]);
            let mut newest = 0u32;
            for seed in 0..4000 {
                let ran = toy.run(&mut Pctwm::new(seed, 1, 1, 2));
                assert_eq!(ran.threads(), [0, 0, 0, 0, 0, 1]);
                assert!(ran.values == [(6, 4)] || ran.values == [(6, 5)], "{ran:?}");
                newest += u32::from(ran.values[0].1 == 5);
            }
            assert!(newest.abs_diff(2000) < 190, "{newest}");
        }
    }

    /// Two sinks, in tuple order. Each thread's only load is a sink (k_com = d = 2). Whichever thread is reached
    /// first has number 1; its place in the tuple is fair, and so is the initial order: each of the four pairs
    /// (initial order, order of the sinks) has probability 1/4. 4000 runs: σ ≈ 27.4; 6σ ≈ 164.
    #[test]
    fn sinks_run_in_the_order_of_the_tuple() {
        let toy = Toy::new(ModelKind::C11, &[&[store(0), load(1)], &[store(1), load(0)]]);
        let mut orders: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for seed in 0..4000 {
            *orders.entry(toy.run(&mut Pctwm::new(seed, 2, 2, 1)).threads()).or_default() += 1;
        }
        let expected: BTreeSet<Vec<u32>> =
            [[0, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 1, 0]].map(|order| order.to_vec()).into();
        assert!(orders.keys().eq(expected.iter()), "{orders:?}");
        assert!(orders.values().all(|c| c.abs_diff(1000) < 164), "{orders:?}");
    }

    /// Element 0 of the tuple has the highest of the reserved priorities.
    #[test]
    fn element_0_of_the_tuple_runs_first() {
        let toy = Toy::new(ModelKind::C11, &[&[store(0), load(1)], &[store(1), load(0)]]);
        for seed in 0..100 {
            let mut strategy = Pctwm::new(seed, 2, 2, 1);
            let position_of_1 = strategy.sinks.clone().advance().expect("1 is in a pair drawn from [1,2]");
            let ran = toy.run(&mut strategy).threads();
            // Thread ran[0] is the first to reach its load, which is number 1.
            let number_1_runs_first = ran[2] == ran[0];
            assert_eq!(number_1_runs_first, position_of_1 == 0, "{seed}: {ran:?}");
        }
    }

    /// Offering the same events again, as if they were delayed by other means, counts nothing: else the count
    /// would soon reach the one sink, somewhere in [1,6], and the answer change.
    #[test]
    fn a_delayed_event_is_counted_once() {
        let choice = |thread| Choice { agent: Agent::Thread(ThreadId(thread)), op: load(0), serial: 0 };
        let enabled = [choice(0), choice(1)];
        for seed in 0..100 {
            let mut strategy = Pctwm::new(seed, 1, 6, 1);
            let first = strategy.pick(&enabled);
            assert!((0..10).all(|_| strategy.pick(&enabled) == first), "seed {seed}");
        }
    }

    /// Once lowered, a thread stays lowered: its later events run after those of the other.
    #[test]
    fn a_lowered_thread_stays_lowered() {
        let toy = Toy::new(ModelKind::C11, &[&[load(0), store(1), store(1)], &[store(0), store(0)]]);
        for seed in 0..100 {
            assert_eq!(toy.run(&mut Pctwm::new(seed, 1, 1, 1)).threads(), [1, 1, 0, 0, 0]);
        }
    }

    /// Held stores become visible after everything but the sinks.
    #[test]
    fn buffers_rank_between_threads_and_sinks() {
        let toy = Toy::new(ModelKind::Pso, &[&[store(0), store(1)], &[load(0)]]);
        let mut orders = BTreeSet::new();
        for seed in 0..100 {
            let ran = toy.run(&mut Pctwm::new(seed, 1, 1, 1));
            let agents: Vec<Agent> = ran.steps.iter().map(|&(agent, _)| agent).collect();
            assert_eq!(agents[..2], [Agent::Thread(ThreadId(0)); 2]);
            assert_eq!(agents[4], Agent::Thread(ThreadId(1)));
            assert_eq!(ran.outcome.rf[&(1, 0)], Some((0, 0)), "the sink sees the store");
            orders.insert(agents[2] == Agent::Buffer(ThreadId(0), at(0)));
        }
        assert_eq!(orders.len(), 2, "the buffers' order is random");
    }
}
