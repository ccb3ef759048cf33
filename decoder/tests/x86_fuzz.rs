//! Hostile bytes: whatever they are, decoding and resolving them neither panics nor makes up sizes.
//!
//! Bounded and with a fixed seed, so a failure is found again. Two million strings of random bytes, of which
//! nearly half decode, and a million real instructions with some bits changed.

use wmtrace_decoder::effect::{Reg, Registers};
use wmtrace_decoder::x86::{Decoder, MAX_LEN};
use wmtrace_model::rng::Rng;

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

/// Whether it decodes.
fn check(decoder: &Decoder, pc: u64, bytes: &[u8], registers: &Bits) -> bool {
    match decoder.decode(pc, bytes) {
        Ok(effect) => {
            let len = usize::from(effect.len);
            assert!((1..=bytes.len().min(MAX_LEN)).contains(&len), "{bytes:02x?}");
            // ENTER with 31 levels makes 62.
            assert!(effect.accesses.len() <= 62, "{bytes:02x?}: {} accesses", effect.accesses.len());
            let found = effect.resolve(registers);
            assert!(found.len() <= 64, "{bytes:02x?}: {} places", found.len());
            assert!(found.iter().all(|access| access.len > 0), "{bytes:02x?}");
            // The same bytes mean the same.
            assert_eq!(decoder.decode(pc, &bytes[..len]).as_ref(), Ok(&effect), "{bytes:02x?}");
            true
        }
        Err(error) => {
            assert!(error.bytes.len() <= MAX_LEN && !error.text.is_empty());
            false
        }
    }
}

fn fill(rng: &mut Rng) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&rng.bits().to_le_bytes());
    bytes[8..].copy_from_slice(&rng.bits().to_le_bytes());
    bytes
}

/// Runs two workers with seeds of their own; the sum of what they return.
fn twice(work: impl Fn(&Decoder, Rng) -> u64 + Sync) -> u64 {
    std::thread::scope(|scope| {
        let workers = [1, 2].map(|seed| {
            let work = &work;
            scope.spawn(move || work(&Decoder::new(), Rng::new(seed)))
        });
        workers.into_iter().map(|worker| worker.join().expect("no panic")).sum()
    })
}

#[test]
fn random_bytes() {
    const EACH: u64 = 1_000_000;
    let decoded = twice(|decoder, mut rng| {
        let mut decoded = 0;
        for _ in 0..EACH {
            let mut bytes = fill(&mut rng);
            let pc = rng.bits();
            // A third begins with a prefix that random bytes rarely have.
            match pc % 9 {
                0 => bytes[0] = 0x62,
                1 => bytes[0] = 0xc4,
                2 => bytes[0] = 0xf0,
                _ => {}
            }
            let len = (pc >> 32) as usize % 17;
            decoded += u64::from(check(decoder, pc, &bytes[..len], &Bits(rng.bits())));
        }
        decoded
    });
    println!("{decoded} of {} decode", 2 * EACH);
    assert!(decoded > EACH / 2, "only {decoded}: the strings show little");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn changed_instructions() {
    use object::{Object, ObjectSection};
    const EACH: usize = 500_000;
    let data = std::fs::read("/usr/lib/x86_64-linux-gnu/libc.so.6").expect("libc");
    let file = object::File::parse(&*data).expect("an ELF file");
    let code = file.section_by_name(".text").expect(".text").data().expect("in the file");
    let decoded = twice(|decoder, mut rng| {
        let mut decoded = 0;
        let mut at = 0;
        for _ in 0..EACH {
            let real = &code[at..code.len().min(at + 16)];
            at += decoder.decode(0, real).map_or(1, |effect| usize::from(effect.len));
            if at + 16 >= code.len() {
                at = 0;
            }
            let mut bytes = real.to_vec();
            for _ in 0..1 + rng.bits() % 3 {
                let bit = rng.bits() as usize % (8 * bytes.len().min(6));
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            decoded += u64::from(check(decoder, rng.bits(), &bytes, &Bits(rng.bits())));
        }
        decoded
    });
    println!("{decoded} of {} decode", 2 * EACH);
    assert!(decoded > EACH as u64, "only {decoded}: the changes are too large");
}
