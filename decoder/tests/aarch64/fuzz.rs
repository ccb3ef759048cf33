//! Random words and truncated ones: no panic, and what decodes is consistent.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use wmtrace_decoder::aarch64::{Decoder, regs};
use wmtrace_decoder::effect::{AccessKind, Unit};

#[test]
fn random_words_do_not_panic() {
    let decoder = Decoder::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(64);
    let (mut decoded, mut accesses) = (0_u32, 0_u32);
    for _ in 0..4_000_000 {
        let word = random.next_u32();
        let Ok(effect) = decoder.decode(u64::MAX - 3, &word.to_le_bytes()) else { continue };
        decoded += 1;
        accesses += u32::from(!effect.accesses.is_empty());
        assert_eq!(effect.len, 4);
        for reg in effect.reads.union(effect.writes).iter() {
            assert!(regs::name(reg).is_some(), "{word:08x}: {reg:?}");
        }
        for access in &effect.accesses {
            assert!(access.address.base.is_some_and(|base| effect.reads.contains(base)), "{word:08x}");
            assert!(access.atomic || access.kind != AccessKind::Rmw, "{word:08x}");
            assert!(access.atomic || effect.unit == Unit::Single, "{word:08x}");
        }
    }
    // More than half of the space that is not SVE is allocated, and loads and stores are a quarter of it.
    println!("of 4000000 random words {decoded} are supported, {accesses} with accesses");
    assert!(decoded > 1_600_000 && accesses > 400_000, "{decoded} {accesses}");
}

#[test]
fn truncated_bytes_are_unsupported() {
    let decoder = Decoder::new();
    for len in 0..4 {
        let error = decoder.decode(0x40, &[0x1f, 0x20, 0x03][..len.min(3)]).expect_err("too short");
        assert_eq!((error.pc, error.bytes.len()), (0x40, len.min(3)));
    }
    let long = [0x1f, 0x20, 0x03, 0xd5, 0xff, 0xff];
    assert!(decoder.decode(0, &long).is_ok(), "what follows the instruction does not matter");
}
