//! Reading a test's file. The file is not trusted: its size is bounded before it is parsed.

use crate::litmus::Failure;
use std::fs::File;
use std::io::{Read, stdin};
use std::path::Path;
use wmtrace_model::litmus::parse::{ParseError, parse};
use wmtrace_model::litmus::program::Program;

/// No litmus test comes near this.
const MAX_SIZE: u64 = 1 << 20;

/// The test in this file; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Program, Failure> {
    let unreadable = |error: std::io::Error| Failure::Unreadable(format!("cannot read it: {error}"));
    let source: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(stdin().lock())
    } else {
        Box::new(File::open(path).map_err(unreadable)?)
    };
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, also one without an end like /dev/zero.
    source.take(MAX_SIZE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(Failure::Unreadable("it is larger than 1 MiB, which no litmus test is".to_string()));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| not_text(&bytes[..error.valid_up_to()]))?;
    parse(text).map_err(Failure::Parse)
}

/// What comes after `valid` is not UTF-8.
fn not_text(valid: &[u8]) -> Failure {
    let valid = String::from_utf8_lossy(valid);
    let line = 1 + valid.matches('\n').count();
    let column = 1 + valid.chars().rev().take_while(|char| *char != '\n').count();
    // A file of at most 1 MiB has no more lines and columns than that.
    let [line, column] = [line, column].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    Failure::Parse(ParseError { line, column, message: "this is not UTF-8 text".to_string() })
}
