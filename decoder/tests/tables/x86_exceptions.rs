//! What differs between iced-x86 and us on purpose.

use super::Aspect::*;
use super::{Exception, always, constant_count, has_memory, same_registers};
use iced_x86::Mnemonic::*;

#[rustfmt::skip]
pub(crate) const EXCEPTIONS: &[Exception] = &[
    Exception {
        aspect: Extra,
        says: "reads",
        when: same_registers,
        reason: "`xor eax, eax` does not depend on EAX; we count it as read",
        mnemonics: &[
            Psubb, Psubd, Psubq, Psubsb, Psubsw, Psubusb, Psubusw, Psubw, Pxor, Sub, Vpsubb, Vpsubd, Vpsubq,
            Vpsubsb, Vpsubsw, Vpsubusb, Vpsubusw, Vpsubw, Vpxor, Vpxord, Vpxorq, Vxorpd, Vxorps, Xor, Xorpd,
            Xorps,
        ],
    },
    Exception {
        aspect: Extra,
        says: "\"rflags\"",
        when: constant_count,
        reason: "a shift by a constant that is 0 after reduction leaves the flags alone; we count them as used",
        mnemonics: &[
            Rcl, Rcr, Rol, Ror, Sal, Sar, Shl, Shld, Shr, Shrd,
        ],
    },
    Exception {
        aspect: Extra,
        says: "\"zmm",
        when: always,
        reason: "iced-x86 leaves out the state that is saved or restored",
        mnemonics: &[
            Fxrstor, Fxrstor64, Fxsave, Fxsave64, Xrstor, Xrstor64, Xsave, Xsave64, Xsavec, Xsavec64,
            Xsaveopt, Xsaveopt64,
        ],
    },
    Exception {
        aspect: Extra,
        says: "reads",
        when: always,
        reason: "the destination keeps the bits that are not inserted",
        mnemonics: &[
            Insertq,
        ],
    },
    Exception {
        aspect: Extra,
        says: "s_base\"",
        when: always,
        reason: "iced-x86 has no registers for the segment bases",
        mnemonics: &[
            Rdfsbase, Rdgsbase, Wrfsbase, Wrgsbase,
        ],
    },
    Exception {
        aspect: Extra,
        says: "reads",
        when: always,
        reason: "without a shadow stack the destination keeps its value",
        mnemonics: &[
            Rdsspd, Rdsspq,
        ],
    },
    Exception {
        aspect: Extra,
        says: "reads",
        when: always,
        reason: "capstone takes a reserved NOP for CLDEMOTE, which has no access either",
        mnemonics: &[
            Reservednop,
        ],
    },
    Exception {
        aspect: Missing,
        says: "reads",
        when: always,
        reason: "capstone takes these prefetches for NOPs, which have no access either",
        mnemonics: &[
            Prefetchit0, Prefetchit1,
        ],
    },
    Exception {
        aspect: Flow,
        says: "Trap and Next",
        when: always,
        reason: "in a program, HLT is a trap",
        mnemonics: &[
            Hlt,
        ],
    },
    Exception {
        aspect: Flow,
        says: "Syscall and Trap",
        when: always,
        reason: "INT 80h is a system call on Linux",
        mnemonics: &[
            Int,
        ],
    },
    Exception {
        aspect: Memory,
        says: "[] and",
        when: always,
        reason: "flushing a line is no access to its data",
        mnemonics: &[
            Clflush, Clflushopt, Clwb,
        ],
    },
    Exception {
        aspect: Memory,
        says: "[] and",
        when: always,
        reason: "watching a line is no access to its data",
        mnemonics: &[
            Umonitor,
        ],
    },
    Exception {
        aspect: Memory,
        says: "bytes: 0",
        when: always,
        reason: "the mask is in an MMX register, which has no number of its own: at most 8 bytes",
        mnemonics: &[
            Maskmovq,
        ],
    },
    Exception {
        aspect: Length,
        says: "",
        when: always,
        reason: "capstone leaves out the operands of UD0 and UD1, which trap anyway",
        mnemonics: &[
            Ud0, Ud1,
        ],
    },
    Exception {
        aspect: Unsupported,
        says: "a far jump",
        when: always,
        reason: "far jumps, calls, returns and pointers: no 64-bit program makes them",
        mnemonics: &[
            Call, Iret, Iretd, Iretq, Jmp, Lfs, Lgs, Lss, Retf,
        ],
    },
    Exception {
        aspect: Unsupported,
        says: "a pause that may be an exchange",
        when: always,
        reason: "F3 REX.B 90: manuals and processors do not agree",
        mnemonics: &[
            Pause,
        ],
    },
    Exception {
        aspect: Unsupported,
        says: "a register that only the kernel can use",
        when: always,
        reason: "control and debug registers: only the kernel may use them",
        mnemonics: &[
            Mov,
        ],
    },
    Exception {
        aspect: Unsupported,
        says: "an operand-size prefix on a jump",
        when: always,
        reason: "Intel's processors ignore the prefix, AMD's do not",
        mnemonics: &[
            Call, Ja, Jae, Jb, Jbe, Je, Jecxz, Jg, Jge, Jl, Jle, Jmp, Jne, Jno, Jnp, Jns, Jo, Jp, Jrcxz, Js,
            Loop, Loope, Loopne, Ret,
        ],
    },
    Exception {
        aspect: Unsupported,
        says: "four registers in a row",
        when: always,
        reason: "Knights Mill only",
        mnemonics: &[],
    },
    Exception {
        aspect: Unsupported,
        says: "input and output",
        when: always,
        reason: "input and output: only with permission that no program has",
        mnemonics: &[],
    },
    Exception {
        aspect: Unsupported,
        says: "it changes the shadow stack",
        when: always,
        reason: "instructions that write the shadow stack",
        mnemonics: &[],
    },
    Exception {
        aspect: Unsupported,
        says: "no instruction",
        when: always,
        reason: "capstone does not know it, or this encoding of it",
        mnemonics: &[
            Aadd, Aand, Aesdec128kl, Aesdec256kl, Aesdecwide128kl, Aesdecwide256kl, Aesenc128kl,
            Aesenc256kl, Aesencwide128kl, Aesencwide256kl, Aor, Axor, Bsf, Bsr, Ccs_encrypt, Ccs_hash,
            Clrssbsy, Cmpbexadd, Cmpbxadd, Cmplexadd, Cmplxadd, Cmpnbexadd, Cmpnbxadd, Cmpnlexadd,
            Cmpnlxadd, Cmpnoxadd, Cmpnpxadd, Cmpnsxadd, Cmpnzxadd, Cmpoxadd, Cmppxadd, Cmpsxadd, Cmpzxadd,
            Encodekey128, Encodekey256, Enqcmd, Enqcmds, Fcom, Fcomp, Fstp, Fxch, Incsspd, Invlpgb, Ja, Jae,
            Jb, Jbe, Je, Jg, Jge, Jl, Jle, Jne, Jnp, Jns, Jp, Js, Kaddd, Kaddq, Kmovb, Kmovd, Kmovq, Kmovw,
            Ldtilecfg, Lfence, Lkgs, Loadiwkey, Mfence, Movsxd, Pause, Pbndkb, Prefetch, Prefetchw, Psmash,
            Pvalidate, Rdfsbase, Rdgsbase, Rdmsrlist, Rdpru, Reservednop, Rmpadjust, Rmpquery, Rmpupdate,
            Seamops, Seamret, Senduipi, Serialize, Sfence, Sttilecfg, Tcmmimfp16ps, Tcmmrlfp16ps, Tdcall,
            Tdpbf16ps, Tdpbssd, Tdpbsud, Tdpbusd, Tdpbuud, Tdpfp16ps, Testui, Tileloadd, Tileloaddt1,
            Tilestored, Tlbsync, Uiret, Umonitor, Umwait, Undoc, V4fmaddss, V4fnmaddss, Vaddsh,
            Vbcstnebf162ps, Vbcstnesh2ps, Vcmpph, Vcmpsd, Vcmpsh, Vcmpss, Vcvtdq2pd, Vcvtne2ps2bf16,
            Vcvtneebf162ps, Vcvtneeph2ps, Vcvtneobf162ps, Vcvtneoph2ps, Vcvtneps2bf16, Vcvtsh2ss,
            Vcvtudq2pd, Vcvtusi2sd, Vdpbf16ps, Vfcmaddcph, Vfmadd132sh, Vfmadd213sh, Vfmaddsub231ph,
            Vfmsub231sh, Vfmsubadd132ph, Vfmsubadd213ph, Vfnmadd132ph, Vfnmadd213ph, Vfpclassph, Vfpclasssd,
            Vfpclasssh, Vfpclassss, Vgetexpsd, Vgetexpss, Vgetmantph, Vgetmantsh, Vmulph, Vmulsh,
            Vp2intersectd, Vp2intersectq, Vpackusdw, Vpalignr, Vpcmpestri64, Vpcmpestrm64, Vpcmpistri,
            Vpcmpistrm, Vpdpbssd, Vpdpbssds, Vpdpbsud, Vpdpbsuds, Vpdpbusd, Vpdpbusds, Vpdpbuud, Vpdpbuuds,
            Vpdpwssd, Vpdpwssds, Vpdpwsud, Vpdpwsuds, Vpdpwusd, Vpdpwusds, Vpdpwuud, Vpdpwuuds, Vpextrb,
            Vpextrw, Vphsubd, Vpinsrb, Vpinsrw, Vpmadd52huq, Vpmadd52luq, Vpsllw, Vpsraw, Vpsrlw, Vrcp14sd,
            Vrcp14ss, Vrcp28sd, Vrcp28ss, Vreduceph, Vreducesh, Vrndscaleph, Vrndscalesd, Vrndscalesh,
            Vrndscaless, Vrsqrt14sd, Vrsqrt14ss, Vrsqrt28sd, Vrsqrt28ss, Vscalefsd, Vscalefss, Vsha512msg1,
            Vsha512msg2, Vsha512rnds2, Vsm3msg1, Vsm3msg2, Vsm3rnds2, Vsm4key4, Vsm4rnds4, Vsubph, Wrfsbase,
            Wrgsbase, Wrmsrlist, Wrmsrns, Xcryptcbc, Xcryptcfb, Xcryptctr, Xcryptecb, Xcryptofb, Xresldtrk,
            Xsha1, Xsha256, Xsha512, Xsha512_alt, Xstore, Xstore_alt, Xsusldtrk,
        ],
    },
    Exception {
        aspect: Unsupported,
        says: "only for 32-bit programs",
        when: always,
        reason: "Linux takes it from 32-bit programs only",
        mnemonics: &[],
    },
    Exception {
        aspect: Unsupported,
        says: "only for the kernel",
        when: always,
        reason: "only the kernel may execute it",
        mnemonics: &[],
    },
    Exception {
        aspect: Unsupported,
        says: "virtual machines and enclaves",
        when: always,
        reason: "virtual machines and enclaves",
        mnemonics: &[],
    },
    Exception {
        aspect: Unsupported,
        says: "capstone takes it for another",
        when: always,
        reason: "capstone takes a fence for TPAUSE, SENDUIPI for RDRAND, CLUI for RDPKRU",
        mnemonics: &[
            Clui, Mfence, Senduipi, Stui,
        ],
    },
    Exception {
        aspect: Unsupported,
        says: "it clears a line whose size",
        when: always,
        reason: "CLZERO clears a line whose size depends on the processor",
        mnemonics: &[],
    },
    Exception {
        aspect: Unsupported,
        says: "of one maker's processors",
        when: always,
        reason: "instructions of one maker's processors: profiling, monitoring, PadLock",
        mnemonics: &[],
    },
    Exception {
        aspect: Unsupported,
        says: "a memory operand of unknown width",
        when: has_memory,
        reason: "with 66 and F2 or F3 together capstone's width may be wrong",
        mnemonics: &[],
    },
    Exception {
        aspect: Element,
        says: "4 and",
        when: always,
        reason: "the mask counts the sums, of four bytes or two words each",
        mnemonics: &[
            Vpdpbusd, Vpdpbusds, Vpdpwssd, Vpdpwssds,
        ],
    },
    Exception {
        aspect: Element,
        says: "8 and 4",
        when: always,
        reason: "the mask counts the products, each of the lower half of eight bytes",
        mnemonics: &[
            Vpmuldq, Vpmuludq,
        ],
    },
];
