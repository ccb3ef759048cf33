//! Branches, calls, returns, system calls and traps.

use super::Row;
use crate::aarch64::shape::Shape::*;
use capstone::arch::arm64::Arm64Insn::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    (ARM64_INS_B, Branch),
    (ARM64_INS_BC, Branch),
    (ARM64_INS_CBZ, CompareBranch),
    (ARM64_INS_CBNZ, CompareBranch),
    (ARM64_INS_TBZ, TestBranch),
    (ARM64_INS_TBNZ, TestBranch),
    (ARM64_INS_BL, Call),
    (ARM64_INS_BR, IndirectJump),
    (ARM64_INS_BRAA, IndirectJump),
    (ARM64_INS_BRAAZ, IndirectJump),
    (ARM64_INS_BRAB, IndirectJump),
    (ARM64_INS_BRABZ, IndirectJump),
    (ARM64_INS_BLR, IndirectCall),
    (ARM64_INS_BLRAA, IndirectCall),
    (ARM64_INS_BLRAAZ, IndirectCall),
    (ARM64_INS_BLRAB, IndirectCall),
    (ARM64_INS_BLRABZ, IndirectCall),
    (ARM64_INS_RET, Return),
    (ARM64_INS_RETAA, AuthenticatedReturn),
    (ARM64_INS_RETAB, AuthenticatedReturn),
    (ARM64_INS_SVC, Syscall),
    (ARM64_INS_BRK, Trap),
    (ARM64_INS_HLT, Trap),
    (ARM64_INS_UDF, Trap),
    (ARM64_INS_HVC, Trap),
    (ARM64_INS_SMC, Trap),
    (ARM64_INS_DCPS1, Trap),
    (ARM64_INS_DCPS2, Trap),
    (ARM64_INS_DCPS3, Trap),
    (ARM64_INS_DRPS, Trap),
    (ARM64_INS_ERET, Trap),
    (ARM64_INS_ERETAA, Trap),
    (ARM64_INS_ERETAB, Trap),
];
