//! Events of an execution in words, for reports and explanations.

use crate::bug::{Where, bytes};
use crate::campaign::blame::own;
use crate::engine::evidence::Standing;
use crate::engine::{SiteInfo, Sites};
use wmtrace_decoder::orders;
use wmtrace_model::execution::{Event, EventId, Execution, Label, Source};
use wmtrace_model::op::{Place, Site, ThreadId, Value};

/// One event, ready to be shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EventLine {
    pub(crate) id: EventId,
    pub(crate) thread: ThreadId,
    /// What it does.
    pub(crate) text: String,
    /// Where in the code; empty where that is of no interest.
    pub(crate) place: String,
    /// Who states its order, if it has one, and how well it is known.
    pub(crate) order_from: Option<orders::Source>,
    pub(crate) standing: Standing,
}

/// The last `count` events of each thread among the first `until`, in order of events.
pub(crate) fn last_of_each(
    execution: &Execution,
    sites: &dyn Sites,
    until: usize,
    count: usize,
) -> Vec<EventLine> {
    let mut left: std::collections::BTreeMap<ThreadId, usize> = std::collections::BTreeMap::new();
    let mut lines = Vec::new();
    let events: Vec<(EventId, &Event)> = execution.iter().take(until).collect();
    for (id, event) in events.into_iter().rev() {
        let left = left.entry(event.thread).or_insert(count);
        if *left > 0 {
            *left -= 1;
            lines.push(line(execution, sites, id));
        }
    }
    lines.reverse();
    lines
}

/// The event as a line.
pub(crate) fn line(execution: &Execution, sites: &dyn Sites, id: EventId) -> EventLine {
    let event = execution.event(id);
    let site = sites.site(event.site);
    let ordered = event.label.order().is_some();
    EventLine {
        id,
        thread: event.thread,
        text: describe(execution, id),
        place: placed(&site),
        order_from: site.order.filter(|_| ordered).map(|(_, from)| from),
        standing: if ordered { site.standing } else { Standing::Known },
    }
}

/// Where a site is, in a few characters.
pub(crate) fn place(sites: &dyn Sites, site: Site) -> String {
    placed(&sites.site(site))
}

fn placed(site: &SiteInfo) -> String {
    let place = own(&site.stack).map(|place| Where(place).to_string()).unwrap_or_default();
    match site.standing {
        Standing::Strengthened => format!("{place} (strengthened)"),
        Standing::Known | Standing::Policy => place,
    }
}

/// `store 0x4040 = 1 relaxed`, `load 0x4040 reads 0 from the initial value (relaxed)` …
pub(crate) fn describe(execution: &Execution, id: EventId) -> String {
    match execution.event(id).label {
        Label::Load { at, order, value, locked, .. } => {
            let what = if locked { "failed compare-and-swap of" } else { "load" };
            format!("{what} {} = {} {order}", memory(at), number(value))
        }
        Label::Store { at, order, value, .. } => format!("store {} = {} {order}", memory(at), number(value)),
        Label::Rmw { at, order, read, written, .. } => {
            format!("rmw {} = {} -> {} {order}", memory(at), number(read), number(written))
        }
        Label::Fence { order } => format!("fence {order}"),
        Label::Commit { store } => format!("the store {store} becomes visible"),
        Label::Create { child } => format!("creates {child}"),
        Label::Exit => "ends".to_string(),
        Label::Join { child } => format!("joins {child}"),
        Label::Release { object } => format!("releases {object:#x}"),
        Label::Acquire { object } => format!("acquires {object:#x}"),
        Label::Sleep { at } => format!("sleeps on {}", memory(at)),
        Label::Wake { at, woken } => format!("wakes {woken} on {}", memory(at)),
        Label::Alloc { at, len } => format!("allocates {} at {at}", bytes(len)),
        Label::Free { at, len } => format!("frees {} at {at}", bytes(len)),
        Label::Foreign { at, len } if at.0.checked_add(len).is_none_or(|end| end == u64::MAX) => {
            format!("native code or the kernel may have written anything from {at} on")
        }
        Label::Foreign { at, len } => format!("native code or the kernel writes {} at {at}", bytes(len)),
    }
}

/// The address; the width only where it is unusual.
pub(crate) fn memory(at: Place) -> String {
    match at.width {
        4 => at.addr.to_string(),
        _ => at.to_string(),
    }
}

/// Small numbers as people write them, the others (pointers, flags) in hexadecimal digits.
pub(crate) fn number(value: Value) -> String {
    if value < 1000 { value.to_string() } else { format!("{value:#x}") }
}

/// Where a read takes its bytes from, each source once.
pub(crate) fn sources(execution: &Execution, id: EventId) -> Vec<Source> {
    let label = &execution.event(id).label;
    let (Some(rf), Some(at)) = (label.rf(), label.place()) else { return Vec::new() };
    let mut from: Vec<Source> =
        (0..usize::from(at.width)).map(|offset| execution.source(rf, offset)).collect();
    from.sort_unstable();
    from.dedup();
    from
}
