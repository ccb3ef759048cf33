//! Memory orders: a partial order, not a ladder.
//!
//! `Acquire` and `Release` are incomparable, so [`Order`] has no `Ord` and its `PartialOrd` can answer `None`.
//! Each order is the set of guarantees it gives; `a <= b` is inclusion of these sets.

use core::cmp::Ordering;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The C11 memory order of an access or a fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Not atomic: subject to data races.
    Na,
    /// Atomic, orders nothing.
    Relaxed,
    /// A load (or fence) that receives what a release published.
    Acquire,
    /// A store (or fence) that publishes what its thread knows.
    Release,
    /// Both, for read-modify-writes and fences.
    AcqRel,
    /// Both, and part of the single total order.
    SeqCst,
}

impl Order {
    /// Every order, weakest first (one of the linearisations).
    pub const ALL: [Order; 6] =
        [Order::Na, Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];

    /// Guarantees as bits: atomic, acquire, release, sequentially consistent.
    const fn guarantees(self) -> u8 {
        match self {
            Order::Na => 0b0000,
            Order::Relaxed => 0b0001,
            Order::Acquire => 0b0011,
            Order::Release => 0b0101,
            Order::AcqRel => 0b0111,
            Order::SeqCst => 0b1111,
        }
    }

    /// Whether this order is ⊒ `ACQ`.
    pub const fn acquires(self) -> bool {
        self.guarantees() & 0b0010 != 0
    }

    /// Whether this order is ⊒ `REL`.
    pub const fn releases(self) -> bool {
        self.guarantees() & 0b0100 != 0
    }

    /// Whether this is `SC`.
    pub const fn is_sc(self) -> bool {
        matches!(self, Order::SeqCst)
    }

    /// Whether an access of this order is atomic at all.
    pub const fn is_atomic(self) -> bool {
        !matches!(self, Order::Na)
    }

    /// The name used in reports and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Na => "na",
            Order::Relaxed => "relaxed",
            Order::Acquire => "acquire",
            Order::Release => "release",
            Order::AcqRel => "acq_rel",
            Order::SeqCst => "seq_cst",
        }
    }
}

impl PartialOrd for Order {
    fn partial_cmp(&self, other: &Order) -> Option<Ordering> {
        let (a, b) = (self.guarantees(), other.guarantees());
        match (a & b == a, a & b == b) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acquire_and_release_are_incomparable() {
        assert_eq!(Order::Acquire.partial_cmp(&Order::Release), None);
        assert!(Order::AcqRel > Order::Acquire && Order::AcqRel > Order::Release);
        assert!(Order::SeqCst > Order::AcqRel && Order::Relaxed > Order::Na);
    }

    #[test]
    fn the_queries_agree_with_the_order() {
        for order in Order::ALL {
            assert_eq!(order.acquires(), order >= Order::Acquire);
            assert_eq!(order.releases(), order >= Order::Release);
            assert_eq!(order.is_sc(), order >= Order::SeqCst);
            assert_eq!(order.is_atomic(), order >= Order::Relaxed);
        }
    }
}
