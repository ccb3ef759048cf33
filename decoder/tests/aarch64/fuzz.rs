//! Random words and truncated ones: no panic, and what decodes is consistent.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use wmtrace_decoder::aarch64::{Decoder, regs};
use wmtrace_decoder::effect::{AccessKind, Reg, RegSet, Unit};

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
    println!("of 4000000 random words {decoded} are supported, {accesses} with accesses");
    assert!(decoded > 1_200_000 && accesses > 400_000, "{decoded} {accesses}");
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

/// The general and vector registers that a text names, without its mnemonic.
fn named(text: &str) -> RegSet {
    let mut set = RegSet::EMPTY;
    let operands = text.split_once(' ').map_or("", |(_, operands)| operands);
    for token in operands.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '#') {
        if matches!(token, "sp" | "wsp") {
            set.insert(regs::SP);
        }
        let Some((class, number)) = token.split_at_checked(1) else { continue };
        match (class, number.parse::<u8>()) {
            ("x" | "w", Ok(number @ 0..=30)) => set.insert(regs::general(number)),
            ("v" | "q" | "d" | "s" | "h" | "b", Ok(number @ 0..=31)) => set.insert(regs::vector(number)),
            (_, _) => {}
        }
    }
    set
}

/// Registers that the mnemonic implies, by its beginning.
fn implied(text: &str) -> RegSet {
    let pairs: [(&str, &[Reg]); 9] = [
        ("retaa", &[regs::LR, regs::SP]),
        ("retab", &[regs::LR, regs::SP]),
        ("ret", &[regs::LR]),
        ("bl", &[regs::LR]),
        ("paciasp", &[regs::LR, regs::SP]),
        ("pacibsp", &[regs::LR, regs::SP]),
        ("autiasp", &[regs::LR, regs::SP]),
        ("autibsp", &[regs::LR, regs::SP]),
        ("xpaclri", &[regs::LR]),
    ];
    let mnemonic = text.split(' ').next().unwrap_or("");
    let found =
        pairs.iter().find(|(name, _)| mnemonic == *name || (*name == "bl" && mnemonic.starts_with("blr")));
    found.map_or(&[][..], |(_, regs)| regs).iter().fold(RegSet::EMPTY, |set, &reg| set.with(reg))
}

/// Whether a field of the word is read as the register that it is: capstone's text names the same ones.
#[test]
fn the_registers_are_those_of_the_text() {
    let decoder = Decoder::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(65);
    let mut compared = 0_u32;
    for _ in 0..2_000_000 {
        let word = random.next_u32().to_le_bytes();
        let Ok(effect) = decoder.decode(0, &word) else { continue };
        let text = decoder.text(0, &word).expect("it decodes");
        let ours = effect.reads.union(effect.writes).iter().filter(|reg| reg.0 < 64);
        let ours = ours.fold(RegSet::EMPTY, RegSet::with);
        // These name the first of eight registers.
        if text.contains("64b") {
            continue;
        }
        assert_eq!(ours, named(&text).union(implied(&text)), "{:08x} {text}", u32::from_le_bytes(word));
        compared += 1;
    }
    assert!(compared > 600_000, "{compared}");
}
