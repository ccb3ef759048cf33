//! The prefixes of an instruction, from its bytes: capstone forgets some and gets others wrong.
//! Follows the Intel SDM, volume 2, §2.1 to §2.7, for 64-bit mode.

use super::regs::{self, FS_BASE, GS_BASE};
use crate::effect::Reg;

/// How the opcode is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Encoding {
    /// With legacy prefixes and REX.
    #[default]
    Legacy,
    /// With a VEX prefix, or AMD's XOP.
    Vex,
    /// With an EVEX prefix.
    Evex,
}

/// What stands before the opcode.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Prefixes {
    /// F0.
    pub(super) lock: bool,
    /// F2 or F3, whichever is last.
    pub(super) repeat: Option<u8>,
    /// 66.
    pub(super) operand_size: bool,
    /// 67.
    pub(super) address_size: bool,
    /// FS or GS. The other segments begin at 0 in 64-bit mode.
    pub(super) segment: Option<Reg>,
    /// REX.W, or the W of a VEX, XOP or EVEX prefix.
    pub(super) wide: bool,
    /// Bytes of a vector: 16, 32 or 64. 16 without VEX, XOP or EVEX prefix.
    pub(super) vector: u8,
    /// The EVEX prefix.
    pub(super) evex: Option<Evex>,
    /// How the opcode is encoded.
    pub(super) encoding: Encoding,
    /// The opcode's map: 0 for one byte, 1 for 0F, 2 for 0F 38, 3 for 0F 3A; XOP's begin at 8.
    pub(super) map: u8,
    /// The opcode byte.
    pub(super) opcode: u8,
}

/// What only an EVEX prefix says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evex {
    /// The mask register; `None`: all lanes take part.
    pub(super) mask: Option<Reg>,
    /// Lanes left out become 0; else they keep their value.
    pub(super) zeroing: bool,
    /// The memory operand is one element for all lanes.
    pub(super) broadcast: bool,
    /// The displacement, if it is one byte: it counts in units of the operand.
    pub(super) displacement: Option<i8>,
}

impl Prefixes {
    /// Reads them; bytes that are missing count as 0 (the caller has a whole instruction).
    pub(super) fn of(bytes: &[u8]) -> Prefixes {
        let mut found = Prefixes { vector: 16, ..Prefixes::default() };
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let mut at = 0;
        while at < bytes.len() {
            // A REX prefix counts only directly before the opcode.
            let rex = byte(at) & 0xf0 == 0x40;
            match byte(at) {
                0xf0 => found.lock = true,
                0xf2 | 0xf3 => found.repeat = Some(byte(at)),
                0x66 => found.operand_size = true,
                0x67 => found.address_size = true,
                0x64 => found.segment = Some(FS_BASE),
                0x65 => found.segment = Some(GS_BASE),
                0x26 | 0x2e | 0x36 | 0x3e => {}
                _ if rex => {}
                _ => break,
            }
            found.wide = rex && byte(at) & 8 != 0;
            at += 1;
        }
        match byte(at) {
            0xc5 => {
                found.encoding = Encoding::Vex;
                found.map = 1;
                found.vector = 16 << (byte(at + 1) >> 2 & 1);
                found.opcode = byte(at + 2);
            }
            0xc4 => found.vex([byte(at + 1), byte(at + 2), byte(at + 3)]),
            // XOP's maps begin at 8; below, it is POP.
            0x8f if byte(at + 1) & 0x1f >= 8 => {
                found.vex([byte(at + 1), byte(at + 2), byte(at + 3)]);
            }
            0x62 => {
                found.encoding = Encoding::Evex;
                let last = byte(at + 3);
                let modrm = byte(at + 5);
                let sib = usize::from(modrm & 7 == 4);
                found.map = byte(at + 1) & 7;
                found.wide = byte(at + 2) & 0x80 != 0;
                found.vector = 16 << (last >> 5 & 3).min(2);
                found.opcode = byte(at + 4);
                found.evex = Some(Evex {
                    mask: Some(last & 7).filter(|&number| number != 0).map(regs::mask),
                    zeroing: last & 0x80 != 0,
                    broadcast: last & 0x10 != 0,
                    displacement: (modrm >> 6 == 1).then(|| byte(at + 6 + sib) as i8),
                });
            }
            0x0f => {
                (found.map, found.opcode) = match byte(at + 1) {
                    0x38 => (2, byte(at + 2)),
                    0x3a => (3, byte(at + 2)),
                    opcode => (1, opcode),
                };
            }
            opcode => found.opcode = opcode,
        }
        found
    }

    fn vex(&mut self, [first, second, opcode]: [u8; 3]) {
        self.encoding = Encoding::Vex;
        self.map = first & 0x1f;
        self.wide = second & 0x80 != 0;
        self.vector = 16 << (second >> 2 & 1);
        self.opcode = opcode;
    }

    /// Bytes of an integer operand that is not a byte.
    pub(super) fn operand_bytes(&self) -> u8 {
        match (self.wide, self.operand_size) {
            (true, _) => 8,
            (false, true) => 2,
            (false, false) => 4,
        }
    }

    /// Bytes of what PUSH and POP move.
    pub(super) fn stack_bytes(&self) -> u8 {
        if self.operand_bytes() == 2 { 2 } else { 8 }
    }

    /// Bits of an address.
    pub(super) fn address_bits(&self) -> u8 {
        if self.address_size { 32 } else { 64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rex_counts_only_before_the_opcode() {
        assert_eq!(Prefixes::of(&[0x48, 0x8b, 0x00]).operand_bytes(), 8);
        assert_eq!(Prefixes::of(&[0x66, 0x48, 0x8b, 0x00]).operand_bytes(), 8);
        assert_eq!(Prefixes::of(&[0x48, 0x66, 0x8b, 0x00]).operand_bytes(), 2);
        assert_eq!(Prefixes::of(&[0x48, 0x2e, 0x8b, 0x00]).operand_bytes(), 4);
        assert_eq!(Prefixes::of(&[0x48, 0x40, 0x8b, 0x00]).operand_bytes(), 4);
    }

    #[test]
    fn the_last_of_a_group_counts() {
        let found = Prefixes::of(&[0xf2, 0x64, 0xf3, 0x65, 0x3e, 0xa4]);
        assert_eq!((found.repeat, found.segment, found.opcode), (Some(0xf3), Some(GS_BASE), 0xa4));
    }

    #[test]
    fn maps_and_lengths() {
        let of = |bytes: &[u8]| {
            let found = Prefixes::of(bytes);
            (found.encoding, found.map, found.opcode, found.vector)
        };
        assert_eq!(of(&[0x0f, 0xa2]), (Encoding::Legacy, 1, 0xa2, 16));
        assert_eq!(of(&[0x66, 0x0f, 0x3a, 0x0f]), (Encoding::Legacy, 3, 0x0f, 16));
        assert_eq!(of(&[0xc5, 0xfc, 0x28, 0x00]), (Encoding::Vex, 1, 0x28, 32));
        assert_eq!(of(&[0xc4, 0xe2, 0x6d, 0x92, 0x04, 0x88]), (Encoding::Vex, 2, 0x92, 32));
        assert_eq!(of(&[0x8f, 0xe8, 0xf4, 0xa2, 0x00, 0x20]), (Encoding::Vex, 8, 0xa2, 32));
        assert_eq!(of(&[0x8f, 0x00]), (Encoding::Legacy, 0, 0x8f, 16));
        assert_eq!(of(&[0x62, 0xf1, 0x7c, 0x49, 0x11, 0x40, 0xff]), (Encoding::Evex, 1, 0x11, 64));
        assert_eq!(of(&[]), (Encoding::Legacy, 0, 0, 16));
        let evex = Prefixes::of(&[0x62, 0xf1, 0x7c, 0xd9, 0x11, 0x44, 0x24, 0xff]).evex.expect("EVEX");
        assert_eq!((evex.mask, evex.zeroing, evex.broadcast), (Some(regs::mask(1)), true, true));
        assert_eq!(evex.displacement, Some(-1));
    }
}
