//! The report for scripts.

use super::files::hex;
use super::scan::{Entry, Report, Unknown};
use serde::Serialize;
use wmtrace_decoder::effect::Arch;
use wmtrace_decoder::orders::Atomic;
use wmtrace_model::order::Order;

#[derive(Serialize)]
pub(super) struct Json<'a> {
    schema: u32,
    program: &'a str,
    arch: &'static str,
    modules: [Module<'a>; 1],
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Module<'a> {
    path: &'a str,
    build_id: Option<&'a str>,
    orders: &'static str,
    accesses: Vec<Access<'a>>,
    unsupported: Vec<Unsupported<'a>>,
}

#[derive(Serialize)]
struct Access<'a> {
    pc: String,
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
    text: &'a str,
    op: &'static str,
    width: u16,
    atomic: &'static str,
    order: Option<&'static str>,
    from: &'static str,
    isa_order: Option<&'static str>,
    failure_order: Option<&'static str>,
    evidence: &'static str,
}

#[derive(Serialize)]
struct Unsupported<'a> {
    pc: String,
    bytes: String,
    text: &'a str,
}

/// The name of an architecture.
pub(super) const fn arch(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "x86_64",
        Arch::Aarch64 => "aarch64",
    }
}

/// Whether an access is atomic, in a word.
pub(super) const fn atomic(atomic: Atomic) -> &'static str {
    match atomic {
        Atomic::Yes => "yes",
        Atomic::No => "no",
        Atomic::Unsure => "unsure",
    }
}

pub(super) fn report(report: &Report) -> Json<'_> {
    Json {
        schema: 1,
        program: &report.program,
        arch: arch(report.arch),
        modules: [Module {
            path: &report.program,
            build_id: report.build_id.as_deref(),
            orders: if report.known { "known" } else { "unknown" },
            accesses: report.entries.iter().map(|entry| access(entry, report.arch)).collect(),
            unsupported: report.unsupported.iter().map(Unsupported::from).collect(),
        }],
        warnings: &report.warnings,
    }
}

fn access(entry: &Entry, arch: Arch) -> Access<'_> {
    let line = entry.line.as_ref();
    Access {
        pc: format!("{:#x}", entry.pc),
        function: entry.function.as_deref(),
        file: line.map(|line| line.file.as_str()),
        line: line.map(|line| line.line),
        column: line.map(|line| line.column).filter(|&column| column != 0),
        text: &entry.text,
        op: entry.op.name(),
        width: entry.width,
        atomic: atomic(entry.info.atomic),
        order: entry.info.order.map(Order::name),
        from: entry.info.from.name(),
        isa_order: entry.isa_order.map(Order::name),
        failure_order: entry.info.failure.map(Order::name),
        evidence: entry.standing(arch).name(),
    }
}

impl<'a> From<&'a Unknown> for Unsupported<'a> {
    fn from(unknown: &'a Unknown) -> Unsupported<'a> {
        Unsupported { pc: format!("{:#x}", unknown.pc), bytes: hex(&unknown.bytes), text: &unknown.text }
    }
}
