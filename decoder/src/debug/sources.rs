//! The source files that the units of a program name, and the macros that were defined when they were compiled
//! (`-g3`). Only the heads of units are read for that.

use super::unit::text;
use super::{Debug, lines};
use crate::image::Bytes;
use crate::text::Macros;
use gimli::{AttributeValue, Dwarf, MacroEntry};
use std::collections::{BTreeSet, HashSet};

/// The most macros that are read.
const MAX_MACROS: usize = 1 << 22;

/// The files of a program's text.
#[derive(Default, Debug)]
pub(crate) struct Sources {
    pub(crate) rust: BTreeSet<String>,
    /// C and C++.
    pub(crate) c: BTreeSet<String>,
    /// The directories of the latter: where included files may be.
    pub(crate) directories: BTreeSet<String>,
    /// The macros of C and C++.
    pub(crate) macros: Macros,
}

impl Debug {
    /// All source files.
    pub(crate) fn sources(&self) -> Sources {
        let mut sources = Sources::default();
        let (mut with, mut without) = (0, 0);
        for slot in &self.units {
            let Ok(unit) = self.dwarf.unit(slot.header.clone()) else { continue };
            let Some(program) = &unit.line_program else { continue };
            let header = program.header();
            let first = u64::from(header.version() < 5);
            let mut is_c = false;
            for file in first..first + header.file_names().len() as u64 {
                let Some(path) = lines::path(&self.dwarf, &unit, file) else { continue };
                if path.ends_with(".rs") {
                    sources.rust.insert(path);
                    continue;
                }
                is_c |= !path.ends_with(".S") && !path.ends_with(".s") && !path.ends_with(".asm");
                sources.directories.extend(path.rsplit_once('/').map(|(directory, _)| directory.to_owned()));
                sources.c.insert(path);
            }
            sources.directories.extend(unit.comp_dir.as_ref().filter(|_| is_c).map(text));
            if is_c {
                let found = read_macros(&self.dwarf, &unit, &mut sources.macros);
                *(if found { &mut with } else { &mut without }) += 1;
            }
        }
        sources.macros.complete = with > 0 && without == 0;
        sources
    }
}

/// Adds the macros of a unit; whether it has any.
fn read_macros(dwarf: &Dwarf<Bytes>, unit: &gimli::Unit<Bytes>, macros: &mut Macros) -> bool {
    let mut entries = unit.entries();
    let Ok(Some(root)) = entries.next_dfs() else { return false };
    let start = [gimli::DW_AT_macros, gimli::DW_AT_GNU_macros].into_iter().find_map(|name| {
        match root.attr_value(name)? {
            AttributeValue::DebugMacroRef(offset) => Some(offset),
            AttributeValue::SecOffset(offset) => Some(gimli::DebugMacroOffset(offset)),
            _ => None,
        }
    });
    let Some(start) = start else { return false };
    let (mut queue, mut seen) = (vec![start], HashSet::new());
    let mut count = 0;
    while let Some(offset) = queue.pop() {
        let Ok(mut iter) = dwarf.macros(offset) else { return false };
        while let Ok(Some(entry)) = iter.next() {
            count += 1;
            if count > MAX_MACROS {
                return false;
            }
            match entry {
                MacroEntry::Define { text: string, .. } => {
                    let unit = gimli::UnitRef::new(dwarf, unit);
                    let Ok(string) = string.string(unit) else { return false };
                    let string = text(&string);
                    // `NAME body` or `NAME(parameters) body`.
                    let end = string.find([' ', '(']).unwrap_or(string.len());
                    let body = string[end..].trim().to_owned();
                    let bodies = macros.bodies.entry(string[..end].to_owned()).or_default();
                    if !bodies.contains(&body) {
                        bodies.push(body);
                    }
                }
                MacroEntry::Import { offset } if seen.insert(offset.0) => queue.push(offset),
                MacroEntry::ImportSup { .. } => return false,
                MacroEntry::Import { .. }
                | MacroEntry::Undef { .. }
                | MacroEntry::StartFile { .. }
                | MacroEntry::EndFile
                | MacroEntry::VendorExt { .. } => {}
            }
        }
    }
    true
}
