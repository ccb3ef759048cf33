//! Exclusive loads and stores.

use super::Row;
use crate::aarch64::shape::Shape::*;
use capstone::arch::arm64::Arm64Insn::*;
use wmtrace_model::order::Order::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    (ARM64_INS_LDXR, LoadExclusive { order: Relaxed, pair: false }),
    (ARM64_INS_LDXRB, LoadExclusive { order: Relaxed, pair: false }),
    (ARM64_INS_LDXRH, LoadExclusive { order: Relaxed, pair: false }),
    (ARM64_INS_LDAXR, LoadExclusive { order: Acquire, pair: false }),
    (ARM64_INS_LDAXRB, LoadExclusive { order: Acquire, pair: false }),
    (ARM64_INS_LDAXRH, LoadExclusive { order: Acquire, pair: false }),
    (ARM64_INS_LDXP, LoadExclusive { order: Relaxed, pair: true }),
    (ARM64_INS_LDAXP, LoadExclusive { order: Acquire, pair: true }),
    (ARM64_INS_STXR, StoreExclusive { order: Relaxed, pair: false }),
    (ARM64_INS_STXRB, StoreExclusive { order: Relaxed, pair: false }),
    (ARM64_INS_STXRH, StoreExclusive { order: Relaxed, pair: false }),
    (ARM64_INS_STLXR, StoreExclusive { order: Release, pair: false }),
    (ARM64_INS_STLXRB, StoreExclusive { order: Release, pair: false }),
    (ARM64_INS_STLXRH, StoreExclusive { order: Release, pair: false }),
    (ARM64_INS_STXP, StoreExclusive { order: Relaxed, pair: true }),
    (ARM64_INS_STLXP, StoreExclusive { order: Release, pair: true }),
    (ARM64_INS_CLREX, ClearExclusive),
];
