//! `wmtrace scrub`: a copy of a recording that can be sent away.

use crate::cli::ScrubOptions;
use crate::exit::Exit;
use crate::text::Printable;
use crate::{saved, whole};
use std::io::{self, Write};

/// Runs the command.
///
/// # Errors
/// When `out` or `err` cannot be written.
pub(crate) fn main(
    options: &ScrubOptions,
    out: &mut dyn Write,
    err: &mut dyn Write,
    exit: &mut Exit,
) -> io::Result<()> {
    let mut failed = |status, message: String| {
        *exit = status;
        writeln!(err, "wmtrace: {}", Printable(&message))
    };
    let (mut recording, mut saved) = match saved::read(&options.recording) {
        Ok(read) => read,
        Err(message) => return failed(Exit::Usage, message),
    };
    saved.scrub();
    recording.options = serde_json::to_string(&saved)?;
    if let Err(error) = whole::write(&options.out, &recording.to_bytes()) {
        return failed(Exit::Tool, format!("{}: {error}", options.out.display()));
    }
    let what = saved.scrubbed().unwrap_or_default();
    writeln!(out, "{}: without {what}", Printable(&options.out.display().to_string()))
}
