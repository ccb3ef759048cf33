//! An execution as rows: what the table, the graph and the JSON all show.

use crate::litmus::names;
use std::collections::BTreeMap;
use wmtrace_model::execution::{EventId, Execution, Label, Mo, Source};
use wmtrace_model::litmus::program::Program;
use wmtrace_model::op::{Place, Value};
use wmtrace_model::order::Order;

/// One event.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row {
    pub(crate) id: EventId,
    pub(crate) thread: u32,
    pub(crate) op: &'static str,
    pub(crate) order: Option<Order>,
    pub(crate) location: Option<String>,
    pub(crate) read: Option<i64>,
    pub(crate) written: Option<i64>,
    /// Where it reads from; several only if accesses have several sizes.
    pub(crate) from: Vec<Source>,
    /// A store's place in the modification order of its location, from 1 (0 is the initial value).
    pub(crate) mo: Option<usize>,
    /// The held store that becomes visible here.
    pub(crate) commits: Option<EventId>,
}

/// The events of a test's execution. That its threads begin and end goes without saying.
pub(crate) fn rows(program: &Program, execution: &Execution) -> Vec<Row> {
    let places: BTreeMap<EventId, usize> =
        modification_order(execution).into_values().flat_map(|stores| stores.into_iter().zip(1..)).collect();
    execution
        .iter()
        .filter(|(_, event)| !matches!(event.label, Label::Create { .. } | Label::Exit | Label::Join { .. }))
        .map(|(id, event)| {
            row(program, execution, id, event.thread.0, &event.label, places.get(&id).copied())
        })
        .collect()
}

fn row(
    program: &Program,
    execution: &Execution,
    id: EventId,
    thread: u32,
    label: &Label,
    mo: Option<usize>,
) -> Row {
    let number = |at: Place, value: Value| match names::location(program, at.addr) {
        Some(location) => location.decode(value),
        None => value as i64,
    };
    let (op, read, written, commits) = match *label {
        Label::Load { at, value, locked, .. } => {
            (if locked { "failed_cas" } else { "load" }, Some(number(at, value)), None, None)
        }
        Label::Store { at, value, .. } => ("store", None, Some(number(at, value)), None),
        Label::Rmw { at, read, written, .. } => {
            ("rmw", Some(number(at, read)), Some(number(at, written)), None)
        }
        Label::Fence { .. } => ("fence", None, None, None),
        Label::Commit { store } => ("commit", None, None, Some(store)),
        Label::Create { .. } => ("create", None, None, None),
        Label::Exit => ("exit", None, None, None),
        Label::Join { .. } => ("join", None, None, None),
        Label::Release { .. } => ("release", None, None, None),
        Label::Acquire { .. } => ("acquire", None, None, None),
        Label::Sleep { .. } => ("sleep", None, None, None),
        Label::Wake { .. } => ("wake", None, None, None),
        Label::Alloc { .. } => ("alloc", None, None, None),
        Label::Free { .. } => ("free", None, None, None),
    };
    let place = match *label {
        Label::Sleep { at } | Label::Wake { at, .. } => Some(at),
        // A commit is an event at the place of its store.
        Label::Commit { store } => execution.event(store).label.place(),
        _ => label.place(),
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
    Row { id, thread, op, order: label.order(), location, read, written, from, mo, commits }
}

/// The stores to each place, in modification order, without the initial value.
pub(crate) fn modification_order(execution: &Execution) -> BTreeMap<Place, Vec<EventId>> {
    let mut order: BTreeMap<Place, Vec<EventId>> = BTreeMap::new();
    let mut held = Vec::new();
    for (id, event) in execution.iter() {
        if let Label::Commit { store } = event.label
            && let Some(at) = execution.event(store).label.place()
        {
            held.retain(|other| *other != store);
            order.entry(at).or_default().push(store);
        }
        let (Some(at), Some(mo)) = (event.label.place(), event.label.mo()) else { continue };
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
        if let Some(at) = execution.event(id).label.place() {
            order.entry(at).or_default().push(id);
        }
    }
    order
}
