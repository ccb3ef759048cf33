//! Every execution once: depth-first search over all choices, reduced by sleep sets (Godefroid 1996, ch. 5).
//!
//! The strategy keeps the decisions of the current execution as a stack. The next execution repeats them up to
//! the last one that has an alternative left, takes that, and from there on always the first. So an exploration
//! needs no snapshots: only a program that does the same when the choices are the same.
//!
//! Sleep sets cut executions that only swap independent steps. When all executions that begin with one agent's
//! step have been explored, that agent sleeps while its siblings are; below a sibling it goes on sleeping until a
//! step is taken that its own step [depends](super::dependent) on. If all that could act sleep, what follows was
//! seen before, in another order: [`Pick::Abandon`]. Of the executions that differ in the order of independent
//! steps only (a Mazurkiewicz trace) exactly one runs to its end. Sleep sets never prune a state, and so need
//! nothing to be known about the future; the price is the abandoned prefixes, which a better reduction would
//! avoid.
//!
//! The alternatives of a read (or a place, wake or spurious failure) belong to the step that asks: an agent
//! sleeps after all of them have been explored, and independence means that they stay the same.

use super::{Choice, Pick, ReadChoice, Strategy, dependent};
use crate::op::ModelKind;
use alloc::vec::Vec;

/// A decision of the current execution.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Node {
    /// Who goes next: the offers are `offers[from..from + count]`, and `current` is one of them, from 0.
    Pick { from: usize, count: usize, current: usize },
    /// Any other question: `count` alternatives.
    Value { count: usize, current: usize },
}

/// A step that could be taken at a decision.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Offer {
    choice: Choice,
    /// All executions that go on with it have been explored, here or in another order.
    asleep: bool,
}

/// Explores all executions, one after the other.
///
/// ```text
/// let mut all = Exhaustive::new(model);
/// loop {
///     run(&mut all);
///     if !all.advance() { break }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Exhaustive {
    /// The model whose independence is used; `None`: no reduction.
    model: Option<ModelKind>,
    stack: Vec<Node>,
    /// The offers of the stack's pick nodes, one after the other: a stack too, so that a node allocates nothing.
    offers: Vec<Offer>,
    /// How many decisions of the stack this execution has repeated or made.
    depth: usize,
}

impl Exhaustive {
    /// Explores one execution of every trace of the model.
    pub const fn new(model: ModelKind) -> Exhaustive {
        Exhaustive { model: Some(model), stack: Vec::new(), offers: Vec::new(), depth: 0 }
    }

    /// Explores every interleaving: slow, and with nothing to get wrong. Tests compare with it.
    pub const fn without_reduction() -> Exhaustive {
        Exhaustive { model: None, stack: Vec::new(), offers: Vec::new(), depth: 0 }
    }

    /// After an execution, moves on to the next: `false` if there is none.
    pub fn advance(&mut self) -> bool {
        self.depth = 0;
        while let Some(node) = self.stack.last_mut() {
            match node {
                Node::Value { count, current } => {
                    if *current + 1 < *count {
                        *current += 1;
                        return true;
                    }
                }
                Node::Pick { from, current, .. } => {
                    let offers = &mut self.offers[*from..];
                    offers[*current].asleep = true;
                    if let Some(next) = offers.iter().position(|offer| !offer.asleep) {
                        *current = next;
                        return true;
                    }
                    self.offers.truncate(*from);
                }
            }
            self.stack.pop();
        }
        false
    }

    /// Whether `choice` sleeps at a new decision: it slept at the one before, and the step taken there has nothing
    /// to do with it.
    fn sleeps(&self, model: ModelKind, choice: &Choice) -> bool {
        let before = self.stack.iter().rev().find_map(|node| match *node {
            Node::Pick { from, count, current } => Some((&self.offers[from..from + count], current)),
            Node::Value { .. } => None,
        });
        before.is_some_and(|(offers, current)| {
            offers.iter().any(|offer| offer.asleep && offer.choice.agent == choice.agent)
                && !dependent(model, &offers[current].choice, choice)
        })
    }

    /// The answer to any question but [`Strategy::pick`].
    fn value(&mut self, count: usize) -> usize {
        let node = self.stack.get(self.depth).copied();
        self.depth += 1;
        match node {
            None => {
                self.stack.push(Node::Value { count, current: 0 });
                0
            }
            Some(Node::Value { count: before, current }) if before == count => current,
            Some(other) => {
                panic!("the program is not deterministic: {count} alternatives, before: {other:?}")
            }
        }
    }
}

/// # Panics
/// All methods, when an execution does not offer what an earlier one did after the same choices: the program or
/// the machine is not deterministic, and the exploration would be worth nothing.
impl Strategy for Exhaustive {
    fn name(&self) -> &'static str {
        "exhaustive"
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        let node = self.stack.get(self.depth).copied();
        self.depth += 1;
        match node {
            None => {
                let from = self.offers.len();
                for choice in enabled {
                    let asleep = self.model.is_some_and(|model| self.sleeps(model, choice));
                    self.offers.push(Offer { choice: *choice, asleep });
                }
                match self.offers[from..].iter().position(|offer| !offer.asleep) {
                    Some(current) => {
                        self.stack.push(Node::Pick { from, count: enabled.len(), current });
                        Pick::Take(current)
                    }
                    None => {
                        self.offers.truncate(from);
                        Pick::Abandon
                    }
                }
            }
            Some(Node::Pick { from, count, current }) => {
                let before = self.offers[from..from + count].iter().map(|offer| &offer.choice);
                assert!(before.eq(enabled), "the program is not deterministic: other steps are enabled");
                Pick::Take(current)
            }
            Some(Node::Value { .. }) => panic!("the program is not deterministic: a question is missing"),
        }
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        self.value(read.count)
    }

    fn place(&mut self, _choice: &Choice, count: usize) -> usize {
        self.value(count)
    }

    fn wake(&mut self, count: usize) -> usize {
        self.value(count)
    }

    fn spurious(&mut self, _choice: &Choice) -> bool {
        self.value(2) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;
    use crate::order::Order;
    use crate::rng::Rng;
    use crate::strategy::toy::{End, Outcome, Ran, Toy, at, load, store, weak_cas};
    use alloc::collections::BTreeSet;

    /// Offers the steps in the opposite order. Which of two orders is explored first decides which one a wrong
    /// independence loses.
    struct Reversed(Exhaustive);

    impl Strategy for Reversed {
        fn name(&self) -> &'static str {
            "reversed"
        }
        fn pick(&mut self, enabled: &[Choice]) -> Pick {
            let reversed: Vec<Choice> = enabled.iter().rev().copied().collect();
            match self.0.pick(&reversed) {
                Pick::Take(index) => Pick::Take(enabled.len() - 1 - index),
                other => other,
            }
        }
        fn read(&mut self, read: &ReadChoice) -> usize {
            self.0.read(read)
        }
        fn place(&mut self, choice: &Choice, count: usize) -> usize {
            self.0.place(choice, count)
        }
        fn wake(&mut self, count: usize) -> usize {
            self.0.wake(count)
        }
        fn spurious(&mut self, choice: &Choice) -> bool {
            self.0.spurious(choice)
        }
    }

    /// All complete executions, and how many were abandoned.
    fn explore(toy: &Toy, strategy: Exhaustive, reversed: bool) -> (Vec<Ran>, usize) {
        let (mut complete, mut abandoned) = (Vec::new(), 0);
        let mut strategy = Reversed(strategy);
        loop {
            let ran = if reversed { toy.run(&mut strategy) } else { toy.run(&mut strategy.0) };
            match ran.end {
                End::Finished => complete.push(ran),
                End::Stopped(pick) => {
                    assert_eq!(pick, Pick::Abandon);
                    abandoned += 1;
                }
            }
            if !strategy.0.advance() {
                return (complete, abandoned);
            }
        }
    }

    fn traces(model: ModelKind, program: &[&[Op]]) -> usize {
        explore(&Toy::new(model, program), Exhaustive::new(model), false).0.len()
    }

    #[test]
    fn one_execution_for_every_trace() {
        let same: &[&[Op]] = &[&[store(0); 3], &[store(0); 3]];
        let apart: &[&[Op]] = &[&[store(0); 3], &[store(1); 3]];
        // All orders of the six stores: C(6,3). With places of their own: one, and C(6,3) again where stores
        // share a log.
        assert_eq!(traces(ModelKind::Sc, same), 20);
        assert_eq!(traces(ModelKind::Sc, apart), 1);
        assert_eq!(traces(ModelKind::Tso, apart), 20);
        // A thread and its buffer interleave in Catalan(3) = 5 ways, and the two threads do not meet.
        assert_eq!(traces(ModelKind::Pso, apart), 5 * 5);
        // Three threads of one store each to one place: 3!.
        assert_eq!(traces(ModelKind::Sc, &[&[store(0)], &[store(0)], &[store(0)]]), 6);
        // A store and two loads of it by different threads: each load before or after.
        assert_eq!(traces(ModelKind::Sc, &[&[store(0)], &[load(0)], &[load(0)]]), 4);
    }

    #[test]
    fn without_reduction_every_interleaving_is_explored() {
        let toy = Toy::new(ModelKind::Sc, &[&[store(0); 3], &[store(1); 3]]);
        let (complete, abandoned) = explore(&toy, Exhaustive::without_reduction(), false);
        assert_eq!((complete.len(), abandoned), (20, 0));
        let orders: BTreeSet<Vec<u32>> = complete.iter().map(Ran::threads).collect();
        assert_eq!(orders.len(), 20);
    }

    #[test]
    fn values_are_explored_too() {
        let toy = Toy::new(ModelKind::C11, &[&[weak_cas(0)], &[weak_cas(1)]]);
        let (complete, _) = explore(&toy, Exhaustive::new(ModelKind::C11), false);
        let outcomes: BTreeSet<_> = complete.iter().map(|ran| ran.values.clone()).collect();
        assert_eq!((complete.len(), outcomes.len()), (4, 4));
    }

    /// A random operation of up to `locations` places.
    fn random_op(rng: &mut Rng, locations: usize) -> Op {
        let place = at(rng.below(locations) as u64);
        let pick = |rng: &mut Rng, orders: &[Order]| orders[rng.below(orders.len())];
        use Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        match rng.below(8) {
            0..=2 => Op::Load { at: place, order: pick(rng, &[Relaxed, Relaxed, Acquire, SeqCst]) },
            3..=5 => Op::Store { at: place, order: pick(rng, &[Relaxed, Relaxed, Release, SeqCst]) },
            6 => Op::Rmw { at: place, order: pick(rng, &[Relaxed, AcqRel, SeqCst]) },
            _ => Op::Fence { order: pick(rng, &[Acquire, Release, AcqRel, SeqCst]) },
        }
    }

    fn outcomes(runs: &[Ran]) -> BTreeSet<Outcome> {
        runs.iter().map(|ran| ran.outcome.clone()).collect()
    }

    /// All interleavings against all traces: how many executions either has.
    fn compare(model: ModelKind, program: &[&[Op]]) -> (usize, usize) {
        let toy = Toy::new(model, program);
        let (plain, _) = explore(&toy, Exhaustive::without_reduction(), false);
        let expected = outcomes(&plain);
        let [forward, backward] = [false, true].map(|reversed| {
            let (reduced, _) = explore(&toy, Exhaustive::new(model), reversed);
            assert_eq!(outcomes(&reduced), expected, "{model} {program:?}");
            // Under SC, where dependence is exact, rf and mo determine the trace: none is run to its end twice.
            assert!(model != ModelKind::Sc || reduced.len() == expected.len());
            reduced.len()
        });
        assert_eq!(forward, backward, "the number of traces: {model} {program:?}");
        (plain.len(), forward)
    }

    #[test]
    fn the_reduction_loses_no_outcome_of_random_programs() {
        for model in ModelKind::ALL {
            let mut rng = Rng::new(23);
            let (mut plain, mut reduced) = (0, 0);
            for number in 0..300 {
                let sizes: &[usize] = [&[3, 3][..], &[2, 2, 1][..], &[4, 2][..]][number % 3];
                let locations = 1 + number % 2;
                let program: Vec<Vec<Op>> = sizes
                    .iter()
                    .map(|&size| (0..size).map(|_| random_op(&mut rng, locations)).collect())
                    .collect();
                let program: Vec<&[Op]> = program.iter().map(Vec::as_slice).collect();
                let (all, traces) = compare(model, &program);
                plain += all;
                reduced += traces;
            }
            assert!(reduced * 2 < plain, "{model}: {reduced} of {plain}");
        }
    }

    /// The shapes that the SC fences of C11, TSO's log and PSLO's barriers are about.
    #[test]
    fn the_reduction_loses_no_outcome_of_classic_programs() {
        let fence = Op::Fence { order: Order::SeqCst };
        let acquire = |location| Op::Load { at: at(location), order: Order::Acquire };
        let release = |location| Op::Store { at: at(location), order: Order::Release };
        for model in ModelKind::ALL {
            compare(model, &[&[store(0), fence, load(1)], &[store(1), fence, load(0)]]);
            compare(model, &[&[store(0), release(1)], &[acquire(1), load(0)]]);
            compare(model, &[&[store(0)], &[store(1)], &[acquire(0), load(1)], &[acquire(1), load(0)]]);
            compare(model, &[&[store(0), store(1)], &[store(1), store(0)], &[load(0), load(1)]]);
            compare(model, &[&[store(0), fence], &[fence, load(0)], &[store(1), fence, load(0)]]);
        }
    }
}
