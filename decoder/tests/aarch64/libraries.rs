//! Every instruction of Debian's arm64 C and C++ runtime: it decodes or is excused below, and a second decoder sees
//! the same loads and stores. Random words, which have what no compiler emits, go through the same comparison.

use crate::opinion::{NoOpinion, Opinion, opinion};
use object::{Object, ObjectSection, SectionKind};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use wmtrace_decoder::aarch64::Decoder;
use wmtrace_decoder::effect::{AccessKind, Extent, InsnEffect};

/// Where libc6-arm64-cross and libstdc++6-arm64-cross, and an arm64 system itself, have them.
const FOLDERS: [&str; 2] = ["/usr/aarch64-linux-gnu/lib", "/usr/lib/aarch64-linux-gnu"];

const LIBRARIES: [&str; 5] =
    ["libc.so.6", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-aarch64.so.1"];

/// What the libraries have and we do not support: library, how the text begins, reason.
const UNSUPPORTED: [(&str, &str, &str); 7] = [
    ("libc.so.6", "cntb ", SVE_STRING),
    ("libc.so.6", "ld1b {z", SVE_STRING),
    ("libc.so.6", "mov z", SVE_STRING),
    ("libc.so.6", "ptrue p", SVE_STRING),
    ("libc.so.6", "st1b {z", SVE_STRING),
    ("libc.so.6", "whilelo p", SVE_STRING),
    ("libgcc_s.so.1", "cntd ", "SVE: the unwinder's vector length, on machines with SVE only"),
];
const SVE_STRING: &str = "SVE: memcpy and memset that are chosen on machines with SVE only";

/// What the second decoder does not know, by our mnemonic.
const NO_OPINION: [(&str, &str); 3] = [
    ("addg subg", "yaxpeax-arm 0.5 lacks these two of the tag instructions"),
    ("ld64b st64b st64bv st64bv0", "yaxpeax-arm 0.5 lacks FEAT_LS64"),
    (
        "usdot sudot smmla ummla usmmla bfdot bfmmla bfmlalb bfmlalt fmlal fmlal2 fmlsl fmlsl2 \
         frint32x frint32z frint64x frint64z",
        "yaxpeax-arm 0.5 lacks these or some of their forms (FEAT_I8MM, FEAT_BF16, FEAT_FHM, FEAT_FRINTTS)",
    ),
];

/// Each different word of the executable sections, with the library and address where it was first seen. There
/// is no need to look for literal pools: every word is an instruction.
fn words() -> BTreeMap<u32, (&'static str, u64)> {
    let mut words = BTreeMap::new();
    for library in LIBRARIES {
        let paths = FOLDERS.map(|folder| format!("{folder}/{library}"));
        let data = paths.iter().find_map(|path| std::fs::read(path).ok());
        let data = data
            .unwrap_or_else(|| panic!("{library} for arm64 is missing: scripts/setup, as root, installs it"));
        let file = object::File::parse(&*data).expect("an ELF file");
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            let bytes = section.data().expect("the section is there");
            for (word, address) in bytes.chunks_exact(4).zip((section.address()..).step_by(4)) {
                let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
                words.entry(word).or_insert((library, address));
            }
        }
    }
    words
}

fn summary(effect: &InsnEffect) -> Opinion {
    let mut sum = Opinion::default();
    for access in &effect.accesses {
        let bytes = match access.extent {
            Extent::Bytes(bytes) | Extent::Block(bytes) => u32::from(bytes),
            other => panic!("no AArch64 instruction has {other:?}"),
        };
        let (loads, stores) = match access.kind {
            AccessKind::Load => (bytes, 0),
            AccessKind::Store => (0, bytes),
            AccessKind::Rmw => (bytes, bytes),
            AccessKind::LoadStore => panic!("no AArch64 instruction reads and writes without being atomic"),
        };
        sum.loads += loads;
        sum.stores += stores;
    }
    sum
}

fn mnemonic(text: &str) -> &str {
    text.split(' ').next().unwrap_or("")
}

/// How a comparison went.
#[derive(Default)]
struct Score {
    agree: u32,
    with_memory: u32,
    system: u32,
    undecoded: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Score {
    fn compare(&mut self, decoder: &Decoder, word: u32, effect: &InsnEffect) {
        let ours = summary(effect);
        let (theirs, their_text) = opinion(word);
        let text = || decoder.text(0, &word.to_le_bytes()).expect("it decodes");
        match theirs {
            Ok(theirs) if theirs == ours => {
                self.agree += 1;
                self.with_memory += u32::from(ours != Opinion::default());
            }
            Ok(theirs) => {
                self.wrong.push(format!("{word:08x} {}: {ours:?}, but {their_text}: {theirs:?}", text()));
            }
            Err(NoOpinion::System) => self.system += 1,
            Err(NoOpinion::Undecoded) => {
                let mut listed = NO_OPINION.iter().flat_map(|(names, _)| names.split(' '));
                if !listed.any(|name| name == mnemonic(&text())) {
                    self.wrong.push(format!("{word:08x} {}: unknown to yaxpeax-arm, and not listed", text()));
                }
                self.undecoded.insert(mnemonic(&text()).into());
            }
        }
    }

    fn finish(self, what: &str) -> u32 {
        let Score { agree, with_memory, system, undecoded, wrong } = self;
        println!(
            "{what}: yaxpeax-arm agrees on {agree} ({with_memory} with accesses); \
             no opinion on {system} system instructions and on {undecoded:?}"
        );
        assert!(
            wrong.is_empty(),
            "{} exceptions, the first: {:#?}",
            wrong.len(),
            &wrong[..wrong.len().min(20)]
        );
        with_memory
    }
}

#[test]
fn every_instruction_of_the_runtime() {
    let decoder = Decoder::new();
    let words = words();
    let mut score = Score::default();
    let mut excused = BTreeMap::<_, u32>::new();
    for (&word, &(library, address)) in &words {
        match decoder.decode(address, &word.to_le_bytes()) {
            Ok(effect) => score.compare(&decoder, word, &effect),
            Err(error) => {
                let listed = |row: &&(&str, &str, &str)| row.0 == library && error.text.starts_with(row.1);
                let row = UNSUPPORTED.iter().find(listed).unwrap_or_else(|| panic!("{library}: {error}"));
                *excused.entry(row).or_default() += 1;
            }
        }
    }
    println!("{} different words in {LIBRARIES:?}; unsupported:", words.len());
    for ((library, text, reason), count) in excused {
        println!("  {count:3} {library} {text}… ({reason})");
    }
    assert!(words.len() > 100_000, "the libraries are smaller than expected");
    assert!(score.finish("the runtime") > 20_000);
}

#[test]
fn random_loads_and_stores() {
    let decoder = Decoder::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(66);
    let mut score = Score::default();
    for round in 0..1_000_000 {
        // Three of four in the encoding group of loads and stores (bit 27 set, bit 25 clear).
        let word = random.next_u32();
        let word = if round % 4 == 0 { word } else { word & !(1 << 25) | 1 << 27 };
        if let Ok(effect) = decoder.decode(0, &word.to_le_bytes()) {
            score.compare(&decoder, word, &effect);
        }
    }
    assert!(score.finish("random words") > 100_000);
}
