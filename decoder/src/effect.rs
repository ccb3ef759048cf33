//! The effect of one instruction, as a template that can be cached by its address: which memory it touches and
//! how, which registers it reads and writes, what it orders, and where control goes.
//!
//! [`InsnEffect::resolve`] turns the template into concrete accesses once the registers are known. The same
//! types serve both architectures; what differs is the table that makes them.

use core::fmt;
use wmtrace_model::order::Order;

/// An architecture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arch {
    /// x86-64.
    X86_64,
    /// AArch64, little-endian.
    Aarch64,
}

/// A register, numbered by the architecture's module ([`crate::x86`], [`crate::aarch64`]): general registers
/// first, then vector registers, then flags and others. Parts of a register (`eax`, `w0`, `xmm1` of `zmm1`) are
/// the whole register here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg(pub u8);

/// A set of registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegSet(u128);

impl RegSet {
    /// No register.
    pub const EMPTY: RegSet = RegSet(0);

    /// With one more register.
    #[must_use]
    pub const fn with(self, reg: Reg) -> RegSet {
        RegSet(self.0 | 1 << reg.0)
    }

    /// Adds a register.
    pub const fn insert(&mut self, reg: Reg) {
        self.0 |= 1 << reg.0;
    }

    /// Whether the register is in it.
    pub const fn contains(self, reg: Reg) -> bool {
        self.0 & 1 << reg.0 != 0
    }

    /// All of both.
    #[must_use]
    pub const fn union(self, other: RegSet) -> RegSet {
        RegSet(self.0 | other.0)
    }

    /// The registers, lowest number first.
    pub fn iter(self) -> impl Iterator<Item = Reg> {
        (0..128).map(Reg).filter(move |&reg| self.contains(reg))
    }
}

impl fmt::Debug for RegSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Register values of a stopped thread.
pub trait Registers {
    /// A general register, the program counter, or a segment base. The stack pointer is a general register.
    fn general(&self, reg: Reg) -> u64;
    /// A vector register (up to 64 bytes, the rest 0), for gathers, scatters and masked moves; mask registers
    /// are vectors of 8 bytes.
    fn vector(&self, reg: Reg) -> [u8; 64];
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes as one event (a locked instruction, an exclusive pair, an LSE atomic).
    Rmw,
    /// Reads, and writes as a second event: a read-modify-write that is not atomic (`add [x], 1` without lock).
    LoadStore,
}

/// How an address is computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Address {
    /// The base register. The program counter counts as one, with the value *after* the instruction on x86-64
    /// and *of* the instruction on AArch64: `displacement` is already adjusted so that `pc` means the address of
    /// the instruction itself on both.
    pub base: Option<Reg>,
    /// The index register.
    pub index: Option<Index>,
    /// A constant.
    pub displacement: i64,
    /// A segment base register to add (FS, GS).
    pub segment: Option<Reg>,
    /// How many low bits of the sum count: 64, or 32 with an address-size prefix.
    pub bits: u8,
    /// The base register changes by this much: before the access, or after it (AArch64 pre- and post-index; the
    /// `displacement` of a pre-index access already contains it).
    pub writeback: Option<Writeback>,
}

/// An index register and what happens to it before it is added.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Index {
    /// The register.
    pub reg: Reg,
    /// It is first extended from this many bits: 64 (as it is), 32 …
    pub from_bits: u8,
    /// … with its sign.
    pub signed: bool,
    /// And multiplied by this.
    pub scale: u8,
}

/// A change of the base register by an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Writeback {
    /// By a constant.
    By(i64),
    /// By a register (AArch64 SIMD structures).
    ByReg(Reg),
}

/// How many bytes, and at which addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// So many bytes at the address.
    Bytes(u16),
    /// A `rep` string instruction: `element` bytes, as often as `count` says, upwards or downwards by the
    /// direction flag. `conditional`: it may stop earlier (`repe`/`repne` scas, cmps). As many low bits of `count`
    /// count as of the address.
    Repeated {
        /// Bytes of one element.
        element: u8,
        /// The register with the number of elements.
        count: Reg,
        /// Whether it may stop before.
        conditional: bool,
    },
    /// A gather or scatter: one element for each lane of `indices` whose bit in `mask` is set (or sign bit, for
    /// AVX2's vector masks); the address of a lane is `address` plus its index times `scale`.
    Lanes {
        /// Bytes of one element.
        element: u8,
        /// How many lanes.
        lanes: u8,
        /// The vector register with the indices.
        indices: Reg,
        /// Bytes of one index: 4 or 8.
        index_bytes: u8,
        /// What an index is multiplied by.
        scale: u8,
        /// Which lanes.
        mask: Option<Mask>,
    },
    /// A masked move: the elements whose bit is set, at consecutive addresses.
    Masked {
        /// Bytes of one element.
        element: u8,
        /// How many elements.
        lanes: u8,
        /// Which.
        mask: Mask,
    },
    /// A compressing store or expanding load (VPCOMPRESSD, VPEXPANDD): as many elements as the mask has bits, one
    /// after the other without gaps.
    Packed {
        /// Bytes of one element.
        element: u8,
        /// How many elements at most.
        lanes: u8,
        /// How many: its set bits among the first `lanes`.
        mask: Mask,
    },
    /// A string of bits (x86-64 `bt [m], reg`): the `element` bytes, counted in steps of `element` from the
    /// address, that contain bit number `offset`, which is signed and `element * 8` bits wide.
    BitString {
        /// Bytes of one element: 2, 4 or 8.
        element: u8,
        /// The register with the bit's number.
        offset: Reg,
    },
    /// As many bytes as the processor's state needs (XSAVE, FXSAVE): at most this many.
    AtMost(u16),
    /// A block of so many bytes, a power of two, which the address may point into: it is rounded down to a multiple
    /// of the block's size (AArch64 DC ZVA).
    Block(u16),
}

/// Which lanes take part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mask {
    /// The bits of a mask register (AVX-512 k1 … k7).
    Bits(Reg),
    /// The sign bits of a vector register's elements (AVX2, MASKMOVDQU), of this many bytes each.
    Signs(Reg, u8),
}

/// One access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// What it does.
    pub kind: AccessKind,
    /// Where.
    pub address: Address,
    /// How much.
    pub extent: Extent,
    /// The order that the instruction set gives it. A plain access has [`Order::Relaxed`] on both architectures:
    /// that it is atomic, or acquire/release, at the source level is not the instruction's to say.
    pub order: Order,
    /// Whether the instruction set calls it atomic for sure: locked, exclusive, acquire/release, LSE.
    pub atomic: bool,
    /// It may not happen at all (CMPXCHG's store, a conditional exclusive store, a masked lane).
    pub conditional: bool,
    /// A store that x86-64 does not keep in order with other stores (MOVNT…, MASKMOVDQU, MOVDIRI): only a fence or a
    /// locked instruction does (SDM volume 3, 9.2.2).
    pub non_temporal: bool,
}

/// What a fence orders.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fence {
    /// In C11's words: `SeqCst` everything, `Release` stores with stores (SFENCE, DMB ISHST), `Acquire` loads
    /// with what follows (DMB ISHLD), `Relaxed` nothing here (LFENCE, ISB).
    pub order: Order,
}

/// Where control goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To a fixed address always, or only if a condition holds.
    Jump {
        /// The target.
        target: u64,
        /// Else to the next instruction.
        conditional: bool,
    },
    /// To an address in a register or in memory.
    IndirectJump,
    /// To a function, and back to the next instruction.
    Call {
        /// The target; `None`: in a register or in memory.
        target: Option<u64>,
    },
    /// Back to the caller.
    Return,
    /// Into the kernel.
    Syscall,
    /// A trap (breakpoint, undefined instruction, halt).
    Trap,
}

/// Whether the instruction must run together with others, or in one go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// By itself.
    Single,
    /// It repeats itself (`rep`): a single-step may stop between two rounds.
    Repeats,
    /// It begins an exclusive sequence (LDXR …): run on to the store-exclusive without stopping.
    BeginsExclusive,
    /// It ends an exclusive sequence (STXR …, CLREX).
    EndsExclusive,
    /// It begins a transaction (XBEGIN).
    BeginsTransaction,
}

/// The effect of one instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InsnEffect {
    /// Bytes of the instruction.
    pub len: u8,
    /// Its accesses, in the order in which it makes them.
    pub accesses: Vec<Access>,
    /// The fence it is, or contains.
    pub fence: Option<Fence>,
    /// Registers that it reads, those of addresses included.
    pub reads: RegSet,
    /// Registers that it writes.
    pub writes: RegSet,
    /// Where control goes.
    pub flow: Flow,
    /// Whether it runs by itself.
    pub unit: Unit,
    /// A hint that the thread waits (PAUSE, YIELD, WFE).
    pub waits: bool,
}

/// An access with its address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Concrete {
    /// What it does.
    pub kind: AccessKind,
    /// The first byte.
    pub addr: u64,
    /// How many bytes.
    pub len: u64,
    /// As in [`Access::order`].
    pub order: Order,
    /// As in [`Access::atomic`].
    pub atomic: bool,
    /// As in [`Access::conditional`].
    pub conditional: bool,
    /// As in [`Access::non_temporal`].
    pub non_temporal: bool,
}

/// An instruction that the tables do not know: its effect must not be guessed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unsupported instruction at {pc:#x}: {text} ({})", hex(.bytes))]
pub struct Unsupported {
    /// Where.
    pub pc: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its text, or what is wrong with it.
    pub text: String,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
