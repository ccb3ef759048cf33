//! How fast x86-64 code is decoded into effects, and effects are resolved.
//!
//! `cargo bench -p wmtrace-decoder --bench x86` prints a table. Absolute rates depend on the machine, so decoding
//! is set against capstone alone (with details, which the effects need) on the same bytes in the same run.

use capstone::prelude::*;
use object::{Object, ObjectSection};
use std::hint::black_box;
use wmtrace_decoder::effect::{InsnEffect, Reg, Registers};
use wmtrace_decoder::x86::Decoder;

const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libc.so.6";

/// Nanoseconds that this thread has been on a processor: what others do to the machine counts less.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    text.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
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

/// The best of three, in instructions a second.
fn rate(mut run: impl FnMut() -> u64) -> f64 {
    (0..3)
        .map(|_| {
            let start = cpu_ns();
            let count = run();
            count as f64 * 1e9 / (cpu_ns() - start).max(1) as f64
        })
        .fold(0.0, f64::max)
}

fn main() {
    let data = std::fs::read(LIBRARY).expect("libc");
    let file = object::File::parse(&*data).expect("an ELF file");
    let section = file.section_by_name(".text").expect(".text");
    let (code, base) = (section.data().expect("in the file"), section.address());

    let decoder = Decoder::new();
    let capstone = Capstone::new()
        .x86()
        .mode(arch::x86::ArchMode::Mode64)
        .detail(true)
        .build()
        .expect("capstone is built with x86");

    let (mut places, mut effects): (Vec<u64>, Vec<InsnEffect>) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < code.len() {
        let pc = base + at as u64;
        match decoder.decode(pc, &code[at..]) {
            Ok(effect) => {
                at += usize::from(effect.len);
                places.push(pc);
                effects.push(effect);
            }
            Err(_) => at += 1,
        }
    }
    println!("{} instructions of {LIBRARY}", places.len());

    let window = |pc: u64| {
        let at = (pc - base) as usize;
        &code[at..code.len().min(at + 15)]
    };
    let alone = rate(|| {
        for &pc in &places {
            black_box(capstone.disasm_count(window(pc), pc, 1).map(|found| found.len()).ok());
        }
        places.len() as u64
    });
    let cold = rate(|| {
        for &pc in &places {
            black_box(decoder.decode(pc, window(pc)).is_ok());
        }
        places.len() as u64
    });
    let registers = Constant(0x7fff_1000);
    let mut found = Vec::new();
    let resolved = rate(|| {
        for _ in 0..10 {
            for effect in &effects {
                found.clear();
                effect.resolve_into(&registers, &mut found);
                black_box(found.len());
            }
        }
        10 * effects.len() as u64
    });
    println!("capstone alone        {:>7.2} M/s", alone / 1e6);
    println!("decoded cold          {:>7.2} M/s  {:.2} of capstone alone", cold / 1e6, cold / alone);
    println!("resolved              {:>7.2} M/s", resolved / 1e6);
}
