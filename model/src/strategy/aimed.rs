//! Any strategy with one *sink* more: the loads that one thread makes of one place. The thread runs until it is about to
//! load there, waits until the others have gone as far as they can, and reads what is newest.
//!
//! Where to aim, an earlier execution has shown ([`Meeting`](super::Meeting)). If the thread comes *first*, it is there
//! before it can have heard of what it is to read there; and until then it reads what it knows.
//!
//! All else is the strategy's. With PCTWM of depth 0 nobody hears of anything but the sink. With a random walk the others
//! talk to each other as they like, and so does the thread afterwards: for bugs that need more than the one late load.

use super::fair::YIELDS;
use super::{Choice, Pick, ReadChoice, Strategy, StrategyKind, recent, spuriously};
use crate::op::{Addr, Agent, ThreadId};
use crate::rng::Rng;
use alloc::vec::Vec;

/// The one sink of an execution: loads of a place by a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aim {
    /// Who loads.
    pub thread: ThreadId,
    /// What.
    pub addr: Addr,
    /// How many of its loads are none yet.
    pub skip: u32,
    /// Whether the thread comes before all others, or wherever the strategy puts it.
    pub first: bool,
    /// Whether all else is a random walk, or depth 0.
    pub walk: bool,
}

/// The strategy `S`, with one sink.
#[derive(Clone, Debug)]
pub struct Aimed<S> {
    strategy: S,
    rng: Rng,
    history: u32,
    aim: Aim,
    /// How many of its loads there were, and the last of them.
    count: u32,
    serial: Option<u32>,
    /// Whether the thread has come to its sink.
    arrived: bool,
    /// How many steps others have taken since, and how many they may.
    waited: u32,
    patience: u32,
    /// Whether there has only been one thread so far.
    alone: bool,
    others: Vec<Choice>,
}

impl<S: Strategy> Aimed<S> {
    /// With this sink, which reads one of the last `history` candidates (0 means 1). The thread waits for at most
    /// `patience` steps: the others may be waiting for it in a way that nobody recognises.
    pub fn new(strategy: S, aim: Aim, seed: u64, history: u32, patience: u32) -> Aimed<S> {
        Aimed {
            strategy,
            rng: Rng::new(!seed),
            history,
            aim,
            count: 0,
            serial: None,
            arrived: false,
            waited: 0,
            patience,
            alone: true,
            others: Vec::new(),
        }
    }

    fn is_mine(&self, choice: &Choice) -> bool {
        choice.agent == Agent::Thread(self.aim.thread)
    }

    /// Whether the step is a load that is a sink.
    fn is_sink(&mut self, choice: &Choice) -> bool {
        if !self.is_mine(choice) || choice.op.place().is_none_or(|at| at.addr != self.aim.addr) {
            return false;
        }
        if self.serial != Some(choice.serial) {
            self.serial = Some(choice.serial);
            self.count = self.count.saturating_add(1);
        }
        self.count > self.aim.skip
    }
}

impl<S: Strategy> Strategy for Aimed<S> {
    fn name(&self) -> &'static str {
        StrategyKind::PlaceWm.name()
    }

    fn started(&mut self, thread: ThreadId) {
        self.strategy.started(thread);
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        self.alone &= enabled.len() == 1 && enabled[0].agent.thread().0 == 0;
        let Some(mine) = enabled.iter().position(|choice| self.is_mine(choice)) else {
            return self.strategy.pick(enabled);
        };
        let choice = &enabled[mine];
        self.arrived |= choice.op.communicates() && !self.alone && self.is_sink(choice);
        if !self.arrived {
            return if self.aim.first { Pick::Take(mine) } else { self.strategy.pick(enabled) };
        }
        if enabled.len() == 1 || self.waited >= self.patience {
            return self.strategy.pick(enabled);
        }
        self.waited += 1;
        self.others.clear();
        self.others.extend(enabled.iter().filter(|other| other.agent != choice.agent));
        match self.strategy.pick(&self.others) {
            Pick::Take(index) => Pick::Take(if index < mine { index } else { index + 1 }),
            other => other,
        }
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        if self.is_sink(&read.choice) {
            return recent(&mut self.rng, read.count, self.history);
        }
        if self.aim.first && !self.arrived && self.is_mine(&read.choice) {
            return 0;
        }
        self.strategy.read(read)
    }

    fn place(&mut self, choice: &Choice, count: usize) -> usize {
        self.strategy.place(choice, count)
    }

    fn wake(&mut self, count: usize) -> usize {
        self.strategy.wake(count)
    }

    fn spurious(&mut self, choice: &Choice) -> bool {
        if self.is_sink(choice) { spuriously(&mut self.rng) } else { self.strategy.spurious(choice) }
    }

    fn taken(&mut self, choice: &Choice, enabled: &[Choice]) {
        self.strategy.taken(choice, enabled);
    }

    fn yields(&mut self, thread: ThreadId) {
        if self.arrived && thread != self.aim.thread {
            self.waited = self.waited.saturating_add(self.patience / YIELDS);
        }
        self.strategy.yields(thread);
    }

    fn forced(&mut self, choice: &Choice) {
        self.strategy.forced(choice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::ModelKind;
    use crate::strategy::toy::{Toy, at, load, store};
    use crate::strategy::{Pctwm, Random};

    fn aim(thread: u32, location: u64, skip: u32, first: bool) -> Aim {
        Aim { thread: ThreadId(thread), addr: at(location).addr, skip, first, walk: false }
    }

    /// With depth 0, the loads of one place by one thread see what others wrote, and no others do. Its thread comes first if
    /// that was asked for, and else where depth 0 puts it: behind the one that made it.
    #[test]
    fn an_aim_is_the_only_sink() {
        let toy = Toy::new(
            ModelKind::C11,
            &[&[store(0), store(1), load(2)], &[load(0), load(1), load(0), store(2)]],
        );
        for seed in 0..100 {
            let run = |location, skip, first| {
                let quiet = Pctwm::new(seed, 0, 1, 1);
                let ran = toy.run(&mut Aimed::new(quiet, aim(1, location, skip, first), seed, 1, 100));
                assert!(ran.outcome.rf[&(0, 2)].is_none(), "not its thread");
                (ran.threads()[0], [0, 1, 2].map(|load| ran.outcome.rf[&(1, load)].is_some()))
            };
            assert_eq!(run(1, 0, true), (1, [false, true, false]), "{seed}");
            assert_eq!(run(0, 1, true), (1, [false, false, true]), "{seed}");
            assert_eq!(run(0, 0, true).1, [true, false, true], "{seed}");
            assert_eq!(run(0, 2, true), (1, [false; 3]), "{seed}");
            assert_eq!(run(1, 0, false), (0, [false, true, false]), "{seed}");
        }
    }

    /// In a walk the sink is as late, what comes before it is as quiet, and the others hear of each other or do not. Each
    /// answer of theirs has at least 1/8: 200 runs miss one with probability below 10⁻¹¹.
    #[test]
    fn others_walk() {
        let toy =
            Toy::new(ModelKind::C11, &[&[store(0)], &[load(0), store(1)], &[load(0), load(1), load(0)]]);
        let mut seen = alloc::collections::BTreeSet::new();
        for seed in 0..200 {
            let ran = toy.run(&mut Aimed::new(Random::new(seed), aim(2, 1, 0, true), seed, 1, 100));
            assert_eq!(ran.threads()[0], 2, "{seed}");
            let heard = |thread, load| ran.outcome.rf[&(thread, load)].is_some();
            assert_eq!((heard(2, 0), heard(2, 1)), (false, true), "{seed}");
            seen.insert((heard(1, 0), heard(2, 2)));
        }
        assert_eq!(seen.len(), 4, "{seen:?}");
    }

    /// Others that go on for ever keep it waiting for so long, and then it walks with them.
    #[test]
    fn patience_ends() {
        let choice = |thread, serial| Choice { agent: Agent::Thread(ThreadId(thread)), op: load(0), serial };
        let mut strategy = Aimed::new(Random::new(1), aim(0, 0, 0, true), 1, 1, 50);
        let picks: Vec<Pick> = (0..100).map(|it| strategy.pick(&[choice(0, 0), choice(1, it)])).collect();
        assert!(picks[..50].iter().all(|&pick| pick == Pick::Take(1)));
        assert!(picks[50..].contains(&Pick::Take(0)), "one of two: missed with probability 2⁻⁵⁰");
    }

    /// Others that let each other go on, again and again, wait for it.
    #[test]
    fn patience_ends_sooner_with_yields() {
        let choice = |thread, serial| Choice { agent: Agent::Thread(ThreadId(thread)), op: load(0), serial };
        let mut strategy = Aimed::new(Random::new(1), aim(0, 0, 0, true), 1, 1, 1 << 20);
        let ends = (0..200).position(|it| {
            strategy.yields(ThreadId(1 + it % 2));
            strategy.pick(&[choice(0, 0), choice(1, it), choice(2, it)]) == Pick::Take(0)
        });
        assert!(
            ends.is_some_and(|it| it >= YIELDS as usize - 1),
            "one of three: missed with probability below 2⁻¹⁰⁰"
        );
    }

    /// A thread that is alone has nobody to wait for, and has not come to its sink.
    #[test]
    fn a_thread_that_is_alone_does_not_arrive() {
        let choice = |thread, serial| Choice { agent: Agent::Thread(ThreadId(thread)), op: load(0), serial };
        let mut strategy = Aimed::new(Random::new(1), aim(0, 0, 0, true), 1, 1, 100);
        assert_eq!(strategy.pick(&[choice(0, 0)]), Pick::Take(0));
        assert!(!strategy.arrived);
        assert_eq!(strategy.pick(&[choice(0, 1), choice(1, 0)]), Pick::Take(1));
        assert_eq!(strategy.pick(&[choice(0, 1)]), Pick::Take(0));
    }
}
