//! The line table of one unit, sorted by address.

use crate::image::Bytes;
use gimli::{ColumnType, Dwarf, Reader as _, Unit};

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) addr: u64,
    /// Index into the unit's files; `None` ends a sequence.
    pub(crate) file: Option<u64>,
    pub(crate) line: u32,
    /// 0: the left edge, or not said.
    pub(crate) column: u32,
    pub(crate) prologue_end: bool,
}

/// The most rows of one unit: more is not a program that anybody compiled.
const MAX_ROWS: usize = 1 << 24;

/// The rows of a unit.
#[derive(Default, Debug)]
pub(crate) struct Lines {
    rows: Vec<Row>,
}

impl Lines {
    pub(crate) fn new(unit: &Unit<Bytes>) -> Lines {
        let Some(program) = unit.line_program.clone() else { return Lines::default() };
        let mut rows = Vec::new();
        let mut machine = program.rows();
        let mut sequence = 0;
        // A sequence's rows ascend, but sequences come in any order, and removed functions leave one at 0.
        while let Ok(Some((_, row))) = machine.next_row() {
            if rows.len() >= MAX_ROWS {
                break;
            }
            rows.push((
                sequence,
                Row {
                    addr: row.address(),
                    file: (!row.end_sequence()).then(|| row.file_index()),
                    line: row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0)),
                    column: match row.column() {
                        ColumnType::LeftEdge => 0,
                        ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
                    },
                    prologue_end: row.prologue_end(),
                },
            ));
            sequence += usize::from(row.end_sequence());
        }
        // At one address the end of a sequence comes before the start of the next.
        rows.sort_by_key(|(sequence, row)| (row.addr, row.file.is_some(), *sequence));
        Lines { rows: rows.into_iter().map(|(_, row)| row).collect() }
    }

    /// The row that an instruction belongs to.
    pub(crate) fn at(&self, pc: u64) -> Option<Row> {
        let at = self.rows.partition_point(|row| row.addr <= pc).checked_sub(1)?;
        Some(self.rows[at]).filter(|row| row.file.is_some())
    }

    /// Where the instructions begin that belong to the same line as this one, without a gap, as far as a few rows go.
    pub(crate) fn line_start(&self, pc: u64) -> Option<u64> {
        let here = self.at(pc)?;
        let end = self.rows.partition_point(|row| row.addr <= pc);
        let same = |row: &&Row| (row.file, row.line) == (here.file, here.line);
        self.rows[..end].iter().rev().take(64).take_while(same).last().map(|row| row.addr)
    }

    /// All rows, by address.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows of a range of addresses.
    pub(crate) fn within(&self, start: u64, end: u64) -> &[Row] {
        let from = self.rows.partition_point(|row| row.addr < start);
        let to = self.rows.partition_point(|row| row.addr < end).max(from);
        &self.rows[from..to]
    }

    /// Where the prologue of the function at `start` ends: from here on its arguments are at their places.
    pub(crate) fn body(&self, start: u64, end: u64) -> u64 {
        let rows = self.within(start, end);
        let marked = rows.iter().find(|row| row.prologue_end && row.addr > start);
        marked.or_else(|| rows.iter().find(|row| row.addr > start)).map_or(start, |row| row.addr)
    }
}

/// The path of a file of a unit's line table, as the compiler saw it.
pub(crate) fn path(dwarf: &Dwarf<Bytes>, unit: &Unit<Bytes>, file: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let entry = header.file(file)?;
    let text = |value| Some(dwarf.attr_string(unit, value).ok()?.to_string_lossy().ok()?.into_owned());
    let mut path = text(entry.path_name())?;
    if let Some(directory) = entry.directory(header).and_then(text)
        && !path.starts_with('/')
        && !directory.is_empty()
    {
        path = format!("{}/{path}", directory.trim_end_matches('/'));
    }
    if !path.starts_with('/')
        && let Some(directory) =
            unit.comp_dir.as_ref().and_then(|dir| Some(dir.to_string_lossy().ok()?.into_owned()))
        && !directory.is_empty()
    {
        path = format!("{}/{path}", directory.trim_end_matches('/'));
    }
    Some(path)
}
