//! Fences, hints, the processor's state, system calls, traps, transactions, and control-flow enforcement.
//!
//! - MFENCE is a full fence. SFENCE orders stores with stores (all of which are ordered anyway but non-temporal
//!   ones): `Release`, as [`crate::effect::Fence`] says. LFENCE waits for loads, which are in order anyway:
//!   `Relaxed`. CPUID serialises, and so is a full fence.
//! - Flushing a line, prefetching it and monitoring it touch no data: no access, only an address.
//! - The shadow stack is memory that ordinary stores cannot change and that holds no data of the program: RDSSP
//!   and INCSSP have no access. The instructions that write it are unsupported.
//! - XSAVE and XRSTOR touch as much as RDX:RAX and XCR0 say: at most all of x87 to AMX.

use super::super::shape::{Form::*, Op::*, Row, Width::*, form, ops};
use crate::x86::regs::{
    FS_BASE, GS_BASE, LEGACY_VECTORS, MXCSR, PKRU, R11, RAX, RBX, RCX, RDX, RFLAGS, SSP, STATE, X87,
};
use capstone::arch::x86::X86Insn::*;
use wmtrace_model::order::Order;

/// The end of the standard form with everything in it, its gaps included: AMX's tiles are last, at 2816.
const XSAVE_AREA: u16 = 11008;

#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    (ops(&[]).fence(Order::SeqCst), &[
        X86_INS_MFENCE,
    ]),
    (ops(&[]).fence(Order::Release), &[
        X86_INS_SFENCE,
    ]),
    (ops(&[]).fence(Order::Relaxed), &[
        X86_INS_LFENCE,
    ]),
    (ops(&[]).waits(), &[
        X86_INS_PAUSE,
    ]),
    (ops(&[R]), &[
        X86_INS_PTWRITE,
    ]),
    (ops(&[A]), &[
        X86_INS_CLFLUSH, X86_INS_CLFLUSHOPT, X86_INS_CLWB, X86_INS_CLDEMOTE, X86_INS_PREFETCH,
        X86_INS_PREFETCHNTA, X86_INS_PREFETCHT0, X86_INS_PREFETCHT1, X86_INS_PREFETCHT2, X86_INS_PREFETCHW,
        X86_INS_PREFETCHWT1,
    ]),
    (ops(&[]).fence(Order::SeqCst).reads(&[RAX, RCX]).writes(&[RAX, RBX, RCX, RDX]), &[
        X86_INS_CPUID,
    ]),
    (ops(&[]).writes(&[RAX, RDX]), &[
        X86_INS_RDTSC,
    ]),
    (ops(&[]).writes(&[RAX, RDX, RCX]), &[
        X86_INS_RDTSCP,
    ]),
    (ops(&[]).reads(&[RCX]).writes(&[RAX, RDX]), &[
        X86_INS_RDPMC, X86_INS_XGETBV,
    ]),
    (form(Unprefixed).reads(&[RCX, PKRU]).writes(&[RAX, RDX]), &[
        X86_INS_RDPKRU,
    ]),
    (form(Unprefixed).reads(&[RCX, RAX, RDX]).writes(&[PKRU]), &[
        X86_INS_WRPKRU,
    ]),
    (ops(&[W]), &[
        X86_INS_RDPID, X86_INS_SGDT, X86_INS_SIDT, X86_INS_SLDT, X86_INS_SMSW, X86_INS_STR,
    ]),
    (ops(&[RW, R]).flags_w(), &[
        X86_INS_LAR, X86_INS_LSL,
    ]),
    (ops(&[R]).flags_w(), &[
        X86_INS_VERR, X86_INS_VERW,
    ]),
    (ops(&[W]).reads(&[FS_BASE]), &[
        X86_INS_RDFSBASE,
    ]),
    (ops(&[W]).reads(&[GS_BASE]), &[
        X86_INS_RDGSBASE,
    ]),
    (ops(&[R]).writes(&[FS_BASE]), &[
        X86_INS_WRFSBASE,
    ]),
    (ops(&[R]).writes(&[GS_BASE]), &[
        X86_INS_WRGSBASE,
    ]),
    (ops(&[RW]).reads(&[SSP]), &[
        X86_INS_RDSSPD, X86_INS_RDSSPQ,
    ]),
    (ops(&[R]).reads(&[SSP]).writes(&[SSP]), &[
        X86_INS_INCSSPD, X86_INS_INCSSPQ,
    ]),
    (ops(&[R]).writes(&[MXCSR]), &[
        X86_INS_LDMXCSR,
    ]),
    (ops(&[W]).reads(&[MXCSR]), &[
        X86_INS_STMXCSR,
    ]),
    (ops(&[W]).width(Fixed(512)).reads(&[X87, MXCSR]).reads_set(LEGACY_VECTORS), &[
        X86_INS_FXSAVE, X86_INS_FXSAVE64,
    ]),
    (ops(&[R]).width(Fixed(512)).writes(&[X87, MXCSR]).legacy_vectors(), &[
        X86_INS_FXRSTOR, X86_INS_FXRSTOR64,
    ]),
    (ops(&[RW]).width(AtMost(XSAVE_AREA)).reads(&[RAX, RDX]).reads_set(STATE), &[
        X86_INS_XSAVE, X86_INS_XSAVE64, X86_INS_XSAVEOPT, X86_INS_XSAVEOPT64,
    ]),
    (ops(&[W]).width(AtMost(XSAVE_AREA)).reads(&[RAX, RDX]).reads_set(STATE), &[
        X86_INS_XSAVEC, X86_INS_XSAVEC64,
    ]),
    (ops(&[R]).width(AtMost(XSAVE_AREA)).reads(&[RAX, RDX]).writes_set(STATE), &[
        X86_INS_XRSTOR, X86_INS_XRSTOR64,
    ]),
    (ops(&[]).form(MoveLine).non_temporal(), &[
        X86_INS_MOVDIR64B,
    ]),
    (form(Syscall).reads(&[RFLAGS]).writes(&[RCX, R11, RFLAGS]), &[
        X86_INS_SYSCALL,
    ]),
    (form(Interrupt), &[
        X86_INS_INT,
    ]),
    (form(Trap), &[
        X86_INS_INT1, X86_INS_INT3, X86_INS_UD0, X86_INS_UD1, X86_INS_UD2, X86_INS_HLT,
    ]),
    (form(Transaction).reads(&[RAX]).writes(&[RAX]), &[
        X86_INS_XBEGIN,
    ]),
    (ops(&[]), &[
        X86_INS_XEND, X86_INS_XABORT,
    ]),
    (ops(&[]).flags_w(), &[
        X86_INS_XTEST,
    ]),
    (ops(&[R]).form(Prefixed(0x66)).reads(&[RAX, RDX]).flags_w().waits(), &[
        X86_INS_TPAUSE,
    ]),
    (ops(&[R]).form(Prefixed(0xf2)).reads(&[RAX, RDX]).flags_w().waits(), &[
        X86_INS_UMWAIT,
    ]),
    (ops(&[R]).form(Prefixed(0xf3)), &[
        X86_INS_UMONITOR,
    ]),
    (ops(&[W]).form(Unprefixed).flags_w(), &[
        X86_INS_RDRAND, X86_INS_RDSEED,
    ]),
];
