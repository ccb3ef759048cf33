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
        let line = place.line.checked_sub(1)?;
        let text = self.lines(place.file.as_ref()?)?.get(line as usize)?.trim();
        (!text.is_empty()).then(|| text.chars().take(MAX_LINE).collect())
    }

    /// The lines around it, with their numbers; none if there is no such line.
    pub(crate) fn around(&mut self, place: &Location, context: u32) -> Vec<(u32, String)> {
        let lines = place.file.as_ref().and_then(|file| self.lines(file)).unwrap_or_default();
        if place.line == 0 || place.line as usize > lines.len() {
            return Vec::new();
        }
        let first = place.line.saturating_sub(context).max(1);
        let numbered = (first..=place.line.saturating_add(context)).zip(&lines[first as usize - 1..]);
        numbered.map(|(number, text)| (number, text.chars().take(MAX_LINE).collect())).collect()
    }

    fn lines(&mut self, file: &str) -> Option<&[String]> {
        let read = || {
            let bytes = files::read(Path::new(file), MAX_TEXT).ok()?;
            Some(String::from_utf8_lossy(&bytes).lines().map(str::to_string).collect())
        };
        self.files.entry(file.to_string()).or_insert_with(read).as_deref()
    }
}
