//! Executions by hand, each with the verdict that the literature gives it; then random ones, judged again by
//! [`naive`], which transcribes the axioms as relations.

mod c11;
mod garbage;
mod hardware;
mod naive;
mod race;
mod random;
mod record;
mod unsure;

use super::{Coherence, Defect, NoConflict, Violation, certify, certify_race};
use crate::execution::{Event, EventId, Execution, Label, Mo, Rf, Source};
use crate::op::{Addr, ModelKind, Place, Site, ThreadId, Value};
use crate::order::Order;
use crate::order::Order::{AcqRel, Acquire, Na, Relaxed, Release, SeqCst};
use Source::{Init, Store};
use alloc::vec::Vec;

const X: Place = Place::new(Addr(0x100), 4);
const Y: Place = Place::new(Addr(0x200), 4);

/// Writes executions down, one event a call. Reads take their value from their source, epochs advance by
/// themselves.
#[derive(Clone)]
struct Run {
    execution: Execution,
    epochs: Vec<u32>,
}

impl Run {
    fn new(model: ModelKind) -> Run {
        Run { execution: Execution::new(model), epochs: Vec::new() }
    }

    fn c11() -> Run {
        Run::new(ModelKind::C11)
    }

    fn push(&mut self, thread: u32, label: Label) -> EventId {
        let index = thread as usize;
        self.epochs.resize(self.epochs.len().max(index + 1), 0);
        let epoch = self.epochs[index];
        self.epochs[index] += u32::from(match label {
            Label::Store { order, .. } | Label::Rmw { order, .. } | Label::Fence { order } => {
                order.releases()
            }
            Label::Create { .. } | Label::Exit | Label::Release { .. } => true,
            _ => false,
        });
        self.execution.events.push(Event { thread: ThreadId(thread), site: Site(0), epoch, label });
        EventId(self.execution.events.len() as u32 - 1)
    }

    fn value(&self, source: Source) -> Value {
        match source {
            Init => 0,
            Store(store) => match self.execution.event(store).label {
                Label::Store { value, .. } | Label::Rmw { written: value, .. } => value,
                _ => panic!("{store} writes nothing"),
            },
        }
    }

    /// A load.
    fn r(&mut self, thread: u32, at: Place, order: Order, from: Source) -> EventId {
        let value = self.value(from);
        self.push(thread, Label::Load { at, order, value, rf: Rf::One(from), locked: false })
    }

    /// A failed compare-and-swap.
    fn locked(&mut self, thread: u32, at: Place, order: Order, from: Source) -> EventId {
        let value = self.value(from);
        self.push(thread, Label::Load { at, order, value, rf: Rf::One(from), locked: true })
    }

    /// A store at the end of modification order.
    fn w(&mut self, thread: u32, at: Place, order: Order, value: Value) -> EventId {
        self.store(thread, at, order, value, Mo::Last)
    }

    fn store(&mut self, thread: u32, at: Place, order: Order, value: Value, mo: Mo) -> EventId {
        self.push(thread, Label::Store { at, order, value, mo })
    }

    /// An RMW that adds 10, at the end of modification order.
    fn rmw(&mut self, thread: u32, at: Place, order: Order, from: Source) -> EventId {
        self.rmw_at(thread, at, order, from, Mo::Last)
    }

    fn rmw_at(&mut self, thread: u32, at: Place, order: Order, from: Source, mo: Mo) -> EventId {
        let read = self.value(from);
        self.push(thread, Label::Rmw { at, order, read, rf: Rf::One(from), written: read + 10, mo })
    }

    fn fence(&mut self, thread: u32, order: Order) -> EventId {
        self.push(thread, Label::Fence { order })
    }

    fn verdict(&self) -> Result<(), Violation> {
        certify(&self.execution)
    }

    #[track_caller]
    fn allowed(&self) {
        assert_eq!(self.verdict(), Ok(()));
    }

    #[track_caller]
    fn incoherent(&self, shape: Coherence, earlier: EventId, later: EventId) {
        assert_eq!(self.verdict(), Err(Violation::Coherence { shape, earlier, later }));
    }

    #[track_caller]
    fn not_sc(&self) {
        assert!(
            matches!(self.verdict(), Err(Violation::Sc(cycle)) if cycle.len() > 1),
            "{:?}",
            self.verdict()
        );
    }

    #[track_caller]
    fn not_global(&self) {
        assert!(
            matches!(self.verdict(), Err(Violation::Global(cycle)) if cycle.len() > 1),
            "{:?}",
            self.verdict()
        );
    }

    #[track_caller]
    fn malformed(&self, event: EventId, why: Defect) {
        assert_eq!(self.verdict(), Err(Violation::Malformed { event, why }));
    }
}
