//! The words that engines, the machine and strategies share: threads, places, operations and steps.

use crate::order::Order;
use core::fmt;
use serde::{Deserialize, Serialize};

/// A thread, numbered in order of creation: the same in every execution, never an OS thread id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The thread's number, to index tables of threads.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

/// An address in the program under test; never one of ours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Addr(pub u64);

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The bytes of an access, zero-extended, least significant first.
pub type Value = u128;

/// The widest single access, in bytes.
pub const MAX_WIDTH: u8 = 16;

/// Where an atomic access goes: an address and a width of 1 to [`MAX_WIDTH`] bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The first byte.
    pub addr: Addr,
    /// How many bytes.
    pub width: u8,
}

impl Place {
    /// `width` bytes at `addr`.
    ///
    /// # Panics
    /// When `width` is 0 or above [`MAX_WIDTH`], or the bytes would pass the end of the address space.
    pub const fn new(addr: Addr, width: u8) -> Place {
        assert!(width >= 1 && width <= MAX_WIDTH, "an access has 1 to 16 bytes");
        assert!(addr.0.checked_add(width as u64).is_some(), "an access past the end of the address space");
        Place { addr, width }
    }

    /// The address after the last byte.
    pub const fn end(self) -> u64 {
        self.addr.0 + self.width as u64
    }

    /// Whether the two share a byte.
    pub const fn overlaps(self, other: Place) -> bool {
        self.addr.0 < other.end() && other.addr.0 < self.end()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.width)
    }
}

/// A code location, numbered by the engine; the model only compares it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Site(pub u32);

/// What a thread is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Read memory.
    Load {
        /// Where.
        at: Place,
        /// How strongly.
        order: Order,
    },
    /// Write memory.
    Store {
        /// Where.
        at: Place,
        /// How strongly.
        order: Order,
    },
    /// Read and write memory as one event, whatever the value read.
    Rmw {
        /// Where.
        at: Place,
        /// How strongly.
        order: Order,
    },
    /// Compare and swap: a [`Op::Rmw`] if the value read is the expected one, else a [`Op::Load`].
    Cas {
        /// Where.
        at: Place,
        /// The order if it succeeds.
        order: Order,
        /// The order of the load if it fails.
        failure: Order,
        /// The value it compares with.
        expected: Value,
        /// Whether it may fail although the value is the expected one (LL/SC).
        weak: bool,
    },
    /// A fence: `Acquire`, `Release`, `AcqRel` or `SeqCst`. For the hardware models `SeqCst` is the full
    /// barrier, `Release` the store-store and `Acquire` the load-load barrier.
    Fence {
        /// How strongly.
        order: Order,
    },
    /// Sleep in the kernel while the word holds `expected` (futex wait). Reads what the kernel would read.
    Wait {
        /// The futex word.
        at: Place,
        /// The value for which the thread sleeps.
        expected: Value,
    },
    /// Wake up to `count` threads that sleep on the address (futex wake); the strategy picks which.
    Wake {
        /// The futex word.
        at: Place,
        /// How many at most.
        count: u32,
    },
    /// Call a library function that synchronises (lock, unlock, post …) on the object at `at`. No more than a point
    /// at which threads are scheduled: it reads and writes nothing and is no event. What the call did is told
    /// afterwards ([`Machine::acquire`](crate::machine::Machine::acquire), `release`, `sleep` …). Under PSO and PSLO
    /// the thread's held stores are committed first, since the library is to see them.
    Sync {
        /// The object.
        at: Place,
    },
    /// Let others run (`sched_yield`). No more than a point at which threads are scheduled: it is no event.
    Yield,
    /// Wait for a thread's end and learn what it knew.
    Join {
        /// The thread waited for.
        child: ThreadId,
    },
}

impl Op {
    /// The memory that the operation touches, or ([`Op::Sync`]) is about, if there is any.
    pub const fn place(&self) -> Option<Place> {
        match *self {
            Op::Load { at, .. }
            | Op::Store { at, .. }
            | Op::Rmw { at, .. }
            | Op::Cas { at, .. }
            | Op::Wait { at, .. }
            | Op::Wake { at, .. }
            | Op::Sync { at } => Some(at),
            Op::Fence { .. } | Op::Yield | Op::Join { .. } => None,
        }
    }

    /// The order asked for; `Relaxed` for operations that have none.
    pub const fn order(&self) -> Order {
        match *self {
            Op::Load { order, .. }
            | Op::Store { order, .. }
            | Op::Rmw { order, .. }
            | Op::Cas { order, .. }
            | Op::Fence { order } => order,
            Op::Wait { .. } | Op::Wake { .. } | Op::Sync { .. } | Op::Yield | Op::Join { .. } => {
                Order::Relaxed
            }
        }
    }

    /// Whether it reads memory under the model's control.
    pub const fn reads(&self) -> bool {
        matches!(self, Op::Load { .. } | Op::Rmw { .. } | Op::Cas { .. } | Op::Wait { .. })
    }

    /// Whether it may write memory.
    pub const fn writes(&self) -> bool {
        matches!(self, Op::Store { .. } | Op::Rmw { .. } | Op::Cas { .. })
    }

    /// PCTWM's communication events: loads and RMWs, SC events, and fences ⊒ ACQ. What a library synchronises by is
    /// one too: inside a lock or a semaphore is an RMW. Non-atomic accesses are not: they read what happens-before
    /// determines, or they race.
    pub const fn communicates(&self) -> bool {
        match *self {
            Op::Load { order, .. } => order.is_atomic(),
            Op::Rmw { .. } | Op::Cas { .. } | Op::Sync { .. } => true,
            Op::Store { order, .. } => order.is_sc(),
            Op::Fence { order } => order.acquires(),
            Op::Wait { .. } | Op::Wake { .. } | Op::Yield | Op::Join { .. } => false,
        }
    }
}

/// Who can take a step: a thread, or (PSO, PSLO) the buffer of a thread's held stores to one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Agent {
    /// The thread performs its pending operation.
    Thread(ThreadId),
    /// The oldest held store of the thread to the place becomes visible.
    Buffer(ThreadId, Place),
}

impl Agent {
    /// The thread that acts, or whose buffer it is.
    pub const fn thread(self) -> ThreadId {
        match self {
            Agent::Thread(thread) | Agent::Buffer(thread, _) => thread,
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Agent::Thread(thread) => write!(f, "{thread}"),
            Agent::Buffer(thread, at) => write!(f, "{thread}'s buffer of {at}"),
        }
    }
}

/// How a thread is to perform its operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct How {
    /// The value that the operation must read; `None`: what memory holds, or it reads nothing.
    pub read: Option<Value>,
    /// A store that others must not see (yet): memory keeps its bytes. The machine asks for a
    /// [`Step::Commit`] later, or never, when a newer store is already there.
    pub hold: bool,
    /// For [`Op::Cas`]: whether it succeeds.
    pub succeeds: bool,
    /// For [`Op::Wait`]: the thread sleeps instead of going on. It retires when it is woken.
    pub sleeps: bool,
}

/// What happens next.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    /// The thread performs its pending operation like this, and the engine reports it as retired.
    Run {
        /// Which.
        thread: ThreadId,
        /// How.
        how: How,
    },
    /// A held store becomes visible: the engine writes the bytes.
    Commit {
        /// Whose store.
        thread: ThreadId,
        /// Where.
        at: Place,
        /// What.
        value: Value,
    },
    /// Every thread has ended.
    Finished,
    /// Nobody can go on.
    Stuck(Stuck),
    /// Only threads that are away in the kernel can go on: the engine waits for one to come back.
    Idle,
    /// The strategy has no interest in the rest (exhaustive exploration: all of it was seen before).
    Abandoned,
    /// A replay is not the recorded execution.
    Diverged(crate::strategy::Divergence),
    /// The limit on events is reached.
    Limit,
}

/// Why nobody can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stuck {
    /// Every thread that has not ended is blocked.
    Deadlock,
    /// Some threads spin on memory that nobody will write any more; the others are blocked or have ended.
    Livelock,
}

/// The memory models.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ModelKind {
    /// Sequential consistency: memory with no choice at all.
    Sc,
    /// x86-TSO.
    Tso,
    /// RELAXER's partial store order.
    Pso,
    /// RELAXER's partial store load order.
    Pslo,
    /// C11 views (RC11 with C++20's SC constraint).
    C11,
}

impl ModelKind {
    /// Every model, strongest first.
    pub const ALL: [ModelKind; 5] =
        [ModelKind::Sc, ModelKind::Tso, ModelKind::Pso, ModelKind::Pslo, ModelKind::C11];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            ModelKind::Sc => "sc",
            ModelKind::Tso => "tso",
            ModelKind::Pso => "pso",
            ModelKind::Pslo => "pslo",
            ModelKind::C11 => "c11",
        }
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
