//! Lines of source files, for reports. The names come from debug information, which nobody vouches for: only regular
//! files of a sensible size are read, and each once.

use crate::engine::Location;
use crate::inspect::files::{self, MAX_TEXT};
use std::collections::BTreeMap;
use std::path::Path;

/// Lines longer than this are cut: generated code has lines without end.
const MAX_LINE: usize = 160;

/// Source files that were read, or could not be.
#[derive(Default)]
pub(crate) struct Sources {
    files: BTreeMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// The text of the line that a frame is at, without its indentation.
    pub(crate) fn line(&mut self, place: &Location) -> Option<String> {
        let (file, line) = (place.file.as_ref()?, place.line.checked_sub(1)?);
        let lines = self.files.entry(file.clone()).or_insert_with(|| {
            let bytes = files::read(Path::new(file), MAX_TEXT).ok()?;
            Some(String::from_utf8_lossy(&bytes).lines().map(str::to_string).collect())
        });
        let text = lines.as_ref()?.get(line as usize)?.trim();
        (!text.is_empty()).then(|| text.chars().take(MAX_LINE).collect())
    }
}
