//! What is known of each managed instruction: its effect, its orders, and how it transfers control. Found out once,
//! when a thread first comes there.

use super::flow::Transfer;
use super::modules::Module;
use super::sea::Sea;
use super::stacks::switches;
use crate::engine::EngineError;
use crate::engine::evidence::Notes;
use std::collections::HashMap;
use std::rc::Rc;
use wmtrace_decoder::effect::{AccessKind, Arch, Flow, InsnEffect, Unit};
use wmtrace_decoder::orders::{Atomic, OrderInfo};
use wmtrace_decoder::x86::regs::RSP;
use wmtrace_decoder::x86::{self, simple::Simple};
use wmtrace_model::op::ModelKind;
use wmtrace_model::order::Order;

/// A managed instruction.
pub(super) struct Insn {
    pub(super) effect: InsnEffect,
    /// Of each access, what is said of its order.
    pub(super) orders: Vec<OrderInfo>,
    /// The fence that the instruction is.
    pub(super) fence: Option<OrderInfo>,
    /// Fences that the source has here and the code has not.
    pub(super) before: Vec<OrderInfo>,
    /// A fence that may be here: it is told.
    pub(super) uncertain: Option<Order>,
    /// How it transfers control, if the engine can follow that.
    pub(super) transfer: Option<Transfer>,
    /// What it does, if the engine can do it by itself.
    pub(super) simple: Option<Simple>,
    /// A compare-and-swap of two registers' width (CMPXCHG8B, CMPXCHG16B).
    pub(super) double: bool,
    /// RDTSC and the like: the engine answers.
    pub(super) asks: Option<Asks>,
    /// It is the linker's, on the way to a function of another module.
    pub(super) stub: bool,
    /// It loads the stack pointer from somewhere.
    pub(super) switches: bool,
    pub(super) text: String,
}

/// Instructions whose result nobody controls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asks {
    /// RDRAND, RDSEED.
    Random,
    /// RDPID: the number of the processor.
    Cpu,
}

impl Insn {
    /// Whether the engine follows it or the thread must stop before it for another reason than memory.
    pub(super) fn ends_stretch(&self) -> bool {
        self.effect.flow != Flow::Next
            || self.effect.fence.is_some()
            || self.fence.is_some()
            || !self.before.is_empty()
            || self.uncertain.is_some()
            || self.effect.waits
            || self.asks.is_some()
            // What is asked of the thread's own registers and memory is asked when it is there.
            || self.orders.iter().any(|info| info.runtime.is_some())
            || !matches!(self.effect.unit, Unit::Single | Unit::Repeats)
    }
}

/// The managed code of a process.
#[derive(Default)]
pub(super) struct Code {
    decoder: x86::Decoder,
    known: HashMap<u64, Rc<Insn>>,
    /// An execution has changed its code: the next one begins with the file's again.
    changed: bool,
    /// What the orders of new instructions are known by.
    pub(super) notes: Notes,
}

impl Code {
    /// The instruction at `pc`.
    pub(super) fn at(
        &mut self,
        pc: u64,
        sea: &Sea,
        modules: &[Module],
        model: ModelKind,
    ) -> Result<Rc<Insn>, EngineError> {
        if let Some(known) = self.known.get(&pc) {
            return Ok(known.clone());
        }
        let bytes = sea.bytes(pc).unwrap_or_default();
        let module = modules.iter().find(|module| module.contains(pc));
        let place = || match module {
            Some(module) => format!("{}+{:#x}", module.binary.name, module.offset(pc)),
            None => format!("{pc:#x}"),
        };
        let effect = self
            .decoder
            .decode(pc, bytes)
            .map_err(|unsupported| EngineError::Unsupported(format!("{}: {unsupported}", place())))?;
        if effect.unit == Unit::BeginsTransaction {
            return Err(EngineError::Unsupported(format!("{}: transactional memory", place())));
        }
        let bytes = &bytes[..usize::from(effect.len)];
        let (mut orders, mut fence, mut before, mut uncertain) = (Vec::new(), None, Vec::new(), None);
        // The hardware models look at instructions only.
        if let (ModelKind::C11, Some(module)) = (model, module) {
            let offset = module.offset(pc);
            // Addresses in an effect are the process's; the orders of an image know only the file's.
            let relocated = self.decoder.decode(offset, bytes).unwrap_or_else(|_| effect.clone());
            let found = module.binary.orders.at(offset, &relocated);
            (orders, fence) = (found.accesses, found.fence);
            let fences = module.binary.fences.get(&offset).into_iter().flatten();
            before = fences.map(|fence| fence.info.clone()).collect();
            let decode = |pc, bytes: &[u8]| self.decoder.decode(pc, bytes).ok();
            uncertain = module.binary.orders.uncertain_fence(offset, &decode).map(|fence| fence.order);
            if !module.binary.orders.is_linkers(offset) {
                let place = (module.binary.path.as_str(), offset);
                self.notes.meet(place, Arch::X86_64, &orders, &before, uncertain.is_some());
            }
        }
        let text = self.decoder.text(pc, bytes).unwrap_or_default();
        let insn = Insn {
            transfer: Transfer::of(&effect, bytes),
            simple: if effect.flow == Flow::Next && !effect.waits { simple(pc, bytes) } else { None },
            double: is_double(&effect, bytes),
            asks: asks(bytes),
            stub: module.is_some_and(|module| module.is_stub(pc)),
            switches: switches(&text, effect.writes.iter().any(|reg| reg == RSP)),
            text,
            effect,
            orders,
            fence,
            before,
            uncertain,
        };
        let insn = Rc::new(insn);
        self.known.insert(pc, insn.clone());
        Ok(insn)
    }

    /// What an instruction of native code does, if that is simple, and how long it is.
    pub(super) fn native(&self, pc: u64, bytes: &[u8]) -> Option<(Simple, u8)> {
        let effect = self.decoder.decode(pc, bytes).ok()?;
        let bytes = bytes.get(..usize::from(effect.len))?;
        let simple = simple(pc, bytes).filter(|_| effect.flow == Flow::Next && !effect.waits)?;
        Some((simple, effect.len))
    }

    /// Instructions of a range may change, in this execution only.
    pub(super) fn changes(&mut self, start: u64, end: u64) {
        self.forget(start, end);
        self.changed = true;
    }

    /// An execution begins.
    pub(super) fn begin(&mut self) {
        if std::mem::take(&mut self.changed) {
            self.known.clear();
        }
    }

    /// Forgets instructions of a range that holds other code now.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        self.known.retain(|&pc, _| pc < start || pc >= end);
    }
}

/// What the instruction does, if that is simple, and this processor's.
pub(super) fn simple(pc: u64, bytes: &[u8]) -> Option<Simple> {
    Simple::of(pc, bytes).filter(|it| !it.is_recent() || is_recent())
}

/// Whether the processor has all that the decoder calls recent.
fn is_recent() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
}

/// Whether it is CMPXCHG8B or CMPXCHG16B, which compare with `rdx:rax`.
fn is_double(effect: &InsnEffect, bytes: &[u8]) -> bool {
    let compares = effect.accesses.iter().any(|access| access.kind == AccessKind::Rmw && access.conditional);
    let opcode = bytes.windows(2).position(|pair| pair[0] == 0x0f);
    compares && opcode.is_some_and(|at| bytes[at + 1] == 0xc7)
}

fn asks(bytes: &[u8]) -> Option<Asks> {
    let prefixes = bytes.iter().take_while(|byte| matches!(byte, 0x66 | 0xf2 | 0xf3 | 0x40..=0x4f)).count();
    let (prefixes, rest) = bytes.split_at(prefixes);
    let [0x0f, 0xc7, modrm, ..] = rest else { return None };
    match (modrm >> 6, modrm >> 3 & 7, prefixes.contains(&0xf3)) {
        (3, 7, true) => Some(Asks::Cpu),
        (3, 6 | 7, false) => Some(Asks::Random),
        _ => None,
    }
}

/// How the model sees an access.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Role {
    /// A scheduling point with a choice.
    Operation { order: Order, failure: Order },
    /// Told to the model.
    Plain,
    /// Nobody else can see it.
    Private,
}

/// Whether an access is atomic, for reports.
pub(super) fn atomicity(insn: &Insn, access: usize) -> Atomic {
    match insn.orders.get(access) {
        Some(info) => info.atomic,
        None if insn.effect.accesses.get(access).is_some_and(|access| access.atomic) => Atomic::Yes,
        None => Atomic::Unsure,
    }
}
