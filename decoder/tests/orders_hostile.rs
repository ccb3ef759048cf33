//! Hostile input: mutated ELF files with mutated debug information. Nothing may panic, hang, or take memory out of
//! proportion; answers may be anything. Fixed seeds: a failure repeats.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wmtrace_decoder::debug::{Context, Debug, NoFiles};
use wmtrace_decoder::effect::{
    Access, AccessKind, Address, Extent, Fence, Flow, InsnEffect, Reg, RegSet, Unit,
};
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::file::OrdersFile;
use wmtrace_decoder::orders::{Options, Orders};
use wmtrace_model::order::Order;

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

struct Nothing;

impl Context for Nothing {
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

/// Asks everything that can be asked.
fn exercise(bytes: Vec<u8>) {
    let Ok(image) = Image::parse(Arc::from(bytes)) else { return };
    let functions = image.functions();
    let debug = Debug::new(&image, Arc::new(NoFiles));
    let orders = Orders::new(&image, &debug, Options::default());
    let starts = functions.iter().map(|function| function.start).step_by(functions.len() / 40 + 1);
    for pc in starts.flat_map(|start| (start..start.saturating_add(40)).step_by(3)).chain([0, u64::MAX]) {
        debug.frames(pc);
        let found = orders.at(pc, &effect(pc, &[]).expect("always one"));
        for runtime in found.accesses.iter().chain(&found.fence).filter_map(|info| info.runtime.as_ref()) {
            let _ = runtime.evaluate(&Nothing);
            runtime.is_own(&Nothing, pc);
        }
    }
    orders.empty_fences(&effect);
}

/// A small program with all kinds of debug information; `None` without a compiler.
fn program(flags: &[&str], name: &str) -> Option<Vec<u8>> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    std::fs::create_dir_all(&directory).expect("the test's directory");
    let (source, output) = (directory.join(format!("{name}.cpp")), directory.join(name));
    let text = "#include <atomic>\nstd::atomic<int> x; int y;\n\
        int get(std::memory_order o) { return x.load(o); }\n\
        int main() { x.store(1, std::memory_order_release); std::atomic_thread_fence(std::memory_order_acquire);\n\
        int e = 1; x.compare_exchange_strong(e, 2); x++; y = 2; return get(std::memory_order_acquire); }\n";
    std::fs::write(&source, text).expect("source");
    let status = Command::new("g++")
        .args(flags)
        .args(["-std=c++20", "-g"])
        .arg(&source)
        .arg("-o")
        .arg(&output)
        .status();
    assert!(status.ok()?.success(), "g++ {flags:?}");
    Some(std::fs::read(output).expect("just built"))
}

#[test]
fn mutated_files_neither_panic_nor_hang() {
    let variants: [(&[&str], &str); 4] = [
        (&["-O0"], "plain"),
        (&["-O2"], "optimised"),
        (&["-O2", "-gdwarf-4"], "dwarf4"),
        (&["-O2", "-gz=zlib"], "compressed"),
    ];
    let mut slowest = Duration::ZERO;
    for (flags, name) in variants {
        let Some(original) = program(flags, name) else {
            println!("skipped: there is no g++ here");
            return;
        };
        exercise(original.clone());
        let image = Image::parse(Arc::from(original.clone())).expect("an image");
        // Where the bytes of a section are in the file: mutations of these get deepest.
        let places: Vec<std::ops::Range<usize>> = [
            ".debug_info",
            ".debug_abbrev",
            ".debug_loclists",
            ".debug_loc",
            ".debug_rnglists",
            ".debug_line",
            ".debug_aranges",
            ".eh_frame",
            ".symtab",
            ".debug_ranges",
        ]
        .iter()
        .filter_map(|section| image.section(section))
        .filter_map(|section| {
            let bytes = section.bytes();
            let key = bytes.get(..bytes.len().min(64)).filter(|key| key.len() >= 16)?;
            let at = original.windows(key.len()).position(|window| window == key)?;
            Some(at..at + bytes.len().min(original.len() - at))
        })
        .chain([0..64, original.len().saturating_sub(4096)..original.len()])
        .collect();
        for seed in 0..150 {
            let mut rng = Rng(seed);
            let mut bytes = original.clone();
            let place = places[rng.below(places.len())].clone();
            for _ in 0..1 + rng.below(12) {
                let at = place.start + rng.below(place.len());
                bytes[at] = match rng.below(4) {
                    0 => 0xff,
                    1 => 0,
                    2 => bytes[at] ^ 1 << rng.below(8),
                    _ => rng.next() as u8,
                };
            }
            if rng.below(10) == 0 {
                bytes.truncate(rng.below(original.len()));
            }
            let start = Instant::now();
            exercise(bytes);
            let took = start.elapsed();
            assert!(took < Duration::from_secs(10), "{name}, seed {seed}: {took:?}");
            slowest = slowest.max(took);
        }
    }
    println!("the slowest took {slowest:?}");
}

#[test]
fn orders_files_of_noise_are_errors_or_rules() {
    const WORDS: [&str; 12] = [
        "function",
        " ",
        "\n",
        "f::g",
        "a.c:1",
        ":",
        "+0x",
        "lib.so+0x10",
        "relaxed",
        "#",
        "é",
        "18446744073709551616",
    ];
    let mut rng = Rng(1);
    for _ in 0..20_000 {
        let text: String = (0..rng.below(8)).map(|_| WORDS[rng.below(WORDS.len())]).collect();
        if let Err(error) = OrdersFile::parse(&text) {
            assert!(error.line >= 1 && error.column >= 1, "{text:?}: {error}");
        }
    }
}
