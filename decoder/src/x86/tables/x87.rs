//! x87. All of its registers are one here, read and written by each instruction.

use super::super::shape::{Op::*, Row, Width::*, ops};
use capstone::arch::x86::X86Insn::*;

#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    (ops(&[R, R]).x87(), &[
        X86_INS_FADD, X86_INS_FIADD, X86_INS_FDIVR, X86_INS_FIDIVR, X86_INS_FDIVRP, X86_INS_FDIV,
        X86_INS_FIDIV, X86_INS_FDIVP, X86_INS_FMUL, X86_INS_FIMUL, X86_INS_FMULP, X86_INS_FSUBR,
        X86_INS_FISUBR, X86_INS_FSUBRP, X86_INS_FSUB, X86_INS_FISUB, X86_INS_FSUBP, X86_INS_FCOM,
        X86_INS_FCOMP, X86_INS_FCOMPP, X86_INS_FICOM, X86_INS_FICOMP, X86_INS_FUCOM, X86_INS_FUCOMP,
        X86_INS_FUCOMPP, X86_INS_FLD, X86_INS_FILD, X86_INS_FBLD, X86_INS_FLDCW, X86_INS_FXCH,
        X86_INS_FFREE, X86_INS_FFREEP, X86_INS_FSTPNCE,
    ]),
    (ops(&[W]).x87(), &[
        X86_INS_FST, X86_INS_FSTP, X86_INS_FIST, X86_INS_FISTP, X86_INS_FISTTP, X86_INS_FBSTP,
        X86_INS_FNSTCW, X86_INS_FNSTSW,
    ]),
    (ops(&[R, R]).x87().flags_w(), &[
        X86_INS_FCOMI, X86_INS_FCOMPI, X86_INS_FUCOMI, X86_INS_FUCOMPI,
    ]),
    (ops(&[R, R]).x87().flags_r(), &[
        X86_INS_FCMOVBE, X86_INS_FCMOVB, X86_INS_FCMOVE, X86_INS_FCMOVNBE, X86_INS_FCMOVNB, X86_INS_FCMOVNE,
        X86_INS_FCMOVNU, X86_INS_FCMOVU, X86_INS_FCMOVNP,
    ]),
    (ops(&[R]).x87().width(Environment(28, 14)), &[
        X86_INS_FLDENV,
    ]),
    (ops(&[W]).x87().width(Environment(28, 14)), &[
        X86_INS_FNSTENV,
    ]),
    (ops(&[R]).x87().width(Environment(108, 94)), &[
        X86_INS_FRSTOR,
    ]),
    (ops(&[W]).x87().width(Environment(108, 94)), &[
        X86_INS_FNSAVE,
    ]),
    (ops(&[]).x87(), &[
        X86_INS_FABS, X86_INS_FCHS, X86_INS_FCOS, X86_INS_F2XM1, X86_INS_FDECSTP, X86_INS_FINCSTP,
        X86_INS_FLDL2E, X86_INS_FLDL2T, X86_INS_FLDLG2, X86_INS_FLDLN2, X86_INS_FLDPI, X86_INS_FLDZ,
        X86_INS_FLD1, X86_INS_FNCLEX, X86_INS_FNINIT, X86_INS_FNOP, X86_INS_FPATAN, X86_INS_FPREM,
        X86_INS_FPREM1, X86_INS_FPTAN, X86_INS_FRNDINT, X86_INS_FSCALE, X86_INS_FSETPM,
        X86_INS_FDISI8087_NOP, X86_INS_FENI8087_NOP, X86_INS_FSIN, X86_INS_FSINCOS, X86_INS_FSQRT,
        X86_INS_FTST, X86_INS_FXAM, X86_INS_FXTRACT, X86_INS_FYL2X, X86_INS_FYL2XP1, X86_INS_WAIT,
        X86_INS_EMMS, X86_INS_FEMMS,
    ]),
];
