//! An execution as rows: what the table, the graph and the JSON all show.

use crate::litmus::names;
use std::collections::BTreeMap;
use wmtrace_model::execution::{Event, EventId, Execution, Label, Mo, Source};
use wmtrace_model::litmus::program::{Instr, Program, RmwOp};
use wmtrace_model::op::{Addr, MAX_WIDTH, Place, Value};
use wmtrace_model::order::Order;

/// One event.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row {
    /// Its number among those shown.
    pub(crate) id: EventId,
    pub(crate) thread: u32,
    /// The line of the test's file.
    pub(crate) line: Option<u32>,
    pub(crate) op: &'static str,
    pub(crate) order: Option<Order>,
    pub(crate) location: Option<String>,
    pub(crate) read: Option<i64>,
    /// What it writes; of a commit, what becomes visible.
    pub(crate) written: Option<i64>,
    /// Where it reads from; several only if accesses have several sizes.
    pub(crate) from: Vec<Source>,
    /// A store's place in the modification order of its location, from 1 (0 is the initial value).
    pub(crate) mo: Option<usize>,
    /// The held store that becomes visible here.
    pub(crate) commits: Option<EventId>,
}

/// The events of a test's execution, numbered without gaps. That its threads begin and end goes without saying.
pub(crate) fn rows(program: &Program, execution: &Execution) -> Vec<Row> {
    let mut rows = all_rows(program, execution);
    rows.retain(|row| !matches!(row.op, "create" | "exit" | "join"));
    let numbers: BTreeMap<EventId, EventId> = rows.iter().map(|row| row.id).zip((0..).map(EventId)).collect();
    let renumber = |id: &mut EventId| *id = numbers[id];
    for row in &mut rows {
        renumber(&mut row.id);
        row.commits.iter_mut().for_each(renumber);
        for source in &mut row.from {
            if let Source::Store(store) = source {
                renumber(store);
            }
        }
    }
    rows
}

/// Every event, by its own number: what a certificate talks about.
pub(crate) fn all_rows(program: &Program, execution: &Execution) -> Vec<Row> {
    let order = modification_order(execution, &locations(execution));
    let places: BTreeMap<EventId, usize> =
        order.into_values().flat_map(|stores| stores.into_iter().zip(1..)).collect();
    let mut rows: Vec<Row> = execution.iter().map(|(id, event)| row(program, execution, id, event)).collect();
    for row in &mut rows {
        row.mo = places.get(&row.id).copied();
    }
    rows
}

fn row(program: &Program, execution: &Execution, id: EventId, event: &Event) -> Row {
    let label = &event.label;
    let number = |at: Place, value: Value| match names::location(program, at.addr) {
        Some(location) => location.decode(value),
        None => value as i64,
    };
    // A commit is an event at the place of its store, and comes from the same line.
    let (place, site) = match *label {
        Label::Sleep { at } | Label::Wake { at, .. } => (Some(at), event.site),
        Label::Commit { store } => (execution.event(store).label.place(), execution.event(store).site),
        _ => (label.place(), event.site),
    };
    let (read, written, commits) = match *label {
        Label::Load { at, value, .. } => (Some(number(at, value)), None, None),
        Label::Store { at, value, .. } => (None, Some(number(at, value)), None),
        Label::Rmw { at, read, written, .. } => (Some(number(at, read)), Some(number(at, written)), None),
        Label::Commit { store } => match execution.event(store).label {
            Label::Store { at, value, .. } => (None, Some(number(at, value)), Some(store)),
            _ => (None, None, Some(store)),
        },
        _ => (None, None, None),
    };
    let location = place.map(|at| match names::location(program, at.addr) {
        Some(location) => location.name.clone(),
        None => at.to_string(),
    });
    let mut from = Vec::new();
    if let (Some(rf), Some(at)) = (label.rf(), place) {
        from.extend((0..usize::from(at.width)).map(|offset| execution.source(rf, offset)));
        from.dedup();
    }
    Row {
        id,
        thread: event.thread.0,
        line: names::line(program, site),
        op: operation(label, names::instruction_at(program, site)),
        order: label.order(),
        location,
        read,
        written,
        from,
        mo: None,
        commits,
    }
}

/// What the event is called. The instruction knows more than the label about an RMW.
fn operation(label: &Label, instr: Option<&Instr>) -> &'static str {
    match (label, instr) {
        (Label::Load { locked: true, .. }, Some(Instr::Cas { weak: true, .. })) => "failed_weak_cas",
        (Label::Load { locked: true, .. }, _) => "failed_cas",
        (Label::Load { .. }, _) => "load",
        (Label::Store { .. }, _) => "store",
        (Label::Rmw { .. }, Some(Instr::Cas { .. })) => "cas",
        (Label::Rmw { .. }, Some(Instr::Rmw { op, .. })) => match op {
            RmwOp::Exchange => "exchange",
            RmwOp::Add => "fetch_add",
            RmwOp::Sub => "fetch_sub",
            RmwOp::Or => "fetch_or",
            RmwOp::And => "fetch_and",
            RmwOp::Xor => "fetch_xor",
        },
        (Label::Rmw { .. }, _) => "rmw",
        (Label::Fence { .. }, _) => "fence",
        (Label::Commit { .. }, _) => "commit",
        (Label::Create { .. }, _) => "create",
        (Label::Exit, _) => "exit",
        (Label::Join { .. }, _) => "join",
        (Label::Release { .. }, _) => "release",
        (Label::Acquire { .. }, _) => "acquire",
        (Label::Sleep { .. }, _) => "sleep",
        (Label::Wake { .. }, _) => "wake",
        (Label::Alloc { .. }, _) => "alloc",
        (Label::Free { .. }, _) => "free",
        (Label::Foreign { .. }, _) => "foreign",
    }
}

/// The stores to each location among these, in modification order.
pub(crate) fn orders(rows: &[Row]) -> BTreeMap<&str, Vec<&Row>> {
    let mut orders: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        if let (Some(location), Some(_)) = (&row.location, row.mo) {
            orders.entry(location).or_default().push(row);
        }
    }
    orders.values_mut().for_each(|stores| stores.sort_by_key(|row| row.mo));
    orders
}

/// A place in one of its lives: memory that is allocated, freed, or written by others begins a new one, with an initial
/// value of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Location {
    pub(crate) place: Place,
    pub(crate) life: u32,
}

/// Where each event's access goes.
pub(crate) fn locations(execution: &Execution) -> Vec<Option<Location>> {
    let mut lives: BTreeMap<Place, u32> = BTreeMap::new();
    let locate = |(id, event): (EventId, &Event)| {
        if let Label::Alloc { at, len } | Label::Free { at, len } | Label::Foreign { at, len } = event.label {
            let first = Place { addr: Addr(at.0.saturating_sub(u64::from(MAX_WIDTH))), width: 0 };
            let end = at.0.saturating_add(len);
            for (place, life) in lives.range_mut(first..).take_while(|(place, _)| place.addr.0 < end) {
                if place.addr.0.saturating_add(u64::from(place.width)) > at.0 {
                    *life = id.0 + 1;
                }
            }
        }
        let place = event.label.place()?;
        Some(Location { place, life: *lives.entry(place).or_default() })
    };
    execution.iter().map(locate).collect()
}

/// The stores to each location, in modification order, without the initial value.
pub(crate) fn modification_order(
    execution: &Execution,
    locations: &[Option<Location>],
) -> BTreeMap<Location, Vec<EventId>> {
    let mut order: BTreeMap<Location, Vec<EventId>> = BTreeMap::new();
    let mut held = Vec::new();
    for (id, event) in execution.iter() {
        if let Label::Commit { store } = event.label
            && let Some(at) = locations[store.index()]
        {
            held.retain(|other| *other != store);
            order.entry(at).or_default().push(store);
        }
        let (Some(at), Some(mo)) = (locations[id.index()], event.label.mo()) else { continue };
        let stores = order.entry(at).or_default();
        match mo {
            Mo::Last => stores.push(id),
            Mo::After(Source::Init) => stores.insert(0, id),
            Mo::After(Source::Store(before)) => {
                let after =
                    stores.iter().position(|store| *store == before).map_or(stores.len(), |at| at + 1);
                stores.insert(after, id);
            }
            Mo::Held => held.push(id),
        }
    }
    // What never became visible comes last.
    for id in held {
        if let Some(at) = locations[id.index()] {
            order.entry(at).or_default().push(id);
        }
    }
    order
}
