//! The few A64 instructions that stubs are made of (Arm ARM C6.2), and the program's own instructions at another
//! address: what they mean must not depend on where they are.

/// An address of a file, before it is loaded anywhere.
pub(super) type Va = u64;

/// `sp`, or the zero register.
const SP: u32 = 31;

/// The link register.
pub(super) const LR: u32 = 30;

/// `svc #0`.
pub(super) const SVC: u32 = 0xd400_0001;

pub(super) const RET: u32 = 0xd65f_03c0;

/// Whether it is a system call. (Linux does not look at the number in the instruction.)
pub(super) const fn is_svc(word: u32) -> bool {
    word & 0xffe0_001f == SVC
}

/// `b to`; `None`: too far.
pub(super) fn branch(from: Va, to: Va) -> Option<u32> {
    offset(from, to, 26).map(|offset| 0x1400_0000 | offset)
}

/// `bl to`.
pub(super) fn call(from: Va, to: Va) -> Option<u32> {
    offset(from, to, 26).map(|offset| 0x9400_0000 | offset)
}

/// The distance in instructions, as a field of so many bits.
fn offset(from: Va, to: Va, bits: u32) -> Option<u32> {
    let distance = to.wrapping_sub(from).cast_signed() >> 2;
    let limit = 1 << (bits - 1);
    (-limit..limit).contains(&distance).then(|| distance as u32 & ((1 << bits) - 1))
}

/// `stp xA, xB, [sp, #at]`.
pub(super) const fn store_pair(first: u32, second: u32, at: u32) -> u32 {
    0xa900_0000 | (at / 8) << 15 | second << 10 | SP << 5 | first
}

/// `ldp xA, xB, [sp, #at]`.
pub(super) const fn load_pair(first: u32, second: u32, at: u32) -> u32 {
    0xa940_0000 | (at / 8) << 15 | second << 10 | SP << 5 | first
}

/// `str xN, [sp, #at]`.
pub(super) const fn store(reg: u32, at: u32) -> u32 {
    0xf900_0000 | (at / 8) << 10 | SP << 5 | reg
}

/// `ldr xN, [sp, #at]`.
pub(super) const fn load(reg: u32, at: u32) -> u32 {
    0xf940_0000 | (at / 8) << 10 | SP << 5 | reg
}

/// `ldur w0, [x30, #-16]`.
pub(super) const LOAD_NUMBER: u32 = 0xb85f_03c0;
/// `mov x1, sp`.
pub(super) const SP_TO_X1: u32 = 0x9100_03e1;
/// `mrs x0, nzcv` and `msr nzcv, x0`.
pub(super) const FLAGS_TO_X0: u32 = 0xd53b_4200;
pub(super) const X0_TO_FLAGS: u32 = 0xd51b_4200;

/// `sub sp, sp, #by`.
pub(super) const fn push(by: u32) -> u32 {
    0xd100_03ff | by << 10
}

/// `add sp, sp, #by`.
pub(super) const fn pop(by: u32) -> u32 {
    0x9100_03ff | by << 10
}

/// `mov xN, #value`.
pub(super) const fn constant(reg: u32, value: u32) -> u32 {
    0xd280_0000 | value << 5 | reg
}

/// `adrp xN, to` and `add xN, xN, #…`: an address.
pub(super) fn address(reg: u32, from: Va, to: Va) -> Option<[u32; 2]> {
    let pages = (to & !0xfff).wrapping_sub(from & !0xfff).cast_signed() >> 12;
    let near = (-(1 << 20)..1 << 20).contains(&pages);
    let field = pages as u32;
    let page = 0x9000_0000 | (field & 3) << 29 | (field >> 2 & 0x7_ffff) << 5 | reg;
    near.then_some([page, 0x9100_0000 | (to as u32 & 0xfff) << 10 | reg << 5 | reg])
}

/// `br xN`.
pub(super) const fn jump(reg: u32) -> u32 {
    0xd61f_0000 | reg << 5
}

/// A call through a register (BLR, BLRAA and their kin) of address `from` at address `to`: a jump, with the return
/// address that the call would have left. Somebody may look up who called.
pub(super) fn called(word: u32, from: Va, to: Va, out: &mut Vec<u32>) -> bool {
    const JUMPS_TOO: u32 = 1 << 21;
    let mut jump = word & !JUMPS_TOO;
    let mut at = to;
    if word >> 5 & 31 == LR {
        // mov x16, x30: calls may change that one.
        out.push(0xaa1e_03f0);
        jump = jump & !(31 << 5) | 16 << 5;
        at += 4;
    }
    let Some(ret) = address(LR, at, from + 4) else { return false };
    out.extend(ret);
    out.push(jump);
    true
}

/// `ldr w0, to`.
pub(super) fn load_literal_w0(from: Va, to: Va) -> Option<u32> {
    offset(from, to, 19).map(|offset| 0x1800_0000 | offset << 5)
}

/// `cbz w0, to`.
pub(super) fn if_zero_w0(from: Va, to: Va) -> Option<u32> {
    offset(from, to, 19).map(|offset| 0x3400_0000 | offset << 5)
}

/// A conditional branch (B.cond, CBZ, CBNZ, TBZ, TBNZ): how many bits its distance has. The field begins at bit 5.
fn conditional(word: u32) -> Option<u32> {
    if word & 0xff00_0010 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 {
        return Some(19);
    }
    (word & 0x7e00_0000 == 0x3600_0000).then_some(14)
}

fn signed(value: u32, bits: u32) -> i64 {
    i64::from((value << (32 - bits)).cast_signed() >> (32 - bits))
}

/// Where a direct branch goes.
pub(super) fn target(word: u32, at: Va) -> Option<Va> {
    let distance = match conditional(word) {
        Some(bits) => signed(word >> 5 & ((1 << bits) - 1), bits),
        None if word & 0x7c00_0000 == 0x1400_0000 => signed(word & 0x3ff_ffff, 26),
        None => return None,
    };
    Some(at.wrapping_add_signed(distance * 4))
}

/// Whether the instruction is LDR (literal) or its kin: what it loads is data among the code. How many bytes.
pub(super) fn literal(word: u32, at: Va) -> Option<(Va, u64)> {
    if word & 0x3b00_0000 != 0x1800_0000 {
        return None;
    }
    let len = match (word >> 30, word >> 26 & 1) {
        (0, _) | (2, 0) => 4,
        (1, _) => 8,
        (2, _) => 16,
        _ => return None,
    };
    Some((at.wrapping_add_signed(signed(word >> 5 & 0x7_ffff, 19) * 4), len))
}

/// The address that `adr` computes, and its register.
pub(super) fn near(word: u32, at: Va) -> Option<(u32, Va)> {
    if word & 0x9f00_0000 != 0x1000_0000 {
        return None;
    }
    let distance = signed((word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3, 21);
    Some((word & 31, at.wrapping_add_signed(distance)))
}

/// The page address that `adrp` computes, and its register.
pub(super) fn page(word: u32, at: Va) -> Option<(u32, Va)> {
    if word & 0x9f00_0000 != 0x9000_0000 {
        return None;
    }
    let pages = signed((word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3, 21);
    Some((word & 31, (at & !0xfff).wrapping_add_signed(pages * 4096)))
}

/// An instruction of address `from` at address `to`, with the same meaning, except that calls return behind the new
/// place. Appended to `out`, which continues at `to`. False: it cannot be moved.
pub(super) fn moved(word: u32, from: Va, to: Va, out: &mut Vec<u32>) -> bool {
    // ADR, ADRP.
    if word & 0x1f00_0000 == 0x1000_0000 {
        let (paged, immediate) = (word >> 31 == 1, signed((word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3, 21));
        let (value, here) = if paged {
            ((from & !0xfff).wrapping_add_signed(immediate * 4096), to & !0xfff)
        } else {
            (from.wrapping_add_signed(immediate), to)
        };
        let distance = value.wrapping_sub(here).cast_signed() >> if paged { 12 } else { 0 };
        if !(-(1 << 20)..1 << 20).contains(&distance) {
            return false;
        }
        let field = distance as u32;
        out.push(word & 0x9f00_001f | (field & 3) << 29 | (field >> 2 & 0x7_ffff) << 5);
        return true;
    }
    if literal(word, from).is_some() || word & 0x3b00_0000 == 0x1800_0000 {
        return false;
    }
    let Some(target) = target(word, from) else {
        out.push(word);
        return true;
    };
    if let Some(bits) = conditional(word) {
        // Over the branch that follows, or not.
        let (Some(next), Some(away)) = (branch(to + 4, to + 12), branch(to + 8, target)) else {
            return false;
        };
        out.push(word & !(((1 << bits) - 1) << 5) | 2 << 5);
        out.extend([next, away]);
        return true;
    }
    match offset(to, target, 26) {
        Some(offset) => out.push(word & 0xfc00_0000 | offset),
        None => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use wmtrace_decoder::aarch64::Decoder;

    fn text(word: u32, at: Va) -> String {
        Decoder::new().text(at, &word.to_le_bytes()).expect("an instruction")
    }

    #[test]
    fn what_stubs_are_made_of() {
        let cases = [
            (branch(0x1000, 0x2000).unwrap(), "b #0x2000"),
            (call(0x1000, 0xffc).unwrap(), "bl #0xffc"),
            (store_pair(2, 3, 16), "stp x2, x3, [sp, #0x10]"),
            (load_pair(28, 29, 224), "ldp x28, x29, [sp, #0xe0]"),
            (store(30, 248), "str x30, [sp, #0xf8]"),
            (load(30, 240), "ldr x30, [sp, #0xf0]"),
            (LOAD_NUMBER, "ldur w0, [x30, #-0x10]"),
            (SP_TO_X1, "mov x1, sp"),
            (FLAGS_TO_X0, "mrs x0, nzcv"),
            (X0_TO_FLAGS, "msr nzcv, x0"),
            (push(288), "sub sp, sp, #0x120"),
            (pop(288), "add sp, sp, #0x120"),
            (constant(8, 64), "mov x8, #0x40"),
            (load_literal_w0(0x1000, 0x1010).unwrap(), "ldr w0, #0x1010"),
            (if_zero_w0(0x1000, 0x1020).unwrap(), "cbz w0, #0x1020"),
            (SVC, "svc #0"),
            (address(30, 0x1000, 0x40_2ffc).unwrap()[0], "adrp x30, #0x402000"),
            (address(30, 0x1000, 0x40_2ffc).unwrap()[1], "add x30, x30, #0xffc"),
            (address(9, 0x1ffc, 0x8).unwrap()[0], "adrp x9, #0"),
            (jump(16), "br x16"),
            (RET, "ret "),
        ];
        for (word, expected) in cases {
            assert_eq!(text(word, 0x1000).trim(), expected.trim());
        }
        assert_eq!(branch(0, 1 << 27), None);
        assert!(branch(1 << 27, 0).is_some());
    }

    /// blr x3; blr x30; blraa x3, x4: jumps from stubs, which come back to the call's own place.
    #[test]
    fn calls_return_where_they_were() {
        let cases: [(u32, &[&str]); 3] = [
            (0xd63f_0060, &["adrp x30, #0x401000", "add x30, x30, #8", "br x3"]),
            (0xd63f_03c0, &["mov x16, x30", "adrp x30, #0x401000", "add x30, x30, #8", "br x16"]),
            (0xd73f_0864, &["adrp x30, #0x401000", "add x30, x30, #8", "braa x3, x4"]),
        ];
        for (word, expected) in cases {
            let mut out = Vec::new();
            assert!(called(word, 0x40_1004, 0x48_0008, &mut out));
            let shown: Vec<_> = (0..).zip(&out).map(|(at, &word)| text(word, 0x48_0008 + 4 * at)).collect();
            assert_eq!(shown, expected, "{word:#x}");
        }
    }

    #[test]
    fn instructions_mean_the_same_elsewhere() {
        let (from, to) = (0x40_1004, 0x48_0008);
        let one = |word: u32| {
            let mut out = Vec::new();
            assert!(moved(word, from, to, &mut out), "{}", text(word, from));
            out
        };
        // adrp x16, #0x410000; adr x1, #0x401014; bl #0x401100; mov x0, x1
        for word in [0xb000_0070, 0x1000_0081, 0x9400_003f, 0xaa01_03e0] {
            let out = one(word);
            assert_eq!((out.len(), text(out[0], to)), (1, text(word, from)));
        }
        // cbz x1, #0x401010: to the second of two branches, else to the first.
        let out = one(0xb400_0061);
        let shown: Vec<_> = (0..3).map(|at| text(out[at], to + 4 * at as u64)).collect();
        assert_eq!(shown, ["cbz x1, #0x480010", "b #0x480014", "b #0x401010"]);
        assert!(!moved(0x5800_0041, from, to, &mut Vec::new()), "ldr x1, literal");
        assert_eq!(literal(0x5800_0041, from), Some((from + 8, 8)));
        assert_eq!(page(0xb000_0070, from), Some((16, 0x40_e000)));
    }
}
