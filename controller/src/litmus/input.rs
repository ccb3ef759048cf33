//! Reading a test's file. The file is not trusted: its size is bounded before it is parsed.

use crate::litmus::Failure;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use wmtrace_model::litmus::parse::parse;
use wmtrace_model::litmus::program::Program;

/// No litmus test comes near this.
const MAX_SIZE: u64 = 1 << 20;

/// The test in this file.
pub(crate) fn read(path: &Path) -> Result<Program, Failure> {
    let unreadable = |error: std::io::Error| Failure::Unreadable(format!("cannot read it: {error}"));
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, also one without an end like /dev/zero.
    File::open(path).and_then(|file| file.take(MAX_SIZE + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(Failure::Unreadable("it is larger than 1 MiB, which no litmus test is".to_string()));
    }
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| Failure::Unreadable(format!("it is not UTF-8 text ({error})")))?;
    parse(text).map_err(Failure::Parse)
}
