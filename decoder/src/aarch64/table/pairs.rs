//! Loads and stores of two registers.

use crate::aarch64::shape::Direction::{Load, Store};
use crate::aarch64::shape::Shape::*;
use super::Row;
use capstone::arch::arm64::Arm64Insn::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    (ARM64_INS_LDP, Pair(Load)),
    (ARM64_INS_LDPSW, Pair(Load)),
    (ARM64_INS_LDNP, Pair(Load)),
    (ARM64_INS_STP, Pair(Store)),
    (ARM64_INS_STNP, Pair(Store)),
    (ARM64_INS_STGP, TaggedPair),
];
