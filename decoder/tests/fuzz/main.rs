//! Hostile input: instruction bytes, ELF files, debug information, orders files. The bodies are those of the fuzz
//! targets in `decoder/fuzz`; here they run a bounded number of times, on input made of noise and of mutated real
//! files, from fixed seeds, so that a failure repeats. `FUZZ_ROUNDS=100` makes the runs that many times longer.

mod bodies;
mod memory;

use memory::peak;
use std::path::Path;
use std::process::Command;
use wmtrace_decoder::image::Image;
use wmtrace_decoder::{aarch64, x86};
use wmtrace_model::rng::Rng;

fn rounds(usual: u64) -> u64 {
    let factor = std::env::var("FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    usual * factor
}

/// Two threads, each with a seed of its own; the sum of what they return.
fn twice(work: impl Fn(Rng) -> u64 + Sync) -> u64 {
    std::thread::scope(|scope| {
        let workers = [1, 2].map(|seed| {
            let work = &work;
            scope.spawn(move || work(Rng::new(seed)))
        });
        workers.into_iter().map(|worker| worker.join().expect("no panic")).sum()
    })
}

fn noise(rng: &mut Rng) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&rng.bits().to_le_bytes()));
    bytes
}

fn within(used: usize, bound: usize, input: &dyn std::fmt::Debug) {
    assert!(used <= bound, "{used} bytes of memory, {bound} allowed: {input:?}");
}

#[test]
fn x86_noise() {
    let each = rounds(500_000);
    let decoded = twice(|mut rng| {
        let decoder = x86::Decoder::new();
        let mut decoded = 0;
        for _ in 0..each {
            let mut bytes = noise(&mut rng);
            let choice = rng.bits();
            // A third begins with a prefix that random bytes rarely have.
            match choice % 9 {
                0 => bytes[8] = 0x62,
                1 => bytes[8] = 0xc4,
                2 => bytes[8] = 0xf0,
                _ => {}
            }
            let input = &bytes[..8 + (choice >> 32) as usize % 17];
            let (good, used) = peak(|| bodies::x86(&decoder, input));
            within(used, bodies::bound(input.len()), &input);
            decoded += u64::from(good);
        }
        decoded
    });
    // Nearly half do.
    assert!(decoded > each / 2, "only {decoded} of {} decode: they show little", 2 * each);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn changed_x86_instructions() {
    use object::{Object, ObjectSection};
    let each = rounds(300_000);
    let data = std::fs::read("/usr/lib/x86_64-linux-gnu/libc.so.6").expect("libc");
    let file = object::File::parse(&*data).expect("an ELF file");
    let code = file.section_by_name(".text").expect(".text").data().expect("in the file");
    let decoded = twice(|mut rng| {
        let decoder = x86::Decoder::new();
        let (mut decoded, mut at) = (0, 0);
        for _ in 0..each {
            let real = &code[at..code.len().min(at + 16)];
            at += decoder.decode(0, real).map_or(1, |effect| usize::from(effect.len));
            if at + 16 >= code.len() {
                at = 0;
            }
            let mut input = rng.bits().to_le_bytes().to_vec();
            input.extend(real);
            for _ in 0..1 + rng.below(3) {
                let bit = 64 + rng.below(8 * (input.len() - 8).min(6));
                input[bit / 8] ^= 1 << (bit % 8);
            }
            decoded += u64::from(bodies::x86(&decoder, &input));
        }
        decoded
    });
    assert!(decoded > each, "only {decoded} of {} decode: the changes are too large", 2 * each);
}

#[test]
fn aarch64_noise() {
    let each = rounds(500_000);
    let decoded = twice(|mut rng| {
        let decoder = aarch64::Decoder::new();
        let mut decoded = 0;
        for _ in 0..each {
            let bytes = noise(&mut rng);
            let input = &bytes[..8 + rng.below(17)];
            let (good, used) = peak(|| bodies::aarch64(&decoder, input));
            within(used, bodies::bound(input.len()), &input);
            decoded += u64::from(good);
        }
        decoded
    });
    assert!(decoded > each / 3, "only {decoded} of {} decode: they show little", 2 * each);
}

/// A small program with all kinds of debug information.
fn program(flags: &[&str], name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    std::fs::create_dir_all(&directory).expect("the test's directory");
    let (source, output) = (directory.join(format!("{name}.cpp")), directory.join(name));
    let text = "#include <atomic>\nstd::atomic<int> x; int y;\n\
        int get(std::memory_order o) { return x.load(o); }\n\
        int main() { x.store(1, std::memory_order_release); std::atomic_thread_fence(std::memory_order_acquire);\n\
        int e = 1; x.compare_exchange_strong(e, 2); x++; y = 2; return get(std::memory_order_acquire); }\n";
    std::fs::write(&source, text).expect("source");
    let mut compiler = Command::new("g++");
    compiler.args(flags).args(["-std=c++20", "-g"]).arg(&source).arg("-o").arg(&output);
    assert!(compiler.status().expect("g++ (see scripts/setup tests)").success(), "g++ {flags:?}");
    std::fs::read(output).expect("just built")
}

/// Where the bytes of sections are in the file, as far as they are there as they are: changes of these get deepest.
fn places(file: &[u8]) -> Vec<std::ops::Range<usize>> {
    const SECTIONS: [&str; 10] = [
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
    ];
    let image = Image::parse(file.into()).expect("an image");
    let find = |name: &&str| {
        let section = image.section(name)?;
        let bytes = section.bytes();
        let key = bytes.get(..bytes.len().min(64)).filter(|key| key.len() >= 16)?;
        let at = file.windows(key.len()).position(|window| window == key)?;
        Some(at..at + bytes.len().min(file.len() - at))
    };
    let tables = [0..64, file.len().saturating_sub(4096)..file.len()];
    SECTIONS.iter().filter_map(find).chain(tables).collect()
}

fn mutate(original: &[u8], places: &[std::ops::Range<usize>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = original.to_vec();
    let place = places[rng.below(places.len())].clone();
    for _ in 0..1 + rng.below(12) {
        let at = place.start + rng.below(place.len());
        bytes[at] = match rng.below(4) {
            0 => 0xff,
            1 => 0,
            2 => bytes[at] ^ 1 << rng.below(8),
            _ => rng.bits() as u8,
        };
    }
    if rng.below(10) == 0 {
        bytes.truncate(rng.below(original.len()));
    }
    bytes
}

#[test]
fn mutated_files() {
    let variants: [(&[&str], &str); 4] = [
        (&["-O0"], "plain"),
        (&["-O2"], "optimised"),
        (&["-O2", "-gdwarf-4"], "dwarf4"),
        (&["-O2", "-gz=zlib"], "compressed"),
    ];
    let (mut images, mut known, mut most) = (0, 0, 0);
    let each = rounds(150);
    for (flags, name) in variants {
        let original = program(flags, name);
        let places = places(&original);
        assert!(bodies::elf(&original) && bodies::dwarf(&original), "{name}: undamaged");
        for seed in 0..each {
            let input = mutate(&original, &places, &mut Rng::new(seed));
            let ((elf, dwarf), used) = peak(|| (bodies::elf(&input), bodies::dwarf(&input)));
            let compressed = name == "compressed";
            let bound = if compressed { bodies::compressed_bound } else { bodies::bound };
            within(used, bound(input.len()), &format_args!("{name}, seed {seed}"));
            images += u64::from(elf);
            known += u64::from(dwarf);
            most = most.max(used);
        }
    }
    println!("{images} of {} are images, {known} with functions; at most {} KiB", 4 * each, most >> 10);
    assert!(images > 2 * each && known > 2 * each, "the changes are too large: {images}, {known}");
}

#[test]
fn orders_files_of_noise() {
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
    let mut rng = Rng::new(1);
    let mut good = 0;
    for _ in 0..rounds(20_000) {
        let text: String = (0..rng.below(8)).map(|_| WORDS[rng.below(WORDS.len())]).collect();
        let (parsed, used) = peak(|| bodies::orders(text.as_bytes()));
        within(used, bodies::bound(text.len()), &text);
        good += u64::from(parsed);
    }
    assert!(good > 100, "{good}");
}
