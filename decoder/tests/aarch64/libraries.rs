//! Every instruction of Debian's arm64 C and C++ runtime.

use crate::opinion::{NoOpinion, Opinion, opinion};
use object::{Object, ObjectSection, SectionKind};
use std::collections::BTreeMap;
use wmtrace_decoder::aarch64::Decoder;
use wmtrace_decoder::effect::{AccessKind, Extent, InsnEffect};

const FOLDER: &str = "/usr/aarch64-linux-gnu/lib";
const LIBRARIES: [&str; 5] =
    ["libc.so.6", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-aarch64.so.1"];

/// Each different word of the executable sections, with the library and address where it was first seen.
fn words() -> Option<BTreeMap<u32, (&'static str, u64)>> {
    let mut words = BTreeMap::new();
    for library in LIBRARIES {
        let data = std::fs::read(format!("{FOLDER}/{library}")).ok()?;
        let file = object::File::parse(&*data).expect("an ELF file");
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            let bytes = section.data().expect("the section is there");
            for (word, address) in bytes.chunks_exact(4).zip((section.address()..).step_by(4)) {
                let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
                words.entry(word).or_insert((library, address));
            }
        }
    }
    Some(words)
}

#[test]
fn scratch() {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    let decoder = Decoder::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(66);
    let mut n = BTreeMap::new();
    for i in 0..4_000_000 {
        let mut word = random.next_u32();
        if i % 4 != 0 { word = word & !(1 << 25) | 1 << 27; }
        let Ok(effect) = decoder.decode(0, &word.to_le_bytes()) else { continue };
        let ours = summary(&effect);
        let r = std::panic::catch_unwind(|| opinion(word));
        let Ok((theirs, text)) = r else { println!("PAN {word:08x} {}", decoder.text(0, &word.to_le_bytes()).unwrap()); continue };
                match theirs {
                    Ok(t) if t == ours => *n.entry("agree").or_insert(0) += 1,
                    Ok(t) => { println!("DIS x x {word:08x} {} | {text} {ours:?} {t:?}", decoder.text(0, &word.to_le_bytes()).unwrap()); *n.entry("dis").or_insert(0) += 1 }
                    Err(e) => { if e == NoOpinion::Undecoded { println!("NOO x x {word:08x} {}", decoder.text(0, &word.to_le_bytes()).unwrap()) }; *n.entry("none").or_insert(0) += 1 }
                }
    }
    println!("{n:?} words");
}

fn summary(effect: &InsnEffect) -> Opinion {
    let mut sum = Opinion::default();
    for access in &effect.accesses {
        let bytes = match access.extent {
            Extent::Bytes(bytes) | Extent::Block(bytes) => u32::from(bytes),
            other => panic!("no AArch64 instruction has {other:?}"),
        };
        match access.kind {
            AccessKind::Load => sum.loads += bytes,
            AccessKind::Store => sum.stores += bytes,
            AccessKind::Rmw | AccessKind::LoadStore => {
                sum.loads += bytes;
                sum.stores += bytes;
            }
        }
    }
    sum
}
