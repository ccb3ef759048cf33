//! `--write-suppressions`: entries for the bugs that were found.

use super::{Entry, USUAL};
use crate::bug::{Bug, Kind, Side};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Whether the file can be written: asked before anything is run.
pub(crate) fn check_writable(path: &Path) -> Result<(), String> {
    open(path)
        .map(drop)
        .map_err(|error| format!("suppressions cannot be written to {}: {error}", path.display()))
}

/// Adds entries for the bugs that are not suppressed. What is in the file stays.
pub(crate) fn append(path: &Path, bugs: &[Bug]) -> io::Result<()> {
    let text = text(bugs);
    let mut file = open(path)?;
    if file.metadata()?.len() == 0 {
        let head = format!(
            "# Suppressions of wmtrace. In {USUAL} they are always used, elsewhere with --suppress FILE.\n"
        );
        file.write_all(head.as_bytes())?;
    }
    file.write_all(text.as_bytes())?;
    file.flush()
}

fn text(bugs: &[Bug]) -> String {
    let mut seen = BTreeSet::new();
    let mut out = String::new();
    for bug in bugs.iter().filter(|bug| bug.suppressed.is_none()) {
        let reason = bug.detail.cause.name.as_str();
        let mut all = vec![entry(bug.key.kind, &bug.detail.sides, reason)];
        all.extend(bug.places.iter().map(|place| entry(bug.key.kind, &place.sides, reason)));
        for entry in all {
            let text = lines(&entry);
            if seen.insert(text.clone()) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\n[[suppress]]\n{text}reason = {}\n", quoted(&entry.reason));
            }
        }
    }
    out
}

/// As narrow as can be said by names: lines change too often.
fn entry(kind: Kind, sides: &[Side], reason: &str) -> Entry {
    let place = sides.iter().find_map(Side::place);
    let escaped = |text: &String| text.replace('*', "?");
    Entry {
        kind: Some(kind),
        function: place.and_then(|place| place.function.as_ref()).map(escaped),
        file: place
            .and_then(|place| place.file.as_ref())
            .map(|file| escaped(&file.rsplit('/').next().unwrap_or(file).to_string())),
        module: place.map(|place| escaped(&place.module)).filter(|module| !module.is_empty()),
        reason: reason.to_string(),
        origin: String::new(),
    }
}

fn lines(entry: &Entry) -> String {
    let mut out = String::new();
    let kind = entry.kind.map(|kind| kind.name().to_string());
    let all =
        [("kind", &kind), ("function", &entry.function), ("file", &entry.file), ("module", &entry.module)];
    for (key, value) in all {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{key} = {}", quoted(value));
        }
    }
    out
}

/// A TOML string.
fn quoted(text: &str) -> String {
    // What cannot be printed is matched by a character that stands for any.
    let text: String = text.chars().map(|char| if char.is_control() { '?' } else { char }).collect();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
