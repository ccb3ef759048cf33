//! Why an execution could happen, in words: which reads are stale and may be, and which order is missing.

use super::Case;
use super::cycle::{self, Step};
use super::graph::{Graph, Stale};
use crate::bug::Kind;
use crate::events::{self, number, sources};
use std::collections::BTreeMap;
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
    let mut writer = Writer { case, graph, why: Why::default(), advised: false };
    if let Some(race) = race(case) {
        writer.race(&race);
    }
    if case.bug.key.kind == Kind::Deadlock {
        writer.holders();
    }
    let stale: Vec<Stale> = graph.stale.iter().rev().take(MOST).rev().copied().collect();
    for stale in &stale {
        writer.stale(*stale);
    }
    if graph.stale.len() > MOST {
        let more = graph.stale.len() - MOST;
        writer.why.paragraphs.push(format!("{more} earlier reads did not read the newest store either."));
    }
    match cycle::find(graph) {
        Some(cycle) if !writer.advised => writer.cycle(&cycle),
        Some(_) => {}
        None if case.bug.key.kind == Kind::Race => {}
        None => writer.say(interleaving(&stale), &[]),
    }
    writer.why
}

/// That nothing weak is needed.
fn interleaving(stale: &[Stale]) -> String {
    match stale {
        [] => "Every load has read the newest store: an interleaving of the threads is enough for this bug.",
        _ => {
            "All the same, an interleaving of the threads is enough for this bug: one in which loads come before the \
             stores that they have missed here."
        }
    }
    .to_string()
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
    races.find(|race| matches!(case.bug.key.kind, Kind::Race | Kind::AllocationRace) && is_it(race))
}

fn race_of(finding: &Finding) -> Option<Race> {
    match finding {
        Finding::Race(race) | Finding::AllocationRace(race) => Some(*race),
        Finding::UseAfterFree { .. } | Finding::Uninitialised { .. } => None,
    }
}

struct Writer<'a> {
    case: &'a Case<'a>,
    graph: &'a Graph<'a>,
    why: Why,
    /// Whether it was said what would forbid this.
    advised: bool,
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
            let allocates = ["malloc", "realloc"].contains(&self.case.sites.site(access.site).op);
            let what = if access.store { "store" } else { "load" };
            let what = if allocates { "allocation" } else { what };
            format!("the {what} of {} at {}", access.thread, events::place(self.case.sites, access.site))
        };
        let text = format!(
            "Nothing orders {} and {}: no chain of synchronisation leads from one to the other.",
            side(&race.first),
            side(&race.second)
        );
        self.say(text, &[]);
        let execution = self.graph.execution;
        let mine = || execution.iter().filter(|(_, event)| event.thread == race.first.thread);
        // Of plain accesses only the epoch is known, which may begin long before them.
        let itself = mine().filter(|(id, event)| {
            event.site == race.first.site
                && event.epoch == race.first.epoch
                && event.label.place().is_some_and(|at| at.addr == race.first.addr)
                && id.0 < race.events
        });
        let itself = itself.last().map(|(id, _)| id);
        let epoch = || mine().find(|(_, event)| event.epoch >= race.first.epoch).map(|(id, _)| id);
        if let Some(after) = itself.or_else(epoch) {
            let provided = itself.is_none().then(|| side(&race.first));
            let until = EventId(race.events);
            self.weak_link(race.first.thread, after, race.second.thread, until, provided.as_deref());
        }
    }

    /// The last read by which one thread learns of the other without synchronising: with stronger orders it would order
    /// what is not ordered. `provided`: what the store must come after, if nobody knows whether it does.
    fn weak_link(
        &mut self,
        from: ThreadId,
        after: EventId,
        to: ThreadId,
        until: EventId,
        provided: Option<&str>,
    ) -> bool {
        let execution = self.graph.execution;
        let reads =
            execution.iter().take(until.index()).filter(|(id, event)| event.thread == to && *id > after);
        let links =
            reads.flat_map(|(read, _)| sources(execution, read).into_iter().map(move |it| (it, read)));
        let weak = links.filter_map(|(source, read)| match source {
            Source::Store(store) => Some((store, read)),
            Source::Init => None,
        });
        let weak = weak.filter(|(store, read)| {
            execution.event(*store).thread == from && *store >= after && !self.graph.before(*store, *read)
        });
        // The later the store, the more comes before it.
        let Some((store, read)) = weak.max_by_key(|(store, read)| (*store, *read)) else { return false };
        let order = |id: EventId| execution.event(id).label.order();
        let name = |id: EventId| order(id).map_or("na", Order::name);
        let mut weak = Vec::new();
        if !order(store).is_some_and(Order::releases) {
            weak.push(format!("the store {store} is {}, not release ({})", name(store), self.at(store)));
        }
        if !order(read).is_some_and(Order::acquires) {
            weak.push(format!("the load {read} is {}, not acquire ({})", name(read), self.at(read)));
        }
        let provided = provided.map(|it| format!(", if {store} comes after {it}")).unwrap_or_default();
        let text = format!(
            "{to} does learn of {from} before that: {read} reads what {store} has stored. But that does not \
             synchronise: {}. Release and acquire there (or fences) would order the two{provided}.",
            weak.join(", and "),
        );
        self.say(text, &[store, read]);
        self.advised = true;
        true
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
        if self.case.model == ModelKind::C11 && !self.weak_link(writer, missed, reader, read, None) {
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
        self.advised = true;
    }

    /// What no interleaving can do, and what would forbid it.
    fn cycle(&mut self, cycle: &[Step]) {
        let execution = self.graph.execution;
        let thread = |id: EventId| execution.event(id).thread;
        let steps: Vec<String> = cycle
            .iter()
            .map(|Step { from, why, to }| match why {
                cycle::Why::Po => format!("{from} comes before {to} in {}", thread(*from)),
                cycle::Why::Rf => format!("{to} reads what {from} has stored"),
                cycle::Why::Mo => format!("{to} replaces what {from} has stored"),
                cycle::Why::Fr => format!("{to} replaces what {from} has read"),
                cycle::Why::Sw => format!("{to} waits for {from}"),
            })
            .collect();
        let text = format!(
            "No interleaving of the threads does this, since it goes round in a circle: {}. {}",
            steps.join("; "),
            self.forbids(cycle),
        );
        let events: Vec<EventId> = cycle.iter().flat_map(|step| [step.from, step.to]).collect();
        self.say(text.trim_end().to_string(), &events);
    }

    /// What would keep the threads from going round in this circle.
    fn forbids(&self, cycle: &[Step]) -> String {
        let of = |why: cycle::Why| cycle.iter().filter(move |step| step.why == why);
        let pairs = |steps: &[&Step]| {
            let pairs = steps.iter().map(|step| format!("{} and {}", step.from, step.to));
            pairs.collect::<Vec<_>>().join(", ")
        };
        if self.case.model == ModelKind::C11 {
            // One store that is missed, although a chain of reads leads from it to the load: synchronisation forbids that.
            if of(cycle::Why::Fr).count() == 1 && of(cycle::Why::Mo).count() == 0 {
                let read: Vec<&Step> = of(cycle::Why::Rf).collect();
                return format!(
                    "Release and acquire where one thread reads what another has stored ({}) would forbid it.",
                    pairs(&read)
                );
            }
            return "Release and acquire allow this; it takes seq_cst on all of them, or a seq_cst fence between the \
                    two of each thread."
                .to_string();
        }
        let kept = |step: &&Step| {
            let label = |id: EventId| &self.graph.execution.event(id).label;
            let model = self.case.model;
            match (label(step.from), label(step.to)) {
                (Label::Store { .. }, Label::Load { .. }) => false,
                (Label::Store { .. }, Label::Store { .. }) => model == ModelKind::Tso,
                (Label::Load { .. }, Label::Load { .. }) => model != ModelKind::Pslo,
                _ => true,
            }
        };
        let free: Vec<&Step> = of(cycle::Why::Po).filter(|step| !kept(step)).collect();
        let fence = match self.case.model {
            ModelKind::Tso => "An mfence or a locked instruction",
            ModelKind::Sc | ModelKind::Pso | ModelKind::Pslo | ModelKind::C11 => "A fence",
        };
        match free.is_empty() {
            true => String::new(),
            false => format!(
                "Under {} the second of {} may take effect first. {fence} in between (in each thread) would forbid it.",
                self.case.model,
                pairs(&free)
            ),
        }
    }

    /// Who has the locks that threads wait for.
    fn holders(&mut self) {
        let execution = self.graph.execution;
        for state in &self.case.bug.detail.threads {
            // The engine's words for a thread that waits for a lock.
            let object = state.doing.strip_prefix("waits in lock of 0x");
            let Some(object) = object.and_then(|digits| u64::from_str_radix(digits, 16).ok()) else {
                continue;
            };
            let mut taken = BTreeMap::new();
            for (id, event) in execution.iter() {
                match event.label {
                    Label::Acquire { object: it } if it == object => taken.insert(event.thread, id),
                    Label::Release { object: it } if it == object => taken.remove(&event.thread),
                    _ => continue,
                };
            }
            for (holder, since) in taken {
                let waiter = state.thread;
                let who = if holder == waiter { "it".to_string() } else { holder.to_string() };
                let at = self.at(since);
                let text = format!(
                    "{waiter} waits for the lock {object:#x}, which {who} has taken at {at} ({since}) and not given back."
                );
                self.say(text, &[since]);
            }
        }
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
                let Label::Load { .. } = event.label else { return None };
                let read_from = sources(execution, id);
                let stores = self.stores(id);
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
