//! Stores become visible in finite time: a thread does not read the same old store for ever.
//!
//! A thread that spins reads the newest stores (see `spin.rs`). Some loops are not recognised as spinning, because
//! they do something else in each round: they take and give back a lock, or count. There a strategy that likes old
//! stores would let the thread wait for ever for what has long happened. So reads of one old store are counted, and
//! after [`PATIENCE`] of them in a row the newest is read. That only takes choices away, of executions that no
//! implementation would show.

use crate::op::Place;
use alloc::vec::Vec;

/// How often a thread may read the same old store in a row.
const PATIENCE: u32 = 64;

/// How many places are remembered for each thread: those of the loops it is in.
const PLACES: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Old {
    at: Place,
    stamp: u64,
    reads: u32,
}

/// Old stores that a thread has read lately, least recently read first.
#[derive(Clone, Debug, Default)]
pub(super) struct Stale(Vec<Old>);

impl Stale {
    /// Whether the thread has read an old store here often enough.
    pub(super) fn is_enough(&self, at: Place) -> bool {
        self.0.iter().any(|old| old.at == at && old.reads >= PATIENCE)
    }

    /// The thread reads this store here; `old` if there is a newer one.
    pub(super) fn read(&mut self, at: Place, stamp: u64, old: bool) {
        let known = self.0.iter().position(|other| other.at == at).map(|index| self.0.remove(index));
        if !old {
            return;
        }
        let reads = known.filter(|known| known.stamp == stamp).map_or(0, |known| known.reads);
        if self.0.len() == PLACES {
            self.0.remove(0);
        }
        self.0.push(Old { at, stamp, reads: reads + 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Addr;

    fn place(number: u64) -> Place {
        Place::new(Addr(number * 8), 8)
    }

    #[test]
    fn the_same_old_store_is_read_a_number_of_times() {
        let mut stale = Stale::default();
        for _ in 0..PATIENCE {
            assert!(!stale.is_enough(place(0)));
            stale.read(place(0), 5, true);
            stale.read(place(1), 6, true);
        }
        assert!(stale.is_enough(place(0)) && stale.is_enough(place(1)) && !stale.is_enough(place(2)));
        stale.read(place(0), 7, true);
        assert!(!stale.is_enough(place(0)), "another store is progress");
        stale.read(place(1), 9, false);
        assert!(!stale.is_enough(place(1)), "it has seen the newest");
    }

    #[test]
    fn few_places_are_remembered() {
        let mut stale = Stale::default();
        for number in 0..100 {
            stale.read(place(number), 1, true);
        }
        assert_eq!(stale.0.len(), PLACES);
    }
}
