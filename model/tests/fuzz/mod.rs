//! The parts of the random test of the machine.

pub(crate) mod engine;
pub(crate) mod reference;
