//! Loads and stores of two registers. (STGP, which writes a tag too, is not here: capstone 5 does not decode it.)

use super::Row;
use crate::aarch64::shape::Direction::{Load, Store};
use crate::aarch64::shape::Shape::*;
use capstone::arch::arm64::Arm64Insn::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    (ARM64_INS_LDP, Pair(Load)),
    (ARM64_INS_LDPSW, Pair(Load)),
    (ARM64_INS_LDNP, Pair(Load)),
    (ARM64_INS_STP, Pair(Store)),
    (ARM64_INS_STNP, Pair(Store)),
];
