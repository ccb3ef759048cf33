//! Instructions under way, of which the model decides some accesses.

use super::calls::Told;
use crate::bug::STORE_OR_RMW;
use crate::os::OsError;
use crate::os::memory::ProcessMemory;
use std::rc::Rc;
use wmtrace_decoder::effect::{AccessKind, Concrete};
use wmtrace_decoder::orders::Meant;
use wmtrace_model::op::{Op, Place, Site, Value};
use wmtrace_model::order::Order;

/// One access, or sixteen bytes of it, that the model decides on.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) at: Place,
    pub(super) order: Order,
    pub(super) failure: Order,
    pub(super) site: Site,
    /// It is a full barrier, too.
    pub(super) barrier: bool,
    /// What a load has read, or a store will write, once that is known.
    pub(super) value: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PartKind {
    Load,
    Store,
    Rmw,
    /// A compare-and-swap; a weak one may fail for no reason.
    Cas {
        expected: Value,
        weak: bool,
    },
}

impl Part {
    pub(super) fn op(&self) -> Op {
        let Part { at, order, failure, .. } = *self;
        match self.kind {
            PartKind::Load => Op::Load { at, order },
            PartKind::Store => Op::Store { at, order },
            PartKind::Rmw => Op::Rmw { at, order },
            PartKind::Cas { expected, weak } => Op::Cas { at, order, failure, expected, weak },
        }
    }
}

/// What memory held at the places of an instruction before it ran.
pub(super) struct Before(Vec<(Place, Value)>);

/// An instruction under way; `I` is what the engine knows of it.
pub(super) struct Flight<I> {
    pub(super) insn: Rc<I>,
    pub(super) parts: Vec<Part>,
    pub(super) told: Vec<Told>,
    pub(super) next: usize,
    pub(super) executed: bool,
    /// What its read-modify-write has written.
    pub(super) updated: Option<Value>,
}

impl<I> Flight<I> {
    pub(super) fn new(insn: Rc<I>, parts: Vec<Part>, told: Vec<Told>) -> Flight<I> {
        Flight { insn, parts, told, next: 0, executed: false, updated: None }
    }

    /// The part that the model decides on next.
    pub(super) fn part(&mut self) -> &mut Part {
        &mut self.parts[self.next]
    }

    /// Puts what its loads are to read into memory, just for the moment in which it runs.
    pub(super) fn prepare(&self, memory: &ProcessMemory) -> Result<Before, OsError> {
        let mut before: Vec<(Place, Value)> = Vec::new();
        for part in &self.parts {
            // Of two parts at one place, what was there first counts.
            if !before.iter().any(|(at, _)| *at == part.at) {
                before.push((part.at, memory.value(part.at)));
            }
        }
        for part in &self.parts {
            if let (true, Some(value)) = (part.kind != PartKind::Store, part.value)
                && before.iter().any(|&(at, old)| at == part.at && old != value)
            {
                memory.set_value(part.at, value)?;
            }
        }
        Ok(Before(before))
    }

    /// It has run, and memory is as it was again: what it wrote is in its parts.
    pub(super) fn ran(&mut self, wrote: &[(Place, Value)]) {
        self.executed = true;
        for part in &mut self.parts {
            let now = wrote.iter().find(|(at, _)| *at == part.at).map(|&(_, now)| now);
            match part.kind {
                PartKind::Store => part.value = now,
                PartKind::Rmw | PartKind::Cas { .. } => self.updated = now,
                PartKind::Load => {}
            }
        }
    }
}

impl Before {
    /// Makes memory what it was. What it held meanwhile is returned.
    pub(super) fn put_back(&self, memory: &ProcessMemory) -> Result<Vec<(Place, Value)>, OsError> {
        let mut meanwhile = Vec::new();
        for &(at, old) in &self.0 {
            let now = memory.value(at);
            if now != old {
                memory.set_value(at, old)?;
            }
            meanwhile.push((at, now));
        }
        Ok(meanwhile)
    }
}

/// What an access is to the model: what it is at the source. XCHG may be a store, whatever it does beside that, and a load
/// may be a read-modify-write that changes nothing.
pub(super) fn as_meant(it: &Concrete, meant: Meant) -> AccessKind {
    match (it.kind, meant) {
        (AccessKind::Rmw, Meant::Store) if !it.conditional => AccessKind::Store,
        (AccessKind::Load, Meant::Rmw) if it.len <= 16 => AccessKind::Rmw,
        (kind, _) => kind,
    }
}

/// What reports call an access that the model decides on.
pub(super) fn op_name(kind: AccessKind, meant: Meant) -> &'static str {
    match (kind, meant) {
        (AccessKind::Rmw, Meant::StoreOrRmw) => STORE_OR_RMW,
        (AccessKind::Rmw, _) => "rmw",
        (AccessKind::Store | AccessKind::LoadStore, _) => "store",
        (AccessKind::Load, _) => "load",
    }
}

/// An order as a load can have it.
pub(super) fn of_load(order: Order) -> Order {
    match order {
        Order::Release => Order::Relaxed,
        Order::AcqRel => Order::Acquire,
        order => order,
    }
}

/// An order as a store can have it.
pub(super) fn of_store(order: Order) -> Order {
    match order {
        Order::Acquire => Order::Relaxed,
        Order::AcqRel => Order::Release,
        order => order,
    }
}
