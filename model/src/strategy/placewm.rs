//! PCTWM with *places* as sinks: all loads of a few random places see what other threads wrote, all others do not.
//!
//! PCTWM draws its sinks among the communication events of an execution, of which a long one has very many. But the
//! events of most bugs are accesses to one or two variables, and of these a program has few. So here a place is a sink
//! with probability `2⁻ᵈ`; a thread that comes to one falls to a random priority below all that have not, and reads
//! there among the last `h` candidates. Everything else is as in [`Pctwm`](super::Pctwm).
//!
//! A bug that needs the loads of one place of `p` to be sinks, and no others, is found with probability at least
//! `2⁻ᵈ(1 - 2⁻ᵈ)ᵖ⁻¹` (about `1/(e·p)` for the right `d`) times that of the right order of the threads; the length of the
//! execution does not matter.

use super::priority::{AgentMap, Priority, highest};
use super::{Choice, Pick, ReadChoice, Strategy, StrategyKind, placed, recent, spuriously};
use crate::op::Agent;
use crate::rng::Rng;
use alloc::collections::BTreeMap;

/// Priority scheduling with random places as sinks.
#[derive(Clone, Debug)]
pub struct PlaceWm {
    rng: Rng,
    history: u32,
    depth: u32,
    /// Decides, with their numbers, which places are sinks.
    salt: u64,
    /// Addresses that were asked about, numbered as they came: where a program's variables lie (which its environment's
    /// length decides, for those on its stack) does not decide what is found.
    numbers: BTreeMap<u64, u64>,
    /// Priorities, and whether the agent has come to a sink.
    ranks: AgentMap<(Priority, bool)>,
    /// Whether stores may come before others in modification order.
    inserts: bool,
    /// Whether there has only been one thread so far.
    alone: bool,
}

impl PlaceWm {
    /// Each place is a sink with probability 2 to the minus `depth`; sinks read one of the last `history` candidates
    /// (0 means 1).
    pub fn new(seed: u64, depth: u32, history: u32) -> PlaceWm {
        let mut rng = Rng::new(seed);
        let (salt, inserts) = (rng.bits(), rng.below(3) > 0);
        let numbers = BTreeMap::new();
        PlaceWm { rng, history, depth, salt, numbers, ranks: AgentMap::new(), inserts, alone: true }
    }

    fn is_sink(&mut self, choice: &Choice) -> bool {
        choice.op.place().is_some_and(|at| {
            let next = self.numbers.len() as u64;
            let number = *self.numbers.entry(at.addr.0).or_insert(next);
            Rng::seed_of(self.salt, number) >> (64 - self.depth.clamp(1, 63)) == 0
        })
    }
}

impl Strategy for PlaceWm {
    fn name(&self) -> &'static str {
        StrategyKind::PlaceWm.name()
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        self.alone &= enabled.len() == 1 && enabled[0].agent.thread().0 == 0;
        // Every round but the last lowers a thread for good.
        loop {
            let PlaceWm { rng, ranks, .. } = self;
            let best = highest(enabled, |choice| {
                ranks
                    .entry(choice.agent, || match choice.agent {
                        Agent::Thread(_) => (Priority::normal(rng), false),
                        Agent::Buffer(..) => (Priority::held(rng), true),
                    })
                    .0
            });
            let choice = &enabled[best];
            let counts = choice.op.communicates() && !self.alone && self.is_sink(choice);
            let lowered = Priority::reserved(self.rng.bits() as u32);
            let rank = self.ranks.entry(choice.agent, || (lowered, true));
            if !counts || rank.1 {
                return Pick::Take(best);
            }
            *rank = (lowered, true);
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

    fn spurious(&mut self, choice: &Choice) -> bool {
        self.is_sink(choice) && spuriously(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{ModelKind, ThreadId};
    use crate::strategy::toy::{Toy, load, store};

    /// P1 of the PCTWM paper: the one place is a sink with probability 1/2, and then the load runs last and reads the
    /// last of the five stores; otherwise it reads its own thread's view. 4000 runs: σ ≈ 31.6; 6σ ≈ 190.
    #[test]
    fn a_place_is_a_sink_with_its_probability() {
        for model in [ModelKind::C11, ModelKind::Tso] {
            let toy = Toy::new(model, &[&[store(0); 5], &[load(0)]]);
            let mut newest = 0u32;
            for seed in 0..4000 {
                let ran = toy.run(&mut PlaceWm::new(seed, 1, 1));
                assert!(ran.values != [(6, 5)] || ran.threads() == [0, 0, 0, 0, 0, 1]);
                newest += u32::from(ran.values == [(6, 5)]);
            }
            assert!(newest.abs_diff(2000) < 190, "{newest}");
        }
    }

    /// All loads of a sink are sinks; those of other places read what their thread knows. Both places are sinks in a
    /// quarter of the runs: then the thread that loads comes last. 1000 runs: each of the four cases is missed with
    /// probability (3/4)^1000.
    #[test]
    fn places_are_drawn_each_for_itself() {
        let toy = Toy::new(ModelKind::C11, &[&[store(0), store(1)], &[load(0), load(1), load(0)]]);
        let mut seen = alloc::collections::BTreeSet::new();
        for seed in 0..1000 {
            let ran = toy.run(&mut PlaceWm::new(seed, 1, 1));
            let read = [0, 1, 2].map(|load| ran.outcome.rf[&(1, load)].is_some());
            assert_eq!(read[0], read[2], "{seed}");
            seen.insert((read[0], read[1]));
        }
        assert_eq!(seen.len(), 4, "{seen:?}");
    }

    /// The same program elsewhere in memory runs as it does here.
    #[test]
    fn addresses_decide_nothing() {
        let toy = |first| {
            Toy::new(ModelKind::C11, &[&[store(first), store(first + 1)], &[load(first + 1), load(first)]])
        };
        for seed in 0..100 {
            let [here, there] = [0, 2].map(|first| toy(first).run(&mut PlaceWm::new(seed, 1, 1)));
            assert_eq!(here.threads(), there.threads(), "{seed}");
            assert_eq!(here.outcome.rf, there.outcome.rf, "{seed}");
        }
    }

    /// A thread that is alone is not lowered: there is nobody to wait for.
    #[test]
    fn a_thread_that_is_alone_keeps_its_priority() {
        let choice = |thread, serial| Choice { agent: Agent::Thread(ThreadId(thread)), op: load(0), serial };
        for seed in 0..100 {
            let mut strategy = PlaceWm::new(seed, 1, 1);
            assert_eq!(strategy.pick(&[choice(0, 0)]), Pick::Take(0));
            assert!(strategy.ranks.get(choice(0, 0).agent).is_some_and(|&(_, lowered)| !lowered));
            strategy.pick(&[choice(0, 1), choice(1, 0)]);
            let lowered = [0, 1].map(|it| strategy.ranks.get(choice(it, 0).agent).is_some_and(|rank| rank.1));
            assert_eq!(lowered, [strategy.is_sink(&choice(0, 1)); 2], "both have come to it");
        }
    }
}
