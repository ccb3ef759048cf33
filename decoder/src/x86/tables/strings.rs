//! String instructions, with and without `rep`. MOVSD is two instructions: capstone has one id for the string
//! instruction and for SSE's of the same name.

use super::super::shape::{Form::*, Row, Shape, StringOp, form, ops};
use capstone::arch::x86::X86Insn::*;

static SCALAR: Shape = ops(&[]).form(MoveScalar);

#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    (form(String(StringOp::Move, 1)), &[
        X86_INS_MOVSB,
    ]),
    (form(String(StringOp::Move, 2)), &[
        X86_INS_MOVSW,
    ]),
    (form(StringOrVector(StringOp::Move, 4, &SCALAR)), &[
        X86_INS_MOVSD,
    ]),
    (form(String(StringOp::Move, 8)), &[
        X86_INS_MOVSQ,
    ]),
    (form(String(StringOp::Compare, 1)), &[
        X86_INS_CMPSB,
    ]),
    (form(String(StringOp::Compare, 2)), &[
        X86_INS_CMPSW,
    ]),
    (form(String(StringOp::Compare, 4)), &[
        X86_INS_CMPSD,
    ]),
    (form(String(StringOp::Compare, 8)), &[
        X86_INS_CMPSQ,
    ]),
    (form(String(StringOp::Store, 1)), &[
        X86_INS_STOSB,
    ]),
    (form(String(StringOp::Store, 2)), &[
        X86_INS_STOSW,
    ]),
    (form(String(StringOp::Store, 4)), &[
        X86_INS_STOSD,
    ]),
    (form(String(StringOp::Store, 8)), &[
        X86_INS_STOSQ,
    ]),
    (form(String(StringOp::Load, 1)), &[
        X86_INS_LODSB,
    ]),
    (form(String(StringOp::Load, 2)), &[
        X86_INS_LODSW,
    ]),
    (form(String(StringOp::Load, 4)), &[
        X86_INS_LODSD,
    ]),
    (form(String(StringOp::Load, 8)), &[
        X86_INS_LODSQ,
    ]),
    (form(String(StringOp::Scan, 1)), &[
        X86_INS_SCASB,
    ]),
    (form(String(StringOp::Scan, 2)), &[
        X86_INS_SCASW,
    ]),
    (form(String(StringOp::Scan, 4)), &[
        X86_INS_SCASD,
    ]),
    (form(String(StringOp::Scan, 8)), &[
        X86_INS_SCASQ,
    ]),
];
