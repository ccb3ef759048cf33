//! When bytes without a history were last written by what is only told: a copy by the C library, the kernel.
//!
//! Such a store is no event, and memory shows it at once. Under TSO, where stores become visible in their order, whoever
//! reads it has seen all stores before it: so it has a place in the log, its *stamp*, like any other.

use alloc::collections::BTreeMap;

/// The most ranges that are told apart. When there are more, all memory counts as written now: that takes away weak
/// behaviour and invents none.
const MOST: usize = 1 << 16;

/// Ranges of addresses and their stamps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unlogged {
    /// By their beginning: their end, and when they were written. They do not overlap.
    ranges: BTreeMap<u64, (u64, u64)>,
    /// Everything was written by then.
    all: u64,
}

impl Unlogged {
    pub(crate) fn clear(&mut self) {
        *self = Unlogged::default();
    }

    /// The bytes from `start` to `end` were written; `stamp` is later than all before.
    pub(crate) fn write(&mut self, start: u64, end: u64, stamp: u64) {
        if start >= end {
            return;
        }
        // What begins before it may reach into it, and what begins inside may reach beyond it.
        if let Some((&before, &(old_end, old))) = self.ranges.range(..start).next_back()
            && old_end > start
        {
            self.ranges.insert(before, (start, old));
            if old_end > end {
                self.ranges.insert(end, (old_end, old));
            }
        }
        while let Some((&inside, &(old_end, old))) = self.ranges.range(start..end).next() {
            self.ranges.remove(&inside);
            if old_end > end {
                self.ranges.insert(end, (old_end, old));
            }
        }
        self.ranges.insert(start, (end, stamp));
        if self.ranges.len() > MOST {
            self.ranges.clear();
            self.all = stamp;
        }
    }

    /// When the last of the bytes from `start` to `end` was written; 0: never.
    pub(crate) fn newest(&self, start: u64, end: u64) -> u64 {
        let before = self.ranges.range(..start).next_back().filter(|(_, (old_end, _))| *old_end > start);
        let inside = self.ranges.range(start..end.max(start));
        before.into_iter().chain(inside).map(|(_, &(_, stamp))| stamp).max().unwrap_or(0).max(self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::vec;

    /// Against one stamp for each byte.
    #[test]
    fn ranges_are_as_bytes() {
        let mut rng = Rng::new(1);
        let mut bytes = vec![0; 64];
        let mut unlogged = Unlogged::default();
        for stamp in 1..2000 {
            let start = rng.below(64);
            let end = start + rng.below(65 - start);
            unlogged.write(start as u64, end as u64, stamp);
            bytes[start..end].fill(stamp);
            let from = rng.below(64);
            let to = from + 1 + rng.below(64 - from);
            let newest = bytes[from..to].iter().copied().max().unwrap();
            assert_eq!(unlogged.newest(from as u64, to as u64), newest, "{from}..{to} after {stamp}");
        }
        assert_eq!(unlogged.newest(64, u64::MAX), 0);
    }

    #[test]
    fn many_ranges_are_everything() {
        let mut unlogged = Unlogged::default();
        for number in 0..=MOST as u64 {
            unlogged.write(2 * number, 2 * number + 1, number + 1);
        }
        assert!(unlogged.ranges.is_empty());
        assert_eq!(unlogged.newest(u64::MAX - 1, u64::MAX), MOST as u64 + 1);
        unlogged.clear();
        assert_eq!(unlogged.newest(0, u64::MAX), 0);
    }
}
