//! What bugs have in common: one mistake shows in many places, and is one cause.
//!
//! Two races have one cause if the same missing synchronisation would have ordered both (a store and a load that reads
//! it, neither of which is strong enough), or if the same threads' roles meet in the same object: a global variable, or
//! blocks that one place allocates. Uses after free have one cause if one place frees. Everything else is told apart by
//! its places, as bugs always were.
//!
//! A cause has a name that contains no address, thread number or count: it is the same in each run, and for any `-j`.

use super::blame::{is_library, own};
use crate::bug::{Key, Kind, Side, Where};
use crate::engine::{Location, Sites};
use crate::events::sources;
use std::collections::BTreeSet;
use wmtrace_model::execution::{Execution, Label, Race, Source};
use wmtrace_model::op::Addr;
use wmtrace_model::order::Order;

/// A store and a load that reads it, and synchronises with nothing; both as places in the code.
pub(crate) type Link = (String, String);

/// What two sides of a race share: the object, and their roles (sorted).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shared {
    object: String,
    roles: [String; 2],
}

/// Why a bug is there, as far as it can be told from one execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cause {
    /// The name.
    pub(crate) name: String,
    /// Of a race: what alone would have ordered it.
    links: BTreeSet<Link>,
    /// The one that names the cause.
    link: Option<Link>,
    shared: Option<Shared>,
}

impl Cause {
    /// Of a bug that is no race.
    pub(crate) fn of(key: &Key, sides: &[Side]) -> Cause {
        let kind = key.kind.name();
        let place = |side: &Side| side.place().map(named);
        let name = match (key.kind, sides) {
            (Kind::UseAfterFree, [_, freed]) => match place(freed) {
                Some(place) => format!("{kind}: freed at {place}"),
                None => format!("{kind}: freed somewhere"),
            },
            _ => {
                let mut places: Vec<String> = sides.iter().filter_map(place).collect();
                places.sort_unstable();
                places.dedup();
                let at = if places.is_empty() { String::new() } else { format!(" at {}", places.join(", ")) };
                let text = if key.text.is_empty() { String::new() } else { format!(": {}", key.text) };
                format!("{kind}{text}{at}")
            }
        };
        Cause { name, links: BTreeSet::new(), link: None, shared: None }
    }

    /// Of a race.
    pub(crate) fn of_race(execution: &Execution, sites: &dyn Sites, race: &Race, sides: &[Side]) -> Cause {
        let found = links(execution, sites, race);
        let link = found.first().cloned();
        let links = found.into_iter().collect();
        let object = object(execution, sites, race);
        let mut roles =
            [0, 1].map(|at| sides.get(at).map_or_else(String::new, |side| role(side, object.is_none())));
        roles.sort_unstable();
        let what = object.as_deref().unwrap_or("memory");
        let name = match &link {
            Some((store, load)) => {
                format!("race: the store at {store} does not synchronise with the load at {load}")
            }
            None if roles[0] == roles[1] => {
                format!("race: nothing orders what threads in {} do to {what}", roles[0])
            }
            None => format!("race: nothing orders what {} and {} do to {what}", roles[0], roles[1]),
        };
        Cause { name, links, link, shared: Some(Shared { object: what.to_string(), roles }) }
    }

    /// Whether a bug with this other cause belongs here.
    pub(crate) fn covers(&self, other: &Cause) -> bool {
        let links = self.link.as_ref().is_some_and(|link| other.links.contains(link));
        let shared = self.shared.is_some() && self.shared == other.shared;
        links || shared || self.name == other.name
    }
}

/// `queue.c:12 (push)`; columns differ between copies of one mistake.
fn named(place: &Location) -> String {
    let shown = Where(&Location { column: 0, ..place.clone() }).to_string();
    match &place.function {
        Some(function) => format!("{shown} ({})", whole(function)),
        None => shown,
    }
}

/// The function that a compiler has taken a part out of: the source has one only.
fn whole(function: &str) -> &str {
    const PARTS: [&str; 4] = [".cold", ".part.", ".isra.", ".constprop."];
    let ends = PARTS.iter().filter_map(|part| function.find(part));
    &function[..ends.min().unwrap_or(function.len())]
}

/// What a thread is there for: the outermost function that is the program's own. Where nothing is known of the object, the
/// function that makes the access tells more.
fn role(side: &Side, innermost: bool) -> String {
    let own = |place: &&Location| !is_library(place) && place.function.is_some();
    let place = if innermost { side.place() } else { side.stack.iter().rev().find(own).or(side.place()) };
    place.map_or_else(String::new, |place| match &place.function {
        Some(function) => whole(function).to_string(),
        None => Where(place).to_string(),
    })
}

/// What the second thread has read of the first one's stores since the first access, without synchronising: any of these, if
/// it synchronised, would have ordered the race. The earliest read comes first. (Of a plain access only its epoch is
/// known, so that a store in the same epoch may come before it.)
fn links(execution: &Execution, sites: &dyn Sites, race: &Race) -> Vec<Link> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let reads = execution.iter().take(race.events as usize);
    for (read, event) in reads.filter(|(_, event)| event.thread == race.second.thread) {
        let (Some(reads), Label::Load { .. } | Label::Rmw { .. }) = (event.label.order(), event.label) else {
            continue;
        };
        for source in sources(execution, read) {
            let Source::Store(store) = source else { continue };
            let stored = execution.event(store);
            if stored.thread != race.first.thread || stored.epoch < race.first.epoch {
                continue;
            }
            let releases = stored.label.order().is_some_and(Order::releases);
            let itself = stored.site == race.first.site || event.site == race.second.site;
            if (releases && reads.acquires()) || itself || !seen.insert((stored.site, event.site)) {
                continue;
            }
            let place = |site| own(&sites.site(site).stack).map(named);
            if let (Some(store), Some(load)) = (place(stored.site), place(event.site)) {
                found.push((store, load));
            }
        }
    }
    found
}

/// What the race is about: a global variable, or the place that allocates blocks like it.
fn object(execution: &Execution, sites: &dyn Sites, race: &Race) -> Option<String> {
    let Addr(addr) = race.second.addr;
    if let Some(name) = sites.global(addr) {
        return Some(name);
    }
    let until = &execution.events[..execution.events.len().min(race.events as usize)];
    let block = until.iter().rev().find_map(|event| match event.label {
        Label::Alloc { at, len } if (at.0..at.0.saturating_add(len)).contains(&addr) => {
            Some(Some(event.site))
        }
        Label::Free { at, len } if (at.0..at.0.saturating_add(len)).contains(&addr) => Some(None),
        _ => None,
    })??;
    let stack = sites.site(block).stack;
    let place = stack.iter().find(|place| !is_library(place) && place.file.is_some()).or(stack.first())?;
    Some(format!("the block allocated at {}", named(place)))
}
