//! Results for programs: one object, whose fields are part of the interface (`schema` 1).

use crate::cli::{Exploration, LitmusOptions};
use crate::litmus::Failure;
use crate::litmus::events::{self, Row};
use crate::litmus::names;
use crate::litmus::tally::{RaceSeen, Tally, Why};
use serde::{Serialize, Serializer};
use wmtrace_model::execution::{Access, EventId, Source};
use wmtrace_model::litmus::program::{Expect, Program};
use wmtrace_model::order::Order;

#[derive(Serialize)]
pub(crate) struct Report {
    schema: u32,
    command: &'static str,
    model: &'static str,
    mo_insertion: bool,
    strategy: &'static str,
    /// `null`: estimated, or a schedule; all of these are `null` if every execution is explored.
    depth: Option<u32>,
    events: Option<u32>,
    history: Option<u32>,
    runs: Option<u64>,
    seed: Option<u64>,
    tests: Vec<Test>,
    errors: Vec<Error>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Test {
    name: String,
    file: String,
    /// All that were run, and those that ran to their end: only these have a final state.
    executions: u64,
    finished: u64,
    states: Vec<StateCount>,
    condition: Option<String>,
    quantifier: Option<&'static str>,
    /// Whether the condition's formula holds in some state.
    reachable: Option<bool>,
    /// herd's Ok or No.
    holds: Option<bool>,
    observation: Option<&'static str>,
    expect: Option<&'static str>,
    /// Whether the exit status is 1 because of this test.
    bug: bool,
    races: Vec<RaceReport>,
    stuck: u64,
    deadlocks: u64,
    livelocks: u64,
    cut: u64,
    over_limit: u64,
    complete: bool,
    certified: bool,
    /// What the witness shows: `condition`, `race` or `stuck`.
    witness_of: Option<&'static str>,
    witness: Option<Vec<EventReport>>,
}

#[derive(Serialize)]
struct StateCount {
    count: u64,
    values: Values,
    witness: bool,
}

/// An object with its members in the order of the condition.
struct Values(Vec<(String, i64)>);

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[derive(Serialize)]
struct RaceReport {
    location: Option<String>,
    count: u64,
    sites: [Site; 2],
}

#[derive(Serialize)]
struct Site {
    thread: u32,
    instruction: usize,
    line: Option<u32>,
    op: &'static str,
    order: &'static str,
}

#[derive(Serialize)]
struct EventReport {
    id: u32,
    thread: u32,
    line: Option<u32>,
    op: &'static str,
    order: Option<&'static str>,
    location: Option<String>,
    read: Option<i64>,
    written: Option<i64>,
    /// Events, or `"init"`.
    reads_from: Vec<From>,
    /// Place in modification order, from 1.
    mo: Option<usize>,
    /// The store that a commit makes visible.
    commits: Option<u32>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum From {
    Init(&'static str),
    Event(u32),
}

#[derive(Serialize)]
struct Error {
    file: String,
    line: Option<u32>,
    column: Option<u32>,
    message: String,
}

impl Report {
    /// A report without tests.
    pub(crate) fn new(options: &LitmusOptions) -> Report {
        let sampling = match options.exploration {
            Exploration::Exhaustive { .. } => None,
            Exploration::Sampled(sampling) => Some(sampling),
        };
        Report {
            schema: 1,
            command: "litmus",
            model: options.model.name(),
            mo_insertion: options.mo_insertion,
            strategy: sampling.map_or("exhaustive", |sampling| sampling.strategy.name()),
            depth: sampling.and_then(|sampling| sampling.depth),
            events: sampling.and_then(|sampling| sampling.events),
            history: sampling.map(|sampling| sampling.history.unwrap_or(1)),
            runs: sampling.map(|sampling| sampling.runs),
            seed: sampling.map(|sampling| sampling.seed),
            tests: Vec::new(),
            errors: Vec::new(),
            warnings: options.warnings.clone(),
        }
    }

    /// Adds a test's result. Its executions have all been certified: one that is not is a [`Failure`].
    pub(crate) fn add(&mut self, file: &str, program: &Program, tally: &Tally) {
        let condition = program.condition.as_ref();
        if !tally.complete() && self.seed.is_none() {
            self.warnings.push(format!("{file}: the exploration is incomplete"));
        }
        let headings: Vec<String> = tally.terms.iter().map(|term| names::term(program, *term)).collect();
        let states = tally.states.iter().map(|(values, seen)| StateCount {
            count: seen.count,
            values: Values(headings.iter().cloned().zip(values.iter().copied()).collect()),
            witness: seen.witness,
        });
        self.tests.push(Test {
            name: program.name.clone(),
            file: file.to_string(),
            executions: tally.executions(),
            finished: tally.finished,
            states: states.collect(),
            condition: condition.map(|condition| names::condition(program, condition)),
            quantifier: condition.map(|condition| names::quantifier(condition.quantifier)),
            reachable: condition.map(|_| tally.count(true) > 0),
            holds: condition.map(|condition| tally.holds(condition.quantifier)),
            observation: condition.map(|_| tally.observation()),
            expect: program.expect.map(|expect| match expect {
                Expect::Forbidden => "forbidden",
                Expect::Allowed => "allowed",
                Expect::Required => "required",
            }),
            bug: tally.is_bug(program),
            races: tally.races.iter().map(|seen| race(program, seen)).collect(),
            stuck: tally.stuck_count(),
            deadlocks: tally.deadlocks,
            livelocks: tally.livelocks,
            cut: tally.cut,
            over_limit: tally.over_limit,
            complete: tally.complete(),
            certified: true,
            witness_of: tally.shown.as_ref().map(|shown| match shown.why {
                Why::Condition => "condition",
                Why::Race => "race",
                Why::Stuck => "stuck",
            }),
            witness: tally
                .shown
                .as_ref()
                .map(|shown| events::rows(program, &shown.execution).iter().map(event).collect()),
        });
    }

    /// Adds what went wrong with a file.
    pub(crate) fn fail(&mut self, file: &str, failure: &Failure) {
        let (line, column) = failure.position().unzip();
        self.errors.push(Error { file: file.to_string(), line, column, message: failure.message() });
    }
}

fn race(program: &Program, seen: &RaceSeen) -> RaceReport {
    let site = |access: &Access| Site {
        thread: access.thread.0,
        instruction: names::instruction(access.site).1,
        line: names::line(program, access.site),
        op: if access.store { "store" } else { "load" },
        order: names::order_of(program, access).name(),
    };
    RaceReport {
        location: names::location(program, seen.race.first.addr).map(|location| location.name.clone()),
        count: seen.count,
        sites: [site(&seen.race.first), site(&seen.race.second)],
    }
}

fn event(row: &Row) -> EventReport {
    let from = |source: &Source| match source {
        Source::Init => From::Init("init"),
        Source::Store(EventId(id)) => From::Event(*id),
    };
    EventReport {
        id: row.id.0,
        thread: row.thread,
        line: row.line,
        op: row.op,
        order: row.order.map(Order::name),
        location: row.location.clone(),
        read: row.read,
        written: row.written,
        reads_from: row.from.iter().map(from).collect(),
        mo: row.mo,
        commits: row.commits.map(|id| id.0),
    }
}
