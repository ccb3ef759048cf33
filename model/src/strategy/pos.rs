//! Partial order sampling: BasicPOS and POS (Yuan, Yang, Gu, CAV 2018), and their extensions to weak memory.
//!
//! Every *event* has a random priority of its own, drawn when it is first seen enabled, and the highest runs.
//! POS draws again, after each step, for the pending events that race with the one just taken: an event that
//! waits for many racing ones would else need a priority below them all, and what races after it an even lower
//! one. BasicPOS does not, which is better where one event must come after a long run of racing ones (Fig. 3 of
//! `basicposwm`): 1/(k+1) instead of 2⁻ᵏ.
//!
//! `basicposwm` and `poswm` differ from the two only in what loads read: uniformly among the last `h`
//! candidates, not among all. Deviation: the priorities are 64 bits, not reals; ties go by the order of the offer.

use super::priority::{AgentMap, highest};
use super::{Choice, Pick, ReadChoice, Strategy, StrategyKind, conflict, placed, recent, spuriously};
use crate::rng::Rng;

/// Event priorities.
#[derive(Clone, Debug)]
pub struct Pos {
    rng: Rng,
    redraws: bool,
    history: Option<u32>,
    /// By agent: its pending event's serial, and that event's priority.
    events: AgentMap<(u32, u64)>,
}

impl Pos {
    /// BasicPOS, or POS if it `redraws`; the variant for weak memory if there is a `history` bound on what
    /// loads read (0 means 1).
    pub fn new(seed: u64, redraws: bool, history: Option<u32>) -> Pos {
        Pos { rng: Rng::new(seed), redraws, history, events: AgentMap::new() }
    }
}

impl Strategy for Pos {
    fn name(&self) -> &'static str {
        match (self.redraws, self.history.is_some()) {
            (false, false) => StrategyKind::BasicPos.name(),
            (true, false) => StrategyKind::Pos.name(),
            (false, true) => StrategyKind::BasicPosWm.name(),
            (true, true) => StrategyKind::PosWm.name(),
        }
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        let Pos { rng, events, .. } = self;
        Pick::Take(highest(enabled, |choice| {
            let event = events.entry(choice.agent, || (choice.serial, rng.bits()));
            if event.0 != choice.serial {
                *event = (choice.serial, rng.bits());
            }
            event.1
        }))
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        recent(&mut self.rng, read.count, self.history.unwrap_or(u32::MAX))
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

    fn taken(&mut self, choice: &Choice, enabled: &[Choice]) {
        if !self.redraws {
            return;
        }
        for other in enabled {
            if other.agent != choice.agent && conflict(choice, other) {
                let event = (other.serial, self.rng.bits());
                *self.events.entry(other.agent, || event) = event;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Agent, ModelKind, ThreadId};
    use crate::strategy::toy::{Toy, load, store};

    /// How often, in 8000 runs, the load of Fig. 3 (k = 3) comes after all three stores.
    fn last(redraws: bool) -> usize {
        let toy = Toy::new(ModelKind::Sc, &[&[store(0); 3], &[load(0)]]);
        (0..8000)
            .filter(|&seed| toy.run(&mut Pos::new(seed, redraws, None)).threads() == [0, 0, 0, 1])
            .count()
    }

    /// BasicPOS: the load has the least of 4 priorities: 1/4 → 2000, σ ≈ 38.7; 6σ ≈ 232.
    /// POS: redrawn after each step, so each is a fair coin: 1/8 → 1000, σ ≈ 29.6; 6σ ≈ 178.
    #[test]
    fn figure_3_of_basicposwm() {
        assert!(last(false).abs_diff(2000) < 232, "{}", last(false));
        assert!(last(true).abs_diff(1000) < 178, "{}", last(true));
    }

    /// POS leaves events alone that do not race: with the load elsewhere it is BasicPOS.
    #[test]
    fn only_racing_events_are_drawn_again() {
        let toy = Toy::new(ModelKind::Sc, &[&[store(0); 3], &[load(1)]]);
        for seed in 0..200 {
            let basic = toy.run(&mut Pos::new(seed, false, None));
            assert_eq!(basic, toy.run(&mut Pos::new(seed, true, None)));
        }
    }

    /// The last 2 of 5 candidates, each 1/2: 2000 reads, σ ≈ 22.4; 6σ ≈ 135. Without a bound, each of the 5
    /// with 1/5: 400, σ ≈ 17.9; 6σ ≈ 108.
    #[test]
    fn the_variants_differ_in_what_loads_read() {
        let choice = Choice { agent: Agent::Thread(ThreadId(0)), op: load(0), serial: 0 };
        let count = |history| {
            let mut strategy = Pos::new(1, false, history);
            let mut counts = [0u32; 5];
            (0..2000).for_each(|_| counts[strategy.read(&ReadChoice { choice, count: 5 })] += 1);
            counts
        };
        let [a, b, c, d, e] = count(Some(2));
        assert_eq!([a, b, c], [0; 3]);
        assert!(d.abs_diff(1000) < 135 && e.abs_diff(1000) < 135, "{d} {e}");
        assert!(count(None).iter().all(|c| c.abs_diff(400) < 108), "{:?}", count(None));
        assert_eq!(count(Some(0)), [0, 0, 0, 0, 2000]);
    }
}
