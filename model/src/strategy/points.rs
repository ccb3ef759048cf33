//! The numbered moments at which PCT and PCTWM lower a priority: a random tuple of distinct numbers.
//!
//! PCT (Burckhardt et al., ASPLOS 2010) numbers steps, PCTWM communication events. Both draw a *tuple*: which
//! element of it a number is decides how far the priority falls. The draw is a Fisher–Yates shuffle that stops
//! after the elements wanted and remembers only the places it touched, so it costs the size of the tuple and
//! not of the range.

use crate::rng::Rng;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A random tuple of distinct numbers from 1 on, and a counter that runs over them.
#[derive(Clone, Debug)]
pub(super) struct Points {
    /// `(number, its position in the tuple)`, by number.
    drawn: Vec<(u32, u32)>,
    /// The first element of `drawn` that the counter has not reached.
    next: usize,
    /// How often [`Points::advance`] was called.
    count: u32,
}

impl Points {
    /// A uniform tuple of `wanted` distinct numbers of `[1, max]`; of all `max` of them if there are fewer.
    pub(super) fn draw(rng: &mut Rng, wanted: u32, max: u32) -> Points {
        // `places` is the shuffled range where it differs from the identity.
        let mut places = BTreeMap::new();
        let mut drawn = Vec::new();
        for position in 0..wanted.min(max) {
            let place = position + rng.below((max - position) as usize) as u32;
            let number = places.get(&place).copied().unwrap_or(place);
            let displaced = places.get(&position).copied().unwrap_or(position);
            places.insert(place, displaced);
            drawn.push((number + 1, position));
        }
        drawn.sort_unstable();
        Points { drawn, next: 0, count: 0 }
    }

    /// How many numbers the tuple has.
    pub(super) const fn len(&self) -> u32 {
        self.drawn.len() as u32
    }

    /// Counts one more, and answers with the position in the tuple if the new count is one of its numbers.
    pub(super) fn advance(&mut self) -> Option<u32> {
        self.count = self.count.saturating_add(1);
        let &(number, position) = self.drawn.get(self.next)?;
        if number != self.count {
            return None;
        }
        self.next += 1;
        Some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tuple in its own order.
    fn tuple(points: &Points) -> Vec<u32> {
        let mut tuple = points.drawn.clone();
        tuple.sort_by_key(|&(_, position)| position);
        tuple.into_iter().map(|(number, _)| number).collect()
    }

    /// Of the 12 ordered pairs of distinct numbers of [1,4], each has probability 1/12. 12,000 draws: binomial
    /// with mean 1000 and σ ≈ 30.3; 6σ ≈ 182.
    #[test]
    fn every_tuple_is_as_likely() {
        let mut rng = Rng::new(11);
        let mut counts: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for _ in 0..12_000 {
            *counts.entry(tuple(&Points::draw(&mut rng, 2, 4))).or_default() += 1;
        }
        assert_eq!(counts.len(), 12);
        assert!(counts.values().all(|&c| c.abs_diff(1000) < 182), "{counts:?}");
    }

    #[test]
    fn a_range_that_is_too_small_gives_all_of_it() {
        let points = Points::draw(&mut Rng::new(5), 9, 3);
        let mut numbers = tuple(&points);
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3]);
        assert_eq!(Points::draw(&mut Rng::new(5), 3, 0).len(), 0);
        // The range is never laid out in memory.
        assert_eq!(Points::draw(&mut Rng::new(5), 3, u32::MAX).len(), 3);
    }

    #[test]
    fn the_counter_meets_each_number_once() {
        let mut points = Points::draw(&mut Rng::new(5), 3, 10);
        let expected = tuple(&points);
        for count in 1..=20 {
            let position = expected.iter().position(|&number| number == count).map(|p| p as u32);
            assert_eq!(points.advance(), position, "at {count}");
        }
    }
}
