//! Executions that reach a limit (`--timeout`, `--max-events`). Nobody knows what the rest of them would have shown: they are
//! no bugs, and no evidence that there is none. They are counted apart, with where their time went and what to do.

use super::blame::own;
use crate::bug::Where;
use crate::engine::{End, Location, Outcome, ThreadState};
use std::collections::BTreeMap;
use std::time::Duration;

/// The largest limit on events that can be asked for.
const MOST_EVENTS: u64 = 100_000_000;

/// The limits of each execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limited {
    pub(crate) timeout: Duration,
    pub(crate) max_events: u64,
}

/// Which limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    Time,
    Events,
    /// None: the function of `--from` was never entered.
    NeverEntered,
}

/// Why an execution was given up.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct GivenUp {
    pub(crate) limit: Limit,
    /// What was allowed.
    pub(crate) limited: Limited,
    /// Where most of its time went, if that is known.
    pub(crate) busiest: Option<Busiest>,
}

/// Where an execution was most of the time.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Busiest {
    pub(crate) at: Location,
    pub(crate) what: Doing,
}

/// What it did there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Doing {
    /// So many of a hundred of its steps.
    Steps { percent: u64 },
    /// It ran native code that is called from there.
    Native,
    /// It waited in the kernel, as the thread's state says in words.
    Waits(String),
}

impl GivenUp {
    /// What is to be said of the execution, if it was given up.
    pub(crate) fn of(outcome: &Outcome, limited: Limited) -> Option<GivenUp> {
        let limit = match outcome.end {
            End::TimedOut => Limit::Time,
            End::TooManyEvents => Limit::Events,
            End::Exited(_) if outcome.untested => Limit::NeverEntered,
            End::Exited(_)
            | End::Killed { .. }
            | End::Deadlock
            | End::Livelock
            | End::Diverged(_)
            | End::Abandoned => return None,
        };
        let busiest = busiest(outcome, limited.timeout).filter(|_| limit != Limit::NeverEntered);
        Some(GivenUp { limit, limited, busiest })
    }

    /// `timeout: …` or `max_events: …`
    pub(crate) fn why(&self) -> String {
        let Limited { timeout, max_events } = self.limited;
        match self.limit {
            Limit::Time => format!("timeout: it took more than {} s (--timeout)", timeout.as_secs_f64()),
            Limit::Events => format!("max_events: it had more than {max_events} events (--max-events)"),
            Limit::NeverEntered => {
                "from: the function was never entered (--from), so that nothing was tested".to_string()
            }
        }
    }

    /// The option that may help.
    pub(crate) fn option(&self) -> String {
        let library = self.busiest.as_ref().filter(|it| matches!(it.what, Doing::Steps { .. }));
        let library = library.map(|it| it.at.module.as_str()).filter(|module| module.contains(".so"));
        let Limited { timeout, max_events } = self.limited;
        match (library, self.limit) {
            (Some(library), _) => format!("--unmanaged {library}"),
            (None, Limit::Time) => format!("--timeout {}", (timeout.as_secs_f64() * 10.0).ceil()),
            (None, Limit::Events) => {
                format!("--max-events {}", max_events.saturating_mul(10).min(MOST_EVENTS))
            }
            (None, Limit::NeverEntered) => "--from FUNCTION".to_string(),
        }
    }

    /// Where its time went, in words.
    pub(crate) fn place(&self) -> Option<String> {
        let Busiest { at, what } = self.busiest.as_ref()?;
        let function = at.function.as_deref().unwrap_or("an unknown function");
        let place = Where(at);
        let module = match at.module.as_str() {
            "" => "code that is in no file",
            module => module,
        };
        Some(match what {
            Doing::Steps { percent } => {
                format!("{percent}% of its steps were in {function}, most of them at {place} ({module})")
            }
            Doing::Native => {
                format!("most of the time native code ran, called from {function} at {place} ({module})")
            }
            Doing::Waits(doing) => {
                format!(
                    "most of the time all threads waited; one {doing} in {function} at {place} ({module})"
                )
            }
        })
    }

    /// What to do, in words.
    pub(crate) fn advice(&self) -> String {
        let option = self.option();
        if self.limit == Limit::NeverEntered {
            return "name a function that the program calls, or leave --from out".to_string();
        }
        match option.starts_with("--unmanaged") {
            true => format!("{option} runs that library natively; or take a smaller input"),
            false => format!("take a smaller input, or {option}"),
        }
    }
}

/// The executions of a campaign that were given up.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Inconclusive {
    pub(crate) count: u64,
    /// The first one: its number, and why.
    pub(crate) first: Option<(u64, GivenUp)>,
}

impl Inconclusive {
    /// Adds an execution.
    pub(crate) fn add(&mut self, execution: u64, given_up: GivenUp) {
        self.count += 1;
        self.first.get_or_insert((execution, given_up));
    }
}

/// Where the execution was most of the time: what took more than half of the time that it had, or else the function in
/// which threads were found most often.
fn busiest(outcome: &Outcome, timeout: Duration) -> Option<Busiest> {
    let spent = outcome.spent.as_ref()?;
    let at = |thread: &ThreadState| own(&thread.stack).cloned();
    let long = |time: Duration| outcome.end == End::TimedOut && time > timeout / 2;
    let waits = |it: &&ThreadState| it.doing.starts_with("waits") || it.doing.starts_with("sleeps");
    if long(spent.waiting) {
        let thread = outcome.threads.iter().find(waits)?;
        return Some(Busiest { at: at(thread)?, what: Doing::Waits(thread.doing.clone()) });
    }
    let steps = if long(spent.native) { None } else { steps(&spent.places) };
    steps.or_else(|| {
        let runs = outcome.threads.iter().find(|it| it.doing == "runs").or(outcome.threads.first())?;
        Some(Busiest { at: at(runs)?, what: Doing::Native })
    })
}

/// The function that was noted most often, and the line in it.
fn steps(places: &[(Vec<Location>, u64)]) -> Option<Busiest> {
    type Lines<'a> = BTreeMap<(u32, u64), (u64, &'a Location)>;
    let mut functions: BTreeMap<(&str, Option<&str>), (u64, Lines<'_>)> = BTreeMap::new();
    let mut all = 0;
    for (stack, count) in places {
        let Some(at) = own(stack) else { continue };
        all += count;
        let (of_function, lines) = functions.entry((&at.module, at.function.as_deref())).or_default();
        *of_function += count;
        // Without lines, each instruction is a place.
        let line = (at.line, if at.line == 0 { at.offset } else { 0 });
        lines.entry(line).or_insert((0, at)).0 += count;
    }
    let (count, lines) = functions.into_values().max_by_key(|(count, _)| *count)?;
    let (_, at) = lines.into_values().max_by_key(|(count, _)| *count)?;
    Some(Busiest { at: at.clone(), what: Doing::Steps { percent: count * 100 / all.max(1) } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::busy::Spent;

    fn place(module: &str, function: &str, line: u32) -> Location {
        Location {
            module: module.into(),
            offset: 16,
            function: Some(function.into()),
            file: Some(format!("/src/{function}.c")),
            line,
            column: 0,
            inlined: false,
        }
    }

    fn outcome(end: End, places: Vec<(Vec<Location>, u64)>, native: u64) -> Outcome {
        Outcome {
            end,
            threads: Vec::new(),
            stdout: Vec::new(),
            stderr: Vec::new(),
            truncated: false,
            warnings: Vec::new(),
            executes: None,
            spent: Some(Spent { places, native: Duration::from_secs(native), waiting: Duration::ZERO }),
            misuses: Vec::new(),
            lacks: None,
            untested: false,
            journal: Default::default(),
        }
    }

    #[test]
    fn the_loop_of_the_busiest_function_is_named() {
        let limited = Limited { timeout: Duration::from_secs(30), max_events: 1000 };
        let places = vec![
            (vec![place("prog", "main", 3)], 40),
            (vec![place("libz.so.1", "deflate", 7)], 25),
            (vec![place("libz.so.1", "deflate", 9)], 35),
        ];
        let found = GivenUp::of(&outcome(End::TooManyEvents, places, 0), limited).unwrap();
        let at = &found.busiest.as_ref().unwrap().at;
        assert_eq!((at.module.as_str(), at.line), ("libz.so.1", 9));
        assert_eq!(found.option(), "--unmanaged libz.so.1");
        let words = found.place().unwrap();
        assert_eq!(words, "60% of its steps were in deflate, most of them at deflate.c:9 (libz.so.1)");
        assert!(found.why().starts_with("max_events: "));
        let own = vec![(vec![place("prog", "main", 3)], 1)];
        let found = GivenUp::of(&outcome(End::TimedOut, own, 10), limited).unwrap();
        assert_eq!(found.option(), "--timeout 300");
        assert_eq!(found.busiest.unwrap().what, Doing::Steps { percent: 100 });
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let limited = Limited { timeout: Duration::from_secs(1), max_events: MOST_EVENTS };
        let found = GivenUp::of(&outcome(End::TooManyEvents, Vec::new(), 0), limited).unwrap();
        assert_eq!((found.place(), found.option()), (None, "--max-events 100000000".to_string()));
        assert_eq!(GivenUp::of(&outcome(End::Deadlock, Vec::new(), 0), limited), None);
    }
}
