//! The report for people: a table for each function, and a summary.

use super::files::hex;
use super::json::{arch, atomic};
use super::scan::{Entry, Op, Report, Unknown};
use crate::text::Printable;
use std::collections::BTreeMap;
use std::io::{self, Write};
use wmtrace_decoder::orders::Atomic;

/// How many kinds of unsupported instructions are shown; the JSON has all.
const SHOWN: usize = 10;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for group in report.entries.chunk_by(|a, b| a.outer == b.outer) {
        let name = group[0].outer.as_deref().unwrap_or("(no function)");
        writeln!(out, "{}", Printable(name))?;
        table(group, out)?;
        writeln!(out)?;
    }
    summary(report, out)
}

fn table(entries: &[Entry], out: &mut dyn Write) -> io::Result<()> {
    const HEAD: [&str; 6] = ["pc", "op", "order", "from", "isa", "instruction"];
    let rows: Vec<[String; 6]> = entries.iter().map(cells).collect();
    let mut widths = HEAD.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            // One long instruction must not push everything to the right.
            *width = (*width).max(cell.chars().count()).min(40);
        }
    }
    let mut line = |cells: [&str; 6], place: &str| {
        let mut text = String::from(" ");
        for (cell, width) in cells.iter().zip(widths) {
            text += &format!(" {cell:width$} ");
        }
        text += &format!(" {place}");
        writeln!(out, "{}", text.trim_end())
    };
    line(HEAD, "where")?;
    for (row, entry) in rows.iter().zip(entries) {
        line(row.each_ref().map(String::as_str), &place(entry))?;
    }
    Ok(())
}

fn cells(entry: &Entry) -> [String; 6] {
    let info = &entry.info;
    let op = match entry.op {
        // A fence has no width, and that of a call may be an argument.
        op if entry.width == 0 => op.name().to_owned(),
        op => format!("{}{}", op.name(), u32::from(entry.width) * 8),
    };
    let mut order = info.order.map_or("?", |order| order.name()).to_owned();
    if let Some(failure) = info.failure {
        order += &format!(", {failure}");
    }
    if info.atomic == Atomic::Unsure {
        order += &format!(" ({})", atomic(info.atomic));
    }
    if info.strengthened.is_some() {
        order += " (strengthened)";
    }
    let isa = entry.isa_order.map_or("-", |order| order.name()).to_owned();
    let text = if entry.text.is_empty() { "(no instruction)" } else { &entry.text };
    [format!("{:#x}", entry.pc), op, order, info.from.name().into(), isa, Printable(text).to_string()]
}

/// `queue.cpp:42:7 in Queue::push()`
fn place(entry: &Entry) -> String {
    let mut place = String::new();
    if let Some(line) = &entry.line {
        let name = line.file.rsplit('/').next().unwrap_or_default();
        place = format!("{}:{}", Printable(name), line.line);
        if line.column != 0 {
            place += &format!(":{}", line.column);
        }
    }
    match &entry.function {
        Some(function) if entry.function != entry.outer => format!("{place} in {}", Printable(function)),
        _ => place,
    }
}

fn summary(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let counted = |test: &dyn Fn(&Entry) -> bool| report.entries.iter().filter(|entry| test(entry)).count();
    let atomics: Vec<&Entry> = report.entries.iter().filter(|e| e.info.atomic == Atomic::Yes).collect();
    let fences = atomics.iter().filter(|entry| entry.op == Op::Fence).count();
    writeln!(
        out,
        "{}: {}, {} and {}; orders {}",
        Printable(&report.program),
        arch(report.arch),
        number(atomics.len() - fences, "atomic access", "atomic accesses"),
        number(fences, "fence", "fences"),
        if report.known { "known" } else { "unknown" },
    )?;
    let mut from: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &atomics {
        *from.entry(entry.info.from.name()).or_default() += 1;
    }
    if !atomics.is_empty() {
        let known = atomics.iter().filter(|entry| entry.info.from.states(report.arch)).count();
        let said: Vec<String> = from.iter().map(|(name, count)| format!("{name} {count}")).collect();
        writeln!(out, "  orders known {known} of {}; from {}", atomics.len(), said.join(", "))?;
    }
    let strengthened = counted(&|entry| entry.info.strengthened.is_some());
    if strengthened > 0 {
        writeln!(out, "  strengthened {strengthened}: a fence without a trace may be near")?;
    }
    let (plain, unsure) =
        (counted(&|e| e.info.atomic == Atomic::No), counted(&|e| e.info.atomic == Atomic::Unsure));
    if plain + unsure > 0 {
        writeln!(out, "  plain accesses {plain}, unsure {unsure}")?;
    }
    unsupported(&report.unsupported, out)
}

/// What is not known, each kind once, with its first place.
fn unsupported(unknown: &[Unknown], out: &mut dyn Write) -> io::Result<()> {
    if unknown.is_empty() {
        return Ok(());
    }
    let mut kinds: BTreeMap<String, (&Unknown, usize)> = BTreeMap::new();
    for one in unknown {
        // The operands differ, the mnemonic and what is wrong with it do not: `insb byte ptr [rdi], dx: input`.
        let (text, reason) = one.text.split_once(": ").unwrap_or((&one.text, ""));
        let mnemonic = if reason.is_empty() { text } else { text.split(' ').next().unwrap_or(text) };
        kinds.entry(format!("{mnemonic}: {reason}")).or_insert((one, 0)).1 += 1;
    }
    writeln!(out, "  unsupported {}", unknown.len())?;
    for (one, count) in kinds.values().take(SHOWN) {
        let again = if *count > 1 { format!(" ({count} times)") } else { String::new() };
        writeln!(out, "    {:#x}  {}  {}{again}", one.pc, hex(&one.bytes), Printable(&one.text))?;
    }
    if kinds.len() > SHOWN {
        writeln!(out, "    … (--format json has all)")?;
    }
    Ok(())
}

fn number(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
