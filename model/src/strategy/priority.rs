//! Who goes first: priorities for the strategies that rank agents, and the table that holds them.
//!
//! PCT and PCTWM describe a list of threads with a few positions kept free at the low end, and insert a new
//! thread at a random position above those. A uniform random key per agent gives the same distribution without
//! a list: the order of independent uniform keys is a uniform permutation, and a later key falls into a uniform
//! gap of it. Two equal keys (probability 2⁻⁶³ a pair) go by the order of the offer, as every tie here does.

use super::Choice;
use crate::op::Agent;
use crate::rng::Rng;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A rank: the greatest that is enabled runs. There are three bands, from the top: normal, held, reserved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Priority(u64);

impl Priority {
    /// A random rank in the band of agents that nothing has lowered.
    pub(super) fn normal(rng: &mut Rng) -> Priority {
        Priority(1 << 63 | rng.bits() >> 1)
    }

    /// A random rank of that band below this one.
    pub(super) fn below(self, rng: &mut Rng) -> Priority {
        let room = self.0 & !(1 << 63);
        Priority(1 << 63 | ((u128::from(rng.bits()) * u128::from(room)) >> 64) as u64)
    }

    /// A random rank below every normal one and above every reserved one.
    pub(super) fn held(rng: &mut Rng) -> Priority {
        Priority(1 << 62 | rng.bits() >> 2)
    }

    /// The reserved rank with this number; a greater number runs first.
    pub(super) const fn reserved(number: u32) -> Priority {
        Priority(number as u64)
    }
}

/// The index of the choice with the greatest key, the first of equals. Asks for the keys in the order of
/// `enabled`, so that keys which are drawn on the way are drawn in that order.
pub(super) fn highest<K: Ord>(enabled: &[Choice], mut key: impl FnMut(&Choice) -> K) -> usize {
    let mut best = (key(&enabled[0]), 0);
    for (index, choice) in enabled.iter().enumerate().skip(1) {
        let key = key(choice);
        if key > best.0 {
            best = (key, index);
        }
    }
    best.1
}

/// A table keyed by agent: threads, which are few and dense, in an array; buffers, which only PSO and PSLO
/// have, in a tree. (A hash table would be as good for the latter; it is never on a path that matters.)
#[derive(Clone, Debug)]
pub(super) struct AgentMap<T> {
    threads: Vec<Option<T>>,
    buffers: BTreeMap<Agent, T>,
}

impl<T> AgentMap<T> {
    /// An empty table.
    pub(super) const fn new() -> AgentMap<T> {
        AgentMap { threads: Vec::new(), buffers: BTreeMap::new() }
    }

    /// What the table says of the agent, if anything.
    pub(super) fn get(&self, agent: Agent) -> Option<&T> {
        match agent {
            Agent::Thread(thread) => self.threads.get(thread.index())?.as_ref(),
            Agent::Buffer(..) => self.buffers.get(&agent),
        }
    }

    /// What the table says of the agent, after `first` if it said nothing.
    pub(super) fn entry(&mut self, agent: Agent, first: impl FnOnce() -> T) -> &mut T {
        match agent {
            Agent::Thread(thread) => {
                if self.threads.len() <= thread.index() {
                    self.threads.resize_with(thread.index() + 1, || None);
                }
                self.threads[thread.index()].get_or_insert_with(first)
            }
            Agent::Buffer(..) => self.buffers.entry(agent).or_insert_with(first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bands_do_not_mix() {
        let mut rng = Rng::new(3);
        for _ in 0..1000 {
            let (normal, held) = (Priority::normal(&mut rng), Priority::held(&mut rng));
            assert!(normal > held && held > Priority::reserved(u32::MAX));
        }
    }
}
