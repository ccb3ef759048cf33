//! The vocabulary of the tables: what kind of thing an instruction id is. Widths, registers and addressing modes are
//! not here: they are in the instruction's word, at places that the shape implies.

use wmtrace_model::order::Order;

/// To or from memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Load,
    Store,
}

/// What happens to the destination of a data-processing instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Destination {
    /// It is written as a whole.
    Written,
    /// It is read too: an accumulator, an insertion, the upper half of a narrowing.
    Modified,
}

/// The shape of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Registers only; [`super::data`] knows the operands of each encoding class.
    Data(Destination),

    /// One register, with any addressing mode: LDR, STRB, LDUR, LDTR …
    Single(Direction),
    /// Two registers: LDP, STNP, LDPSW …
    Pair(Direction),
    /// PRFM: an address, and no access.
    Prefetch,
    /// LDAR, LDAPR, STLR …: the register's address, nothing added.
    Ordered(Direction),
    /// LDAPUR, STLUR …: with an unscaled offset.
    OrderedUnscaled(Direction),
    /// LD64B: 64 bytes into eight registers; ST64B.
    Block(Direction),
    /// ST64BV and ST64BV0: the device answers into a register whether it took them.
    BlockWithStatus,
    /// LDG: reads an allocation tag, which is not data.
    LoadTag,
    /// STG, ST2G write allocation tags only; STZG, STZ2G zero so many bytes too.
    StoreTags { zeroes: u16 },

    /// LDXR, LDAXR …: begins an exclusive sequence.
    LoadExclusive { order: Order, pair: bool },
    /// STXR, STLXR …: ends it.
    StoreExclusive { order: Order, pair: bool },
    /// CLREX.
    ClearExclusive,

    /// `LD<op>` and SWP: an unconditional atomic read-modify-write.
    Rmw(Order),
    /// CAS.
    Cas(Order),
    /// CASP.
    CasPair(Order),

    /// LD1 … ST4, of whole registers or of one lane.
    Structure(Direction),
    /// LD1R … LD4R: one structure into every lane.
    Replicate,

    /// DMB, DSB: what they order is in their option.
    Barrier,
    /// ISB, SB, SSBB …: nothing that a memory model sees.
    NoBarrier,
    /// NOP, YIELD, BTI, PACIASP …: by number in the hint space.
    Hint,
    /// WFET, WFIT: wait with a timeout.
    WaitWithTimeout,
    /// MRS.
    ReadSystem,
    /// MSR of a register.
    WriteSystem,
    /// CFINV, AXFLAG, XAFLAG.
    Flags,
    /// DC, IC and the rest of SYS.
    Maintenance,

    /// B, B.cond, BC.cond.
    Branch,
    /// CBZ, CBNZ.
    CompareBranch,
    /// TBZ, TBNZ.
    TestBranch,
    /// BL.
    Call,
    /// BR, BRAA …
    IndirectJump,
    /// BLR, BLRAA …
    IndirectCall,
    /// RET.
    Return,
    /// RETAA, RETAB: the link register, authenticated by the stack pointer.
    AuthenticatedReturn,
    /// SVC.
    Syscall,
    /// BRK, HLT, UDF, and what only the kernel may execute (HVC, ERET …).
    Trap,
}
