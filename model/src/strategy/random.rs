//! Uniform random choice at every point: C11Tester's strategy (Luo and Demsky, ASPLOS 2021), the baseline.
//!
//! Every enabled agent is as likely to go next, and every candidate as likely to be read. It has no parameters
//! and no guarantee: a bug that needs one thread to stay ahead for `n` steps is found with probability 2⁻ⁿ.
//!
//! *Eager* is what C11Tester does under c11: a pending relaxed or release store goes first. It can be overlooked by every
//! load, and with insertion by every other store and RMW too: what it publishes is its own thread's view, which nobody
//! else changes. So no outcome is lost, and the chances go to the choices that matter. (Sequentially consistent stores
//! are not like that, and without insertion the order of stores is the order of execution.)
//!
//! *Skewed* is the same walk with unfair coins: each agent has a random weight of its own, for the whole execution, and
//! goes next in proportion to it. With weights of 2⁵ to 1, one of two threads stays ahead for `n` steps with probability
//! (32/33)ⁿ, which is still 1/2 for 22 of them.

use super::priority::AgentMap;
use super::{Choice, Pick, ReadChoice, Strategy, StrategyKind, placed, spuriously};
use crate::op::Op;
use crate::rng::Rng;

/// Uniform over whatever there is to choose from.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Rng,
    eager: bool,
    /// Of each agent, if not all are alike.
    weights: Option<AgentMap<usize>>,
}

/// The largest weight of an agent, as a power of two. The least is 1.
const SKEW: usize = 5;

impl Random {
    /// The random strategy with this seed.
    pub fn new(seed: u64) -> Random {
        Random { rng: Rng::new(seed), eager: false, weights: None }
    }

    /// Some agents are faster than others.
    #[must_use]
    pub fn skewed(self) -> Random {
        Random { weights: Some(AgentMap::new()), ..self }
    }

    /// Stores go first where every reader may overlook them: c11 with insertion.
    #[must_use]
    pub fn eager(self) -> Random {
        Random { eager: true, ..self }
    }
}

impl Strategy for Random {
    fn name(&self) -> &'static str {
        match &self.weights {
            None => StrategyKind::Random.name(),
            Some(_) => StrategyKind::Skewed.name(),
        }
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        if self.eager
            && let Some(store) = enabled.iter().position(may_be_overlooked)
        {
            return Pick::Take(store);
        }
        let Random { rng, weights, .. } = self;
        let Some(weights) = weights else { return Pick::Take(rng.below(enabled.len())) };
        let mut weight =
            |rng: &mut Rng, choice: &Choice| *weights.entry(choice.agent, || 1 << rng.below(SKEW + 1));
        let all = enabled.iter().map(|choice| weight(rng, choice)).sum();
        let mut drawn = rng.below(all);
        let taken = enabled.iter().position(|choice| match drawn.checked_sub(weight(rng, choice)) {
            Some(rest) => {
                drawn = rest;
                false
            }
            None => true,
        });
        Pick::Take(taken.expect("less than all was drawn"))
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
}

/// Whether it is a store that orders nothing by the moment at which it happens.
fn may_be_overlooked(choice: &Choice) -> bool {
    matches!(choice.op, Op::Store { order, .. } if order.is_atomic() && !order.is_sc())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Agent, ModelKind, ThreadId};
    use crate::order::Order;
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

    /// A relaxed or release store goes first, whoever else is enabled; a load, or an SC store, does not.
    #[test]
    fn eager_stores_go_first() {
        let at = crate::strategy::toy::at(0);
        let choice = |thread, op| Choice { agent: Agent::Thread(ThreadId(thread)), op, serial: 0 };
        let of = |order| Op::Store { at, order };
        for order in [Order::Relaxed, Order::Release] {
            let enabled = [choice(0, load(0)), choice(1, of(Order::SeqCst)), choice(2, of(order))];
            assert!((0..100).all(|seed| Random::new(seed).eager().pick(&enabled) == Pick::Take(2)));
            assert!((0..100).any(|seed| Random::new(seed).pick(&enabled) != Pick::Take(2)));
        }
        // One in three for each of the others: missed with probability (2/3)^100.
        let enabled = [choice(0, load(0)), choice(1, of(Order::SeqCst)), choice(2, of(Order::Na))];
        assert!(
            (0..3).all(|it| (0..100).any(|seed| Random::new(seed).eager().pick(&enabled) == Pick::Take(it)))
        );
    }

    /// Two threads of eight stores: with weights a and b, the first is done before the other begins with probability
    /// (a/(a+b))^8. The mean over the 36 pairs is 0.206, against 2⁻⁸ of a fair coin. 2000 runs: σ ≈ 18.1; 6σ ≈ 109.
    #[test]
    fn a_skewed_walk_lets_one_thread_stay_ahead() {
        let toy = Toy::new(ModelKind::C11, &[&[store(0); 8], &[store(1); 8]]);
        let ahead = (0..2000)
            .filter(|&seed| toy.run(&mut Random::new(seed).skewed()).threads().starts_with(&[0; 8]))
            .count();
        let weights = (0..=SKEW).map(|u| f64::from(1 << u));
        let mean: f64 =
            weights.clone().flat_map(|a| weights.clone().map(move |b| (a / (a + b)).powi(8))).sum::<f64>()
                / 36.0;
        assert!((ahead as f64 - 2000.0 * mean).abs() < 109.0, "{ahead} {mean}");
    }
}
