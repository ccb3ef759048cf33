//! What the executed code's orders and fences are known by: the ledger of a campaign.
//!
//! An engine notes each instruction when it first meets it. Executions hand over what is new since the last one, and a
//! campaign joins what its executions have handed over: that is the same for any number of workers.

use std::collections::{BTreeMap, BTreeSet};
use wmtrace_decoder::effect::Arch;
use wmtrace_decoder::orders::{Atomic, OrderInfo, Source};

/// How well an order, or the place of a fence, is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Standing {
    /// Somebody states it.
    Known,
    /// Nobody does: the policy, or the instruction set, decides.
    Policy,
    /// It was given more order than perhaps was asked for.
    Strengthened,
}

impl Standing {
    /// Of an access, or of a fence that is an instruction.
    pub(crate) fn of(info: &OrderInfo, arch: Arch) -> Standing {
        match info.atomic {
            Atomic::No => Standing::Known,
            _ if info.strengthened.is_some() => Standing::Strengthened,
            Atomic::Yes if info.from.states(arch) => Standing::Known,
            Atomic::Yes | Atomic::Unsure => Standing::Policy,
        }
    }

    /// Of a fence without an instruction: its place counts, too.
    pub(crate) fn of_fence(info: &OrderInfo) -> Standing {
        let sure = info.strengthened.is_none() && info.from != Source::Policy;
        if sure { Standing::Known } else { Standing::Strengthened }
    }

    /// The name in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Standing::Known => "sure",
            Standing::Policy => "policy",
            Standing::Strengthened => "strengthened",
        }
    }
}

/// An access or fence of the program, and how well it is known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Evidence {
    pub(crate) module: String,
    pub(crate) offset: u64,
    /// Which one of the instruction's.
    pub(crate) number: usize,
    /// A fence without an instruction.
    pub(crate) fence: bool,
    pub(crate) standing: Standing,
}

/// What an engine has noted and not handed over yet.
#[derive(Default, Debug)]
pub(super) struct Notes(Vec<Evidence>);

impl Notes {
    /// An instruction is met for the first time.
    pub(super) fn meet(
        &mut self,
        (module, offset): (&str, u64),
        arch: Arch,
        orders: &[OrderInfo],
        before: &[OrderInfo],
        uncertain: bool,
    ) {
        let mut note = |number: usize, fence: bool, standing: Standing| {
            self.0.push(Evidence { module: module.to_owned(), offset, number, fence, standing });
        };
        for (number, info) in orders.iter().enumerate().filter(|(_, info)| info.atomic != Atomic::No) {
            note(number, false, Standing::of(info, arch));
        }
        for (number, info) in before.iter().enumerate() {
            note(number, true, Standing::of_fence(info));
        }
        if uncertain {
            note(before.len(), true, Standing::Strengthened);
        }
    }

    pub(super) fn take(&mut self) -> Vec<Evidence> {
        std::mem::take(&mut self.0)
    }
}

/// How many of a kind there are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) known: usize,
    pub(crate) policy: usize,
    pub(crate) strengthened: usize,
}

/// The joined evidence of a campaign.
#[derive(Default, Debug)]
pub(crate) struct Ledger {
    seen: BTreeSet<Evidence>,
    /// The files that code ran from, by path, and whether each was under the model.
    pub(crate) modules: BTreeMap<String, bool>,
}

impl Ledger {
    pub(crate) fn add(&mut self, evidence: Vec<Evidence>) {
        self.seen.extend(evidence);
    }

    /// Of the accesses, or of the fences without an instruction.
    pub(crate) fn tally(&self, fences: bool) -> Tally {
        self.tally_of(|evidence| evidence.fence == fences)
    }

    /// Whether somebody states an order of a file's accesses, or there are none.
    pub(crate) fn is_known(&self, module: &str) -> bool {
        let tally = self.tally_of(|evidence| !evidence.fence && evidence.module == module);
        tally.known + tally.strengthened > 0 || tally.policy == 0
    }

    fn tally_of(&self, counts: impl Fn(&Evidence) -> bool) -> Tally {
        let mut tally = Tally::default();
        for evidence in self.seen.iter().filter(|evidence| counts(evidence)) {
            match evidence.standing {
                Standing::Known => tally.known += 1,
                Standing::Policy => tally.policy += 1,
                Standing::Strengthened => tally.strengthened += 1,
            }
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(offset: u64, fence: bool, standing: Standing) -> Evidence {
        Evidence { module: "/bin/a".into(), offset, number: 0, fence, standing }
    }

    #[test]
    fn what_several_workers_hand_over_counts_once() {
        let mut ledger = Ledger::default();
        ledger.add(vec![evidence(1, false, Standing::Known), evidence(2, false, Standing::Policy)]);
        ledger.add(vec![evidence(1, false, Standing::Known), evidence(2, true, Standing::Strengthened)]);
        assert_eq!(ledger.tally(false), Tally { known: 1, policy: 1, strengthened: 0 });
        assert_eq!(ledger.tally(true), Tally { known: 0, policy: 0, strengthened: 1 });
        assert!(ledger.is_known("/bin/a") && ledger.is_known("/lib/b"));
    }
}
