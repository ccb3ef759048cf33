//! PCT: probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010).
//!
//! Every agent has a random priority, and the highest that is enabled runs. At `d - 1` steps, drawn from
//! `[1, k]`, the agent that has just run falls to a reserved priority below all initial ones. A bug that needs
//! `d` ordering constraints is found with probability at least `1/(n·k^(d-1))` with `n` agents, *under SC*.
//!
//! Deviations. The paper is about SC: here loads read uniformly among their candidates, which is the naive
//! extension to weak memory that the PCTWM paper (§3.1) compares with. The buffers of PSO and PSLO are agents
//! like threads, so a commit is a step, and each buffer takes part in the order of priorities. An agent that
//! appears late (the paper knows its threads in advance) enters at a random position above the reserved ones.
//! Depth 0 is depth 1: no change point.

use super::points::Points;
use super::priority::{AgentMap, Priority, highest};
use super::{Choice, Pick, ReadChoice, Strategy, StrategyKind, placed, spuriously};
use crate::rng::Rng;

/// Priority scheduling with `d - 1` random change points.
#[derive(Clone, Debug)]
pub struct Pct {
    rng: Rng,
    priorities: AgentMap<Priority>,
    changes: Points,
}

impl Pct {
    /// PCT of depth `depth` for executions of about `k` steps.
    pub fn new(seed: u64, depth: u32, k: u32) -> Pct {
        let mut rng = Rng::new(seed);
        let changes = Points::draw(&mut rng, depth.saturating_sub(1), k);
        Pct { rng, priorities: AgentMap::new(), changes }
    }
}

impl Strategy for Pct {
    fn name(&self) -> &'static str {
        StrategyKind::Pct.name()
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        let Pct { rng, priorities, .. } = self;
        Pick::Take(highest(enabled, |choice| *priorities.entry(choice.agent, || Priority::normal(rng))))
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        self.rng.below(read.count)
    }

    fn place(&mut self, _choice: &Choice, count: usize) -> usize {
        placed(&mut self.rng, count)
    }

    fn wake(&mut self, count: usize) -> usize {
        self.rng.below(count)
    }

    fn spurious(&mut self, _choice: &Choice) -> bool {
        spuriously(&mut self.rng)
    }

    fn taken(&mut self, choice: &Choice, _enabled: &[Choice]) {
        if let Some(position) = self.changes.advance() {
            let lowered = Priority::reserved(position);
            *self.priorities.entry(choice.agent, || lowered) = lowered;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::ModelKind;
    use crate::strategy::toy::{Toy, store};
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    /// Depth 1 (and 0): three threads run one after the other, each of the 6 orders with probability 1/6.
    /// 6000 runs: mean 1000, σ ≈ 28.9; 6σ ≈ 174.
    #[test]
    fn without_change_points_threads_run_whole_and_in_a_uniform_order() {
        let toy =
            Toy::new(ModelKind::Sc, &[&[store(0), store(0)], &[store(1), store(1)], &[store(2), store(2)]]);
        for depth in [0, 1] {
            let mut orders: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
            for seed in 0..6000 {
                let ran = toy.run(&mut Pct::new(seed, depth, 6)).threads();
                assert!(ran.chunks(2).all(|pair| pair[0] == pair[1]), "{ran:?}");
                *orders.entry(ran).or_default() += 1;
            }
            assert_eq!(orders.len(), 6);
            assert!(orders.values().all(|c| c.abs_diff(1000) < 174), "{orders:?}");
        }
    }

    /// The paper's guarantee, exactly. Two threads of 3 steps, depth 2, k = 6: `0 1 1 1 0 0` needs thread 0 first
    /// (1/2) and the change point at step 1 (1/6): 1/12. 12,000 runs: mean 1000, σ ≈ 30.3; 6σ ≈ 182.
    #[test]
    fn one_change_point_finds_one_preemption() {
        let toy = Toy::new(ModelKind::Sc, &[&[store(0); 3], &[store(1); 3]]);
        let found = (0..12_000)
            .filter(|&seed| toy.run(&mut Pct::new(seed, 2, 6)).threads() == [0, 1, 1, 1, 0, 0])
            .count();
        assert!(found.abs_diff(1000) < 182, "{found}");
    }

    /// A thread that was lowered runs after all that never were, and two lowered ones in the order of their
    /// change points' positions in the tuple: with both threads lowered after one step each (`0 1` or `1 0`), the
    /// rest of either may come first, each half of the time. P(both change points are steps 1 and 2) = 1/15.
    #[test]
    fn lowered_agents_rank_by_their_change_points() {
        let toy = Toy::new(ModelKind::Sc, &[&[store(0); 3], &[store(1); 3]]);
        let (mut first, mut second) = (0u32, 0u32);
        for seed in 0..30_000 {
            match toy.run(&mut Pct::new(seed, 3, 6)).threads()[..] {
                [0, 1, 0, 0, 1, 1] | [1, 0, 1, 1, 0, 0] => first += 1,
                [0, 1, 1, 1, 0, 0] | [1, 0, 0, 0, 1, 1] => second += 1,
                _ => {}
            }
        }
        // The first shape: change points at 1 and 2, and the tuple the right way round: 1/30 → 1000, 6σ ≈ 187.
        assert!(first.abs_diff(1000) < 187, "{first}");
        // The second: change points {1,2} or {1,3} and the tuple the right way round, 1/30 each; or {1,4}, {1,5}
        // or {1,6}, whose second comes too late to matter, 1/15 each: 4/15 → 8000, σ ≈ 76.6; 6σ ≈ 460.
        assert!(second.abs_diff(8000) < 460, "{second}");
    }
}
