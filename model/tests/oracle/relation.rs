//! Binary relations over the events of one candidate, as naive boolean matrices: one row of bits an event.
//!
//! No cleverness on purpose. Every axiom of the oracle is written with these operators as the papers write it,
//! and every operator is the textbook loop.

use std::ops::{BitAnd, BitOr, Sub};

/// How many events a candidate can have, initial writes included.
pub(crate) const MAX_EVENTS: usize = 32;

/// A set of events, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Set(u64);

impl Set {
    pub(crate) fn insert(&mut self, event: usize) {
        assert!(event < MAX_EVENTS);
        self.0 |= 1 << event;
    }

    pub(crate) fn contains(self, event: usize) -> bool {
        self.0 >> event & 1 == 1
    }

    /// The members.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let next = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            (next < 64).then_some(next)
        })
    }

    /// `[S]`: the identity on the set.
    pub(crate) fn identity(self) -> Relation {
        let mut identity = Relation::default();
        for a in self.iter() {
            identity.insert(a, a);
        }
        identity
    }

    /// `S × T`.
    pub(crate) fn times(self, other: Set) -> Relation {
        let mut product = Relation::default();
        for a in self.iter() {
            product.rows[a] = other.0;
        }
        product
    }
}

impl BitOr for Set {
    type Output = Set;
    fn bitor(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }
}

impl BitAnd for Set {
    type Output = Set;
    fn bitand(self, other: Set) -> Set {
        Set(self.0 & other.0)
    }
}

impl Sub for Set {
    type Output = Set;
    fn sub(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }
}

/// A set of pairs of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Relation {
    rows: [u64; MAX_EVENTS],
}

impl Relation {
    pub(crate) fn insert(&mut self, a: usize, b: usize) {
        assert!(a < MAX_EVENTS && b < MAX_EVENTS);
        self.rows[a] |= 1 << b;
    }

    pub(crate) fn remove(&mut self, a: usize, b: usize) {
        self.rows[a] &= !(1 << b);
    }

    pub(crate) fn contains(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    /// The events that `a` is related to.
    pub(crate) fn successors(&self, a: usize) -> Set {
        Set(self.rows[a])
    }

    /// `r⁻¹`.
    pub(crate) fn inverse(&self) -> Relation {
        let mut inverse = Relation::default();
        for a in 0..MAX_EVENTS {
            for b in self.successors(a).iter() {
                inverse.insert(b, a);
            }
        }
        inverse
    }

    /// `r ; s`.
    pub(crate) fn then(&self, other: &Relation) -> Relation {
        let mut composed = Relation::default();
        for a in 0..MAX_EVENTS {
            for b in self.successors(a).iter() {
                composed.rows[a] |= other.rows[b];
            }
        }
        composed
    }

    /// `r⁺` (Warshall).
    pub(crate) fn plus(&self) -> Relation {
        let mut closure = *self;
        for via in 0..MAX_EVENTS {
            for a in 0..MAX_EVENTS {
                if closure.contains(a, via) {
                    closure.rows[a] |= closure.rows[via];
                }
            }
        }
        closure
    }

    /// `r?`, on all events.
    pub(crate) fn or_same(&self) -> Relation {
        let mut reflexive = *self;
        for a in 0..MAX_EVENTS {
            reflexive.insert(a, a);
        }
        reflexive
    }

    /// `r*`, on all events.
    pub(crate) fn star(&self) -> Relation {
        self.plus().or_same()
    }

    pub(crate) fn is_irreflexive(&self) -> bool {
        (0..MAX_EVENTS).all(|a| !self.contains(a, a))
    }

    pub(crate) fn is_acyclic(&self) -> bool {
        self.plus().is_irreflexive()
    }
}

impl BitOr for Relation {
    type Output = Relation;
    fn bitor(self, other: Relation) -> Relation {
        Relation { rows: std::array::from_fn(|a| self.rows[a] | other.rows[a]) }
    }
}

impl BitAnd for Relation {
    type Output = Relation;
    fn bitand(self, other: Relation) -> Relation {
        Relation { rows: std::array::from_fn(|a| self.rows[a] & other.rows[a]) }
    }
}

impl Sub for Relation {
    type Output = Relation;
    fn sub(self, other: Relation) -> Relation {
        Relation { rows: std::array::from_fn(|a| self.rows[a] & !other.rows[a]) }
    }
}
