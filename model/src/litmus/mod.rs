//! Litmus programs as data, the `sim` engine that runs them, and the reader of herd's C litmus format.

pub mod parse;
pub mod program;
pub mod sim;
