//! Why an execution could happen, in words: which reads are stale and may be, and which order is missing.

use super::Case;
use super::graph::{Graph, Stale};
use crate::bug::Kind;
use crate::events::{self, number, sources};
use wmtrace_model::execution::{Access, EventId, Label, Race, Source};
use wmtrace_model::machine::Finding;
use wmtrace_model::op::{ModelKind, ThreadId};
use wmtrace_model::order::Order;

/// Stale reads that are explained: the last ones, which are nearest to the failure.
const MOST: usize = 8;

/// Paragraphs, and the events that they mention.
#[derive(Default)]
pub(super) struct Why {
    pub(super) paragraphs: Vec<String>,
    pub(super) mentioned: Vec<EventId>,
}

pub(super) fn why(case: &Case<'_>, graph: &Graph<'_>) -> Why {
    let mut writer = Writer { case, graph, why: Why::default() };
    if let Some(race) = race(case) {
        writer.race(&race);
    }
    let stale: Vec<Stale> = graph.stale.iter().rev().take(MOST).rev().copied().collect();
    for stale in &stale {
        writer.stale(*stale);
    }
    if graph.stale.len() > MOST {
        let more = graph.stale.len() - MOST;
        writer.why.paragraphs.push(format!("{more} earlier reads did not read the newest store either."));
    }
    if stale.is_empty() && case.bug.key.kind != Kind::Race {
        let text =
            "Every load has read the newest store: an interleaving of the threads is enough for this bug.";
        writer.why.paragraphs.push(text.to_string());
    }
    writer.why
}

/// The race that the bug is about, if it is one.
pub(super) fn race(case: &Case<'_>) -> Option<Race> {
    let sides = &case.bug.detail.sides;
    let is_it = |race: &Race| {
        let accesses = [&race.first, &race.second];
        sides.len() == accesses.len()
            && sides.iter().zip(accesses).all(|(side, access)| {
                side.thread == Some(access.thread) && side.memory == Some((access.addr.0, access.len))
            })
    };
    let mut races = case.findings.iter().filter_map(race_of);
    races.find(|race| case.bug.key.kind == Kind::Race && is_it(race))
}

fn race_of(finding: &Finding) -> Option<Race> {
    match finding {
        Finding::Race(race) => Some(*race),
        Finding::UseAfterFree { .. } | Finding::Uninitialised { .. } => None,
    }
}

struct Writer<'a> {
    case: &'a Case<'a>,
    graph: &'a Graph<'a>,
    why: Why,
}

impl Writer<'_> {
    fn say(&mut self, text: String, events: &[EventId]) {
        self.why.paragraphs.push(text);
        self.why.mentioned.extend(events);
    }

    fn at(&self, id: EventId) -> String {
        events::place(self.case.sites, self.graph.execution.event(id).site)
    }

    fn race(&mut self, race: &Race) {
        let side = |access: &Access| {
            let what = if access.store { "store" } else { "load" };
            format!("the {what} of {} at {}", access.thread, events::place(self.case.sites, access.site))
        };
        let text = format!(
            "Nothing orders {} and {}: no chain of synchronisation leads from one to the other.",
            side(&race.first),
            side(&race.second)
        );
        self.say(text, &[]);
        let execution = self.graph.execution;
        let after = execution
            .iter()
            .find(|(_, event)| event.thread == race.first.thread && event.epoch >= race.first.epoch)
            .map(|(id, _)| id);
        if let Some(after) = after {
            self.weak_links(race.first.thread, after, race.second.thread, EventId(race.events));
        }
    }

    /// Reads by which one thread learns of the other without synchronising: with stronger orders they would order what
    /// is not ordered.
    fn weak_links(&mut self, from: ThreadId, after: EventId, to: ThreadId, until: EventId) -> bool {
        let execution = self.graph.execution;
        let mut found = false;
        let reads: Vec<EventId> = execution
            .iter()
            .take(until.index())
            .filter(|(id, event)| event.thread == to && event.label.rf().is_some() && *id > after)
            .map(|(id, _)| id)
            .collect();
        for read in reads {
            let Some(store) = sources(execution, read).into_iter().find_map(|source| match source {
                Source::Store(store) => Some(store),
                Source::Init => None,
            }) else {
                continue;
            };
            let of_other = execution.event(store).thread == from && store >= after;
            if !of_other || self.graph.before(store, read) || found {
                continue;
            }
            found = true;
            let (store_order, read_order) =
                (execution.event(store).label.order(), execution.event(read).label.order());
            let mut weak = Vec::new();
            if !store_order.is_some_and(Order::releases) {
                let order = store_order.map_or("na", Order::name);
                weak.push(format!("the store {store} is {order}, not release ({})", self.at(store)));
            }
            if !read_order.is_some_and(Order::acquires) {
                let order = read_order.map_or("na", Order::name);
                weak.push(format!("the load {read} is {order}, not acquire ({})", self.at(read)));
            }
            let text = format!(
                "{to} does learn of {from} before that: {read} reads what {store} has stored. But that does not \
                 synchronise: {}. Release and acquire there (or fences) would order the two.",
                weak.join(", and "),
            );
            self.say(text, &[store, read]);
        }
        found
    }

    fn stale(&mut self, stale: Stale) {
        let Stale { read, missed } = stale;
        let execution = self.graph.execution;
        let (reader, writer) = (execution.event(read).thread, execution.event(missed).thread);
        let Label::Load { value, .. } = execution.event(read).label else { return };
        let newer = match execution.event(missed).label {
            Label::Store { value, .. } => value,
            Label::Rmw { written, .. } => written,
            _ => return,
        };
        let from = match sources(execution, read)[..] {
            [Source::Store(store)] => format!("{store} ({})", self.at(store)),
            _ => "the initial value".to_string(),
        };
        let mut text = format!(
            "{read}: {reader} reads {} from {from} at {}, although {writer} has stored {} at {} ({missed}).",
            number(value),
            self.at(read),
            number(newer),
            self.at(missed),
        );
        text += &match self.case.model {
            ModelKind::Sc => String::new(),
            ModelKind::Tso => format!(
                " Under tso {reader} may read before its own earlier stores are visible, and see older memory, unless \
                 an mfence or a locked instruction comes in between.",
            ),
            ModelKind::Pso | ModelKind::Pslo => {
                format!(
                    " Under {} nothing makes {reader} see that store yet: no fence comes in between.",
                    self.case.model
                )
            }
            ModelKind::C11 => {
                format!(" It may: nothing that {reader} has done before makes {missed} happen before {read}.")
            }
        };
        self.say(text, &[read, missed]);
        if self.case.model == ModelKind::C11 && !self.weak_links(writer, missed, reader, read) {
            self.buffering(stale);
        }
    }

    /// Whether the two threads miss each other's stores: only sequential consistency forbids that.
    fn buffering(&mut self, stale: Stale) {
        let execution = self.graph.execution;
        let (reader, writer) = (execution.event(stale.read).thread, execution.event(stale.missed).thread);
        let other = self.graph.missing_each_other(stale);
        let Some((own, other)) = other.filter(|_| reader != writer) else { return };
        let text = format!(
            "{writer} has not seen {reader}'s store {own} either (in {other}): each thread stores, then loads what the \
             other stores. Release and acquire allow this; it takes seq_cst on all four, or a seq_cst fence between \
             store and load in both threads.",
        );
        self.say(text, &[own, other]);
    }
}

impl Graph<'_> {
    /// A store of the reader before its stale read, and a read of the other thread, after the store that was missed,
    /// that does not see it.
    fn missing_each_other(&self, stale: Stale) -> Option<(EventId, EventId)> {
        let execution = self.execution;
        let (reader, writer) = (execution.event(stale.read).thread, execution.event(stale.missed).thread);
        execution.iter().filter(|(id, event)| event.thread == writer && *id > stale.missed).find_map(
            |(id, event)| {
                let Label::Load { at, .. } = event.label else { return None };
                let read_from = sources(execution, id);
                let stores = self.mo.get(&at)?;
                let own = stores.iter().find(|store| {
                    let theirs = execution.event(**store);
                    theirs.thread == reader
                        && **store < stale.read
                        && !read_from.contains(&Source::Store(**store))
                })?;
                // It reads something older than that store.
                let place = |it: EventId| stores.iter().position(|store| *store == it);
                let older = match read_from[..] {
                    [Source::Init] => true,
                    [Source::Store(store)] => place(store) < place(*own),
                    _ => false,
                };
                older.then_some((*own, id))
            },
        )
    }
}
