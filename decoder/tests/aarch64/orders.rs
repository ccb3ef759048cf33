//! Orders, against the bits of the encoding that mean them (Arm ARM C4.1.94, "Atomic memory operations", "Compare and
//! swap", "Load/store exclusive", "Load/store ordered"): every operation × width × order, and the zero register.

use wmtrace_decoder::aarch64::{Decoder, discards_read};
use wmtrace_decoder::effect::{AccessKind, Extent, InsnEffect, Unit};
use wmtrace_model::order::Order;

fn order(acquire: bool, release: bool) -> Order {
    match (acquire, release) {
        (false, false) => Order::Relaxed,
        (true, false) => Order::Acquire,
        (false, true) => Order::Release,
        (true, true) => Order::AcqRel,
    }
}

/// The effect of a word, which has one access: kind, bytes, order, conditional.
fn one(decoder: &Decoder, word: u32) -> (InsnEffect, (AccessKind, u16, Order, bool)) {
    let effect = decoder.decode(0, &word.to_le_bytes()).unwrap_or_else(|error| panic!("{word:08x}: {error}"));
    let [access] = effect.accesses[..] else { panic!("{word:08x}: {} accesses", effect.accesses.len()) };
    let Extent::Bytes(bytes) = access.extent else { panic!("{word:08x}: {:?}", access.extent) };
    assert!(access.atomic, "{word:08x}");
    (effect, (access.kind, bytes, access.order, access.conditional))
}

#[test]
fn atomic_memory_operations() {
    let decoder = Decoder::new();
    for size in 0..4_u32 {
        for acquire in [false, true] {
            for release in [false, true] {
                // Bits 15 to 12: 0 to 7 are LDADD to LDUMIN, 8 is SWP.
                for operation in 0..=8 {
                    for rt in [1, 31] {
                        let word = size << 30 | 0x38200000 | operation << 12 | 0x30040 | rt;
                        let word = word | u32::from(acquire) << 23 | u32::from(release) << 22;
                        let (effect, found) = one(&decoder, word);
                        let order = order(acquire && rt != 31, release);
                        assert_eq!(found, (AccessKind::Rmw, 1 << size, order, false), "{word:08x}");
                        assert_eq!(discards_read(&effect), rt == 31, "{word:08x}");
                    }
                }
            }
        }
    }
}

#[test]
fn compare_and_swap() {
    let decoder = Decoder::new();
    for size in 0..4_u32 {
        for acquire in [false, true] {
            for release in [false, true] {
                for rs in [4, 31] {
                    let word = size << 30 | 0x08a0_7c42 | rs << 16;
                    let word = word | u32::from(acquire) << 22 | u32::from(release) << 15;
                    let (effect, found) = one(&decoder, word);
                    let order = order(acquire, release);
                    assert_eq!(found, (AccessKind::Rmw, 1 << size, order, true), "{word:08x}");
                    assert!(!discards_read(&effect), "{word:08x}");
                }
                // CASP: bit 31 is clear, bit 30 is the width, bit 23 is clear.
                let word = (size & 1) << 30 | 0x0820_7c42 | 4 << 16;
                let word = word | u32::from(acquire) << 22 | u32::from(release) << 15;
                let (_, found) = one(&decoder, word);
                assert_eq!(
                    found,
                    (AccessKind::Rmw, 8 << (size & 1), order(acquire, release), true),
                    "{word:08x}"
                );
            }
        }
    }
}

#[test]
fn exclusives_and_ordered() {
    let decoder = Decoder::new();
    for size in 0..4_u32 {
        for load in [false, true] {
            // Bit 15: acquire or release.
            for ordered in [false, true] {
                let kind = if load { AccessKind::Load } else { AccessKind::Store };
                let base = u32::from(load) << 22 | u32::from(ordered) << 15 | 0x0800_7c41;
                let unit = if load { Unit::BeginsExclusive } else { Unit::EndsExclusive };
                let status = if load { 31 << 16 } else { 5 << 16 };
                let expected = order(load && ordered, !load && ordered);

                let word = size << 30 | base | status;
                let (effect, found) = one(&decoder, word);
                assert_eq!((effect.unit, found), (unit, (kind, 1 << size, expected, !load)), "{word:08x}");

                if size >= 2 {
                    // A pair: bit 21, and Rt2.
                    let word = size << 30 | base & !0x7c00 | 3 << 10 | status | 1 << 21;
                    let (effect, found) = one(&decoder, word);
                    assert_eq!(
                        (effect.unit, found),
                        (unit, (kind, 2 << size, expected, !load)),
                        "{word:08x}"
                    );
                }

                // Not exclusive: bit 23. Without bit 15 it is LDLAR or STLLR, and ordered all the same.
                let word = size << 30 | base | 31 << 16 | 1 << 23;
                let (effect, found) = one(&decoder, word);
                let expected = order(load, !load);
                assert_eq!(
                    (effect.unit, found),
                    (Unit::Single, (kind, 1 << size, expected, false)),
                    "{word:08x}"
                );
            }
        }
    }
}
