//! Loads and stores of one register, plain and with an order; prefetches; 64-byte blocks; allocation tags.
//!
//! Missing on purpose: LDRAA and LDRAB (the address is not the register's value but what authentication makes of it),
//! and LDGM, STGM, STZGM (kernel only).

use super::Row;
use crate::aarch64::shape::Direction::{Load, Store};
use crate::aarch64::shape::Shape::*;
use capstone::arch::arm64::Arm64Insn::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    (ARM64_INS_LDR, Single(Load)),
    (ARM64_INS_LDRB, Single(Load)),
    (ARM64_INS_LDRH, Single(Load)),
    (ARM64_INS_LDRSB, Single(Load)),
    (ARM64_INS_LDRSH, Single(Load)),
    (ARM64_INS_LDRSW, Single(Load)),
    (ARM64_INS_LDUR, Single(Load)),
    (ARM64_INS_LDURB, Single(Load)),
    (ARM64_INS_LDURH, Single(Load)),
    (ARM64_INS_LDURSB, Single(Load)),
    (ARM64_INS_LDURSH, Single(Load)),
    (ARM64_INS_LDURSW, Single(Load)),
    (ARM64_INS_LDTR, Single(Load)),
    (ARM64_INS_LDTRB, Single(Load)),
    (ARM64_INS_LDTRH, Single(Load)),
    (ARM64_INS_LDTRSB, Single(Load)),
    (ARM64_INS_LDTRSH, Single(Load)),
    (ARM64_INS_LDTRSW, Single(Load)),
    (ARM64_INS_STR, Single(Store)),
    (ARM64_INS_STRB, Single(Store)),
    (ARM64_INS_STRH, Single(Store)),
    (ARM64_INS_STUR, Single(Store)),
    (ARM64_INS_STURB, Single(Store)),
    (ARM64_INS_STURH, Single(Store)),
    (ARM64_INS_STTR, Single(Store)),
    (ARM64_INS_STTRB, Single(Store)),
    (ARM64_INS_STTRH, Single(Store)),
    (ARM64_INS_PRFM, Prefetch),
    (ARM64_INS_PRFUM, Prefetch),
    // Load-acquire: RCsc (LDAR), RCpc (LDAPR) and limited to a region (LDLAR; Linux configures none, which makes
    // it LDAR). All are C11 acquire: that STLR; LDAR stay in order is more than release and acquire say, and it is
    // the source, not the instruction, that tells seq_cst from acquire.
    (ARM64_INS_LDAR, Ordered(Load)),
    (ARM64_INS_LDARB, Ordered(Load)),
    (ARM64_INS_LDARH, Ordered(Load)),
    (ARM64_INS_LDAPR, Ordered(Load)),
    (ARM64_INS_LDAPRB, Ordered(Load)),
    (ARM64_INS_LDAPRH, Ordered(Load)),
    (ARM64_INS_LDLAR, Ordered(Load)),
    (ARM64_INS_LDLARB, Ordered(Load)),
    (ARM64_INS_LDLARH, Ordered(Load)),
    (ARM64_INS_LDAPUR, OrderedUnscaled(Load)),
    (ARM64_INS_LDAPURB, OrderedUnscaled(Load)),
    (ARM64_INS_LDAPURH, OrderedUnscaled(Load)),
    (ARM64_INS_LDAPURSB, OrderedUnscaled(Load)),
    (ARM64_INS_LDAPURSH, OrderedUnscaled(Load)),
    (ARM64_INS_LDAPURSW, OrderedUnscaled(Load)),
    (ARM64_INS_STLR, Ordered(Store)),
    (ARM64_INS_STLRB, Ordered(Store)),
    (ARM64_INS_STLRH, Ordered(Store)),
    (ARM64_INS_STLLR, Ordered(Store)),
    (ARM64_INS_STLLRB, Ordered(Store)),
    (ARM64_INS_STLLRH, Ordered(Store)),
    (ARM64_INS_STLUR, OrderedUnscaled(Store)),
    (ARM64_INS_STLURB, OrderedUnscaled(Store)),
    (ARM64_INS_STLURH, OrderedUnscaled(Store)),
    (ARM64_INS_LD64B, Block(Load)),
    (ARM64_INS_ST64B, Block(Store)),
    (ARM64_INS_ST64BV, BlockWithStatus),
    (ARM64_INS_ST64BV0, BlockWithStatus),
    (ARM64_INS_LDG, LoadTag),
    (ARM64_INS_STG, StoreTags { zeroes: 0 }),
    (ARM64_INS_ST2G, StoreTags { zeroes: 0 }),
    (ARM64_INS_STZG, StoreTags { zeroes: 16 }),
    (ARM64_INS_STZ2G, StoreTags { zeroes: 32 }),
];
