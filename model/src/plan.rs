//! What each execution of a campaign is to be: its seed, its strategy and the strategy's parameters.
//!
//! The papers ask their users for the depth `d` and for the lengths `k` and `k_com`. Here each may be left out.
//!
//! - `k` and `k_com` are then the largest of the last [`WINDOW`] executions' ([`Plan::observe`]): the largest,
//!   because a change point beyond the end of an execution is wasted, but one that is never drawn can never find
//!   its bug; the last ones, because one long execution should not dilute all that follow. Before anything was
//!   observed they are [`FIRST_K`] and [`FIRST_K_COM`].
//! - `d` then goes round the depths 0, 1, 2, 3 and 8 with weights 1 : 2 : 2 : 2 : 3. Depth 0 has few executions (one
//!   for each order of the threads), so it needs few tries, and comes first: it needs no `k_com`, and tells it. Depth `d`
//!   needs in the order of `k_com^d` of them; equal weights cost at most a factor of five against knowing the depth, if
//!   it is at most 3. Depth 8 is for short programs (of the papers' benchmarks, most show their bug more often with eight
//!   sinks than with the few that it needs). PCT has no depth 0 and takes 1 for it.
//!
//! A *mixed* campaign (`wmtrace PROGRAM` without a strategy and a depth) gives part of its executions to other
//! strategies, because none is good at everything. Chances of the papers' benchmarks are in the README.
//!
//! - The *opening*, twelve executions, asks two questions that nobody can answer beforehand: do threads have to hear of each
//!   other in many places, or in none; and does one of them have to hear of something late? There are four answers, and the
//!   first four executions give one each: a random walk, aimed at depth 0 (below), an aimed walk, depth 0. The random walk
//!   comes first, because it shows where to aim, and because it has some chance of everything in a
//!   program of a few dozen events, which is what a unit test has: if `e` events of each of a few threads matter, it takes the
//!   right turn at each of them with a probability that does not depend on anything else in the program (20 % to 95 % for the
//!   papers' benchmarks). The others come in the order of what earlier ones have little chance of: a load that is late while
//!   nothing else is heard (a walk's falls with 2⁻ⁿ), one that is late among others, and none. Depth 0 has few
//!   executions, and is not repeated; the other three are.
//! - After that, of 16 executions 8 are the campaign's own (pctwm), 3 are aimed, 2 are placewm's, 2 are skewed and 1 is
//!   random.
//!   A bug of depth `d` in 1, 2, 3 is found in each of these 16 with at least 8/16 · 2/10 = 1/10 of PCTWM's chance at
//!   that depth, `1/(h·k_com)^d`: a factor of ten against knowing the strategy and the depth, whatever the program's
//!   length. placewm's chance depends on the number of places that threads share instead of `k_com`: its depth goes round
//!   from 1 to the logarithm of half of `k_com`, since there are not more such places. Skewed is for bugs that need a
//!   thread to be slow in more than one place: its chance of being late by `n` steps falls with (32/33)ⁿ, not 2⁻ⁿ.
//!
//! *Aimed* executions use what earlier ones have shown: where threads meet ([`Meeting`]). Each has one sink, the loads of
//! one thread at one place ([`Aimed`](crate::strategy::Aimed)); by turns, all else is depth 0 or a random walk. In each of the
//! two the places have their turns: those come first of which least is known, that is, where
//! a thread could have read what it had not heard of and has not yet, and among these those where some load does not
//! acquire, because what is read there may be all that the thread hears. A bug that needs one such load, with `m` meetings,
//! is tried for in the first `2m` aimed executions, however long the program is; placewm draws the place with probability
//! `1/(e·p)` in each.
//!
//! Nothing is random: what is planned follows from what was given and observed.

use crate::op::{Addr, ThreadId};
use crate::rng::Rng;
use crate::strategy::{Aim, Meeting, Parameters, StrategyKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// How many executions the estimates of `k` and `k_com` look back.
pub const WINDOW: usize = 16;

/// `k` before the first observation: about what the papers' benchmarks have.
pub const FIRST_K: u32 = 64;

/// `k_com` before the first observation.
pub const FIRST_K_COM: u32 = 32;

/// The depths of successive executions when none was asked for.
const DEPTHS: [u32; 10] = [0, 2, 8, 1, 3, 8, 2, 1, 3, 8];

/// Who an execution of a mixed campaign belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    /// The campaign's own strategy.
    Own,
    /// This one.
    Of(StrategyKind),
    /// With one sink: at depth 0 and in a walk by turns.
    Aimed,
}

const OWN: Turn = Turn::Own;
const RANDOM: Turn = Turn::Of(StrategyKind::Random);
const SKEWED: Turn = Turn::Of(StrategyKind::Skewed);
const PLACES: Turn = Turn::Of(StrategyKind::PlaceWm);
const AIMED: Turn = Turn::Aimed;

/// The first executions of a mixed campaign.
const OPENING: [Turn; 12] =
    [RANDOM, AIMED, AIMED, OWN, RANDOM, AIMED, RANDOM, AIMED, RANDOM, AIMED, RANDOM, AIMED];

/// All others go round these.
const ROUND: [Turn; 16] =
    [OWN, AIMED, OWN, SKEWED, OWN, PLACES, OWN, AIMED, OWN, SKEWED, OWN, PLACES, OWN, AIMED, OWN, RANDOM];

/// Who execution `index` belongs to, and how many before it did.
fn turn(index: u64) -> (Turn, u64) {
    let opening = OPENING.len() as u64;
    let at = |index: u64| match index.checked_sub(opening) {
        None => OPENING[index as usize],
        Some(later) => ROUND[(later % ROUND.len() as u64) as usize],
    };
    let turn = at(index);
    let count = |from: u64, to: u64| (from..to).filter(|&index| at(index) == turn).count() as u64;
    let round = ROUND.len() as u64;
    let before = match index.checked_sub(opening) {
        None => count(0, index),
        Some(later) => {
            let whole = later / round;
            count(0, opening) + whole * count(opening, opening + round) + count(index - later % round, index)
        }
    };
    (turn, before)
}

/// What was seen of an execution.
#[derive(Clone, Copy, Debug)]
struct Observed {
    events: u32,
    communications: u32,
}

/// The plan of a campaign.
#[derive(Clone, Debug)]
pub struct Plan {
    kind: StrategyKind,
    /// Whether other strategies take part.
    mixed: bool,
    depth: Option<u32>,
    k: Option<u32>,
    k_com: Option<u32>,
    history: u32,
    eager: bool,
    seed: u64,
    /// The number of the next execution.
    next: u64,
    /// The last observations, in a ring.
    observed: [Option<Observed>; WINDOW],
    /// Where the next one goes.
    slot: usize,
    /// Where threads have met, as they were seen.
    targets: Vec<Target>,
    /// By thread and place: which of them it is.
    known: BTreeMap<(ThreadId, Addr), usize>,
}

/// A place where a thread meets others, and what was made of it.
#[derive(Clone, Copy, Debug)]
struct Target {
    meeting: Meeting,
    /// How many executions at depth 0, and how many walks, were aimed at it.
    tries: [u32; 2],
}

/// The most places that are remembered.
const TARGETS: usize = 4096;

/// An execution to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Planned {
    /// Its number in the campaign, from 0.
    pub index: u64,
    /// Its own seed.
    pub seed: u64,
    /// The strategy that chooses.
    pub strategy: StrategyKind,
    /// The strategy's parameters.
    pub parameters: Parameters,
}

impl Plan {
    /// A campaign with this strategy and seed; `None` lets the plan choose.
    pub const fn new(
        kind: StrategyKind,
        depth: Option<u32>,
        k: Option<u32>,
        k_com: Option<u32>,
        history: u32,
        seed: u64,
    ) -> Plan {
        Plan {
            kind,
            mixed: false,
            depth,
            k,
            k_com,
            history,
            eager: false,
            seed,
            next: 0,
            observed: [None; WINDOW],
            slot: 0,
            targets: Vec::new(),
            known: BTreeMap::new(),
        }
    }

    /// Lets other strategies take part, in the executions that `OPENING` and `ROUND` give to them.
    #[must_use]
    pub const fn mixed(mut self) -> Plan {
        self.mixed = true;
        self
    }

    /// Stores that every reader may overlook need not wait: c11 with insertion.
    #[must_use]
    pub const fn eager(mut self, eager: bool) -> Plan {
        self.eager = eager;
        self
    }

    /// The next execution.
    pub fn next_execution(&mut self) -> Planned {
        let index = self.next;
        self.next += 1;
        let k_com = self.k_com.unwrap_or_else(|| self.largest(|o| o.communications, FIRST_K_COM));
        let seed = Rng::seed_of(self.seed, index);
        let (strategy, turn) = self.turn(index, k_com);
        let aim = turn.err().and_then(|walk| self.aim(seed, walk));
        let parameters = Parameters {
            depth: turn.unwrap_or(u32::from(aim.is_none())),
            k: self.k.unwrap_or_else(|| self.largest(|o| o.events, FIRST_K)),
            k_com,
            history: self.history,
            eager: self.eager,
            aim,
        };
        Planned { index, seed, strategy, parameters }
    }

    /// An execution had so many steps, and so many communication events.
    pub const fn observe(&mut self, events: u32, communications: u32) {
        self.observed[self.slot] = Some(Observed { events, communications });
        self.slot = (self.slot + 1) % WINDOW;
    }

    /// Threads have met here.
    pub fn met(&mut self, meetings: &[Meeting]) {
        for &meeting in meetings {
            let next = self.targets.len();
            match self.known.get(&(meeting.thread, meeting.addr)) {
                Some(&known) => {
                    let Target { meeting: target, tries } = &mut self.targets[known];
                    // Who is aimed at hears, and the try is counted already.
                    target.heard |= meeting.heard && *tries == [0; 2];
                    target.relaxed |= meeting.relaxed;
                }
                None if next < TARGETS => {
                    self.known.insert((meeting.thread, meeting.addr), next);
                    self.targets.push(Target { meeting, tries: [0; 2] });
                }
                None => {}
            }
        }
    }

    /// What to aim at: any of those with the fewest tries. Where something was heard, that counts as two; where all loads
    /// acquire, as one.
    fn aim(&mut self, seed: u64, walk: bool) -> Option<Aim> {
        let kind = usize::from(walk);
        let cost =
            |it: &Target| it.tries[kind] + 2 * u32::from(it.meeting.heard) + u32::from(!it.meeting.relaxed);
        let least = self.targets.iter().map(cost).min()?;
        let mut rng = Rng::new(!seed);
        let mut best: Vec<&mut Target> = self.targets.iter_mut().filter(|it| cost(it) == least).collect();
        let chosen = rng.below(best.len());
        let target = &mut *best[chosen];
        let Meeting { thread, addr, .. } = target.meeting;
        let tries = &mut target.tries[kind];
        // The first load may not be the one that matters.
        let skip = rng.below(*tries as usize + 1) as u32;
        let first = tries.is_multiple_of(2);
        *tries += 1;
        Some(Aim { thread, addr, skip, first, walk })
    }

    /// The strategy and the depth of an execution of the campaign, 0 for strategies that have none; of one that is aimed,
    /// whether it is a walk.
    fn turn(&self, index: u64, k_com: u32) -> (StrategyKind, Result<u32, bool>) {
        let walks = |number: u64| Err(!number.is_multiple_of(2));
        let (kind, number) = match (self.mixed, turn(index)) {
            (true, (Turn::Aimed, number)) => return (StrategyKind::PlaceWm, walks(number)),
            (true, (Turn::Of(kind), number)) => (kind, number),
            // The executions of the campaign's own strategy go on as if there were no others.
            (true, (Turn::Own, number)) => (self.kind, number),
            // Alone, it takes turns with itself.
            (false, _) if self.kind == StrategyKind::PlaceWm && self.depth.is_none() => match index % 2 {
                0 => (self.kind, index / 2),
                _ => return (self.kind, walks(index / 2)),
            },
            (false, _) => (self.kind, index),
        };
        let round = self.depth.unwrap_or(DEPTHS[(number % DEPTHS.len() as u64) as usize]);
        let depth = match kind {
            StrategyKind::Pctwm => round,
            StrategyKind::Pct => round.max(1),
            // A place that threads share is accessed at least twice: there are no more than half as many as events.
            StrategyKind::PlaceWm => {
                self.depth.unwrap_or(1 + (number % u64::from((k_com / 2).max(8).ilog2())) as u32)
            }
            StrategyKind::Random
            | StrategyKind::Skewed
            | StrategyKind::BasicPos
            | StrategyKind::Pos
            | StrategyKind::BasicPosWm
            | StrategyKind::PosWm => 0,
        };
        (kind, Ok(depth))
    }

    /// The largest observed lately, at least 1; `first` if nothing was.
    fn largest(&self, of: impl Fn(&Observed) -> u32, first: u32) -> u32 {
        self.observed.iter().flatten().map(of).max().unwrap_or(first).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn plan(kind: StrategyKind) -> Plan {
        Plan::new(kind, None, None, None, 2, 9)
    }

    #[test]
    fn what_was_given_stays() {
        let mut plan = Plan::new(StrategyKind::Pctwm, Some(5), Some(70), Some(40), 3, 1);
        for index in 0..30 {
            let parameters = Parameters { depth: 5, k: 70, k_com: 40, history: 3, eager: false, aim: None };
            assert_eq!(
                plan.next_execution(),
                Planned { index, seed: Rng::seed_of(1, index), strategy: StrategyKind::Pctwm, parameters }
            );
            plan.observe(1000, 1000);
        }
    }

    #[test]
    fn depths_go_round_with_their_weights() {
        let weights = |kind| {
            let mut plan = plan(kind);
            let planned: Vec<Planned> = (0..1000).map(|_| plan.next_execution()).collect();
            assert!(planned.iter().all(|it| it.strategy == kind));
            [0, 1, 2, 3, 8].map(|depth| planned.iter().filter(|it| it.parameters.depth == depth).count())
        };
        assert_eq!(weights(StrategyKind::Pctwm), [100, 200, 200, 200, 300]);
        assert_eq!(weights(StrategyKind::Pct), [0, 300, 200, 200, 300]);
        assert_eq!(weights(StrategyKind::PosWm), [1000, 0, 0, 0, 0]);
        assert_eq!(plan(StrategyKind::Pctwm).next_execution().parameters.depth, 0, "needs no k_com");
    }

    /// The guarantee of the module's text: after the opening, one in ten is pctwm at each of the depths 1, 2, 3.
    #[test]
    fn a_mixed_campaign_keeps_its_shares() {
        let mut plan = plan(StrategyKind::Pctwm).mixed();
        plan.observe(4000, 2000);
        plan.met(&[meeting(1, 1, true, false)]);
        let planned: Vec<Planned> = (0..12 + 1600).map(|_| plan.next_execution()).collect();
        let (opening, rest) = planned.split_at(12);
        let of = |kind, aimed| {
            rest.iter().filter(|it| (it.strategy, it.parameters.aim.is_some()) == (kind, aimed)).count()
        };
        let kinds = [StrategyKind::Pctwm, StrategyKind::PlaceWm, StrategyKind::Skewed, StrategyKind::Random];
        assert_eq!(kinds.map(|kind| of(kind, false)), [800, 200, 200, 100]);
        assert_eq!(kinds.map(|kind| of(kind, true)), [0, 300, 0, 0]);
        for depth in [1, 2, 3] {
            let at = |it: &&Planned| (it.strategy, it.parameters.depth) == (StrategyKind::Pctwm, depth);
            assert_eq!(rest.iter().filter(at).count(), 160);
        }
        // Half of 2000 places at most: 2⁻⁹ of them is about two.
        let places =
            rest.iter().filter(|it| it.strategy == StrategyKind::PlaceWm && it.parameters.aim.is_none());
        let depths: Vec<u32> = places.map(|it| it.parameters.depth).collect();
        assert_eq!(depths[..10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 1]);
        let own: Vec<u32> = planned
            .iter()
            .filter(|it| it.strategy == StrategyKind::Pctwm)
            .map(|it| it.parameters.depth)
            .collect();
        assert_eq!(own[..10], DEPTHS, "as if there were no others");
        let walks = |it: &Planned| it.parameters.aim.map(|aim| aim.walk);
        let first: Vec<_> = opening[..4].iter().map(|it| (it.strategy, walks(it))).collect();
        let [own, places, _, random] = kinds;
        assert_eq!(first, [(random, None), (places, Some(false)), (places, Some(true)), (own, None)]);
        assert_eq!(opening[3].parameters.depth, 0);
        assert_eq!(opening.iter().filter(|it| it.strategy == StrategyKind::Random).count(), 5);
        let walks = rest.iter().filter(|it| walks(it) == Some(true)).count();
        assert_eq!(walks, 150, "half of those that are aimed");
    }

    fn meeting(thread: u32, addr: u64, relaxed: bool, heard: bool) -> Meeting {
        Meeting { thread: ThreadId(thread), addr: Addr(addr), relaxed, heard }
    }

    /// placewm alone, of which every other execution is aimed: the places of so many that are walks. The others go through
    /// the same places, though not in the same order.
    fn aims(plan: &mut Plan, count: usize) -> Vec<u64> {
        let planned = (0..4 * count).map(|_| plan.next_execution().parameters);
        let aims: Vec<Option<Aim>> = planned.map(|it| it.aim).collect();
        assert!(aims.iter().step_by(2).all(Option::is_none));
        let of = |walk| aims.iter().flatten().filter(move |aim| aim.walk == walk).map(|aim| aim.addr.0);
        let walks: Vec<u64> = of(true).collect();
        assert_eq!(of(false).count(), walks.len());
        walks
    }

    /// Least is known of 1; then come 2, and 1 for the second time; then 3 and 4, too. In the end, all have their turns.
    #[test]
    fn aims_go_where_least_is_known() {
        let mut plan = plan(StrategyKind::PlaceWm);
        assert_eq!(aims(&mut plan, 3), [], "nobody has met");
        plan.met(&[meeting(1, 4, false, true), meeting(1, 3, true, false), meeting(0, 2, false, false)]);
        plan.met(&[meeting(1, 3, false, true), meeting(0, 1, true, false)]);
        assert_eq!(aims(&mut plan, 1), [1]);
        let sorted = |mut aims: Vec<u64>| {
            aims.sort_unstable();
            aims
        };
        assert_eq!(sorted(aims(&mut plan, 2)), [1, 2]);
        assert_eq!(sorted(aims(&mut plan, 3)), [1, 2, 3]);
        assert_eq!(sorted(aims(&mut plan, 4)), [1, 2, 3, 4]);
        plan.met(&[meeting(0, 1, true, true), meeting(1, 5, true, true)]);
        assert_eq!(aims(&mut plan, 2), [5, 5]);
        let later = sorted(aims(&mut plan, 500));
        let counts = [1, 4, 5].map(|place| later.iter().filter(|&&it| it == place).count());
        assert_eq!(counts, [100; 3], "what 1 has heard when it was aimed at does not set it back");
    }

    /// The first time, the thread comes first, and its first load is the sink. After that either may be otherwise.
    #[test]
    fn aims_differ() {
        let mut plan = plan(StrategyKind::PlaceWm);
        plan.met(&[meeting(1, 8, true, false)]);
        let planned: Vec<Parameters> = (0..40).map(|_| plan.next_execution().parameters).collect();
        for walk in [true, false] {
            let aims = planned.iter().filter_map(|it| it.aim).filter(|aim| aim.walk == walk);
            let aims: Vec<Aim> = aims.collect();
            assert_eq!(aims[0], Aim { thread: ThreadId(1), addr: Addr(8), skip: 0, first: true, walk });
            assert!(
                aims.iter()
                    .enumerate()
                    .all(|(tries, aim)| aim.skip as usize <= tries && aim.first == (tries % 2 == 0))
            );
            assert!(aims.iter().any(|aim| aim.skip > 0));
        }
        assert!(planned.iter().all(|it| (it.depth == 0) == it.aim.is_some()));
    }

    #[test]
    fn targets_are_bounded() {
        let mut plan = plan(StrategyKind::PlaceWm);
        for addr in 0..2 * TARGETS as u64 {
            plan.met(&[meeting(1, addr, true, false)]);
        }
        assert_eq!((plan.targets.len(), plan.known.len()), (TARGETS, TARGETS));
        assert!(aims(&mut plan, 100).iter().all(|&addr| addr < TARGETS as u64));
    }

    #[test]
    fn lengths_follow_the_largest_seen_lately() {
        let mut plan = plan(StrategyKind::Pctwm);
        let mut lengths = |observed: &[(u32, u32)]| {
            observed.iter().for_each(|&(events, communications)| plan.observe(events, communications));
            let Parameters { k, k_com, .. } = plan.next_execution().parameters;
            (k, k_com)
        };
        assert_eq!(lengths(&[]), (FIRST_K, FIRST_K_COM));
        assert_eq!(lengths(&[(10, 4)]), (10, 4));
        assert_eq!(lengths(&[(30, 2), (20, 9)]), (30, 9));
        assert_eq!(lengths(&[(5, 1); WINDOW - 2]), (30, 9), "the two are still among the last 16");
        assert_eq!(lengths(&[(5, 1)]), (20, 9));
        assert_eq!(lengths(&[(5, 1)]), (5, 1));
        assert_eq!(lengths(&[(0, 0); WINDOW]), (1, 1), "a range to draw from is never empty");
    }
}
