//! Text tables of encodings and effects: `bytes ; text ; effect`, one a line. To add a form, add its bytes; to see
//! what is said of it, run with `WMTRACE_PROMOTE=1`, which rewrites the tables for review.
//!
//! The notation: accesses in their order, separated by `|`, each `kind bytes [address]`, with `seq_cst` where the
//! instruction set orders it and `?` where it may not happen. `4*rcx` bytes are a repeat, `4x16 by k1` lanes by a
//! mask, `4x16 packed by k1` without gaps, `4 at bit rcx` a bit string, `<=512` at most so many. `nt-store` is a
//! non-temporal one. Then the fence, registers read and written, control flow, the unit, and `waits`. Instructions are
//! at 0x1000.

use std::fmt::Write as _;
use wmtrace_decoder::effect::{
    Access, AccessKind, Address, Extent, Flow, InsnEffect, Mask, Reg, RegSet, Unit, Unsupported,
};
use wmtrace_decoder::x86::{Decoder, regs};
use wmtrace_model::order::Order;

const PC: u64 = 0x1000;

fn signed(value: i64) -> String {
    let sign = if value < 0 { '-' } else { '+' };
    format!("{sign}{:#x}", value.unsigned_abs())
}

fn address(address: &Address) -> String {
    let mut text = String::new();
    if let Some(segment) = address.segment {
        let _ = write!(text, "{}:", regs::name(segment));
    }
    let mut sum: Vec<String> = address.base.iter().map(|&base| regs::name(base)).collect();
    if let Some(index) = address.index {
        let part = if index.from_bits < 64 { format!(":{}", index.from_bits) } else { String::new() };
        sum.push(format!("{}{part}*{}", regs::name(index.reg), index.scale));
    }
    let sum = sum.join("+");
    let displacement = match (sum.is_empty(), address.displacement) {
        (false, 0) => String::new(),
        (false, displacement) => signed(displacement),
        (true, displacement) => format!("{displacement:#x}"),
    };
    let bits = if address.bits == 64 { String::new() } else { format!(":{}", address.bits) };
    format!("[{text}{sum}{displacement}]{bits}")
}

fn mask(mask: Mask) -> String {
    match mask {
        Mask::Bits(reg) => regs::name(reg),
        Mask::Signs(reg, size) => format!("signs {}/{size}", regs::name(reg)),
    }
}

fn extent(extent: &Extent) -> String {
    match *extent {
        Extent::Bytes(bytes) => bytes.to_string(),
        Extent::AtMost(bytes) => format!("<={bytes}"),
        Extent::Block(bytes) => format!("block {bytes}"),
        Extent::Repeated { element, count, conditional } => {
            format!("{element}*{}{}", regs::name(count), if conditional { " at most" } else { "" })
        }
        Extent::Lanes { element, lanes, indices, index_bytes, scale, mask: by } => {
            let by = by.map_or(String::new(), |by| format!(" by {}", mask(by)));
            format!("{element}x{lanes} at {}/{index_bytes}*{scale}{by}", regs::name(indices))
        }
        Extent::Masked { element, lanes, mask: by } => format!("{element}x{lanes} by {}", mask(by)),
        Extent::Packed { element, lanes, mask: by } => format!("{element}x{lanes} packed by {}", mask(by)),
        Extent::BitString { element, offset } => format!("{element} at bit {}", regs::name(offset)),
    }
}

fn access(access: &Access) -> String {
    let kind = match access.kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Rmw => "rmw",
        AccessKind::LoadStore => "load+store",
    };
    let order = match (access.order, access.atomic) {
        (Order::Relaxed, false) => "",
        (Order::SeqCst, true) => " seq_cst",
        other => panic!("{other:?} is no order of an x86-64 access"),
    };
    let maybe = if access.conditional { "?" } else { "" };
    let kind = if access.non_temporal { format!("nt-{kind}") } else { kind.to_owned() };
    format!("{kind}{maybe} {}{order} {}", extent(&access.extent), address(&access.address))
}

/// Registers by name; the many vector registers of XSAVE as a range.
fn set(set: RegSet) -> String {
    let mut names = Vec::new();
    let mut left: Vec<Reg> = set.iter().collect();
    for (first, last) in [(regs::zmm(0), regs::zmm(31)), (regs::zmm(0), regs::zmm(15))] {
        if (first.0..=last.0).all(|number| left.contains(&Reg(number))) {
            names.push(format!("{}-{}", regs::name(first), last.0 - first.0));
            left.retain(|reg| !(first..=last).contains(reg));
        }
    }
    names.extend(left.into_iter().map(regs::name));
    names.join(" ")
}

fn effect(effect: &InsnEffect) -> String {
    let mut parts = Vec::new();
    if !effect.accesses.is_empty() {
        parts.push(effect.accesses.iter().map(access).collect::<Vec<_>>().join(" | "));
    }
    if let Some(fence) = effect.fence {
        parts.push(format!("fence {:?}", fence.order));
    }
    for (verb, regs) in [("reads", effect.reads), ("writes", effect.writes)] {
        if regs != RegSet::EMPTY {
            parts.push(format!("{verb} {}", set(regs)));
        }
    }
    match effect.flow {
        Flow::Next => {}
        Flow::Jump { target, conditional: false } => parts.push(format!("jumps to {target:#x}")),
        Flow::Jump { target, conditional: true } => parts.push(format!("may jump to {target:#x}")),
        Flow::IndirectJump => parts.push("jumps".to_owned()),
        Flow::Call { target: Some(target) } => parts.push(format!("calls {target:#x}")),
        Flow::Call { target: None } => parts.push("calls".to_owned()),
        Flow::Return => parts.push("returns".to_owned()),
        Flow::Syscall => parts.push("system call".to_owned()),
        Flow::Trap => parts.push("traps".to_owned()),
    }
    match effect.unit {
        Unit::Single => {}
        unit => parts.push(format!("{unit:?}")),
    }
    if effect.waits {
        parts.push("waits".to_owned());
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2), "{hex}");
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect(hex)).collect()
}

/// The whole line for the bytes at its beginning.
fn line(decoder: &Decoder, old: &str) -> String {
    let hex = old.split(';').next().unwrap_or_default().trim();
    let bytes = bytes_of(hex);
    let text = decoder.text(PC, &bytes).unwrap_or_else(|| "?".to_owned());
    let result = match decoder.decode(PC, &bytes) {
        Ok(found) => {
            assert_eq!(usize::from(found.len), bytes.len(), "{hex} has bytes to spare");
            effect(&found)
        }
        Err(Unsupported { text, .. }) => {
            let why = text.rsplit(": ").next().unwrap_or_default();
            format!("unsupported: {why}")
        }
    };
    format!("{hex} ; {text} ; {result}")
}

fn check(name: &str, at_least: usize) {
    let path = format!("{}/tests/tables/{name}", env!("CARGO_MANIFEST_DIR"));
    let old = std::fs::read_to_string(&path).expect("the table");
    let decoder = Decoder::new();
    let mut forms = 0;
    let mut new = String::new();
    let mut wrong = Vec::new();
    for (number, old) in (1..).zip(old.lines()) {
        if old.is_empty() || old.starts_with('#') {
            new += old;
        } else {
            forms += 1;
            let line = line(&decoder, old);
            if line != old {
                wrong.push(format!("{name}:{number}\n  says   {old}\n  should {line}"));
            }
            new += &line;
        }
        new.push('\n');
    }
    println!("{name}: {forms} forms");
    if std::env::var_os("WMTRACE_PROMOTE").is_some() {
        std::fs::write(&path, new).expect("the table can be written");
        return;
    }
    assert!(
        wrong.is_empty(),
        "{} lines differ; WMTRACE_PROMOTE=1 cargo test -p wmtrace-decoder --test x86_table rewrites them\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(forms >= at_least, "{name} has only {forms} forms");
}

#[test]
fn chosen_forms() {
    check("x86.txt", 500);
}

/// One form of each instruction that the chosen ones leave out.
#[test]
fn every_instruction() {
    check("x86_rest.txt", 800);
}
