//! A last resort for strategies that let one thread run as long as it can: nobody waits for ever.
//!
//! PCT, PCTWM and placewm run the thread of the highest priority until it blocks or is seen to spin. A loop that waits for
//! another thread and is not recognised as spinning (because each round does something else: it counts, or takes and
//! gives back a lock) would keep that other thread from ever running. The papers switch to a random thread after some
//! number of events, which makes random testing of every wait. Here a thread is set back behind all others once it has
//! taken so many steps in a row, with others ready, that it cannot be at work: more than three quarters of what whole
//! executions took lately, within [`LEAST`] and [`MOST`]; to let others go on ([`Strategy::yields`]) counts for a [`YIELDS`]th of that.
//! (An execution in which that happens is longer by as many steps, so that the
//! limit follows: at worst to three times the steps of one without waiting.) And if several threads take turns for twice as
//! many steps, while another one is ready all the time, all of them are set back.

use super::{Choice, Parameters, Pick, ReadChoice, Strategy};
use crate::op::{Agent, ThreadId};
use alloc::vec::Vec;

/// The fewest steps in a row after which a thread is set back, and the most: an execution that has waited for long must not
/// make the next ones wait for longer.
const LEAST: u32 = 4096;
const MOST: u32 = 1 << 15;

/// So many yields in a row set a thread back. One may stand for many steps: a thread that waits for a variable on its own
/// stack, which nobody else has touched yet, yields when it has run for a hundred thousand instructions.
pub(super) const YIELDS: u32 = 16;

/// The strategy `S`, without starvation.
#[derive(Clone, Debug)]
pub struct Fair<S> {
    strategy: S,
    patience: u32,
    /// Who acted last, and how often in a row.
    last: Option<Agent>,
    turns: u32,
    /// Those that have had enough turns, until all that are ready have.
    set_back: Vec<Agent>,
    others: Vec<Choice>,
    /// Who has acted, and who was ready and has not, in the last so many steps.
    active: Vec<Agent>,
    waiting: Vec<Agent>,
    steps: u32,
}

/// For how many steps in a row others can be kept waiting.
pub(super) fn patience(parameters: &Parameters) -> u32 {
    (parameters.k / 4).saturating_mul(3).clamp(LEAST, MOST)
}

impl<S: Strategy> Fair<S> {
    /// Makes a strategy fair.
    pub fn new(strategy: S, parameters: &Parameters) -> Fair<S> {
        let patience = patience(parameters);
        Fair {
            strategy,
            patience,
            last: None,
            turns: 0,
            set_back: Vec::new(),
            others: Vec::new(),
            active: Vec::new(),
            waiting: Vec::new(),
            steps: 0,
        }
    }

    /// This one acts. Now and then those who have not for long go first.
    fn acts(&mut self, agent: Agent, enabled: &[Choice]) {
        if !self.active.contains(&agent) {
            self.active.push(agent);
            self.waiting.retain(|&other| other != agent);
        }
        self.steps += 1;
        if self.steps < 2 * self.patience {
            return;
        }
        self.steps = 0;
        let starves = |agent: &Agent| enabled.iter().any(|choice| choice.agent == *agent);
        if self.waiting.iter().any(starves) {
            self.set_back.append(&mut self.active);
        }
        self.active.clear();
        self.waiting.clear();
        self.waiting.extend(enabled.iter().map(|choice| choice.agent));
    }

    fn pick_other(&mut self, enabled: &[Choice]) -> Pick {
        let Fair { strategy, set_back, others, .. } = self;
        others.clear();
        others.extend(enabled.iter().filter(|choice| !set_back.contains(&choice.agent)));
        if others.is_empty() {
            set_back.clear();
            return strategy.pick(enabled);
        }
        match strategy.pick(others) {
            Pick::Take(index) => {
                let agent = others[index].agent;
                let index = enabled.iter().position(|choice| choice.agent == agent);
                Pick::Take(index.expect("it is one of them"))
            }
            other => other,
        }
    }
}

impl<S: Strategy> Strategy for Fair<S> {
    fn name(&self) -> &'static str {
        self.strategy.name()
    }

    fn started(&mut self, thread: ThreadId) {
        self.strategy.started(thread);
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        let pick =
            if self.set_back.is_empty() { self.strategy.pick(enabled) } else { self.pick_other(enabled) };
        let agent = match pick {
            Pick::Take(index) if enabled.len() > 1 => Some(enabled[index].agent),
            // Who is alone keeps nobody waiting.
            _ => None,
        };
        self.turns = if agent == self.last { self.turns.saturating_add(1) } else { 1 };
        self.last = agent;
        if let Some(agent) = agent {
            self.acts(agent, enabled);
        }
        if let Some(agent) = agent.filter(|_| self.turns >= self.patience) {
            self.set_back.push(agent);
            self.turns = 0;
        }
        pick
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        self.strategy.read(read)
    }

    fn place(&mut self, choice: &Choice, count: usize) -> usize {
        self.strategy.place(choice, count)
    }

    fn wake(&mut self, count: usize) -> usize {
        self.strategy.wake(count)
    }

    fn spurious(&mut self, choice: &Choice) -> bool {
        self.strategy.spurious(choice)
    }

    fn taken(&mut self, choice: &Choice, enabled: &[Choice]) {
        self.strategy.taken(choice, enabled);
    }

    fn yields(&mut self, thread: ThreadId) {
        if self.last == Some(Agent::Thread(thread)) {
            self.turns = self.turns.saturating_add(self.patience / YIELDS);
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
    use crate::strategy::Pctwm;
    use crate::strategy::toy::load;

    const PARAMETERS: Parameters =
        Parameters { depth: 0, k: 10, k_com: 10, history: 1, eager: false, aim: None };

    fn choice(thread: u32, serial: u32) -> Choice {
        Choice { agent: Agent::Thread(ThreadId(thread)), op: load(0), serial }
    }

    /// One of two threads goes first for as long as it can, then the other: each has its turn.
    #[test]
    fn nobody_waits_for_ever() {
        let mut fair = Fair::new(Pctwm::new(1, 0, 10, 1), &PARAMETERS);
        let picks: Vec<usize> = (0..3 * LEAST)
            .map(|serial| match fair.pick(&[choice(0, serial), choice(1, serial)]) {
                Pick::Take(index) => index,
                other => panic!("{other:?}"),
            })
            .collect();
        let (first, rest) = picks.split_at(LEAST as usize);
        let (second, third) = rest.split_at(LEAST as usize);
        assert!(first.iter().all(|&index| index == first[0]));
        assert!(second.iter().all(|&index| index != first[0]));
        assert!(third.iter().all(|&index| index == first[0]), "all had their turn: it is the best again");
    }

    /// Two of three threads take turns all the time: the third one has its own after a while.
    #[test]
    fn nobody_waits_for_two_others_for_ever() {
        /// The first two threads, by turns.
        #[derive(Debug)]
        struct Turns(usize);
        impl Strategy for Turns {
            fn name(&self) -> &'static str {
                "turns"
            }
            fn pick(&mut self, enabled: &[Choice]) -> Pick {
                self.0 += 1;
                Pick::Take(self.0 % enabled.len().min(2))
            }
            fn read(&mut self, _: &ReadChoice) -> usize {
                0
            }
            fn place(&mut self, _: &Choice, _: usize) -> usize {
                0
            }
            fn wake(&mut self, _: usize) -> usize {
                0
            }
        }
        let mut fair = Fair::new(Turns(0), &PARAMETERS);
        let mut picks =
            (0..5 * LEAST).map(|serial| fair.pick(&[0, 1, 2].map(|thread| choice(thread, serial))));
        let first = picks.position(|pick| pick == Pick::Take(2));
        assert!(first.is_some_and(|at| at <= 4 * LEAST as usize), "{first:?}");
        assert!(picks.take(100).all(|pick| pick == Pick::Take(2)), "and not for one step only");
    }

    /// A thread that lets others go on, again and again, waits for one of them.
    #[test]
    fn who_yields_is_soon_set_back() {
        let mut fair = Fair::new(Pctwm::new(1, 0, 10, 1), &PARAMETERS);
        let enabled = |serial| [choice(0, serial), choice(1, serial)];
        let first = fair.pick(&enabled(0));
        let Pick::Take(index) = first else { panic!("{first:?}") };
        let others = (1..LEAST).position(|serial| {
            fair.yields(ThreadId(index as u32));
            fair.pick(&enabled(serial)) != first
        });
        assert_eq!(others, Some(YIELDS as usize));
        // It is no matter of the other's, who has not yielded.
        assert!((0..LEAST - 1).all(|serial| fair.pick(&enabled(serial)) != first));
    }

    #[test]
    fn who_is_alone_keeps_nobody_waiting() {
        let mut fair = Fair::new(Pctwm::new(1, 0, 10, 1), &PARAMETERS);
        for serial in 0..2 * LEAST {
            assert_eq!(fair.pick(&[choice(0, serial)]), Pick::Take(0));
        }
        assert!(fair.set_back.is_empty());
    }

    #[test]
    fn patience_follows_the_length_of_executions() {
        let patience = |k| Fair::new(Pctwm::new(1, 0, 10, 1), &Parameters { k, ..PARAMETERS }).patience;
        assert_eq!([0, 20_000, u32::MAX].map(patience), [LEAST, 15_000, MOST]);
    }
}
