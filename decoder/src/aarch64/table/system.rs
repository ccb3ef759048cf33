//! Barriers, hints, system registers and cache maintenance.
//!
//! Missing on purpose: AT, TLBI, SYSL and BRB (kernel only), TSTART and its kin (transactions), SMSTART and SMSTOP.

use super::Row;
use crate::aarch64::shape::Shape::*;
use capstone::arch::arm64::Arm64Insn::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    (ARM64_INS_DMB, Barrier),
    (ARM64_INS_DSB, Barrier),
    (ARM64_INS_DFB, Barrier),
    (ARM64_INS_ISB, NoBarrier),
    (ARM64_INS_SB, NoBarrier),
    (ARM64_INS_SSBB, NoBarrier),
    (ARM64_INS_PSSBB, NoBarrier),
    (ARM64_INS_HINT, Hint),
    (ARM64_INS_NOP, Hint),
    (ARM64_INS_YIELD, Hint),
    (ARM64_INS_WFE, Hint),
    (ARM64_INS_WFI, Hint),
    (ARM64_INS_SEV, Hint),
    (ARM64_INS_SEVL, Hint),
    (ARM64_INS_DGH, Hint),
    (ARM64_INS_ESB, Hint),
    (ARM64_INS_PSB, Hint),
    (ARM64_INS_TSB, Hint),
    (ARM64_INS_CSDB, Hint),
    (ARM64_INS_BTI, Hint),
    (ARM64_INS_XPACLRI, Hint),
    (ARM64_INS_PACIA1716, Hint),
    (ARM64_INS_PACIB1716, Hint),
    (ARM64_INS_AUTIA1716, Hint),
    (ARM64_INS_AUTIB1716, Hint),
    (ARM64_INS_PACIAZ, Hint),
    (ARM64_INS_PACIASP, Hint),
    (ARM64_INS_PACIBZ, Hint),
    (ARM64_INS_PACIBSP, Hint),
    (ARM64_INS_AUTIAZ, Hint),
    (ARM64_INS_AUTIASP, Hint),
    (ARM64_INS_AUTIBZ, Hint),
    (ARM64_INS_AUTIBSP, Hint),
    (ARM64_INS_WFET, WaitWithTimeout),
    (ARM64_INS_WFIT, WaitWithTimeout),
    (ARM64_INS_MRS, ReadSystem),
    (ARM64_INS_MSR, WriteSystem),
    (ARM64_INS_CFINV, Flags),
    (ARM64_INS_AXFLAG, Flags),
    (ARM64_INS_XAFLAG, Flags),
    (ARM64_INS_SYS, Maintenance),
    (ARM64_INS_DC, Maintenance),
    (ARM64_INS_IC, Maintenance),
];
