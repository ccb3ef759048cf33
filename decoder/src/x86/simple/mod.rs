//! Instructions that are cheaper to do than to run.
//!
//! To let a stopped thread run one instruction costs a dozen microseconds; to do by ourselves what a move, an addition
//! or a comparison does costs nothing. Here is what those do to the general registers, the flags and the one place
//! in memory that they name. Everything else (vectors, strings, divisions, whatever may trap by itself) is not simple,
//! and is left to the processor.
//!
//! Flags that the manual leaves undefined get the value that processors give them mostly; nobody may rely on that.

mod alu;
mod decode;

use alu::Alu;
pub use alu::holds;

/// What a simple instruction reads and changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// By encoding: `rax`, `rcx`, `rdx`, `rbx`, `rsp`, …
    pub general: [u64; 16],
    /// RFLAGS.
    pub flags: u64,
    /// Where the segment of thread-local storage begins.
    pub fs_base: u64,
    /// Where the other segment begins.
    pub gs_base: u64,
}

const RAX: u8 = 0;
const RCX: u8 = 1;
const RDX: u8 = 2;
const RSP: u8 = 4;
const RBP: u8 = 5;

/// A register, or a part of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    number: u8,
    /// In bytes.
    width: u8,
    /// `ah`, `ch`, `dh`, `bh`: the second byte.
    high: bool,
}

impl Part {
    fn whole(number: u8) -> Part {
        Part { number, width: 8, high: false }
    }

    fn get(self, state: &State) -> u64 {
        let value = state.general[usize::from(self.number)];
        alu::cut(if self.high { value >> 8 } else { value }, self.width)
    }

    /// Writes it. Four bytes clear the upper half of the register; less leaves the rest as it is.
    fn set(self, state: &mut State, value: u64) {
        let old = &mut state.general[usize::from(self.number)];
        *old = match (self.width, self.high) {
            (8, _) => value,
            (4, _) => value & 0xffff_ffff,
            (_, true) => *old & !0xff00 | (value & 0xff) << 8,
            (width, false) => *old & !alu::mask(width) | value & alu::mask(width),
        };
    }
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operand {
    Register(Part),
    Constant(u64),
    /// The place in memory.
    Memory,
}

/// Where in memory an instruction's operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Address {
    segment: Option<Segment>,
    base: Option<u8>,
    /// A register, times this.
    index: Option<(u8, u64)>,
    displacement: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Segment {
    Fs,
    Gs,
}

impl Address {
    fn resolve(self, state: &State) -> u64 {
        let reg = |number: u8| state.general[usize::from(number)];
        let segment = match self.segment {
            Some(Segment::Fs) => state.fs_base,
            Some(Segment::Gs) => state.gs_base,
            None => 0,
        };
        let base = self.base.map_or(0, reg);
        let index = self.index.map_or(0, |(number, scale)| reg(number).wrapping_mul(scale));
        segment.wrapping_add(base).wrapping_add(index).wrapping_add(self.displacement)
    }
}

/// What a simple instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verb {
    Nothing,
    Move,
    /// Moves if the condition holds; loads in any case.
    MoveIf(u8),
    /// One or zero, as the condition holds or not.
    SetIf(u8),
    ExtendSign,
    /// The address itself (LEA).
    Locate,
    /// Arithmetic or logic on two operands.
    Combine(Alu),
    /// Of which only the flags stay (CMP, TEST).
    Compare(Alu),
    /// One is added or taken away; the carry stays as it is.
    Count(Alu),
    Negate,
    Invert,
    Shift(alu::Shift),
    /// The product of the two last operands, as far as it fits.
    Multiply,
    /// The whole product of the accumulator, in two registers.
    MultiplyWide {
        signed: bool,
    },
    /// The accumulator's sign in every bit of another register (CDQ, CQO).
    SpreadSign,
    /// The carry is the bit, and something may be done to that.
    TestBit(Bit),
    /// A shift of the second operand by the third that leaves the flags alone (BMI2).
    ShiftQuietly(alu::Shift),
    /// The third operand where the second one's bits are clear.
    AndNot,
    /// The number of the lowest or highest bit that is set. Of zero: nothing is written.
    FindBit {
        last: bool,
    },
    /// How many bits are clear at an end.
    CountZeros {
        leading: bool,
    },
    CountOnes,
    SwapBytes,
    Push,
    Pop,
    Leave,
    Exchange,
    ExchangeAdd,
    CompareExchange,
}

/// What becomes of a bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bit {
    Stays,
    Set,
    Cleared,
    Flipped,
}

/// A simple instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Simple {
    verb: Verb,
    /// Of the operation, in bytes.
    width: u8,
    to: Operand,
    from: Operand,
    /// The third one, of a product or a shift.
    by: Operand,
    address: Address,
    /// Of its access to memory: the width, whether it loads, whether it stores.
    touch: Option<(u8, bool, bool)>,
}

/// The memory that a simple instruction touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// Where.
    pub addr: u64,
    /// In bytes: 1, 2, 4 or 8.
    pub width: u8,
    /// It reads what is there.
    pub loads: bool,
    /// It writes there. (A compare-and-swap that fails writes what it has read.)
    pub stores: bool,
}

impl Simple {
    /// The instruction at an address, if it is simple.
    pub fn of(pc: u64, bytes: &[u8]) -> Option<Simple> {
        decode::decode(pc, bytes)
    }

    /// Whether it is one of those that not all processors have, or that mean something else to older ones (BMI, LZCNT,
    /// POPCNT).
    pub fn is_recent(&self) -> bool {
        matches!(self.verb, Verb::ShiftQuietly(_) | Verb::AndNot | Verb::CountZeros { .. } | Verb::CountOnes)
    }

    /// The memory that it touches.
    pub fn touches(&self, state: &State) -> Option<Touch> {
        let (width, loads, stores) = self.touch?;
        let addr = match self.verb {
            Verb::Push => state.general[usize::from(RSP)].wrapping_sub(8),
            Verb::Pop => state.general[usize::from(RSP)],
            Verb::Leave => state.general[usize::from(RBP)],
            _ => self.address.resolve(state),
        };
        Some(Touch { addr, width, loads, stores })
    }

    /// Does it, with what the memory that it touches holds. Gives what it stores there.
    pub fn run(&self, state: &mut State, loaded: u64) -> Option<u64> {
        let get = |state: &State, operand: Operand| match operand {
            Operand::Register(part) => part.get(state),
            Operand::Constant(value) => value,
            Operand::Memory => loaded,
        };
        let (to, from) = (get(state, self.to), get(state, self.from));
        let width = self.width;
        let mut flags = state.flags;
        let result = match self.verb {
            Verb::Nothing => None,
            Verb::Move => Some(from),
            Verb::MoveIf(condition) => Some(if holds(condition, flags) { from } else { to }),
            Verb::SetIf(condition) => Some(u64::from(holds(condition, flags))),
            Verb::ExtendSign => {
                let narrow = match self.from {
                    Operand::Register(part) => part.width,
                    _ => self.touch.map_or(width, |(narrow, ..)| narrow),
                };
                Some(alu::extend(from, narrow))
            }
            Verb::Locate => Some(self.address.resolve(state)),
            Verb::Combine(alu) => Some(alu.run(to, from, width, &mut flags)),
            Verb::Compare(alu) => {
                alu.run(to, from, width, &mut flags);
                None
            }
            Verb::Count(alu) => {
                let carry = flags & alu::CARRY;
                let result = alu.run(to, 1, width, &mut flags);
                flags = flags & !alu::CARRY | carry;
                Some(result)
            }
            Verb::Negate => Some(Alu::Subtract.run(0, to, width, &mut flags)),
            Verb::Invert => Some(!to),
            Verb::Shift(shift) => Some(shift.run(to, from, width, &mut flags)),
            Verb::Multiply => {
                let by = get(state, self.by);
                Some(alu::multiply(from, by, width, &mut flags))
            }
            Verb::MultiplyWide { signed } => {
                let low = Part { number: RAX, width, high: false };
                let high = Part { number: RDX, ..low };
                let (a, b) = alu::multiply_wide(low.get(state), to, width, signed, &mut flags);
                low.set(state, a);
                high.set(state, b);
                None
            }
            Verb::SpreadSign => Some(if alu::sign(from, width) { u64::MAX } else { 0 }),
            Verb::TestBit(then) => {
                let bit = 1 << (from % (u64::from(width) * 8));
                flags = flags & !alu::CARRY | u64::from(to & bit != 0);
                match then {
                    Bit::Stays => None,
                    Bit::Set => Some(to | bit),
                    Bit::Cleared => Some(to & !bit),
                    Bit::Flipped => Some(to ^ bit),
                }
            }
            Verb::ShiftQuietly(shift) => {
                Some(shift.run(from, get(state, self.by), width, &mut flags.clone()))
            }
            Verb::AndNot => Some(Alu::And.run(!from, get(state, self.by), width, &mut flags)),
            Verb::FindBit { last } => {
                flags = alu::when_zero(from, flags);
                let found = if last { from.checked_ilog2() } else { Some(from.trailing_zeros()) };
                found.filter(|_| from != 0).map(u64::from)
            }
            Verb::CountZeros { leading } => {
                let bits = u64::from(width) * 8;
                let zeros = if leading { from << (64 - bits) } else { from.reverse_bits() };
                let count = u64::from(zeros.leading_zeros()).min(bits);
                flags = alu::when_zero(count, flags) & !alu::CARRY | u64::from(from == 0);
                Some(count)
            }
            Verb::CountOnes => {
                flags = alu::when_zero(from, flags & !alu::ALL);
                Some(u64::from(from.count_ones()))
            }
            Verb::SwapBytes => Some(to.swap_bytes() >> (64 - u32::from(width) * 8)),
            Verb::Push => {
                let sp = Part::whole(RSP);
                sp.set(state, sp.get(state).wrapping_sub(8));
                Some(from)
            }
            Verb::Pop => {
                let sp = Part::whole(RSP);
                sp.set(state, sp.get(state).wrapping_add(8));
                Some(loaded)
            }
            Verb::Leave => {
                let frame = Part::whole(RBP).get(state);
                Part::whole(RSP).set(state, frame.wrapping_add(8));
                Some(loaded)
            }
            Verb::Exchange => {
                if let Operand::Register(part) = self.from {
                    part.set(state, to);
                }
                Some(from)
            }
            Verb::ExchangeAdd => {
                let sum = Alu::Add.run(to, from, width, &mut flags);
                if let Operand::Register(part) = self.from {
                    part.set(state, to);
                }
                Some(sum)
            }
            Verb::CompareExchange => {
                let accumulator = Part { number: RAX, width, high: false };
                let expected = accumulator.get(state);
                Alu::Subtract.run(expected, to, width, &mut flags);
                if expected != to {
                    accumulator.set(state, to);
                }
                Some(if expected == to { from } else { to })
            }
        };
        self.deliver(state, flags, result)
    }

    /// Puts a result where it belongs.
    fn deliver(&self, state: &mut State, flags: u64, result: Option<u64>) -> Option<u64> {
        state.flags = flags;
        match (self.to, result?) {
            (Operand::Register(part), value) => {
                part.set(state, value);
                None
            }
            (_, value) => Some(alu::cut(value, self.width)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(bytes: &[u8], state: &mut State, loaded: u64) -> Option<u64> {
        Simple::of(0x1000, bytes).expect("a simple instruction").run(state, loaded)
    }

    #[test]
    fn four_bytes_clear_the_upper_half() {
        let mut state = State { general: [u64::MAX; 16], ..State::default() };
        // mov eax, ecx; mov al, 0
        run(&[0x89, 0xc8], &mut state, 0);
        assert_eq!(state.general[0], 0xffff_ffff);
        run(&[0xb0, 0], &mut state, 0);
        assert_eq!(state.general[0], 0xffff_ff00);
    }

    #[test]
    fn the_stack() {
        let mut state = State::default();
        state.general[4] = 0x8000;
        state.general[5] = 42;
        // push rbp
        let push = Simple::of(0x1000, &[0x55]).unwrap();
        assert_eq!(push.touches(&state), Some(Touch { addr: 0x7ff8, width: 8, loads: false, stores: true }));
        assert_eq!(push.run(&mut state, 0), Some(42));
        assert_eq!(state.general[4], 0x7ff8);
        // pop rsp: what was on the stack counts.
        assert_eq!(run(&[0x5c], &mut state, 7), None);
        assert_eq!(state.general[4], 7);
    }

    #[test]
    fn a_compare_and_swap_that_fails_tells_what_it_saw() {
        let mut state = State::default();
        (state.general[0], state.general[1]) = (1, 9);
        // lock cmpxchg [rdi], ecx
        assert_eq!(run(&[0xf0, 0x0f, 0xb1, 0x0f], &mut state, 5), Some(5));
        assert_eq!((state.general[0], state.flags & 0x40), (5, 0));
        assert_eq!(run(&[0xf0, 0x0f, 0xb1, 0x0f], &mut state, 5), Some(9));
        assert_eq!(state.flags & 0x40, 0x40);
    }

    #[test]
    fn bits() {
        let mut state = State::default();
        (state.general[0], state.general[1], state.general[2]) = (0xff, 0x50, 4);
        let result = |bytes: &[u8]| {
            let mut state = state;
            assert_eq!(run(bytes, &mut state, 0), None);
            state.general[0]
        };
        let table: [(&str, &[u8], u64); 9] = [
            ("tzcnt eax, ecx", &[0xf3, 0x0f, 0xbc, 0xc1], 4),
            ("lzcnt rax, rcx", &[0xf3, 0x48, 0x0f, 0xbd, 0xc1], 57),
            ("popcnt eax, ecx", &[0xf3, 0x0f, 0xb8, 0xc1], 2),
            ("bsr eax, ecx", &[0x0f, 0xbd, 0xc1], 6),
            ("bsf eax, ebx: of zero", &[0x0f, 0xbc, 0xc3], 0xff),
            ("btr eax, edx", &[0x0f, 0xb3, 0xd0], 0xef),
            ("shlx eax, ecx, edx", &[0xc4, 0xe2, 0x69, 0xf7, 0xc1], 0x500),
            ("rorx eax, ecx, 8", &[0xc4, 0xe3, 0x7b, 0xf0, 0xc1, 8], 0x5000_0000),
            ("andn eax, edx, ecx", &[0xc4, 0xe2, 0x68, 0xf2, 0xc1], 0x50),
        ];
        for (text, bytes, expected) in table {
            assert_eq!(result(bytes), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_simple() {
        let table: [(&str, &[u8]); 8] = [
            ("movaps xmm0, xmm1", &[0x0f, 0x28, 0xc1]),
            ("div ecx", &[0xf7, 0xf1]),
            ("rep movsb", &[0xf3, 0xa4]),
            ("push [rax]", &[0xff, 0x30]),
            ("ret", &[0xc3]),
            ("syscall", &[0x0f, 0x05]),
            ("pause", &[0xf3, 0x90]),
            ("mov eax, [ecx]: an address of 32 bits", &[0x67, 0x8b, 0x01]),
        ];
        for (text, bytes) in table {
            assert_eq!(Simple::of(0x1000, bytes), None, "{text}");
        }
    }
}
