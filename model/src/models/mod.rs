//! The memory models: which stores a load may read, and what an event does to views, clocks and buffers.
//! They never choose, and know nothing of strategies, engines or scheduling.
//!
//! All share the [cells](crate::memory::cell::Cell) and their histories; a model adds what it knows of each
//! thread, and answers one question for every load: which is the oldest store of the cell that the thread may
//! still read? Everything from there to the newest is a candidate.

pub(crate) mod buffered;
pub(crate) mod c11;
pub(crate) mod mutant;
pub(crate) mod tso;

use crate::memory::cell::Cell;
use crate::op::{ModelKind, ThreadId};
use crate::order::Order;
use buffered::Buffered;
use c11::C11;
use mutant::Mutant;
use tso::Tso;

/// The state of one of the models.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one of these in an execution")]
pub(crate) enum Model {
    Sc,
    Tso(Tso),
    Buffered(Buffered),
    C11(C11),
}

impl Model {
    pub(crate) fn new(kind: ModelKind, mutant: Option<Mutant>) -> Model {
        match kind {
            ModelKind::Sc => Model::Sc,
            ModelKind::Tso => Model::Tso(Tso::new(mutant)),
            ModelKind::Pso => Model::Buffered(Buffered::new(false, mutant)),
            ModelKind::Pslo => Model::Buffered(Buffered::new(true, mutant)),
            ModelKind::C11 => Model::C11(C11::new(mutant)),
        }
    }

    /// As if nothing had happened yet.
    pub(crate) fn clear(&mut self) {
        match self {
            Model::Sc => {}
            Model::Tso(tso) => tso.clear(),
            Model::Buffered(buffered) => buffered.clear(),
            Model::C11(c11) => c11.clear(),
        }
    }

    /// The oldest store of the cell that a load of this order may read.
    pub(crate) fn floor(&self, cell: &Cell, thread: ThreadId, order: Order) -> u32 {
        match self {
            Model::Sc => cell.last_index(),
            Model::Tso(tso) => tso.floor(cell, thread),
            Model::Buffered(buffered) => buffered.floor(cell, thread),
            Model::C11(c11) => c11.floor(cell, thread, order),
        }
    }

    /// The oldest store of the cell that *any* thread that is alive may still read: what comes before can be
    /// forgotten.
    pub(crate) fn common_floor(&self, cell: &Cell) -> u32 {
        match self {
            Model::Sc => cell.last_index(),
            Model::Tso(tso) => tso.common_floor(cell),
            Model::Buffered(buffered) => buffered.common_floor(cell),
            Model::C11(c11) => c11.common_floor(cell),
        }
    }
}
