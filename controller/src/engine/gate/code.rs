//! What is known of the instruction of each gate: its effect and its orders. Found out once, when a thread first comes
//! there.

use super::exclusive::Sequence;
use super::patch::{Gate, Kind};
use crate::engine::EngineError;
use crate::engine::evidence::Notes;
use crate::engine::modules::Binary;
use std::collections::HashMap;
use std::rc::Rc;
use wmtrace_decoder::aarch64::{Decoder, OutlineAtomic, outline_atomic};
use wmtrace_decoder::effect::{AccessKind, Arch, InsnEffect, Unit};
use wmtrace_decoder::orders::{Atomic, OrderInfo, Source};
use wmtrace_model::op::ModelKind;
use wmtrace_model::order::Order;

/// An instruction under the model; of an exclusive sequence, its load.
pub(super) struct Insn {
    pub(super) word: u32,
    pub(super) effect: InsnEffect,
    /// Of each access, what is said of its order.
    pub(super) orders: Vec<OrderInfo>,
    /// The fence that the instruction is.
    pub(super) fence: Option<OrderInfo>,
    /// Fences that the source has here and the code has not.
    pub(super) before: Vec<OrderInfo>,
    pub(super) sequence: Option<Rc<Sequence>>,
    /// It is in one of the functions that compilers call instead of an atomic instruction.
    pub(super) outline: Option<(u64, OutlineAtomic)>,
    pub(super) text: String,
}

impl Insn {
    /// Whether it is a compare-and-swap that may fail for no reason, and the program sees that: an exclusive store may
    /// at any time (Arm ARM B2.9.3). One in a loop of its own just tries again.
    pub(super) fn is_weak(&self) -> bool {
        self.sequence.as_ref().is_some_and(|sequence| !sequence.loops)
    }
}

#[derive(Default)]
pub(super) struct Code {
    decoder: Decoder,
    known: HashMap<usize, Rc<Insn>>,
    /// Orders of calls of outline atomics: by the call and the function.
    calls: HashMap<(u64, u64), Option<OrderInfo>>,
    /// What the orders of new instructions are known by.
    pub(super) notes: Notes,
}

impl Code {
    /// The instruction of a gate.
    pub(super) fn at(
        &mut self,
        number: usize,
        gate: &Gate,
        binary: &Binary,
        model: ModelKind,
    ) -> Result<Rc<Insn>, EngineError> {
        if let Some(known) = self.known.get(&number) {
            return Ok(known.clone());
        }
        let place = || format!("{}+{:#x}", binary.name, gate.at);
        let bytes = gate.word.to_le_bytes();
        let mut effect = self
            .decoder
            .decode(gate.at, &bytes)
            .map_err(|unsupported| EngineError::Unsupported(format!("{}: {unsupported}", place())))?;
        let mut text = self.decoder.text(gate.at, &bytes).unwrap_or_default();
        let mut sequence = None;
        let (mut orders, mut fence, mut before) = (Vec::new(), None, Vec::new());
        if model == ModelKind::C11 {
            let found = binary.orders.at(gate.at, &effect);
            (orders, fence) = (found.accesses, found.fence);
            let fences = binary.fences.get(&gate.at).into_iter().flatten();
            before = fences.map(|fence| fence.info.clone()).collect();
        }
        if let Kind::Exclusive(found) = &gate.kind {
            let store_at = found.store_at;
            let word = found.words[found.store].to_le_bytes();
            let store = self
                .decoder
                .decode(store_at, &word)
                .map_err(|unsupported| EngineError::Unsupported(format!("{}: {unsupported}", place())))?;
            let releases = store.accesses.first().is_some_and(|access| access.order.releases());
            if let Some(access) = effect.accesses.first_mut() {
                access.order = both(access.order, releases);
                access.kind = AccessKind::Rmw;
            }
            effect.writes = effect.writes.union(store.writes);
            if let Some(info) = orders.first_mut().filter(|info| info.from == Source::Isa) {
                info.order = info.order.map(|order| both(order, releases));
                info.atomic = Atomic::Yes;
            }
            text = format!("{text} … {}", self.decoder.text(store_at, &word).unwrap_or_default());
            sequence = Some(found.clone());
        } else if effect.unit == Unit::BeginsExclusive {
            let what = "an exclusive load whose store is not found (no loop that compilers write)";
            return Err(EngineError::Unsupported(format!("{}: {what}: {text}", place())));
        }
        if effect.unit == Unit::EndsExclusive && !effect.accesses.is_empty() {
            let what = "an exclusive store whose load is not found (no loop that compilers write)";
            return Err(EngineError::Unsupported(format!("{}: {what}: {text}", place())));
        }
        for (access, info) in effect.accesses.iter().zip(&mut orders) {
            stated_by_isa(gate.word, access.kind, info);
        }
        let outline = binary
            .image
            .symbol_at(gate.at)
            .and_then(|symbol| outline_atomic(&symbol.name).map(|outline| (symbol.addr, outline)));
        self.notes.meet((&binary.path, gate.at), Arch::Aarch64, &orders, &before, false);
        let insn = Insn { word: gate.word, effect, orders, fence, before, sequence, outline, text };
        let insn = Rc::new(insn);
        self.known.insert(number, insn.clone());
        Ok(insn)
    }

    /// The order that the source gives a call of an outline atomic, if it tells. Addresses are the file's.
    pub(super) fn of_call(&mut self, binary: &Binary, call: u64, function: u64) -> Option<OrderInfo> {
        let found = self.calls.entry((call, function)).or_insert_with(|| {
            let mut info = binary.orders.call(call, function)?.info;
            stated_by_isa(0, AccessKind::Rmw, &mut info);
            Some(info)
        });
        found.clone()
    }
}

/// The order of a pair of exclusives.
fn both(load: Order, releases: bool) -> Order {
    match (load.acquires(), releases) {
        (true, true) => Order::AcqRel,
        (true, false) => Order::Acquire,
        (false, true) => Order::Release,
        (false, false) => Order::Relaxed,
    }
}

/// Where only the instruction tells: LDAR, STLR and the acquiring and releasing read-modify-writes are what compilers
/// make of C11's sequentially consistent operations, and order each other (Arm ARM B2.3: "RCsc"). LDAPR is not.
fn stated_by_isa(word: u32, kind: AccessKind, info: &mut OrderInfo) {
    let ldapr =
        word & 0x3fff_fc00 == 0x38bf_c000 || word & 0x3f20_0c00 == 0x1900_0000 && word & 0xc0_0000 != 0;
    if info.from != Source::Isa || ldapr {
        return;
    }
    info.order = info.order.map(|order| match (kind, order) {
        (AccessKind::Load, Order::Acquire) | (AccessKind::Store, Order::Release) => Order::SeqCst,
        (AccessKind::Rmw | AccessKind::LoadStore, Order::AcqRel) => Order::SeqCst,
        (_, order) => order,
    });
}

/// Whether an access is atomic, for reports.
pub(super) fn atomicity(insn: &Insn, access: usize) -> Atomic {
    match insn.orders.get(access) {
        Some(info) => info.atomic,
        None if insn.effect.accesses.get(access).is_some_and(|access| access.atomic) => Atomic::Yes,
        None => Atomic::Unsure,
    }
}
