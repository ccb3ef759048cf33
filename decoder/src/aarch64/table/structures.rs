//! Advanced SIMD structure loads and stores.

use super::Row;
use crate::aarch64::shape::Direction::{Load, Store};
use crate::aarch64::shape::Shape::*;
use capstone::arch::arm64::Arm64Insn::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    (ARM64_INS_LD1, Structure(Load)),
    (ARM64_INS_LD2, Structure(Load)),
    (ARM64_INS_LD3, Structure(Load)),
    (ARM64_INS_LD4, Structure(Load)),
    (ARM64_INS_LD1R, Replicate),
    (ARM64_INS_LD2R, Replicate),
    (ARM64_INS_LD3R, Replicate),
    (ARM64_INS_LD4R, Replicate),
    (ARM64_INS_ST1, Structure(Store)),
    (ARM64_INS_ST2, Structure(Store)),
    (ARM64_INS_ST3, Structure(Store)),
    (ARM64_INS_ST4, Structure(Store)),
];
