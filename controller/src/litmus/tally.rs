//! What a test's executions add up to: states with counts, races, a witness, and the answer.

use crate::litmus::names;
use std::collections::BTreeMap;
use wmtrace_model::execution::{Execution, Race};
use wmtrace_model::litmus::program::{Expect, Program, Quantifier, State, Term};
use wmtrace_model::op::{Site, Stuck};

/// Values of terms that are kept: a test with many registers has more states than memory can hold.
const MAX_VALUES: usize = 1 << 23;

/// The executions of one test so far.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The parts of a final state that are told apart and shown.
    pub(crate) terms: Vec<Term>,
    /// Final states by their values of `terms`.
    pub(crate) states: BTreeMap<Vec<i64>, Seen>,
    /// Executions that reached their end.
    pub(crate) finished: u64,
    /// Executions that ended with every thread blocked.
    pub(crate) deadlocks: u64,
    /// Executions that ended with threads spinning for ever.
    pub(crate) livelocks: u64,
    /// Executions given up in a loop: after its last allowed round, or because it never touches memory.
    pub(crate) cut: u64,
    /// Executions given up after the last allowed event.
    pub(crate) over_limit: u64,
    /// Races, each pair of sites once.
    pub(crate) races: Vec<RaceSeen>,
    /// The execution worth showing.
    pub(crate) shown: Option<Shown>,
    /// Whether every choice was tried.
    pub(crate) exhausted: bool,
}

/// A final state's record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// How many executions ended in it.
    pub(crate) count: u64,
    /// Whether the condition's formula holds in it.
    pub(crate) witness: bool,
}

/// A race and how many executions had it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RaceSeen {
    pub(crate) race: Race,
    pub(crate) count: u64,
}

/// An execution to show, and what for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Shown {
    pub(crate) why: Why,
    pub(crate) execution: Execution,
}

/// What an execution shows. The first of these that occurs is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Why {
    /// That the condition's formula can hold (`exists`, `~exists`) or fail to (`forall`).
    Condition,
    /// A race, which its last event completes.
    Race,
    /// That nobody can go on.
    Stuck,
}

impl Tally {
    /// No executions yet. `all`: tell states apart by every register and location, not only by the condition's.
    pub(crate) fn new(program: &Program, all: bool) -> Tally {
        Tally {
            terms: names::observed(program, all),
            states: BTreeMap::new(),
            finished: 0,
            deadlocks: 0,
            livelocks: 0,
            cut: 0,
            over_limit: 0,
            races: Vec::new(),
            shown: None,
            exhausted: false,
        }
    }

    /// An execution has ended in `state`.
    pub(crate) fn finished(&mut self, program: &Program, state: &State, execution: &Execution) {
        self.finished += 1;
        let holds = program.condition.as_ref().map(|condition| condition.formula.holds(state));
        let values = self.terms.iter().map(|term| match *term {
            Term::Reg(thread, reg) => state.registers[thread][reg.0],
            Term::Location(at) => state.memory[at.0],
        });
        let witness = holds == Some(true);
        self.states.entry(values.collect()).or_insert(Seen { count: 0, witness }).count += 1;
        let wanted = program.condition.as_ref().map(|condition| condition.quantifier != Quantifier::Forall);
        if holds.is_some() && holds == wanted {
            self.show(Why::Condition, execution);
        }
    }

    /// An execution got stuck.
    pub(crate) fn stuck(&mut self, stuck: Stuck, execution: &Execution) {
        match stuck {
            Stuck::Deadlock => self.deadlocks += 1,
            Stuck::Livelock => self.livelocks += 1,
        }
        self.show(Why::Stuck, execution);
    }

    /// An execution had these races.
    pub(crate) fn races(&mut self, found: &[Race], execution: &Execution) {
        let mut counted = Vec::new();
        for race in found {
            let index = self.races.iter().position(|seen| pair(&seen.race) == pair(race));
            let index = index.unwrap_or_else(|| {
                self.races.push(RaceSeen { race: *race, count: 0 });
                self.races.len() - 1
            });
            // A loop can race with the same access in every round; that is still one execution.
            if !counted.contains(&index) {
                counted.push(index);
                self.races[index].count += 1;
            }
            self.show_race(race, execution);
        }
    }

    fn show(&mut self, why: Why, execution: &Execution) {
        if self.wants(why) {
            self.shown = Some(Shown { why, execution: execution.clone() });
        }
    }

    /// Shows the execution up to the race: what happens after it proves nothing.
    fn show_race(&mut self, race: &Race, execution: &Execution) {
        if self.wants(Why::Race) {
            let mut execution = execution.clone();
            execution.events.truncate(race.events as usize);
            self.shown = Some(Shown { why: Why::Race, execution });
        }
    }

    /// Whether an execution that shows this is better than the one there is.
    fn wants(&self, why: Why) -> bool {
        self.shown.as_ref().is_none_or(|shown| why < shown.why)
    }

    /// Whether there is no room for more states: the exploration stops here.
    pub(crate) fn is_full(&self) -> bool {
        // A state costs more than its values.
        self.states.len().saturating_mul(self.terms.len() + 8) > MAX_VALUES
    }

    /// Executions that were run, whatever became of them.
    pub(crate) fn executions(&self) -> u64 {
        self.finished + self.stuck_count() + self.cut + self.over_limit
    }

    /// How many executions ended in a state with (`positive`) or without the formula.
    pub(crate) fn count(&self, positive: bool) -> u64 {
        self.states.values().filter(|seen| seen.witness == positive).map(|seen| seen.count).sum()
    }

    /// herd's word for how often the formula held.
    pub(crate) fn observation(&self) -> &'static str {
        match (self.count(true), self.count(false)) {
            (0, _) => "Never",
            (_, 0) => "Always",
            _ => "Sometimes",
        }
    }

    /// herd's `Ok` or `No`: whether what the condition claims is so.
    pub(crate) fn holds(&self, quantifier: Quantifier) -> bool {
        match quantifier {
            Quantifier::Exists => self.count(true) > 0,
            Quantifier::NotExists => self.count(true) == 0,
            Quantifier::Forall => self.count(false) == 0,
        }
    }

    /// Whether every execution of the program was seen to its end.
    pub(crate) fn complete(&self) -> bool {
        self.exhausted && self.cut == 0 && self.over_limit == 0
    }

    /// Executions in which nobody could go on.
    pub(crate) fn stuck_count(&self) -> u64 {
        self.deadlocks + self.livelocks
    }

    /// Whether the condition says that something is wrong. An `exists` that is not reached is no bug: the model may
    /// be stronger than the test's author had in mind.
    pub(crate) fn is_broken(&self, program: &Program) -> bool {
        match program.condition.as_ref().map(|condition| condition.quantifier) {
            Some(Quantifier::Exists) => program.expect == Some(Expect::Forbidden) && self.count(true) > 0,
            Some(quantifier) => !self.holds(quantifier),
            None => false,
        }
    }

    /// Whether any of this is a bug.
    pub(crate) fn is_bug(&self, program: &Program) -> bool {
        self.is_broken(program) || !self.races.is_empty() || self.stuck_count() > 0
    }
}

/// The two accesses of a race, whichever came first.
fn pair(race: &Race) -> [(Site, bool); 2] {
    let mut sides = [race.first, race.second].map(|side| (side.site, side.store));
    sides.sort_unstable();
    sides
}
