//! Effects as one line of text, for tables that people read.
//!
//! ```text
//! load 8 [sp+16]{sp+=32}           plain, 8 bytes at sp+16, then sp changes
//! rmw? 4 acq_rel [x1]              atomic, may not store
//! load 4 [x1+sxtw(x2)*4]           index register, extended and scaled
//! fence seq_cst | call 0x1010 | begins exclusive | waits | result lost | r x0 x1 | w x2
//! ```

use wmtrace_decoder::aarch64::{discards_read, regs};
use wmtrace_decoder::effect::*;

fn name(reg: Reg) -> String {
    regs::name(reg).expect("a register of AArch64")
}

fn names(set: RegSet) -> String {
    set.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn address(address: &Address) -> String {
    let mut text = format!("[{}", address.base.map(name).expect("every address has a base"));
    if let Some(Index { reg, from_bits, signed, scale }) = address.index {
        text += &match (from_bits, signed) {
            (64, _) => format!("+{}", name(reg)),
            (_, false) => format!("+uxtw({})", name(reg)),
            (_, true) => format!("+sxtw({})", name(reg)),
        };
        if scale > 1 {
            text += &format!("*{scale}");
        }
    }
    if address.displacement != 0 {
        text += &format!("{:+}", address.displacement);
    }
    assert_eq!((address.segment, address.bits), (None, 64));
    text + "]"
        + &match (address.writeback, address.base) {
            (Some(Writeback::By(by)), Some(base)) => format!("{{{}+={by}}}", name(base)),
            (Some(Writeback::ByReg(by)), Some(base)) => format!("{{{}+={}}}", name(base), name(by)),
            (_, _) => String::new(),
        }
}

fn access(access: &Access) -> String {
    let kind = match access.kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Rmw => "rmw",
        AccessKind::LoadStore => "load-store",
    };
    let extent = match access.extent {
        Extent::Bytes(bytes) => bytes.to_string(),
        Extent::Block(bytes) => format!("block of {bytes}"),
        other => panic!("no AArch64 instruction has {other:?}"),
    };
    let conditional = if access.conditional { "?" } else { "" };
    let order = if access.atomic { format!(" {}", access.order) } else { String::new() };
    format!("{kind}{conditional} {extent}{order} {}", address(&access.address))
}

/// The effect in one line.
pub(crate) fn compact(effect: &InsnEffect) -> String {
    let mut parts: Vec<String> = effect.accesses.iter().map(access).collect();
    if let Some(fence) = effect.fence {
        parts.push(format!("fence {}", fence.order));
    }
    match effect.flow {
        Flow::Next => {}
        Flow::Jump { target, conditional: false } => parts.push(format!("jump {target:#x}")),
        Flow::Jump { target, conditional: true } => parts.push(format!("jump? {target:#x}")),
        Flow::IndirectJump => parts.push("jump *".into()),
        Flow::Call { target: Some(target) } => parts.push(format!("call {target:#x}")),
        Flow::Call { target: None } => parts.push("call *".into()),
        Flow::Return => parts.push("return".into()),
        Flow::Syscall => parts.push("syscall".into()),
        Flow::Trap => parts.push("trap".into()),
    }
    match effect.unit {
        Unit::Single => {}
        Unit::BeginsExclusive => parts.push("begins exclusive".into()),
        Unit::EndsExclusive => parts.push("ends exclusive".into()),
        other @ (Unit::Repeats | Unit::BeginsTransaction) => panic!("no AArch64 instruction is {other:?}"),
    }
    if effect.waits {
        parts.push("waits".into());
    }
    if discards_read(effect) {
        parts.push("result lost".into());
    }
    if effect.reads != RegSet::EMPTY {
        parts.push(format!("r {}", names(effect.reads)));
    }
    if effect.writes != RegSet::EMPTY {
        parts.push(format!("w {}", names(effect.writes)));
    }
    if parts.is_empty() { "nothing".into() } else { parts.join(" | ") }
}
