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
