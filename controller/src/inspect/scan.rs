//! Walks the machine code of a program, function by function, and asks for the order of each access.
//!
//! The sweep is linear and never looks at a byte twice: functions that overlap are one stretch of code. Bytes that
//! are no instruction, or none that the decoder knows, are listed, and the sweep goes on after them.
//!
//! Debug information is read as it is needed, and given back when much of it is in memory: a large program is looked at
//! a part at a time.

use super::files::hex;
use super::names::{is_function, written};
use super::stretches::{Stretch, stretches};
use crate::cli::InspectOptions;
use crate::engine::evidence::Standing;
use std::collections::{BTreeMap, BTreeSet};
use wmtrace_decoder::debug::{Debug, Frame, SourceLine, demangle};
use wmtrace_decoder::effect::{AccessKind, Arch, Extent, Flow, InsnEffect, RegSet, Unsupported};
use wmtrace_decoder::image::Image;
use wmtrace_decoder::machine::Decoder;
use wmtrace_decoder::orders::{
    Assume, Atomic, AtomicCall, EmptyFence, InsnOrders, Kept, OpKind, Options, OrderInfo, Orders, Source,
};
use wmtrace_decoder::x86;
use wmtrace_model::order::Order;

/// So many bytes of debug information are in memory at once, or those of one unit. They take about eight times as much.
const MAX_WEIGHT: usize = 12 << 20;

/// The most bytes of one entry that are no instruction.
const MAX_JUNK: usize = 16;

/// What an entry does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Load,
    Store,
    Rmw,
    Fence,
}

impl Op {
    const fn of(kind: OpKind) -> Op {
        match kind {
            OpKind::Load => Op::Load,
            OpKind::Store => Op::Store,
            OpKind::Rmw | OpKind::Cas => Op::Rmw,
            OpKind::Fence => Op::Fence,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Op::Load => "load",
            Op::Store => "store",
            Op::Rmw => "rmw",
            Op::Fence => "fence",
        }
    }
}

/// An access or a fence.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) pc: u64,
    /// The function as it was compiled.
    pub(super) outer: Option<String>,
    /// The function as it was written, innermost; atomic operations of the standard libraries do not count.
    pub(super) function: Option<String>,
    pub(super) line: Option<SourceLine>,
    pub(super) text: String,
    pub(super) op: Op,
    /// Bytes; of a fence 0.
    pub(super) width: u16,
    pub(super) info: OrderInfo,
    /// `None`: a fence without an instruction.
    pub(super) isa_order: Option<Order>,
}

impl Entry {
    /// How well its order is known.
    pub(super) fn standing(&self, arch: Arch) -> Standing {
        match (self.op, self.isa_order) {
            (Op::Fence, None) => Standing::of_fence(&self.info),
            // A barrier instruction is what it is, whoever asked for it.
            (Op::Fence, Some(_)) if self.info.from == Source::Isa => Standing::Known,
            _ => Standing::of(&self.info, arch),
        }
    }
}

/// Bytes whose effect is not known.
#[derive(Debug)]
pub(super) struct Unknown {
    pub(super) pc: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) text: String,
}

/// What was found in a program.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) program: String,
    pub(super) arch: Arch,
    pub(super) build_id: Option<String>,
    /// Whether somebody states the orders of its atomics.
    pub(super) known: bool,
    pub(super) entries: Vec<Entry>,
    pub(super) unsupported: Vec<Unknown>,
    pub(super) warnings: Vec<String>,
}

/// What is known of the program while a part of it is looked at.
struct View<'a> {
    debug: &'a Debug,
    orders: Orders<'a>,
}

struct Scan<'a> {
    options: &'a InspectOptions,
    image: &'a Image,
    rules: &'a Options,
    kept: Kept,
    decoder: Decoder,
    /// Fences without code, by the instruction that they are before.
    empty: BTreeMap<u64, Vec<EmptyFence>>,
    /// Instructions that are the same fence as one of those.
    instead: BTreeMap<u64, Order>,
    /// The function that is looked at, for instructions whose name debug information does not know.
    current: String,
    /// Whether the function that was asked for has been seen.
    seen: bool,
    entries: Vec<Entry>,
    unsupported: Vec<Unknown>,
    warnings: BTreeSet<String>,
}

/// Looks at the whole program.
pub(super) fn scan(options: &InspectOptions, image: &Image, mut debug: Debug, rules: &Options) -> Report {
    let decoder = Decoder::new(image.arch());
    let mut scan = Scan {
        options,
        image,
        rules,
        kept: Kept::default(),
        decoder,
        empty: BTreeMap::new(),
        instead: BTreeMap::new(),
        current: String::new(),
        seen: false,
        entries: Vec::new(),
        unsupported: Vec::new(),
        warnings: BTreeSet::new(),
    };
    scan.fences(&mut debug);
    scan.sweep(&mut debug);
    let view = scan.view(&debug);
    let unread = view.orders.unread_source().map(|file| {
        format!(
            "{file} cannot be read: where fences may be hidden because of that, accesses acquire and release \
             (\"strengthened\")"
        )
    });
    scan.warnings.extend(unread);
    scan.warnings.extend(debug.absent().iter().map(ToString::to_string));
    if let Some(function) = options.function.as_ref().filter(|_| !scan.seen) {
        scan.warnings.insert(format!("no function '{function}' with anything to list"));
    }
    Report {
        program: options.program.to_string_lossy().into_owned(),
        arch: image.arch(),
        build_id: image.build_id().map(hex),
        known: known(&scan.entries, image.arch(), &debug),
        entries: scan.entries,
        unsupported: scan.unsupported,
        warnings: scan.warnings.into_iter().collect(),
    }
}

impl Scan<'_> {
    fn view<'a>(&'a self, debug: &'a Debug) -> View<'a> {
        View { debug, orders: Orders::with(self.image, debug, self.rules.clone(), self.kept.clone()) }
    }

    /// Finds the fences that have no instruction.
    fn fences(&mut self, debug: &mut Debug) {
        let mut found = Vec::new();
        for unit in debug.code_units() {
            let decode = |pc, bytes: &[u8]| self.decoder.decode(pc, bytes).ok();
            found.extend(self.view(debug).orders.empty_fences_of(&[unit], &decode));
            if debug.weight() > MAX_WEIGHT {
                debug.forget();
            }
        }
        for fence in found {
            for &pc in &fence.instructions {
                let effect = self.image.code_at(pc).and_then(|bytes| self.decoder.decode(pc, bytes).ok());
                let Some(effect) = effect else { continue };
                self.instead.insert(pc, effect.fence.map_or(Order::SeqCst, |fence| fence.order));
            }
            self.empty.entry(fence.pc).or_default().push(fence);
        }
    }

    fn sweep(&mut self, debug: &mut Debug) {
        let (stretches, left_out) = stretches(self.image);
        if left_out > 0 && self.options.function.is_none() {
            self.warnings.insert(format!(
                "{left_out} bytes among the code are in no function that symbols or unwind information know \
                 (constants, or assembly): they were not looked at"
            ));
        }
        let mut pc = 0;
        for Stretch { start, end, name } in stretches {
            pc = start.max(pc);
            if debug.weight() > MAX_WEIGHT {
                debug.forget();
            }
            let orders = Orders::with(self.image, debug, self.rules.clone(), self.kept.clone());
            let view = View { debug, orders };
            self.current = demangle(&name);
            let wanted =
                self.options.function.as_ref().is_none_or(|wanted| is_function(&self.current, wanted));
            self.seen |= wanted;
            // Another function, and nothing that was asked for is inlined into it: a large program is mostly this.
            if self.options.function.is_some()
                && !wanted
                && !view.debug.covers(start, end)
                && !self.asked_for(&view.debug.frames(start))
            {
                continue;
            }
            while pc < end {
                let Some(bytes) = self.image.code_at(pc) else { break };
                let len = self.instruction(&view, pc, bytes, wanted);
                let Some(next) = pc.checked_add(len as u64) else { return };
                pc = next;
            }
        }
    }

    /// Lists what the instruction does; its length.
    fn instruction(&mut self, view: &View<'_>, pc: u64, bytes: &[u8], wanted: bool) -> usize {
        for fence in self.empty.remove(&pc).unwrap_or_default() {
            let isa = fence.instructions.iter().filter_map(|at| self.instead.get(at).copied());
            let isa = isa.reduce(|a, b| if b < a { b } else { a });
            self.list(&fence.frames, "", Item { pc, op: Op::Fence, width: 0, info: fence.info, isa });
        }
        let effect = match self.decoder.decode(pc, bytes) {
            Ok(effect) => effect,
            Err(unsupported) => return self.unknown(unsupported, bytes, wanted),
        };
        let len = usize::from(effect.len).max(1);
        // A tail call is a jump.
        if let Flow::Call { target: Some(target) } | Flow::Jump { target, conditional: false } = effect.flow
            && let Some(call) = view.orders.call(pc, target)
        {
            let text = format!("{} <{}>", self.decoder.text(pc, bytes).unwrap_or_default(), call.name);
            let AtomicCall { kind, width, info, isa, .. } = call;
            self.list(&view.debug.frames(pc), &text, Item { pc, op: Op::of(kind), width, info, isa });
        }
        if effect.accesses.is_empty() && effect.fence.is_none() {
            return len;
        }
        let decode = |pc, bytes: &[u8]| self.decoder.decode(pc, bytes).ok();
        let orders = view.orders.without_thread(pc, &effect, &decode);
        let items = items(pc, &effect, orders, self.options.all, self.instead.contains_key(&pc));
        if !items.is_empty() {
            let frames = view.debug.frames(pc);
            let text = self.decoder.text(pc, bytes).unwrap_or_default();
            for item in items {
                self.list(&frames, &text, item);
            }
        }
        len
    }

    fn list(&mut self, frames: &[Frame], text: &str, item: Item) {
        let named = [Frame { function: self.current.clone(), inlined: false, line: None }];
        let frames = if frames.is_empty() { &named } else { frames };
        if self.options.function.is_some() {
            if !self.asked_for(frames) {
                return;
            }
            self.seen = true;
        }
        if let Some(warning) = &item.info.warning {
            self.warnings.insert(warning.to_string());
        }
        let written = written(frames);
        self.entries.push(Entry {
            pc: item.pc,
            outer: frames.last().map(|frame| frame.function.clone()),
            function: written.map(|frame| frame.function.clone()),
            line: written.and_then(|frame| frame.line.clone()).filter(|line| line.line != 0),
            text: text.to_owned(),
            op: item.op,
            width: item.width,
            info: item.info,
            isa_order: item.isa,
        });
    }

    /// Whether one of the functions is the one that was asked for.
    fn asked_for(&self, frames: &[Frame]) -> bool {
        let wanted = self.options.function.as_deref().unwrap_or_default();
        frames.iter().any(|frame| is_function(&frame.function, wanted))
    }

    fn unknown(&mut self, unsupported: Unsupported, bytes: &[u8], wanted: bool) -> usize {
        let instruction = self.decoder.text(unsupported.pc, bytes).is_some();
        let len =
            if instruction { unsupported.bytes.len().max(1) } else { self.decoder.step().min(bytes.len()) };
        if !wanted {
            return len;
        }
        let Unsupported { pc, text, .. } = unsupported;
        let bytes = &bytes[..len.min(bytes.len())];
        match self.unsupported.last_mut() {
            // Bytes that are no instruction come in runs.
            Some(last)
                if !instruction
                    && last.text == text
                    && last.pc.checked_add(last.bytes.len() as u64) == Some(pc)
                    && last.bytes.len() + len <= MAX_JUNK =>
            {
                last.bytes.extend(bytes);
            }
            _ => self.unsupported.push(Unknown { pc, bytes: bytes.to_vec(), text }),
        }
        len
    }
}

/// An access or a fence, before anybody says where it is.
struct Item {
    pc: u64,
    op: Op,
    width: u16,
    info: OrderInfo,
    isa: Option<Order>,
}

/// What an instruction does that is to be listed; with `told`, its fence is listed elsewhere.
fn items(pc: u64, effect: &InsnEffect, orders: InsnOrders, all: bool, told: bool) -> Vec<Item> {
    let mut items = Vec::new();
    let is_fence = orders.fence.is_some();
    if let Some(info) = orders.fence.filter(|_| !told && is_barrier(effect)) {
        let isa = Some(effect.fence.map_or(Order::SeqCst, |fence| fence.order));
        items.push(Item { pc, op: Op::Fence, width: 0, info, isa });
    }
    for (access, info) in effect.accesses.iter().zip(orders.accesses) {
        // `lock or [rsp], 0` is how compilers write a fence: the access itself is nobody's.
        let only_fence = is_fence
            && access.kind == AccessKind::Rmw
            && access.address.base == Some(x86::regs::RSP)
            && info.from == Source::Isa;
        if only_fence || !(all || access.atomic || info.atomic == Atomic::Yes) {
            continue;
        }
        let mut item = |op, info| {
            items.push(Item { pc, op, width: width(access.extent), info, isa: Some(access.order) });
        };
        match access.kind {
            AccessKind::Load => item(Op::Load, half(&info, AccessKind::Load)),
            AccessKind::Store => item(Op::Store, half(&info, AccessKind::Store)),
            AccessKind::Rmw => item(Op::Rmw, info),
            AccessKind::LoadStore => {
                item(Op::Load, half(&info, AccessKind::Load));
                item(Op::Store, half(&info, AccessKind::Store));
            }
        }
    }
    items
}

/// Whether an instruction is meant as a fence. CPUID orders memory too, but only because it waits for everything: what
/// it is for is in the registers that it writes, and no compiler makes a fence of it.
fn is_barrier(effect: &InsnEffect) -> bool {
    !effect.accesses.is_empty() || effect.writes == RegSet::EMPTY
}

/// The order of one half of what the source has as one operation: of `add [x], 1`, of a loop of exclusives.
fn half(info: &OrderInfo, kind: AccessKind) -> OrderInfo {
    let stated = matches!(info.from, Source::Dwarf | Source::Text);
    let order = match (info.order, kind) {
        (Some(Order::AcqRel), kind) => Some(Assume::AcqRel.order(kind)),
        (Some(Order::Release), AccessKind::Load) | (Some(Order::Acquire), AccessKind::Store) if stated => {
            Some(Order::Relaxed)
        }
        (order, _) => order,
    };
    // A compare-and-swap that fails has only loaded.
    let failure = info.failure.filter(|_| kind != AccessKind::Store);
    OrderInfo { order, failure, ..info.clone() }
}

/// Bytes, or bytes of one element where the number of elements is in a register.
fn width(extent: Extent) -> u16 {
    match extent {
        Extent::Bytes(bytes) | Extent::AtMost(bytes) | Extent::Block(bytes) => bytes,
        Extent::Repeated { element, .. }
        | Extent::Lanes { element, .. }
        | Extent::Masked { element, .. }
        | Extent::Packed { element, .. }
        | Extent::BitString { element, .. } => element.into(),
    }
}

/// Whether the orders of the program's own atomics are known: then there is one whose order is. All of them is too much
/// to ask: Rust's precompiled library, which is part of each program, has lost most of its orders. Where there are no
/// atomics, whether they would be known.
fn known(entries: &[Entry], arch: Arch, debug: &Debug) -> bool {
    let mut atomics = entries.iter().filter(|entry| entry.info.atomic == Atomic::Yes).peekable();
    match atomics.peek() {
        None => arch == Arch::Aarch64 || debug.units().0 > 0 && debug.absent().is_empty(),
        Some(_) => atomics.any(|entry| entry.info.from.states(arch)),
    }
}
