//! The memory of an execution in progress: cells with their histories, clocks, and the shadow for races.

pub(crate) mod cell;
pub(crate) mod clock;
pub(crate) mod shadow;
pub(crate) mod space;
pub(crate) mod unlogged;
