//! What a load may read, and what an execution must obey: the pure core of wmtrace.
//!
//! The crate knows no architecture, operating system, file or clock. An *engine* (the `sim` engine in
//! [`litmus`], or a ptrace engine elsewhere) stops each thread before its next memory event and asks the
//! [`Machine`](machine::Machine) what happens next; a memory model decides what is *possible*, a
//! [`strategy`] which possibility is *taken*, and [`axioms`] certifies the finished
//! [`Execution`](execution::Execution) without sharing any code with the models.
//!
//! Nothing here depends on hash order, global state or the host: the same program, options and seed give the
//! same events.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod axioms;
pub mod execution;
pub mod litmus;
pub mod machine;
mod memory;
mod models;
pub mod op;
pub mod order;
pub mod plan;
pub mod recording;
pub mod rng;
pub mod strategy;
