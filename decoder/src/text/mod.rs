//! Source text: what it shows of fences that left no trace in the code.
//!
//! `lex` takes a text apart, `compiled` says what of it was not compiled, `items` what it defines, `atomic_types` what may be atomic, `names` follows
//! names through all files of a program. Pure: whoever owns the file system opens the files.

mod atomic_types;
mod compiled;
mod items;
mod lex;
mod names;

pub(crate) use compiled::Macros;
pub(crate) use items::{Effects, Found, Items, Macro, Operation, Place, is_keyword};
pub(crate) use lex::Language;
pub(crate) use names::{Names, is_library};
