//! What a certificate can fail on.

use crate::execution::{EventId, Source};
use crate::op::ThreadId;
use alloc::vec::Vec;
use core::fmt;
use thiserror::Error;

/// Why an execution is not one of its model, or a race is not one.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Violation {
    /// The record contradicts itself before any axiom comes into play.
    #[error("malformed execution at {event}: {why}")]
    Malformed {
        /// The event at fault.
        event: EventId,
        /// What is wrong with it.
        why: Defect,
    },
    /// A read has another value than the store it reads from.
    #[error("{read} does not have the value of {}, from which it reads", Named(*.from))]
    Value {
        /// The read.
        read: EventId,
        /// Where it claims to read from.
        from: Source,
    },
    /// Two reads saw different initial values of the same bytes.
    #[error("{first} and {second} read different initial values of the same bytes")]
    Initial {
        /// The earlier read.
        first: EventId,
        /// The read that contradicts it.
        second: EventId,
    },
    /// Atomicity: an RMW does not directly follow the store it read in modification order.
    #[error("atomicity: {rmw} reads from {}, but {}", Named(*.from), Follower(*.next))]
    Atomicity {
        /// The read-modify-write.
        rmw: EventId,
        /// What it read from.
        from: Source,
        /// What does follow that in modification order.
        next: Option<EventId>,
    },
    /// Coherence (in the hardware models: SC per location): modification order of one location contradicts
    /// happens-before (program order).
    #[error("coherence ({shape}): {earlier} comes before {later}, but {shape:#}")]
    Coherence {
        /// Which of the four ways.
        shape: Coherence,
        /// The event that comes first in happens-before (hardware: in program order).
        earlier: EventId,
        /// The event that modification order puts before, or not after, what `earlier` wrote or read.
        later: EventId,
    },
    /// The SC axiom: no total order of the SC events agrees with happens-before and coherence.
    #[error("no order of the SC events is possible: {}", Cycle(.0))]
    Sc(Vec<EventId>),
    /// The hardware models' global order: no order of commits and loads explains what was read.
    #[error("no global order of memory accesses is possible: {}", Cycle(.0))]
    Global(Vec<EventId>),
    /// The two accesses of a race could not race whatever their order.
    #[error("not a race: {0}")]
    NoConflict(NoConflict),
    /// The two accesses of a race are ordered by happens-before.
    #[error("not a race: {before} published its access by {by}, which happens before the access of {after}")]
    Ordered {
        /// The thread of the access that happens before the other.
        before: ThreadId,
        /// Its event at or after the access from which the order comes.
        by: EventId,
        /// The thread of the other access.
        after: ThreadId,
    },
    /// A race is said to have been found after more events than there are.
    #[error("no such race: it was found after {events} events, and there are fewer")]
    Unplaced {
        /// How many.
        events: u32,
    },
}

/// How an event of an execution contradicts the rest of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Defect {
    /// More events than the certifier can number.
    #[error("too many events")]
    TooLong,
    /// An access of no bytes, of too many, or past the end of the address space.
    #[error("it has an impossible range of bytes")]
    Range,
    /// An [`Rf::Bytes`](crate::execution::Rf::Bytes) outside of the table.
    #[error("its table of sources does not exist")]
    NoSources,
    /// A reference to an event that is not earlier in the list.
    #[error("it refers to {0}, which is not an earlier event")]
    NotEarlier(EventId),
    /// A reference to an event that writes nothing.
    #[error("it refers to {0}, which is not a store")]
    NotAStore(EventId),
    /// A reference to a store of other bytes, or of the same bytes before they were allocated anew.
    #[error("it refers to {0}, which does not write its bytes")]
    Elsewhere(EventId),
    /// Bytes that every access reads and writes together come from different stores.
    #[error("it is torn: bytes that are always written together come from different stores")]
    Torn,
    /// A place in modification order after a store that has none yet.
    #[error("it follows {0} in modification order, which is held and has no place there yet")]
    AfterHeld(EventId),
    /// A commit of something that is not a held store of its thread waiting to be committed.
    #[error("it commits {0}, which is not a held store of its thread")]
    NotHeld(EventId),
    /// A thread created a second time, or after it did something.
    #[error("it creates {0}, which exists already")]
    CreatedTwice(ThreadId),
    /// A join of a thread that has not ended.
    #[error("it joins {0}, which has not ended")]
    NotEnded(ThreadId),
    /// An event of a thread that has ended.
    #[error("its thread has ended")]
    AfterExit,
    /// An epoch that goes back, or that does not advance after an event that publishes.
    #[error("its epoch does not advance as its thread's events demand")]
    Epoch,
}

/// The four ways to violate coherence, by what the two events are; an RMW counts as a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coherence {
    /// Two writes against modification order.
    CoWW,
    /// A read of a store that modification order does not put before the later write.
    CoRW,
    /// A read of a store that the earlier write has overwritten.
    CoWR,
    /// Two reads against modification order.
    CoRR,
}

impl Coherence {
    pub(super) fn of(earlier_writes: bool, later_writes: bool) -> Coherence {
        match (earlier_writes, later_writes) {
            (true, true) => Coherence::CoWW,
            (false, true) => Coherence::CoRW,
            (true, false) => Coherence::CoWR,
            (false, false) => Coherence::CoRR,
        }
    }
}

/// The name; with `{:#}` what is wrong.
impl fmt::Display for Coherence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, wrong) = match self {
            Coherence::CoWW => ("CoWW", "modification order has the two writes the other way round"),
            Coherence::CoRW => ("CoRW", "the first reads what the second overwrites only later"),
            Coherence::CoWR => ("CoWR", "the second reads what the first has overwritten"),
            Coherence::CoRR => ("CoRR", "the second reads an older store than the first"),
        };
        f.write_str(if f.alternate() { wrong } else { name })
    }
}

/// Why two accesses cannot be a race, however they are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum NoConflict {
    /// An access of no bytes, or past the end of the address space.
    #[error("an access has an impossible range of bytes")]
    Range,
    /// One thread cannot race with itself.
    #[error("both accesses are of one thread")]
    SameThread,
    /// No byte in common.
    #[error("the accesses do not overlap")]
    Disjoint,
    /// Two loads.
    #[error("neither access is a store")]
    NoStore,
    /// Two atomic accesses.
    #[error("both accesses are atomic")]
    BothAtomic,
}

struct Named(Source);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Source::Init => f.write_str("the initial value"),
            Source::Store(event) => write!(f, "{event}"),
        }
    }
}

struct Follower(Option<EventId>);

impl fmt::Display for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(event) => write!(f, "{event} comes next in modification order"),
            None => f.write_str("nothing comes later in modification order"),
        }
    }
}

struct Cycle<'a>(&'a [EventId]);

impl fmt::Display for Cycle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for event in self.0 {
            write!(f, "{event} → ")?;
        }
        match self.0.first() {
            Some(event) => write!(f, "{event}"),
            None => Ok(()),
        }
    }
}
