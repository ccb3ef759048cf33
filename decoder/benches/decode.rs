//! How fast machine code is decoded into effects, looked up again, and resolved.
//!
//! `cargo bench -p wmtrace-decoder` (or `scripts/bench`) prints a table. Absolute rates depend on the machine, so
//! each is set against a named reference measured in the same run: decoding against capstone alone on the same bytes
//! (with details on x86-64, which the effects need), look-ups against a `HashMap` with the same keys and values and
//! against a bare array of the values that is indexed in the same order, which nothing that finds anything can beat.
//! Every look-up reads the entry that it finds. Where neighbours take the processor's shared cache, the array gets slow
//! too: then a look-up must be within [`OF_ARRAY`] of it.

use capstone::prelude::*;
use object::{Object, ObjectSection};
use std::collections::HashMap;
use std::hint::black_box;
use wmtrace_decoder::cache::{Decoded, PcMap};
use wmtrace_decoder::effect::{Arch, InsnEffect, Reg, Registers, Unsupported};
use wmtrace_decoder::{aarch64, x86};
use wmtrace_model::rng::Rng;

/// Debian's names. The cross packages have no libcrypto.
const LIBRARIES: [(Arch, &str); 4] = [
    (Arch::X86_64, "/usr/lib/x86_64-linux-gnu/libc.so.6"),
    (Arch::X86_64, "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"),
    (Arch::Aarch64, "/usr/aarch64-linux-gnu/lib/libc.so.6"),
    (Arch::Aarch64, "/usr/aarch64-linux-gnu/lib/libstdc++.so.6"),
];

/// Goals, in millions a second.
const COLD: f64 = 1.0;
const CACHED: f64 = 50.0;
/// Rounds of [`LOOK_UPS`] each.
const ROUNDS: usize = 120;
const LOOK_UPS: usize = 200_000;
/// A look-up reads two more lines than the array, and computes where they are.
const OF_ARRAY: f64 = 0.1;

/// Nanoseconds that this thread has been on a processor: what others do to the machine counts less.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    text.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
}

/// The best of some rounds, in millions a second: everything that disturbs one (others on the machine share its caches)
/// makes it slower. The shorter, the more rounds.
fn rate(mut run: impl FnMut() -> usize) -> f64 {
    let start = cpu_ns();
    run();
    let rounds = (2_000_000_000 / (cpu_ns() - start).max(1)).clamp(4, 25);
    (0..rounds)
        .map(|_| {
            let start = cpu_ns();
            let count = run();
            count as f64 * 1e3 / (cpu_ns() - start).max(1) as f64
        })
        .fold(0.0, f64::max)
}

/// The same by the clock, for what is so short that nobody else runs in the best of its rounds: the kernel counts
/// processor time in ticks that are longer.
fn short_rate(mut run: impl FnMut() -> usize) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let start = std::time::Instant::now();
            let count = run();
            count as f64 * 1e3 / start.elapsed().as_nanos().max(1) as f64
        })
        .fold(0.0, f64::max)
}

/// A line of the table; whether the goal was met.
fn line(name: &str, rate: f64, reference: f64, goal: Option<f64>) -> bool {
    let met = goal.is_none_or(|goal| rate >= goal);
    let said = goal
        .map(|goal| format!("  goal {goal:.0} M/s: {}", if met { "met" } else { "MISSED" }))
        .unwrap_or_default();
    println!("  {name:<44} {rate:>8.2} M/s {:>6.2} x{said}", rate / reference);
    met
}

enum Decoder {
    X86(Box<x86::Decoder>),
    Aarch64(Box<aarch64::Decoder>),
}

impl Decoder {
    fn new(arch: Arch) -> Decoder {
        match arch {
            Arch::X86_64 => Decoder::X86(Box::default()),
            Arch::Aarch64 => Decoder::Aarch64(Box::default()),
        }
    }

    fn decode(&self, pc: u64, bytes: &[u8]) -> Result<InsnEffect, Unsupported> {
        match self {
            Decoder::X86(decoder) => decoder.decode(pc, bytes),
            Decoder::Aarch64(decoder) => decoder.decode(pc, bytes),
        }
    }
}

fn capstone(arch: Arch) -> Capstone {
    let built = match arch {
        Arch::X86_64 => Capstone::new().x86().mode(arch::x86::ArchMode::Mode64).detail(true).build(),
        Arch::Aarch64 => Capstone::new().arm64().mode(arch::arm64::ArchMode::Arm).detail(false).build(),
    };
    built.expect("capstone is built with both")
}

/// Registers that all have the same value.
struct Constant(u64);

impl Registers for Constant {
    fn general(&self, _: Reg) -> u64 {
        self.0
    }

    fn vector(&self, _: Reg) -> [u8; 64] {
        [0xff; 64]
    }
}

/// What an engine asks of every instruction.
#[derive(Clone, Copy)]
struct Summary {
    len: u8,
    plain: bool,
    details: u32,
}

impl Summary {
    /// One, having read it.
    fn look(&self) -> usize {
        black_box((self.len, self.plain, self.details));
        1
    }
}

/// The machine code of a library, and where its instructions begin.
struct Library {
    arch: Arch,
    base: u64,
    code: Vec<u8>,
    places: Vec<u64>,
}

impl Library {
    fn read(arch: Arch, path: &str) -> Option<Library> {
        let data = std::fs::read(path).ok()?;
        let file = object::File::parse(&*data).expect("an ELF file");
        let section = file.section_by_name(".text").expect(".text");
        let (code, base) = (section.data().expect("in the file").to_vec(), section.address());
        let mut library = Library { arch, base, code, places: Vec::new() };
        let decoder = Decoder::new(arch);
        let step = if arch == Arch::Aarch64 { 4 } else { 1 };
        let (mut pc, end) = (base, base + library.code.len() as u64);
        while pc < end {
            pc += match decoder.decode(pc, library.window(pc)) {
                Ok(effect) => {
                    library.places.push(pc);
                    effect.len.into()
                }
                Err(_) => step,
            };
        }
        Some(library)
    }

    fn window(&self, pc: u64) -> &[u8] {
        let at = (pc - self.base) as usize;
        &self.code[at..self.code.len().min(at + x86::MAX_LEN)]
    }

    fn decode(&self) -> bool {
        let n = self.places.len();
        let reference = capstone(self.arch);
        let alone = rate(|| {
            for &pc in &self.places {
                black_box(reference.disasm_count(self.window(pc), pc, 1).map(|found| found.len()).ok());
            }
            n
        });
        line("reference: capstone alone", alone, alone, None);
        // A decoder of its own for each round: nothing may be remembered from the round before.
        let cold = rate(|| {
            let decoder = Decoder::new(self.arch);
            for &pc in &self.places {
                black_box(decoder.decode(pc, self.window(pc)).is_ok());
            }
            n
        });
        line("decoded cold, with effects", cold, alone, Some(COLD))
    }

    fn look_up(&self) -> bool {
        let decoder = Decoder::new(self.arch);
        // As an engine keeps it: what it asks of every instruction in a few bytes, the rest where accesses are.
        let mut short: PcMap<Summary> = PcMap::new(1 << 30);
        let mut whole: PcMap<Decoded> = PcMap::new(1 << 30);
        let mut hash: HashMap<u64, Summary> = HashMap::new();
        for (at, &pc) in self.places.iter().enumerate() {
            let decoded =
                whole.get_or_insert_with(pc, || decoder.decode(pc, self.window(pc)).map_err(Box::new));
            let effect = decoded.as_ref().expect("it was decoded before");
            let summary = Summary { len: effect.len, plain: effect.accesses.is_empty(), details: at as u32 };
            short.insert(pc, summary);
            hash.insert(pc, summary);
        }
        let [few, many] = [short.memory(), whole.memory()].map(|bytes| bytes >> 20);
        println!("  {} instructions cached: {few} MB with 8 bytes each, {many} MB with effects", short.len());
        let mut rng = Rng::new(1);
        let n = LOOK_UPS;
        let array: Vec<Summary> = self.places.iter().filter_map(|pc| hash.get(pc).copied()).collect();
        let random: Vec<u32> = (0..n).map(|_| rng.below(array.len()) as u32).collect();
        let sequential: Vec<u32> = (0..array.len() as u32).cycle().take(n).collect();
        let mut met = true;
        for (name, indices) in [("in sequence", &sequential), ("at random", &random)] {
            let pcs: Vec<u64> = indices.iter().map(|&index| self.places[index as usize]).collect();
            let indexed = short_rate(|| indices.iter().map(|&index| array[index as usize].look()).sum());
            assert!(pcs.iter().all(|&pc| short.get(pc).is_some() && whole.get(pc).is_some()));
            let hashed = short_rate(|| pcs.iter().map(|pc| hash.get(pc).map_or(0, Summary::look)).sum());
            line(&format!("reference: HashMap, {name}"), hashed, hashed, None);
            let found = short_rate(|| pcs.iter().map(|&pc| short.get(pc).map_or(0, Summary::look)).sum());
            line(&format!("reference: array, {name}"), indexed, hashed, None);
            let goal = CACHED.min(OF_ARRAY * indexed);
            met &= line(&format!("cached look-up, {name}"), found, hashed, Some(goal));
            let read = short_rate(|| {
                let known =
                    |&&pc: &&u64| matches!(whole.get(pc), Some(Ok(effect)) if black_box(effect.len) > 0);
                pcs.iter().filter(known).count()
            });
            line(&format!("cached look-up of the effect, {name}"), read, hashed, None);
        }
        met
    }

    fn resolve(&self) {
        let decoder = Decoder::new(self.arch);
        let effects: Vec<InsnEffect> =
            self.places.iter().filter_map(|&pc| decoder.decode(pc, self.window(pc)).ok()).collect();
        let registers = Constant(0x7fff_1000);
        let mut found = Vec::new();
        // Once is less than the clock of the processor's time can tell.
        let rounds = 50;
        let resolved = rate(|| {
            for effect in (0..rounds).flat_map(|_| &effects) {
                found.clear();
                black_box(effect).resolve_into(&registers, &mut found);
                black_box(found.len());
            }
            rounds * effects.len()
        });
        println!("  {:<44} {resolved:>8.2} M/s", "resolved");
    }
}

fn main() {
    let mut met = true;
    println!("Processor time; x: times the reference before it");
    for (arch, path) in LIBRARIES {
        let Some(library) = Library::read(arch, path) else {
            println!("\n{path}: skipped, it is not here");
            continue;
        };
        println!("\n{path}: {} instructions", library.places.len());
        met &= library.decode();
        if path.contains("libc.so") {
            met &= library.look_up();
            library.resolve();
        }
    }
    if !met {
        std::process::exit(1);
    }
}
