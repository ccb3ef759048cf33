//! What machine code does to memory, and which order the programmer asked for. Pure: bytes, registers and
//! sections in, values out.
#![forbid(unsafe_code)]

pub mod aarch64;
pub mod cache;
pub mod debug;
pub mod effect;
pub mod image;
pub mod machine;
pub mod orders;
mod resolve;
mod text;
pub mod x86;
