//! The vocabulary of the tables: what an instruction does with the operands that capstone names, and with what
//! capstone does not name.

use super::regs::{LEGACY_VECTORS, RFLAGS, X87};
use crate::effect::{Reg, RegSet};
use capstone::arch::x86::X86Insn;
use wmtrace_model::order::Order;

/// One line of a table: instructions of the same shape.
pub(super) type Row = (Shape, &'static [X86Insn]);

/// What happens to one operand. Immediates count as operands, and need no entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    /// It is read.
    R,
    /// It is written.
    W,
    /// It is read and written.
    RW,
    /// It is written; a register keeps the rest of its bits, and so is also read (MOVHPS).
    Wm,
    /// Only its address is computed (PREFETCH).
    A,
    /// As `A`, but in its segment (LEA).
    E,
    /// Nothing (long NOPs).
    N,
}

/// How wide the memory operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    /// As capstone says.
    Operand,
    /// By the operand-size prefixes: capstone takes 66 before REX.W for 16 bits.
    OperandSize,
    /// So many bytes; capstone gets the width wrong, or the unit of EVEX displacements.
    Fixed(u16),
    /// So many bytes, or so many with the operand-size prefix.
    Environment(u16, u16),
    /// At most so many bytes.
    AtMost(u16),
    /// As capstone says; if broadcast, as for `Fixed`.
    Broadcast(u16),
}

/// Which part of the memory operand counts under a mask register (SDM volume 2, §2.8: the exception classes of
/// EVEX instructions say which of them suppress the faults, that is, the accesses of masked lanes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Masking {
    /// It has no such form: with a mask it is unsupported.
    Never,
    /// The lanes whose bit is set, of so many bytes each. A store writes these and no others in any case.
    Lanes(u8),
    /// As `Lanes`; but the mask chooses between two sources, and the destination is not merged.
    Blend(u8),
    /// As `Lanes`; with W, the lanes are twice as wide.
    LanesByW(u8),
    /// Compares of integers share one id: the opcode (1E, 1F: dwords; 3E, 3F: bytes) and W say the width.
    Compare,
    /// All of it: the mask is about the destination, whose lanes are not those of memory (the classes with NF).
    Whole,
    /// A shift: the count in memory is read as a whole, the values by lanes of so many bytes.
    Shift(u8),
    /// All of it, if any bit is set (broadcasts).
    Once,
    /// As many elements of so many bytes as bits are set, without gaps.
    Packed(u8),
}

/// String instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StringOp {
    Move,
    Compare,
    Store,
    Load,
    Scan,
}

/// What goes beyond reading and writing the operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Nothing.
    Plain,
    /// The second operand, if a register, says which bit of memory.
    BitTest,
    /// With memory, it is locked without saying so.
    Exchange,
    /// The store may not happen.
    CompareExchange,
    /// MOVSS, MOVSD: between registers the destination keeps its other bits.
    MoveScalar,
    /// A product of the accumulator with one operand, or of two operands with each other.
    Multiply,
    /// A quotient of the accumulators.
    Divide,
    Push,
    Pop,
    PushFlags,
    PopFlags,
    Enter,
    Leave,
    Call,
    Return,
    Jump,
    JumpIf,
    /// A jump that counts RCX down.
    Loop,
    /// XBEGIN: to its operand when the transaction aborts.
    Transaction,
    Syscall,
    /// INT n: the kernel's old entry, or a trap.
    Interrupt,
    Trap,
    /// `rep` or not, with elements of so many bytes.
    String(StringOp, u8),
    /// With opcode 0F xx, these are SSE instructions of the shape given.
    StringOrVector(StringOp, u8, &'static Shape),
    /// It has one of the mandatory prefixes given; capstone takes others for it.
    Prefixed(u8),
    /// It has no 66, F2 or F3; capstone takes others for it.
    Unprefixed,
    /// `al = [rbx + al]`.
    Translate,
    /// Elements of so many bytes, indices of so many.
    Gather(u8, u8),
    Scatter(u8, u8),
    /// VMASKMOVPS …: the middle operand's signs choose the lanes, of so many bytes.
    VectorMask(u8),
    /// MASKMOVDQU: the last operand's signs choose the bytes stored at RDI.
    MaskMove,
    /// MOVDIR64B: the first operand is the address of the store.
    MoveLine,
}

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) ops: &'static [Op],
    pub(super) width: Width,
    pub(super) masking: Masking,
    pub(super) form: Form,
    /// Registers that it reads without naming them as operands.
    pub(super) reads: RegSet,
    /// Registers that it writes without naming them.
    pub(super) writes: RegSet,
    /// Whether it may have a lock prefix.
    pub(super) lockable: bool,
    pub(super) fence: Option<Order>,
    pub(super) waits: bool,
    /// Whether its stores are not kept in order with others.
    pub(super) non_temporal: bool,
}

/// A shape that reads and writes its operands so.
pub(super) const fn ops(ops: &'static [Op]) -> Shape {
    Shape {
        ops,
        width: Width::Operand,
        masking: Masking::Never,
        form: Form::Plain,
        reads: RegSet::EMPTY,
        writes: RegSet::EMPTY,
        lockable: false,
        fence: None,
        waits: false,
        non_temporal: false,
    }
}

/// A shape without operands that count.
pub(super) const fn form(form: Form) -> Shape {
    ops(&[]).form(form)
}

impl Shape {
    pub(super) const fn width(self, width: Width) -> Shape {
        Shape { width, ..self }
    }

    pub(super) const fn form(self, form: Form) -> Shape {
        Shape { form, ..self }
    }

    pub(super) const fn masking(self, masking: Masking) -> Shape {
        Shape { masking, ..self }
    }

    pub(super) const fn lanes(self, element: u8) -> Shape {
        self.masking(Masking::Lanes(element))
    }

    pub(super) const fn reads(self, regs: &[Reg]) -> Shape {
        Shape { reads: self.reads.union(set(regs)), ..self }
    }

    pub(super) const fn writes(self, regs: &[Reg]) -> Shape {
        Shape { writes: self.writes.union(set(regs)), ..self }
    }

    pub(super) const fn reads_set(self, regs: RegSet) -> Shape {
        Shape { reads: self.reads.union(regs), ..self }
    }

    pub(super) const fn writes_set(self, regs: RegSet) -> Shape {
        Shape { writes: self.writes.union(regs), ..self }
    }

    pub(super) const fn flags_r(self) -> Shape {
        self.reads(&[RFLAGS])
    }

    pub(super) const fn flags_w(self) -> Shape {
        self.writes(&[RFLAGS])
    }

    pub(super) const fn flags_rw(self) -> Shape {
        self.flags_r().flags_w()
    }

    /// It works on the x87 stack.
    pub(super) const fn x87(self) -> Shape {
        self.reads(&[X87]).writes(&[X87])
    }

    pub(super) const fn legacy_vectors(self) -> Shape {
        self.writes_set(LEGACY_VECTORS)
    }

    pub(super) const fn lockable(self) -> Shape {
        Shape { lockable: true, ..self }
    }

    pub(super) const fn fence(self, order: Order) -> Shape {
        Shape { fence: Some(order), ..self }
    }

    pub(super) const fn non_temporal(self) -> Shape {
        Shape { non_temporal: true, ..self }
    }

    pub(super) const fn waits(self) -> Shape {
        Shape { waits: true, ..self }
    }
}

const fn set(regs: &[Reg]) -> RegSet {
    let mut set = RegSet::EMPTY;
    let mut at = 0;
    while at < regs.len() {
        set.insert(regs[at]);
        at += 1;
    }
    set
}
