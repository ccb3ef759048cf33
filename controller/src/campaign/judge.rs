//! What an execution did wrong, if anything: its end, what the machine found, and the certificate of both.
//!
//! Nothing is reported uncertified. An execution that fails its certificate is a defect of wmtrace, and ends the
//! campaign.

mod misuse;

use super::blame::{blamed, is_of_library, own};
use super::cause::Cause;
use super::owner::Owner;
use super::said::said;
use super::signal;
use crate::bug::{Detail, Key, Kind, STORE_OR_RMW, Side, Where};
use crate::cli::{ExpectExit, Limits, Races};
use crate::engine::evidence::Standing;
use crate::engine::{End, Location, ModuleInfo, Outcome, Sites};
use crate::events::last_of_each;
use crate::suppress::Suppressions;
use std::collections::BTreeSet;
use wmtrace_decoder::orders::Atomic;
use wmtrace_model::axioms::{
    Violation, certify, certify_race, is_ordered_by_longer_sequences, possible_races,
};
use wmtrace_model::execution::{Access, Event, Execution, Race};
use wmtrace_model::machine::Finding;
use wmtrace_model::op::ModelKind;

/// Executions up to this many events are certified even if nothing is wrong with them: it costs next to nothing
/// beside running them.
const CERTIFY_ALL: usize = 20_000;

/// Events of each thread that a bug keeps.
const LAST_EVENTS: usize = 24;

/// Races of accesses that may be plain, of one execution.
const MOST_POSSIBLE: usize = 16;

/// What orders two accesses that C++20 alone calls a race.
const OLD_SEQUENCE: &str = "only a release sequence of C, or of C++ before C++20,";

/// What counts as a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rules {
    pub(crate) expect_exit: ExpectExit,
    pub(crate) races: Races,
    /// Whether it is one to reach a limit.
    pub(crate) limits: Limits,
}

/// An execution that has ended.
pub(crate) struct Ended<'a> {
    pub(crate) outcome: &'a Outcome,
    pub(crate) execution: &'a Execution,
    pub(crate) findings: &'a [Finding],
}

/// A bug, or what may be one, in an execution.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Occurrence {
    pub(crate) key: Key,
    /// A race that is none if an access is atomic after all.
    pub(crate) possible: bool,
    /// The suppression that matches it.
    pub(crate) suppressed: Option<usize>,
    /// `None` if the key was known before.
    pub(crate) detail: Option<Box<Detail>>,
}

impl Occurrence {
    /// Whether it is a bug that somebody wants to hear of.
    pub(crate) fn counts(&self) -> bool {
        !self.possible && self.suppressed.is_none()
    }
}

/// wmtrace is wrong.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub(crate) enum Defect {
    #[error("an execution fails its certificate: {0}; this is a defect of wmtrace, please report it")]
    Certificate(Violation),
    #[error("{0}; this is a defect of wmtrace, please report it")]
    Other(String),
}

/// The keys that have been seen, possible or not, suppressed or not: their details are known.
pub(crate) type Known = BTreeSet<(bool, bool, Key)>;

/// Judges an execution. Each key occurs once.
pub(crate) fn judge(
    rules: Rules,
    suppressions: &Suppressions,
    sites: &dyn Sites,
    ended: &Ended<'_>,
    known: &mut Known,
) -> Result<Vec<Occurrence>, Defect> {
    let (modules, found) = (Vec::new(), Vec::new());
    let mut judge = Judge { rules, suppressions, sites, ended, modules, known, found, until: None };
    let wrong = !ended.findings.is_empty() || !ended.outcome.misuses.is_empty();
    if wrong || ended.outcome.end != End::Exited(0) {
        judge.modules = sites.modules();
    }
    for misuse in &ended.outcome.misuses {
        judge.misuse(misuse);
    }
    for finding in ended.findings {
        judge.finding(finding)?;
    }
    judge.races_of_unsure()?;
    judge.end()?;
    judge.allocation_races()?;
    if !judge.found.is_empty() || ended.execution.events.len() <= CERTIFY_ALL {
        certify(ended.execution).map_err(Defect::Certificate)?;
    }
    Ok(judge.found)
}

struct Judge<'a> {
    rules: Rules,
    suppressions: &'a Suppressions,
    sites: &'a dyn Sites,
    ended: &'a Ended<'a>,
    modules: Vec<ModuleInfo>,
    known: &'a mut Known,
    found: Vec<Occurrence>,
    /// How many events there were when what is judged was found, if it was not the end.
    until: Option<usize>,
}

impl Judge<'_> {
    fn finding(&mut self, finding: &Finding) -> Result<(), Defect> {
        match finding {
            Finding::Race(race) if self.is_on_gone_stack(race) => Ok(()),
            Finding::Race(race) => self.race(race),
            // Judged last.
            Finding::AllocationRace(_) => Ok(()),
            Finding::UseAfterFree { access, freed } => {
                let mut sides = [self.side(access), self.side(freed)];
                sides[1].op = Some("free");
                (sides[1].order, sides[1].order_from, sides[1].standing) = (None, None, None);
                let message =
                    format!("{}, and {} had freed it{}", at(&sides[0]), who(&sides[1]), in_place(&sides[1]));
                self.add(Kind::UseAfterFree, false, sides.into(), "", message, None);
                Ok(())
            }
            Finding::Uninitialised { access } => {
                let side = self.side(access);
                // Plain loads of such memory are no bug of this kind: padding is copied along, words are read whole. Nor
                // is what the kernel looks at for a function that waits: the C runtime has written it, unseen.
                // And what may be a store need not have read.
                let may_be_store = side.op == Some(STORE_OR_RMW);
                if self.sites.site(access.site).atomic != Atomic::Yes || side.order.is_none() || may_be_store
                {
                    return Ok(());
                }
                let message = format!("{}, which nobody has written since it was allocated", at(&side));
                self.add(Kind::UninitialisedLoad, false, vec![side], "", message, None);
                Ok(())
            }
        }
    }

    fn race(&mut self, race: &Race) -> Result<(), Defect> {
        let sides = [self.side(&race.first), self.side(&race.second)];
        let formerly_none = self.is_of_cpp20(race, &sides);
        let possible = self.rules.races != Races::On
            && (sides.iter().any(|side| side.unsure)
                || formerly_none
                || self.is_doubtful(&race.first, &race.second)
                || self.is_doubtful(&race.second, &race.first));
        let orders = if formerly_none { OLD_SEQUENCE } else { "nothing" };
        let mut message = format!("{}, {}, and {orders} orders the two", at(&sides[0]), at(&sides[1]));
        if sides.iter().all(|side| side.volatile) {
            message += "; both are volatile, which orders nothing between threads";
        }
        if let Some(side) = sides.iter().find(|side| side.pushes()) {
            message += &format!(
                "; {} reuses a slot of its stack{}: what was there before is gone, and the other side still uses it",
                who(side),
                in_place(side)
            );
        }
        if self.add(Kind::Race, possible, sides.into(), "", message, Some(race)) {
            certify_race(self.ended.execution, race).map_err(Defect::Certificate)?;
        }
        Ok(())
    }

    /// Accesses of which nobody knows whether they are atomic are taken for atomic. If they are plain, some race: that is
    /// worth a warning where it can be said which lines to look at. (Without debug information every access is like that.)
    fn races_of_unsure(&mut self) -> Result<(), Defect> {
        let execution = self.ended.execution;
        let asked = self.rules.races == Races::Auto && execution.model == ModelKind::C11;
        if !asked || execution.events.len() > CERTIFY_ALL {
            return Ok(());
        }
        let sites = self.sites;
        let is_unsure = |site| sites.atomic(site) == Atomic::Unsure;
        let races = possible_races(execution, &is_unsure, MOST_POSSIBLE).map_err(Defect::Certificate)?;
        if !races.is_empty() {
            self.modules = sites.modules();
        }
        for race in races {
            let sides = [self.side(&race.first), self.side(&race.second)];
            if !sides.iter().all(|side| side.place().is_some_and(|place| place.line != 0)) {
                continue;
            }
            let message = format!("{}, {}, and nothing orders the two", at(&sides[0]), at(&sides[1]));
            self.add(Kind::Race, true, sides.into(), "", message, Some(&race));
            if self.found.last().is_some_and(|it| it.detail.is_some()) {
                certify_race(execution, &race).map_err(Defect::Certificate)?;
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Defect> {
        let outcome = self.ended.outcome;
        let message = |what: &str| what.to_string();
        match &outcome.end {
            End::Exited(status) if self.rules.expect_exit.accepts(*status) => {}
            End::Exited(status) => {
                match said(&outcome.stderr).filter(|said| said.key.contains("panicked at")) {
                    // A Rust program whose main thread panics ends like this, without a signal.
                    Some(said) => {
                        self.add(Kind::Assertion, false, Vec::new(), &said.key, said.message, None);
                    }
                    None => {
                        let expected = match self.rules.expect_exit {
                            ExpectExit::Any => "any".to_string(),
                            ExpectExit::Status(status) => status.to_string(),
                        };
                        let message = format!(
                            "exit status {status}, not {expected} (if that is right: --expect-exit {status})"
                        );
                        self.add(Kind::Exit, false, Vec::new(), &status.to_string(), message, None);
                    }
                }
            }
            End::Killed { signal: libc::SIGABRT, thread, .. } => {
                let sides = self.thread(*thread);
                let said = said(&outcome.stderr);
                let key = said.as_ref().map(|said| said.key.clone()).unwrap_or_default();
                let message = said.map_or(message("the program has called abort()"), |said| said.message);
                self.add(Kind::Assertion, false, sides, &key, message, None);
            }
            End::Killed { signal, thread, fault } => {
                let sides = self.thread(*thread);
                let place = sides.first().map(in_place).unwrap_or_default();
                let message = format!("{}{place}", signal::explain(*signal, *fault));
                self.add(Kind::Crash, false, sides, &signal::name(*signal), message, None);
            }
            End::Deadlock => self.stuck(Kind::Deadlock, "every thread waits"),
            End::Livelock => self.stuck(Kind::Livelock, "the threads that are left spin for ever"),
            // Nobody knows what the rest would have shown: super::limits says what is known.
            End::TimedOut | End::TooManyEvents if self.rules.limits == Limits::Inconclusive => {}
            // Where the threads happen to be when time is over differs each time.
            End::TimedOut => {
                self.add(
                    Kind::Timeout,
                    false,
                    Vec::new(),
                    "time",
                    message("it took too long (--timeout)"),
                    None,
                );
            }
            End::TooManyEvents => {
                let message = message("it had too many events (--max-events)");
                self.add(Kind::Timeout, false, Vec::new(), "events", message, None);
            }
            // The caller knows what to do about these: there is nothing to judge.
            End::Diverged(_) => {}
            End::Abandoned => return Err(Defect::Other("a strategy has given an execution up".to_string())),
        }
        Ok(())
    }

    fn stuck(&mut self, kind: Kind, what: &str) {
        let threads = &self.ended.outcome.threads;
        let doing: Vec<String> = threads.iter().map(|it| format!("{} {}", it.thread, it.doing)).collect();
        let sides: Vec<Side> = threads
            .iter()
            .map(|it| Side::at(Some(it.thread), it.stack.clone(), blamed(&it.stack, &self.modules)))
            .collect();
        let message =
            if doing.is_empty() { what.to_string() } else { format!("{what}: {}", doing.join(", ")) };
        self.add(kind, false, sides, "", message, None);
    }

    fn side(&self, access: &Access) -> Side {
        let site = self.sites.site(access.site);
        let blamed = blamed(&site.stack, &self.modules);
        let volatile = site.atomic != Atomic::Yes && self.sites.is_volatile(access.site, access.addr.0);
        let mut side = Side { volatile, ..Side::access(access, site, blamed) };
        // The dynamic linker's stubs push something, too, and have no line: what was called tells more.
        if side.pushes() && side.place().is_some_and(|place| place.line == 0) {
            side.blamed = side.stack.iter().position(|frame| frame.line > 0).unwrap_or(blamed);
        }
        side
    }

    /// Whether an access is a plain load that the source may not have, or may not have of all that it reads.
    fn is_doubtful(&self, access: &Access, other: &Access) -> bool {
        !access.store && !access.atomic && self.sites.may_be_compilers(access.site, other.site)
    }

    /// Whether only C++20 calls it a race. Rust has C++20's rules.
    fn is_of_cpp20(&self, race: &Race, sides: &[Side]) -> bool {
        let is_rust = |side: &Side| {
            let file = side.place().and_then(|place| place.file.as_deref());
            file.is_some_and(|file| file.ends_with(".rs"))
        };
        !sides.iter().any(is_rust) && is_ordered_by_longer_sequences(self.ended.execution, race)
    }

    /// Where the thread is that a signal has hit.
    fn thread(&self, thread: Option<wmtrace_model::op::ThreadId>) -> Vec<Side> {
        let state = self.ended.outcome.threads.iter().find(|it| Some(it.thread) == thread);
        let stack = state.map(|it| it.stack.clone()).unwrap_or_default();
        if thread.is_none() && stack.is_empty() {
            return Vec::new();
        }
        let blamed = blamed(&stack, &self.modules);
        let jump = state.and_then(|it| it.jumps.iter().rfind(|jump| jump.frame <= blamed));
        let same = |a: &Location, b: &Location| (&a.file, a.line) == (&b.file, b.line);
        let came_from =
            jump.map(|jump| &jump.from).filter(|from| from.line > 0 && !same(from, &stack[blamed]));
        let came_from = came_from.cloned();
        vec![Side { came_from, ..Side::at(thread, stack, blamed) }]
    }

    /// Adds a bug, once. Whether it was not there yet.
    fn add(
        &mut self,
        kind: Kind,
        possible: bool,
        sides: Vec<Side>,
        text: &str,
        message: String,
        race: Option<&Race>,
    ) -> bool {
        let key = Key::new(kind, sides.iter().filter_map(Side::place), text);
        if self.found.iter().any(|other| other.possible == possible && other.key == key) {
            return false;
        }
        // How an execution ends is everybody's affair.
        let of_sides = matches!(kind, Kind::Race | Kind::UseAfterFree | Kind::UninitialisedLoad)
            || matches!(kind, Kind::LockMisuse | Kind::JoinMisuse)
            || matches!(kind, Kind::UseAfterReturn | Kind::AllocationRace);
        // Asked of every occurrence, each by its own stacks: what is found does not depend on who saw it first.
        let suppressed = self.suppressions.matching(kind, &sides);
        let detail = self.known.insert((possible, suppressed.is_some(), key.clone())).then(|| {
            let Ended { outcome, execution, .. } = self.ended;
            let cause = match race {
                Some(race) => Cause::of_race(execution, self.sites, race, &sides),
                None => Cause::of(&key, &sides),
            };
            let until = race.map(|race| race.events as usize).or(self.until);
            let until = until.unwrap_or(execution.events.len());
            Box::new(Detail {
                message,
                threads: outcome.threads.clone(),
                last: last_of_each(execution, self.sites, until, LAST_EVENTS),
                stdout: outcome.stdout.clone(),
                stderr: outcome.stderr.clone(),
                truncated: outcome.truncated,
                assumed: assumed(execution, self.sites, until, if of_sides { &sides } else { &[] }),
                // Whoever gets to see this has seen the certificate pass: `judge` fails otherwise.
                certified: true,
                cause,
                owner: Owner::of(&sides, &self.modules),
                sides,
            })
        });
        self.found.push(Occurrence { key, possible, suppressed, detail });
        true
    }
}

/// Where orders that matter to a bug are not known well: those of its threads' atomic accesses and fences before it, in code
/// that is not a compiler's own library. What is not known is as strong as it can be, so the bug is one all the same.
fn assumed(execution: &Execution, sites: &dyn Sites, until: usize, sides: &[Side]) -> Vec<String> {
    let threads: BTreeSet<_> = sides.iter().filter_map(|side| side.thread).collect();
    let of_bug = |event: &&Event| threads.is_empty() || threads.contains(&event.thread);
    let events = execution.events.iter().take(until).filter(of_bug);
    let seen: BTreeSet<_> =
        events.filter(|event| event.label.order().is_some()).map(|event| event.site).collect();
    let mut places = BTreeSet::new();
    for site in seen.into_iter().map(|site| sites.site(site)) {
        if site.standing != Standing::Known && !is_of_library(&site.stack) {
            places.extend(own(&site.stack).map(|place| Where(place).to_string()));
        }
    }
    places.into_iter().collect()
}

fn who(side: &Side) -> String {
    side.thread.map_or("a thread".to_string(), |thread| thread.to_string())
}

fn in_place(side: &Side) -> String {
    side.place().map(|place| format!(" at {}", Where(place))).unwrap_or_default()
}

/// `t1 stores 4 bytes at 0x4040 (na) at a.cc:12`
fn at(side: &Side) -> String {
    format!("{}{}", side.words(), in_place(side))
}
