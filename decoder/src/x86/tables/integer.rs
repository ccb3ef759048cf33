//! Integer instructions: arithmetic, moves, bits, the stack and control flow.
//!
//! MPX (BND…) is gone from processors and kernels: its instructions do nothing, as do ENDBR and long NOPs. A
//! conditional move reads its destination, whose value it may keep; so do BSF and BSR, which keep it for 0.

use super::super::shape::{Form::*, Op::*, Row, Width::*, form, ops};
use crate::x86::regs::{RAX, RBX, RCX, RDX, RFLAGS};
use capstone::arch::x86::X86Insn::*;

#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    (ops(&[RW, R]).flags_w().lockable(), &[
        X86_INS_ADD, X86_INS_AND, X86_INS_OR, X86_INS_SUB, X86_INS_XOR,
    ]),
    (ops(&[RW, R]).flags_rw().lockable(), &[
        X86_INS_ADC, X86_INS_SBB,
    ]),
    (ops(&[RW]).flags_w().lockable(), &[
        X86_INS_INC, X86_INS_DEC, X86_INS_NEG,
    ]),
    (ops(&[RW]).lockable(), &[
        X86_INS_NOT,
    ]),
    (ops(&[RW, RW]).flags_w().lockable(), &[
        X86_INS_XADD,
    ]),
    (ops(&[RW, RW]).lockable().form(Exchange), &[
        X86_INS_XCHG,
    ]),
    (ops(&[RW, R]).flags_w().lockable().reads(&[RAX]).writes(&[RAX]).form(CompareExchange), &[
        X86_INS_CMPXCHG,
    ]),
    (ops(&[RW]).flags_w().lockable().reads(&[RAX, RDX, RBX, RCX]).writes(&[RAX, RDX]).form(CompareExchange), &[
        X86_INS_CMPXCHG8B, X86_INS_CMPXCHG16B,
    ]),
    (ops(&[RW, R]).flags_w().lockable().form(BitTest), &[
        X86_INS_BTC, X86_INS_BTR, X86_INS_BTS,
    ]),
    (ops(&[R, R]).flags_w().form(BitTest), &[
        X86_INS_BT,
    ]),
    (ops(&[R, R]).flags_w(), &[
        X86_INS_CMP, X86_INS_TEST,
    ]),
    (ops(&[W, R]), &[
        X86_INS_MOV, X86_INS_MOVABS, X86_INS_MOVSX, X86_INS_MOVSXD, X86_INS_MOVZX, X86_INS_RORX,
    ]),
    (ops(&[W, R]).non_temporal(), &[
        X86_INS_MOVNTI, X86_INS_MOVDIRI,
    ]),
    (ops(&[W, R]).width(OperandSize), &[
        X86_INS_MOVBE,
    ]),
    (ops(&[W, E]), &[
        X86_INS_LEA,
    ]),
    (ops(&[RW, R]).flags_w().width(OperandSize), &[
        X86_INS_BSF, X86_INS_BSR,
    ]),
    (ops(&[W, R]).flags_w(), &[
        X86_INS_LZCNT, X86_INS_POPCNT, X86_INS_TZCNT, X86_INS_BLSI, X86_INS_BLSMSK, X86_INS_BLSR,
        X86_INS_BLCFILL, X86_INS_BLCI, X86_INS_BLCIC, X86_INS_BLCMSK, X86_INS_BLCS, X86_INS_BLSFILL,
        X86_INS_BLSIC, X86_INS_T1MSKC, X86_INS_TZMSK,
    ]),
    (ops(&[W, R, R]).flags_w(), &[
        X86_INS_ANDN, X86_INS_BEXTR, X86_INS_BZHI,
    ]),
    (ops(&[W, R, R]), &[
        X86_INS_PDEP, X86_INS_PEXT, X86_INS_SARX, X86_INS_SHLX, X86_INS_SHRX,
    ]),
    (ops(&[W, W, R]).reads(&[RDX]), &[
        X86_INS_MULX,
    ]),
    (ops(&[RW, R]).flags_rw(), &[
        X86_INS_ADCX, X86_INS_ADOX, X86_INS_RCL, X86_INS_RCR,
    ]),
    (ops(&[RW, R]).flags_w(), &[
        X86_INS_ROL, X86_INS_ROR, X86_INS_SAL, X86_INS_SAR, X86_INS_SHL, X86_INS_SHR,
    ]),
    (ops(&[RW, R, R]).flags_w(), &[
        X86_INS_SHLD, X86_INS_SHRD,
    ]),
    (ops(&[RW, R]), &[
        X86_INS_CRC32,
    ]),
    (ops(&[RW]), &[
        X86_INS_BSWAP,
    ]),
    (ops(&[RW, R]).flags_r(), &[
        X86_INS_CMOVA, X86_INS_CMOVAE, X86_INS_CMOVB, X86_INS_CMOVBE, X86_INS_CMOVE, X86_INS_CMOVG,
        X86_INS_CMOVGE, X86_INS_CMOVL, X86_INS_CMOVLE, X86_INS_CMOVNE, X86_INS_CMOVNO, X86_INS_CMOVNP,
        X86_INS_CMOVNS, X86_INS_CMOVO, X86_INS_CMOVP, X86_INS_CMOVS,
    ]),
    (ops(&[W]).flags_r(), &[
        X86_INS_SETAE, X86_INS_SETA, X86_INS_SETBE, X86_INS_SETB, X86_INS_SETE, X86_INS_SETGE, X86_INS_SETG,
        X86_INS_SETLE, X86_INS_SETL, X86_INS_SETNE, X86_INS_SETNO, X86_INS_SETNP, X86_INS_SETNS,
        X86_INS_SETO, X86_INS_SETP, X86_INS_SETS,
    ]),
    (form(Multiply).flags_w(), &[
        X86_INS_MUL, X86_INS_IMUL,
    ]),
    (form(Divide).flags_w(), &[
        X86_INS_DIV, X86_INS_IDIV,
    ]),
    (ops(&[]).reads(&[RAX]).writes(&[RAX]), &[
        X86_INS_CBW, X86_INS_CWDE, X86_INS_CDQE,
    ]),
    (ops(&[]).reads(&[RAX]).writes(&[RDX]), &[
        X86_INS_CWD, X86_INS_CDQ, X86_INS_CQO,
    ]),
    (ops(&[]).flags_w(), &[
        X86_INS_CLC, X86_INS_STC, X86_INS_CLD, X86_INS_STD,
    ]),
    (ops(&[]).flags_rw(), &[
        X86_INS_CMC,
    ]),
    (ops(&[]).reads(&[RFLAGS]).writes(&[RAX]), &[
        X86_INS_LAHF,
    ]),
    (ops(&[]).reads(&[RAX]).writes(&[RFLAGS]), &[
        X86_INS_SAHF,
    ]),
    (form(Push), &[
        X86_INS_PUSH,
    ]),
    (form(Pop), &[
        X86_INS_POP,
    ]),
    (form(PushFlags), &[
        X86_INS_PUSHF, X86_INS_PUSHFQ,
    ]),
    (form(PopFlags), &[
        X86_INS_POPF, X86_INS_POPFQ,
    ]),
    (form(Enter), &[
        X86_INS_ENTER,
    ]),
    (form(Leave), &[
        X86_INS_LEAVE,
    ]),
    (form(Call), &[
        X86_INS_CALL,
    ]),
    (form(Return), &[
        X86_INS_RET,
    ]),
    (form(Jump), &[
        X86_INS_JMP,
    ]),
    (form(JumpIf).flags_r(), &[
        X86_INS_JAE, X86_INS_JA, X86_INS_JBE, X86_INS_JB, X86_INS_JE, X86_INS_JGE, X86_INS_JG, X86_INS_JLE,
        X86_INS_JL, X86_INS_JNE, X86_INS_JNO, X86_INS_JNP, X86_INS_JNS, X86_INS_JO, X86_INS_JP, X86_INS_JS,
    ]),
    (form(JumpIf).reads(&[RCX]), &[
        X86_INS_JECXZ, X86_INS_JRCXZ,
    ]),
    (form(Loop).reads(&[RCX]).writes(&[RCX]), &[
        X86_INS_LOOP,
    ]),
    (form(Loop).flags_r().reads(&[RCX]).writes(&[RCX]), &[
        X86_INS_LOOPE, X86_INS_LOOPNE,
    ]),
    (form(Translate), &[
        X86_INS_XLATB,
    ]),
    (ops(&[N, N]), &[
        X86_INS_NOP, X86_INS_ENDBR32, X86_INS_ENDBR64, X86_INS_BNDCL, X86_INS_BNDCN, X86_INS_BNDCU,
        X86_INS_BNDLDX, X86_INS_BNDMK, X86_INS_BNDMOV, X86_INS_BNDSTX,
    ]),
];
