//! A finished (or interrupted) execution as plain data: events in the order they happened, with where each
//! read took its value from and where each store entered modification order.
//!
//! It is append-only, and complete: [`axioms`](crate::axioms) checks it and reports draw it with nothing else
//! at hand. `po` is the order of one thread's events in the list; `rf` and `mo` are in the labels.

use crate::op::{Addr, ModelKind, Place, Site, ThreadId, Value};
use crate::order::Order;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The position of an event in its execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct EventId(pub u32);

impl EventId {
    /// The position as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}

/// What a byte's value comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// What memory held before anybody wrote it under the model's eyes.
    Init,
    /// A store or RMW.
    Store(EventId),
}

/// Where a read takes its value from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rf {
    /// All bytes from one place.
    One(Source),
    /// Bytes from several stores (mixed sizes): an index into [`Execution::bytes`].
    Bytes(u32),
}

/// Where a store enters the modification order of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mo {
    /// After everything that is there at this point of the list.
    Last,
    /// Immediately after the given store (or the initial value), before what came after that.
    After(Source),
    /// Not yet: at the [`Label::Commit`] that names this event. One that never commits comes after all others.
    Held,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Label {
    /// A load, or a failed compare-and-swap.
    Load {
        /// Where.
        at: Place,
        /// How strongly (a failed compare-and-swap: its failure order).
        order: Order,
        /// What it read.
        value: Value,
        /// From whom.
        rf: Rf,
        /// A failed compare-and-swap: the hardware models treat it as the locked instruction it is.
        locked: bool,
    },
    /// A store.
    Store {
        /// Where.
        at: Place,
        /// How strongly.
        order: Order,
        /// What it wrote.
        value: Value,
        /// Its place in modification order.
        mo: Mo,
    },
    /// A successful read-modify-write.
    Rmw {
        /// Where.
        at: Place,
        /// How strongly.
        order: Order,
        /// What it read.
        read: Value,
        /// From whom.
        rf: Rf,
        /// What it wrote.
        written: Value,
        /// Its place in modification order.
        mo: Mo,
    },
    /// A fence.
    Fence {
        /// How strongly.
        order: Order,
    },
    /// A held store of this thread becomes visible (PSO, PSLO).
    Commit {
        /// The store's event.
        store: EventId,
    },
    /// The thread creates another; everything so far happens before the child's first event.
    Create {
        /// The new thread.
        child: ThreadId,
    },
    /// The thread ends.
    Exit,
    /// The thread has waited for another's end.
    Join {
        /// The thread that had ended.
        child: ThreadId,
    },
    /// The thread releases a synchronisation object (unlock, post, signal).
    Release {
        /// The object.
        object: u64,
    },
    /// The thread acquires what every earlier [`Label::Release`] of the object released.
    Acquire {
        /// The object.
        object: u64,
    },
    /// The thread goes to sleep on a futex word.
    Sleep {
        /// The futex word.
        at: Place,
    },
    /// The thread wakes sleepers of a futex word. Orders nothing by itself.
    Wake {
        /// The futex word.
        at: Place,
        /// How many it woke.
        woken: u32,
    },
    /// Memory becomes the program's: earlier contents and histories are forgotten.
    Alloc {
        /// The first byte.
        at: Addr,
        /// How many.
        len: u64,
    },
    /// Memory is given back.
    Free {
        /// The first byte.
        at: Addr,
        /// How many.
        len: u64,
    },
    /// Somebody outside the model's view (a library that runs natively, the kernel) has written memory, or may have:
    /// earlier contents and histories are forgotten.
    Foreign {
        /// The first byte.
        at: Addr,
        /// How many.
        len: u64,
    },
}

impl Label {
    /// The place of an access that reads or writes.
    pub const fn place(&self) -> Option<Place> {
        match *self {
            Label::Load { at, .. } | Label::Store { at, .. } | Label::Rmw { at, .. } => Some(at),
            _ => None,
        }
    }

    /// The order of an access or fence.
    pub const fn order(&self) -> Option<Order> {
        match *self {
            Label::Load { order, .. }
            | Label::Store { order, .. }
            | Label::Rmw { order, .. }
            | Label::Fence { order } => Some(order),
            _ => None,
        }
    }

    /// Where it reads from, if it reads.
    pub const fn rf(&self) -> Option<Rf> {
        match *self {
            Label::Load { rf, .. } | Label::Rmw { rf, .. } => Some(rf),
            _ => None,
        }
    }

    /// Its place in modification order, if it writes.
    pub const fn mo(&self) -> Option<Mo> {
        match *self {
            Label::Store { mo, .. } | Label::Rmw { mo, .. } => Some(mo),
            _ => None,
        }
    }
}

/// One event: who, where in the code, and what.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// Where in the code, as the engine numbers it.
    pub site: Site,
    /// The thread's epoch: it advances after every event that publishes what the thread knows (release
    /// accesses and fences, create, exit, release of an object). An access that is not itself in the list (a
    /// non-atomic one) is placed among its thread's events by its epoch; see [`Access`].
    pub epoch: u32,
    /// What.
    pub label: Label,
}

/// An execution: what one run of a program did to memory under a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Execution {
    /// The model that produced it, and whose axioms it must satisfy.
    pub model: ModelKind,
    /// The events, in the order they happened.
    pub events: Vec<Event>,
    /// Per-byte sources of reads that took bytes from several stores.
    pub bytes: Vec<[Source; 16]>,
}

impl Execution {
    /// An execution in which nothing has happened yet.
    pub const fn new(model: ModelKind) -> Execution {
        Execution { model, events: Vec::new(), bytes: Vec::new() }
    }

    /// The event with this id.
    pub fn event(&self, id: EventId) -> &Event {
        &self.events[id.index()]
    }

    /// The source of the byte at offset `offset` of a read.
    pub fn source(&self, rf: Rf, offset: usize) -> Source {
        match rf {
            Rf::One(source) => source,
            Rf::Bytes(index) => self.bytes[index as usize][offset],
        }
    }

    /// Events with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (EventId, &Event)> {
        self.events.iter().enumerate().map(|(index, event)| (EventId(index as u32), event))
    }
}

/// One side of a [`Race`], or another access that a finding names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Who.
    pub thread: ThreadId,
    /// Where in the code.
    pub site: Site,
    /// When, as the thread's epoch.
    pub epoch: u32,
    /// The first byte.
    pub addr: Addr,
    /// How many bytes.
    pub len: u64,
    /// Whether it writes.
    pub store: bool,
    /// Whether it is atomic.
    pub atomic: bool,
}

/// Two conflicting accesses, at least one not atomic, that happens-before does not order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The one that happened first in this execution.
    pub first: Access,
    /// The one that found it.
    pub second: Access,
    /// How many events there were when it was found, the second access included if it is one of them.
    pub events: u32,
}
