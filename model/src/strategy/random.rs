//! Uniform random choice at every point: C11Tester's strategy (Luo and Demsky, ASPLOS 2021), the baseline.
//!
//! Every enabled agent is as likely to go next, and every candidate as likely to be read. It has no parameters
//! and no guarantee: a bug that needs one thread to stay ahead for `n` steps is found with probability 2⁻ⁿ.

use super::{Choice, Pick, ReadChoice, Strategy, StrategyKind, spuriously};
use crate::rng::Rng;

/// Uniform over whatever there is to choose from.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Rng,
}

impl Random {
    /// The random strategy with this seed.
    pub fn new(seed: u64) -> Random {
        Random { rng: Rng::new(seed) }
    }
}

impl Strategy for Random {
    fn name(&self) -> &'static str {
        StrategyKind::Random.name()
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        Pick::Take(self.rng.below(enabled.len()))
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        self.rng.below(read.count)
    }

    fn place(&mut self, _choice: &Choice, count: usize) -> usize {
        self.rng.below(count)
    }

    fn wake(&mut self, count: usize) -> usize {
        self.rng.below(count)
    }

    fn spurious(&mut self, _choice: &Choice) -> bool {
        spuriously(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Agent, ModelKind, ThreadId};
    use crate::strategy::toy::{Toy, load, store, weak_cas};

    /// Two threads of three events: thread 0 takes the first three steps with probability 1/8. 8000 runs: mean 1000, σ ≈ 29.6; 6σ ≈ 178.
    #[test]
    fn each_step_is_a_fair_coin() {
        let toy =
            Toy::new(ModelKind::C11, &[&[store(0), store(0), store(0)], &[store(1), store(1), store(1)]]);
        let ahead = (0..8000)
            .filter(|&seed| toy.run(&mut Random::new(seed)).threads().starts_with(&[0, 0, 0]))
            .count();
        assert!(ahead.abs_diff(1000) < 178, "{ahead}");
    }

    /// Binomial(9000, 1/3): mean 3000, σ ≈ 44.7; 6σ ≈ 268.
    #[test]
    fn a_read_is_uniform_over_its_candidates() {
        let choice = Choice { agent: Agent::Thread(ThreadId(0)), op: load(0), serial: 0 };
        let mut strategy = Random::new(1);
        let mut counts = [0u32; 3];
        (0..9000).for_each(|_| counts[strategy.read(&ReadChoice { choice, count: 3 })] += 1);
        assert!(counts.iter().all(|c| c.abs_diff(3000) < 268), "{counts:?}");
    }

    /// Binomial(8000, 1/4): mean 2000, σ ≈ 38.7; 6σ ≈ 232.
    #[test]
    fn a_weak_compare_and_swap_fails_a_quarter_of_the_time() {
        let toy = Toy::new(ModelKind::C11, &[&[weak_cas(0)]]);
        let failed = (0..8000).filter(|&seed| toy.run(&mut Random::new(seed)).values == [(2, 1)]).count();
        assert!(failed.abs_diff(2000) < 232, "{failed}");
    }
}
