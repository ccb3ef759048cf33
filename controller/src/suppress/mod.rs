//! Suppressions: bugs that somebody knows of, and does not want to hear of for now. A file of TOML, `wmtrace.toml` in the
//! working directory or named by `--suppress`:
//!
//! ```toml
//! [[suppress]]
//! kind = "race"              # all that are given must match
//! function = "ring::push*"   # globs: `*` is anything, `?` one character
//! file = "src/ring.rs"       # the end of a path, by whole names
//! module = "libring.so*"
//! reason = "benign; ticket 17"
//! ```
//!
//! An entry matches a bug if one frame of the stacks of its sites matches all of `function`, `file` and `module`. A bug
//! that matches stays in the report, marked, and counts for nothing.

mod glob;
mod parse;
mod write;

pub(crate) use write::{append, check_writable};

use crate::bug::{Kind, Side};
use crate::engine::Location;
use crate::inspect::files::{self, MAX_TEXT};
use glob::{is_match, is_path_match};
use std::path::{Path, PathBuf};

/// The file that is looked for without being asked for.
pub(crate) const USUAL: &str = "wmtrace.toml";

/// One `[[suppress]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: Option<Kind>,
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) module: Option<String>,
    pub(crate) reason: String,
    /// `wmtrace.toml:3`
    pub(crate) origin: String,
}

impl Entry {
    /// Why it is there, or where it is.
    pub(crate) fn words(&self) -> String {
        if self.reason.is_empty() {
            self.origin.clone()
        } else {
            format!("{} ({})", self.reason, self.origin)
        }
    }

    fn matches(&self, kind: Kind, sides: &[Side]) -> bool {
        if self.kind.is_some_and(|it| it != kind) {
            return false;
        }
        let anywhere = self.function.is_none() && self.file.is_none() && self.module.is_none();
        anywhere || sides.iter().flat_map(|side| &side.stack).any(|place| self.is_at(place))
    }

    fn is_at(&self, place: &Location) -> bool {
        let function = place.function.as_deref();
        let of = |glob: &Option<String>, text: Option<&str>, is: fn(&str, &str) -> bool| {
            glob.as_deref().is_none_or(|glob| text.is_some_and(|text| is(glob, text)))
        };
        of(&self.function, function, is_match)
            && of(&self.file, place.file.as_deref(), is_path_match)
            && of(&self.module, Some(&place.module), is_match)
    }
}

/// All entries, in their order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Suppressions {
    pub(crate) entries: Vec<Entry>,
}

impl Suppressions {
    /// Those of the files, and of [`USUAL`] if it is in the directory.
    ///
    /// # Errors
    /// When a file cannot be read, or says something else: which file, which line, and what is wrong.
    pub(crate) fn read(directory: &Path, named: &[PathBuf]) -> Result<Suppressions, String> {
        let mut entries = Vec::new();
        let usual = directory.join(USUAL);
        let same = |path: &Path| path.canonicalize().ok() == usual.canonicalize().ok();
        if std::fs::symlink_metadata(&usual).is_ok() && !named.iter().any(|path| same(path)) {
            entries.extend(read(&usual, USUAL)?);
        }
        for path in named {
            entries.extend(read(path, &path.display().to_string())?);
        }
        Ok(Suppressions { entries })
    }

    /// The first entry that matches a bug.
    pub(crate) fn matching(&self, kind: Kind, sides: &[Side]) -> Option<usize> {
        self.entries.iter().position(|entry| entry.matches(kind, sides))
    }
}

fn read(path: &Path, shown: &str) -> Result<Vec<Entry>, String> {
    let bytes = files::read(path, MAX_TEXT).map_err(|error| format!("{shown}: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        format!("{shown}:{line}: not UTF-8")
    })?;
    parse::entries(&text, shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(function: &str, file: &str, module: &str) -> Location {
        Location {
            module: module.into(),
            offset: 0,
            function: Some(function.into()),
            file: Some(file.into()),
            line: 3,
            column: 0,
            inlined: false,
        }
    }

    #[test]
    fn any_frame_matches_with_all_that_is_given() {
        let stack = vec![
            place("ring::push", "/home/x/src/ring.rs", "prog"),
            place("main", "/home/x/src/main.rs", "prog"),
        ];
        let sides = [Side::at(None, Vec::new(), 0), Side::at(None, stack, 0)];
        let cases = [
            ("kind = \"race\"", true),
            ("kind = \"crash\"", false),
            ("function = \"ring::*\"", true),
            ("function = \"main\"", true),
            ("function = \"mai\"", false),
            ("file = \"src/ring.rs\"", true),
            ("file = \"ring.rs\"", true),
            ("file = \"ing.rs\"", false),
            ("file = \"/home/*/ring.rs\"", true),
            ("module = \"pr?g\"", true),
            ("module = \"libring*\"", false),
            ("kind = \"race\"\nfunction = \"main\"\nfile = \"main.rs\"", true),
            ("function = \"main\"\nfile = \"ring.rs\"", false),
        ];
        for (text, expected) in cases {
            let entries = parse::entries(&format!("[[suppress]]\n{text}\n"), "f").unwrap();
            assert_eq!(
                Suppressions { entries }.matching(Kind::Race, &sides),
                expected.then_some(0),
                "{text}"
            );
        }
    }
}
