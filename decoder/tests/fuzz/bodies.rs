//! What is done with hostile input, whoever makes it: the bounded runs of this test, or the targets of `decoder/fuzz`
//! (which include this file). Each body takes any bytes. It must not panic, hang, or take more memory than
//! [`bound`] says.

use std::sync::Arc;
use wmtrace_decoder::debug::{Context, Debug, Frames, NoFiles};
use wmtrace_decoder::effect::{
    Access, AccessKind, Address, Extent, Fence, Flow, InsnEffect, Reg, RegSet, Registers, Unit,
};
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::file::OrdersFile;
use wmtrace_decoder::orders::{Options, Orders};
use wmtrace_decoder::{aarch64, x86};
use wmtrace_model::order::Order;

/// The most bytes of memory that a body may have at once, for an input of `len` bytes. The constant is for tables that
/// do not depend on the input; the factor for entries that take a byte or two in the file, each of which becomes a
/// structure of up to a hundred bytes. (Real files need a tenth of this.)
pub(crate) fn bound(len: usize) -> usize {
    (1 << 20) + 64 * len
}

/// The same for a file that may have compressed sections: zlib makes at most 1032 bytes of one.
pub(crate) fn compressed_bound(len: usize) -> usize {
    bound(1032 * len)
}

/// Registers full of the same bits.
struct Bits(u64);

impl Registers for Bits {
    fn general(&self, _: Reg) -> u64 {
        self.0
    }

    fn vector(&self, _: Reg) -> [u8; 64] {
        [self.0 as u8; 64]
    }
}

/// The first eight bytes are the address and the registers, the rest is code. Whether it decodes.
pub(crate) fn x86(decoder: &x86::Decoder, input: &[u8]) -> bool {
    let Some((&seed, code)) = input.split_first_chunk() else { return false };
    let pc = u64::from_le_bytes(seed);
    match decoder.decode(pc, code) {
        Ok(effect) => {
            let len = usize::from(effect.len);
            assert!((1..=code.len().min(x86::MAX_LEN)).contains(&len), "{code:02x?}");
            // ENTER with 31 levels makes 62.
            assert!(effect.accesses.len() <= 62, "{code:02x?}: {} accesses", effect.accesses.len());
            resolved(&effect, pc, code);
            // The same bytes mean the same, whatever follows.
            assert_eq!(decoder.decode(pc, &code[..len]).as_ref(), Ok(&effect), "{code:02x?}");
            assert!(decoder.text(pc, code).is_some());
            true
        }
        Err(error) => {
            assert!(error.bytes.len() <= x86::MAX_LEN && !error.text.is_empty());
            false
        }
    }
}

/// The same for AArch64.
pub(crate) fn aarch64(decoder: &aarch64::Decoder, input: &[u8]) -> bool {
    let Some((&seed, code)) = input.split_first_chunk() else { return false };
    let pc = u64::from_le_bytes(seed);
    match decoder.decode(pc, code) {
        Ok(effect) => {
            assert_eq!(effect.len, 4);
            assert!(effect.accesses.len() <= 4, "{code:02x?}: {} accesses", effect.accesses.len());
            for access in &effect.accesses {
                assert!(access.address.base.is_some_and(|base| effect.reads.contains(base)), "{code:02x?}");
            }
            resolved(&effect, pc, code);
            assert_eq!(decoder.decode(pc, &code[..4]).as_ref(), Ok(&effect), "{code:02x?}");
            true
        }
        Err(error) => {
            assert!(error.bytes.len() <= 4 && !error.text.is_empty());
            false
        }
    }
}

fn resolved(effect: &InsnEffect, value: u64, code: &[u8]) {
    for value in [value, 0, u64::MAX, value.wrapping_mul(0x9e37_79b9_7f4a_7c15)] {
        let found = effect.resolve(&Bits(value));
        assert!(found.len() <= 64, "{code:02x?}: {} places", found.len());
        assert!(found.iter().all(|access| access.len > 0), "{code:02x?}");
    }
}

/// An ELF file: its tables, functions and frames. Whether it is one.
pub(crate) fn elf(input: &[u8]) -> bool {
    let Ok(image) = Image::parse(Arc::from(input)) else { return false };
    for function in image.functions() {
        assert!(function.start < function.end);
        // None where sections overlap: then one of them is not there.
        image.code_at(function.start);
    }
    let frames = Frames::new(&image);
    for (start, end) in frames.ranges().take(64) {
        frames.cfa(start);
        frames.cfa(end - 1);
    }
    for symbol in image.symbols().iter().take(64) {
        image.symbol_at(symbol.addr);
    }
    for pc in [0, u64::MAX, image.entry()] {
        frames.cfa(pc);
        image.symbol_at(pc);
        image.code_at(pc);
    }
    true
}

/// A thread of which everything is known.
struct Thread;

impl Context for Thread {
    fn register(&self, dwarf: u16) -> Option<u64> {
        Some(u64::from(dwarf) << 20)
    }

    fn read(&self, addr: u64, buffer: &mut [u8]) -> bool {
        buffer.fill(addr as u8);
        true
    }

    fn bias(&self) -> u64 {
        0x1000
    }
}

/// Pretends that every byte is an instruction that loads, stores and fences.
fn effect(_: u64, _: &[u8]) -> Option<InsnEffect> {
    let access = |kind, base| Access {
        kind,
        address: Address {
            base: Some(Reg(base)),
            index: None,
            displacement: 8,
            segment: None,
            bits: 64,
            writeback: None,
        },
        extent: Extent::Bytes(4),
        order: Order::Relaxed,
        atomic: kind == AccessKind::Rmw,
        conditional: false,
        non_temporal: false,
    };
    Some(InsnEffect {
        len: 1,
        accesses: vec![
            access(AccessKind::Load, 4),
            access(AccessKind::Store, 0),
            access(AccessKind::Rmw, 56),
        ],
        fence: Some(Fence { order: Order::SeqCst }),
        reads: RegSet::EMPTY,
        writes: RegSet::EMPTY,
        flow: Flow::Next,
        unit: Unit::Single,
        waits: false,
    })
}

/// An ELF file with debug information: everything that can be asked, location expressions included. Whether any
/// instruction has a function.
pub(crate) fn dwarf(input: &[u8]) -> bool {
    let Ok(image) = Image::parse(Arc::from(input)) else { return false };
    let functions = image.functions();
    let mut debug = Debug::new(&image, Arc::new(NoFiles));
    let mut known = false;
    let orders = Orders::new(&image, &debug, Options::default());
    let starts = functions.iter().map(|function| function.start).step_by(functions.len() / 40 + 1);
    for pc in starts.flat_map(|start| (start..start.saturating_add(40)).step_by(3)).chain([0, u64::MAX]) {
        known |= !debug.frames(pc).is_empty();
        let found = orders.at(pc, &effect(pc, &[]).expect("always one"));
        for runtime in found.accesses.iter().chain(&found.fence).filter_map(|info| info.runtime.as_ref()) {
            let _ = runtime.evaluate(&Thread);
            runtime.is_own(&Thread, pc);
        }
    }
    orders.empty_fences(&effect);
    debug.only("main", &[0, image.entry(), u64::MAX]);
    functions.iter().take(8).for_each(|function| drop(debug.frames(function.start)));
    known
}

/// An orders file. Whether it is well-formed.
pub(crate) fn orders(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    match OrdersFile::parse(&text) {
        Ok(_) => true,
        Err(error) => {
            let line = text.lines().nth(error.line - 1).expect("the line is there");
            assert!((1..=line.chars().count() + 1).contains(&error.column), "{text:?}: {error}");
            false
        }
    }
}
