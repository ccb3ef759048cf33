//! What a machine is told before it starts, and what it finds.

use crate::execution::{Access, Race};
use crate::models::mutant::Mutant;
use crate::op::ModelKind;

/// How an execution is run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The memory model.
    pub model: ModelKind,
    /// c11: a store may enter modification order before stores that its thread has not seen.
    pub insertion: bool,
    /// Whether threads that spin are recognised and held back until there is something new to see.
    pub spin: bool,
    /// c11: whether data races are looked for.
    pub races: bool,
    /// Whether code outside the model's view may write memory without the machine being told. Before an operation is
    /// decided, the machine then compares memory with what it believes to be there, and takes any difference for a
    /// [`foreign`](super::Machine::foreign) write; otherwise it is a [`Mismatch`].
    pub foreign: bool,
    /// Whether every event is kept, for certificates and reports. Costs memory that grows with the execution.
    pub keep_events: bool,
    /// How many events an execution may have.
    pub max_events: u64,
    /// Bounds on what the machine remembers.
    pub limits: Limits,
    /// The rule to break; only the crate's own tests can choose one.
    pub(crate) mutant: Option<Mutant>,
}

/// Bounds on memory. Reaching one loses possible behaviour (fewer old stores to read, fewer races found) and
/// never invents any.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Stores kept of one cell.
    pub history: usize,
    /// Cells, where events are not kept; more are kept if all of them still matter.
    pub cells: usize,
    /// Pages of 512 bytes of the program's memory for which races are remembered.
    pub pages: usize,
    /// Stores that one thread may hold back (PSO, PSLO).
    pub held: usize,
    /// Findings kept of one execution.
    pub findings: usize,
    /// Rounds after which threads that only spin are called a livelock, where their state is not known.
    pub patience: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { history: 1024, cells: 1 << 16, pages: 1 << 15, held: 64, findings: 64, patience: 100_000 }
    }
}

impl Config {
    /// The usual settings for a model: spinning recognised, races looked for, events kept.
    pub fn new(model: ModelKind) -> Config {
        Config {
            model,
            insertion: false,
            spin: true,
            races: true,
            foreign: false,
            keep_events: true,
            max_events: u64::MAX,
            limits: Limits::default(),
            mutant: None,
        }
    }
}

/// Something wrong that the machine saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// Two conflicting accesses, one not atomic, not ordered by happens-before.
    Race(Race),
    /// Memory was touched after it had been freed.
    UseAfterFree {
        /// The access.
        access: Access,
        /// Who freed the memory.
        freed: Access,
    },
    /// An access to memory that an allocator had given to another thread, unordered with the allocation: the first of the
    /// two is the allocation, of the whole block.
    AllocationRace(Race),
    /// An atomic load read memory that was allocated and never written.
    Uninitialised {
        /// The load.
        access: Access,
    },
}

/// An engine did not do what it was told, or memory changed behind the machine's back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{thread} read {found:#x} from {at} where the model has {expected:#x}")]
pub struct Mismatch {
    /// Who.
    pub thread: crate::op::ThreadId,
    /// Where.
    pub at: crate::op::Place,
    /// What the model says.
    pub expected: crate::op::Value,
    /// What the engine says.
    pub found: crate::op::Value,
}

/// There are more threads at once than the model has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("more than 65,000 threads that do not know of each other's end")]
pub struct TooManyThreads;
