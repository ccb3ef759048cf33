//! Walks the machine code of a program, function by function, and asks for the order of each access.
//!
//! The sweep is linear and never looks at a byte twice: functions that overlap are one stretch of code. Bytes that
//! are no instruction, or none that the decoder knows, are listed, and the sweep goes on after them.

use super::files::hex;
use super::machine::Decoder;
use super::names::{is_function, written};
use crate::cli::InspectOptions;
use std::collections::{BTreeMap, BTreeSet};
use wmtrace_decoder::debug::{Debug, SourceLine, demangle};
use wmtrace_decoder::effect::{Access, AccessKind, Arch, Extent, Flow, Unsupported};
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::{Assume, Atomic, EmptyFence, OrderInfo, Orders, Source};
use wmtrace_decoder::x86;
use wmtrace_model::order::Order;

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

struct Scan<'a> {
    options: &'a InspectOptions,
    debug: &'a Debug,
    orders: &'a Orders<'a>,
    decoder: Decoder,
    /// Fences without code, by the instruction that they are before.
    empty: BTreeMap<u64, Vec<EmptyFence>>,
    /// Instructions that are the same fence as one of those.
    instead: BTreeMap<u64, Order>,
    /// Whether the function that was asked for has been seen.
    seen: bool,
    entries: Vec<Entry>,
    unsupported: Vec<Unknown>,
    warnings: BTreeSet<String>,
}

/// Looks at the whole program.
pub(super) fn scan(options: &InspectOptions, image: &Image, debug: &Debug, orders: &Orders<'_>) -> Report {
    let decoder = Decoder::new(image.arch());
    let (found, lost) = orders.empty_fences(&|pc, bytes| decoder.decode(pc, bytes).ok());
    let mut scan = Scan {
        options,
        debug,
        orders,
        decoder,
        empty: BTreeMap::new(),
        instead: BTreeMap::new(),
        seen: false,
        entries: Vec::new(),
        unsupported: Vec::new(),
        warnings: BTreeSet::new(),
    };
    for fence in found {
        if let Some(pc) = fence.instruction
            && let Some(effect) = image.code_at(pc).and_then(|bytes| scan.decoder.decode(pc, bytes).ok())
        {
            scan.instead.insert(pc, effect.fence.map_or(Order::SeqCst, |fence| fence.order));
        }
        scan.empty.entry(fence.pc).or_default().push(fence);
    }
    for fence in lost.iter().filter(|_| options.function.is_none()) {
        let SourceLine { file, line, .. } = &fence.line;
        scan.warnings.insert(format!(
            "{file}:{line}: this {} fence has no instruction, and its place in the code cannot be told",
            fence.order
        ));
    }
    scan.sweep(image);
    if let Some(function) = options.function.as_ref().filter(|_| !scan.seen) {
        scan.warnings.insert(format!("no function '{function}' with anything to list"));
    }
    Report {
        program: options.program.to_string_lossy().into_owned(),
        arch: image.arch(),
        build_id: image.build_id().map(hex),
        known: known(&scan.entries, image.arch(), debug),
        entries: scan.entries,
        unsupported: scan.unsupported,
        warnings: scan.warnings.into_iter().collect(),
    }
}

impl Scan<'_> {
    fn sweep(&mut self, image: &Image) {
        let mut stretches: Vec<(u64, u64, Option<String>)> =
            image.functions().into_iter().map(|f| (f.start, f.end, f.name)).collect();
        if stretches.is_empty() {
            stretches = image.code().iter().map(|code| (code.addr, code.end(), None)).collect();
        }
        let mut pc = 0;
        for (start, end, name) in stretches {
            pc = start.max(pc);
            let wanted = match (&self.options.function, &name) {
                (None, _) => true,
                (Some(wanted), Some(name)) => is_function(&demangle(name), wanted),
                (Some(_), None) => false,
            };
            self.seen |= wanted;
            while pc < end {
                let Some(bytes) = image.code_at(pc) else { break };
                let len = self.instruction(pc, bytes, wanted);
                let Some(next) = pc.checked_add(len as u64) else { return };
                pc = next;
            }
        }
    }

    /// Lists what the instruction does; its length.
    fn instruction(&mut self, pc: u64, bytes: &[u8], wanted: bool) -> usize {
        for fence in self.empty.remove(&pc).unwrap_or_default() {
            let isa = fence.instruction.and_then(|at| self.instead.get(&at).copied());
            self.list(pc, "", Op::Fence, 0, fence.info, isa);
        }
        let effect = match self.decoder.decode(pc, bytes) {
            Ok(effect) => effect,
            Err(unsupported) => return self.unknown(unsupported, bytes, wanted),
        };
        let len = usize::from(effect.len).max(1);
        if effect.accesses.is_empty() && effect.fence.is_none() {
            return len;
        }
        let orders = self.orders.at(pc, &effect);
        let is_fence = orders.fence.is_some();
        let mut text = None;
        let mut text = |scan: &Self| {
            text.get_or_insert_with(|| scan.decoder.text(pc, bytes).unwrap_or_default()).clone()
        };
        if let Some(info) = orders.fence.filter(|_| !self.instead.contains_key(&pc)) {
            let isa = effect.fence.map_or(Order::SeqCst, |fence| fence.order);
            let shown = text(self);
            self.list(pc, &shown, Op::Fence, 0, info, Some(isa));
        }
        for (access, info) in effect.accesses.iter().zip(orders.accesses) {
            // `lock or [rsp], 0` is how compilers write a fence: the access itself is nobody's.
            let only_fence = is_fence
                && access.kind == AccessKind::Rmw
                && access.address.base == Some(x86::regs::RSP)
                && info.from == Source::Isa;
            // Unoptimised code calls functions in the middle of an operation: the return address is no atomic.
            let return_address = info.from == Source::Runtime
                && !access.atomic
                && matches!(effect.flow, Flow::Call { .. } | Flow::Return);
            let listed = (access.atomic || info.atomic == Atomic::Yes) && !only_fence && !return_address;
            if listed || self.options.all {
                let shown = text(self);
                self.access(pc, &shown, access, info);
            }
        }
        len
    }

    fn access(&mut self, pc: u64, text: &str, access: &Access, info: OrderInfo) {
        let (width, isa) = (width(access.extent), Some(access.order));
        match access.kind {
            AccessKind::Load => self.list(pc, text, Op::Load, width, info, isa),
            AccessKind::Store => self.list(pc, text, Op::Store, width, info, isa),
            AccessKind::Rmw => self.list(pc, text, Op::Rmw, width, info, isa),
            AccessKind::LoadStore => {
                self.list(pc, text, Op::Load, width, half(&info, AccessKind::Load), isa);
                self.list(pc, text, Op::Store, width, half(&info, AccessKind::Store), isa);
            }
        }
    }

    fn list(&mut self, pc: u64, text: &str, op: Op, width: u16, info: OrderInfo, isa_order: Option<Order>) {
        let frames = self.debug.frames(pc);
        if let Some(function) = &self.options.function {
            if !frames.iter().any(|frame| is_function(&frame.function, function)) {
                return;
            }
            self.seen = true;
        }
        if let Some(warning) = &info.warning {
            self.warnings.insert(warning.to_string());
        }
        let outer = frames.last().map(|frame| frame.function.clone());
        let written = written(&frames);
        let function = written.map(|frame| frame.function.clone());
        let line = written.and_then(|frame| frame.line.clone()).filter(|line| line.line != 0);
        let text = text.to_owned();
        self.entries.push(Entry { pc, outer, function, line, text, op, width, info, isa_order });
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

/// The order of one half of an access that is not one event.
fn half(info: &OrderInfo, kind: AccessKind) -> OrderInfo {
    let order = match (info.order, kind) {
        (Some(Order::AcqRel), kind) => Some(Assume::AcqRel.order(kind)),
        (order, _) => order,
    };
    OrderInfo { order, ..info.clone() }
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

/// Whether a source of orders counts as knowing them (DESIGN.md §4): x86-64's instructions do not tell what was asked for.
pub(super) const fn states(from: Source, arch: Arch) -> bool {
    match from {
        Source::File | Source::Dwarf | Source::Runtime | Source::Text => true,
        Source::Isa => matches!(arch, Arch::Aarch64),
        Source::Policy => false,
    }
}

/// Whether the orders of the program's own atomics are known: then there is one whose order is. All of them is too much
/// to ask: Rust's precompiled library, which is part of each program, has lost most of its orders. Where there are no
/// atomics, whether they would be known.
fn known(entries: &[Entry], arch: Arch, debug: &Debug) -> bool {
    let mut atomics = entries.iter().filter(|entry| entry.info.atomic == Atomic::Yes).peekable();
    match atomics.peek() {
        None => arch == Arch::Aarch64 || debug.units().0 > 0,
        Some(_) => atomics.any(|entry| states(entry.info.from, arch)),
    }
}
