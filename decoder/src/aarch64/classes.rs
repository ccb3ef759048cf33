//! The encoding classes of data processing, and which fields of each hold which registers. Arm ARM C4.1, "Data
//! Processing — Immediate", "— Register" and "— Scalar Floating-Point and Advanced SIMD", in their words.
//!
//! The first class that matches counts, so special cases stand before what they are special cases of. A word that is
//! in no class (SVE and SME above all, which share ids with Advanced SIMD) is unsupported.

/// One register operand of a class. `X…` is a general register whose number 31 is zero, `S…` one whose 31 is the
/// stack pointer, `V…` a vector register; the letter after it is the field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    /// Writes Xd.
    Xd,
    /// Reads and writes Xd.
    XdModified,
    /// Writes Xd or sp.
    Sd,
    Xn,
    Sn,
    Xm,
    Sm,
    Xa,
    /// Writes Vd.
    Vd,
    /// Reads and writes Vd.
    VdModified,
    Vn,
    /// The one to four table registers of TBL and TBX, from Vn.
    VnTable,
    Vm,
    /// Vm of an element of 16 bits: V0 … V15, because the field's top bit belongs to the index.
    VmLow,
    Va,
    Pc,
    ReadsFlags,
    WritesFlags,
}

use Operand::*;

/// The bits of `mask` are those of `value`: then these are the operands.
pub(super) struct Class {
    pub(super) mask: u32,
    pub(super) value: u32,
    pub(super) operands: &'static [Operand],
}

const fn class(mask: u32, value: u32, operands: &'static [Operand]) -> Class {
    Class { mask, value, operands }
}

pub(super) const IMMEDIATE: &[Class] = &[
    // PC-relative.
    class(0x1f00_0000, 0x1000_0000, &[Xd, Pc]),
    // Add/subtract, without and with flags; with tags.
    class(0x3f80_0000, 0x1100_0000, &[Sd, Sn]),
    class(0x3f80_0000, 0x3100_0000, &[Xd, Sn, WritesFlags]),
    class(0xbfc0_0000, 0x9180_0000, &[Sd, Sn]),
    // Logical: ANDS, the others.
    class(0x7f80_0000, 0x7200_0000, &[Xd, Xn, WritesFlags]),
    class(0x1f80_0000, 0x1200_0000, &[Sd, Xn]),
    // Move wide: MOVK, the others.
    class(0x7f80_0000, 0x7280_0000, &[XdModified]),
    class(0x1f80_0000, 0x1280_0000, &[Xd]),
    // Bitfield: BFM, the others.
    class(0x7f80_0000, 0x3300_0000, &[XdModified, Xn]),
    class(0x1f80_0000, 0x1300_0000, &[Xd, Xn]),
    // Extract.
    class(0x7fa0_0000, 0x1380_0000, &[Xd, Xn, Xm]),
];

pub(super) const REGISTER: &[Class] = &[
    // Two sources: SUBP, SUBPS, IRG, GMI, PACGA, the others.
    class(0xffe0_fc00, 0x9ac0_0000, &[Xd, Sn, Sm]),
    class(0xffe0_fc00, 0xbac0_0000, &[Xd, Sn, Sm, WritesFlags]),
    class(0xffe0_fc00, 0x9ac0_1000, &[Sd, Sn, Xm]),
    class(0xffe0_fc00, 0x9ac0_1400, &[Xd, Sn, Xm]),
    class(0xffe0_fc00, 0x9ac0_3000, &[Xd, Xn, Sm]),
    class(0x7fe0_0000, 0x1ac0_0000, &[Xd, Xn, Xm]),
    // One source: PACIA …, PACIZA … and XPACI, the others.
    class(0xffff_e000, 0xdac1_0000, &[XdModified, Sn]),
    class(0xffff_0000, 0xdac1_0000, &[XdModified]),
    class(0x7fff_0000, 0x5ac0_0000, &[Xd, Xn]),
    // Logical, shifted register: ANDS and BICS, the others.
    class(0x7f00_0000, 0x6a00_0000, &[Xd, Xn, Xm, WritesFlags]),
    class(0x1f00_0000, 0x0a00_0000, &[Xd, Xn, Xm]),
    // Add/subtract, shifted register.
    class(0x3f20_0000, 0x0b00_0000, &[Xd, Xn, Xm]),
    class(0x3f20_0000, 0x2b00_0000, &[Xd, Xn, Xm, WritesFlags]),
    // Add/subtract, extended register.
    class(0x3f20_0000, 0x0b20_0000, &[Sd, Sn, Xm]),
    class(0x3f20_0000, 0x2b20_0000, &[Xd, Sn, Xm, WritesFlags]),
    // Add/subtract with carry.
    class(0x3fe0_fc00, 0x1a00_0000, &[Xd, Xn, Xm, ReadsFlags]),
    class(0x3fe0_fc00, 0x3a00_0000, &[Xd, Xn, Xm, ReadsFlags, WritesFlags]),
    // Rotate right into flags; evaluate into flags. Each leaves some of them.
    class(0xffe0_7c10, 0xba00_0400, &[Xn, ReadsFlags, WritesFlags]),
    class(0xffff_bc1f, 0x3a00_080d, &[Xn, ReadsFlags, WritesFlags]),
    // Conditional compare, register and immediate.
    class(0x3fe0_0c10, 0x3a40_0000, &[Xn, Xm, ReadsFlags, WritesFlags]),
    class(0x3fe0_0c10, 0x3a40_0800, &[Xn, ReadsFlags, WritesFlags]),
    // Conditional select.
    class(0x3fe0_0800, 0x1a80_0000, &[Xd, Xn, Xm, ReadsFlags]),
    // Three sources: SMULH and UMULH, which have two, the others.
    class(0x7f60_8000, 0x1b40_0000, &[Xd, Xn, Xm]),
    class(0x7f00_0000, 0x1b00_0000, &[Xd, Xn, Xm, Xa]),
];

pub(super) const FLOAT_AND_SIMD: &[Class] = &[
    // Cryptographic AES, three-register SHA, two-register SHA.
    class(0xff3e_0c00, 0x4e28_0800, &[Vd, Vn]),
    class(0xff20_8c00, 0x5e00_0000, &[Vd, Vn, Vm]),
    class(0xff3e_0c00, 0x5e28_0800, &[Vd, Vn]),
    // Scalar and vector copy: DUP (element), INS (element), DUP and INS (general), SMOV, UMOV.
    class(0xffe0_fc00, 0x5e00_0400, &[Vd, Vn]),
    class(0xffe0_8400, 0x6e00_0400, &[VdModified, Vn]),
    class(0xbfe0_fc00, 0x0e00_0400, &[Vd, Vn]),
    class(0xbfe0_fc00, 0x0e00_0c00, &[Vd, Xn]),
    class(0xbfe0_fc00, 0x0e00_1c00, &[VdModified, Xn]),
    class(0xbfe0_fc00, 0x0e00_2c00, &[Xd, Vn]),
    class(0xbfe0_fc00, 0x0e00_3c00, &[Xd, Vn]),
    // Table lookup, permute, extract.
    class(0xbf20_8c00, 0x0e00_0000, &[Vd, VnTable, Vm]),
    class(0xbf20_8c00, 0x0e00_0800, &[Vd, Vn, Vm]),
    class(0xbf20_8400, 0x2e00_0000, &[Vd, Vn, Vm]),
    // Three registers: same in half precision, same with extra, different, same. Vector, then scalar.
    class(0x9f60_c400, 0x0e40_0400, &[Vd, Vn, Vm]),
    class(0xdf60_c400, 0x5e40_0400, &[Vd, Vn, Vm]),
    class(0x9f20_8400, 0x0e00_8400, &[Vd, Vn, Vm]),
    class(0xdf20_8400, 0x5e00_8400, &[Vd, Vn, Vm]),
    class(0x9f20_0c00, 0x0e20_0000, &[Vd, Vn, Vm]),
    class(0xdf20_0c00, 0x5e20_0000, &[Vd, Vn, Vm]),
    class(0x9f20_0400, 0x0e20_0400, &[Vd, Vn, Vm]),
    class(0xdf20_0400, 0x5e20_0400, &[Vd, Vn, Vm]),
    // Two registers: miscellaneous in half precision, miscellaneous, across lanes and pairwise.
    class(0x9f7e_0c00, 0x0e78_0800, &[Vd, Vn]),
    class(0xdf7e_0c00, 0x5e78_0800, &[Vd, Vn]),
    class(0x9f3e_0c00, 0x0e20_0800, &[Vd, Vn]),
    class(0xdf3e_0c00, 0x5e20_0800, &[Vd, Vn]),
    class(0x9f3e_0c00, 0x0e30_0800, &[Vd, Vn]),
    class(0xdf3e_0c00, 0x5e30_0800, &[Vd, Vn]),
    // Modified immediate: ORR and BIC of 32 bits, of 16 bits, the others.
    class(0x9ff8_9400, 0x0f00_1400, &[VdModified]),
    class(0x9ff8_d400, 0x0f00_9400, &[VdModified]),
    class(0x9ff8_0400, 0x0f00_0400, &[Vd]),
    // Shift by immediate.
    class(0x9f80_0400, 0x0f00_0400, &[Vd, Vn]),
    class(0xdf80_0400, 0x5f00_0400, &[Vd, Vn]),
    // Vector and scalar × indexed element, those with a full Vm first: BFDOT; FCMLA; SUDOT.
    class(0xbfc0_f400, 0x0f40_f000, &[Vd, Vn, Vm]),
    class(0xbfc0_9400, 0x2f40_1000, &[Vd, Vn, Vm]),
    class(0xbfc0_f400, 0x0f00_f000, &[Vd, Vn, Vm]),
    // Elements of 16 bits: integers; half precision; FMLAL and FMLSL, FMLAL2 and FMLSL2; BFMLALB and BFMLALT.
    class(0x9fc0_0400, 0x0f40_0000, &[Vd, Vn, VmLow]),
    class(0xdfc0_0400, 0x5f40_0000, &[Vd, Vn, VmLow]),
    class(0x9fc0_0400, 0x0f00_0000, &[Vd, Vn, VmLow]),
    class(0xdfc0_0400, 0x5f00_0000, &[Vd, Vn, VmLow]),
    class(0xbfc0_b400, 0x0f80_0000, &[Vd, Vn, VmLow]),
    class(0xbfc0_b400, 0x2f80_8000, &[Vd, Vn, VmLow]),
    class(0xbfc0_f400, 0x0fc0_f000, &[Vd, Vn, VmLow]),
    // Elements of 32 and 64 bits.
    class(0x9f00_0400, 0x0f00_0000, &[Vd, Vn, Vm]),
    class(0xdf00_0400, 0x5f00_0000, &[Vd, Vn, Vm]),
    // Cryptographic: three registers with imm2, SHA512 with three, four registers, XAR, SHA512 with two.
    class(0xffe0_c000, 0xce40_8000, &[Vd, Vn, Vm]),
    class(0xffe0_b000, 0xce60_8000, &[Vd, Vn, Vm]),
    class(0xff80_8000, 0xce00_0000, &[Vd, Vn, Vm, Va]),
    class(0xffe0_0000, 0xce80_0000, &[Vd, Vn, Vm]),
    class(0xffff_f000, 0xcec0_8000, &[Vd, Vn]),
    // Conversion between floating point and fixed point: from, to a general register.
    class(0x5f26_0000, 0x1e02_0000, &[Vd, Xn]),
    class(0x5f20_0000, 0x1e00_0000, &[Xd, Vn]),
    // Between floating point and integer: FJCVTZS, FMOV to the upper half, from and to a general register.
    class(0xffff_fc00, 0x1e7e_0000, &[Xd, Vn, WritesFlags]),
    class(0xffff_fc00, 0x9eaf_0000, &[VdModified, Xn]),
    class(0x5f26_fc00, 0x1e22_0000, &[Vd, Xn]),
    class(0x5f27_fc00, 0x1e27_0000, &[Vd, Xn]),
    class(0x5f20_fc00, 0x1e20_0000, &[Xd, Vn]),
    // One source; compare with zero, with a register; immediate.
    class(0x5f20_7c00, 0x1e20_4000, &[Vd, Vn]),
    class(0x5f20_3c08, 0x1e20_2008, &[Vn, WritesFlags]),
    class(0x5f20_3c08, 0x1e20_2000, &[Vn, Vm, WritesFlags]),
    class(0x5f20_1c00, 0x1e20_1000, &[Vd]),
    // Conditional compare; two sources; conditional select; three sources.
    class(0x5f20_0c00, 0x1e20_0400, &[Vn, Vm, ReadsFlags, WritesFlags]),
    class(0x5f20_0c00, 0x1e20_0800, &[Vd, Vn, Vm]),
    class(0x5f20_0c00, 0x1e20_0c00, &[Vd, Vn, Vm, ReadsFlags]),
    class(0x5f00_0000, 0x1f00_0000, &[Vd, Vn, Vm, Va]),
];
