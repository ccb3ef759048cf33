//! A litmus program as data: shared locations, straight code per thread with jumps, and a final condition.

use crate::op::{Place, Value};
use crate::order::Order;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// An index into [`Program::locations`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocationId(pub usize);

/// A register of a thread: an index into [`Code::registers`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg(pub usize);

/// A whole test.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The test's name.
    pub name: String,
    /// Shared memory.
    pub locations: Vec<Location>,
    /// The threads; they all start at once.
    pub threads: Vec<Code>,
    /// What is asked about the final state.
    pub condition: Option<Condition>,
    /// What the test's author wants to see of final states besides what the condition names.
    pub observed: Vec<Term>,
    /// What the test's author expects of the condition's formula.
    pub expect: Option<Expect>,
}

/// Of how many executions a test's author expects the formula to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// Of none (herd's `Never`).
    Forbidden,
    /// Of some (`Sometimes`).
    Allowed,
    /// Of all (`Always`).
    Required,
}

/// A shared variable.
#[derive(Clone, PartialEq, Debug)]
pub struct Location {
    /// Its name in the test.
    pub name: String,
    /// Where it lives.
    pub place: Place,
    /// Whether its type is signed (values are sign-extended when read).
    pub signed: bool,
    /// What it holds at the start.
    pub init: i64,
}

impl Location {
    /// The bytes that store `value` here.
    pub fn encode(&self, value: i64) -> Value {
        let bits = u32::from(self.place.width) * 8;
        let wide = if bits >= 64 { u64::MAX } else { (1u64 << bits) - 1 };
        Value::from(value as u64 & wide)
    }

    /// The number that these bytes mean here.
    pub fn decode(&self, value: Value) -> i64 {
        let bits = u32::from(self.place.width.min(8)) * 8;
        let shift = 64 - bits;
        let raw = (value as u64) << shift;
        if self.signed { (raw as i64) >> shift } else { (raw >> shift) as i64 }
    }
}

/// One thread.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Code {
    /// Names of its registers; all start as 0.
    pub registers: Vec<String>,
    /// Its instructions; the thread ends after the last.
    pub body: Vec<Instr>,
    /// The line of the test's file that each instruction comes from; empty if there is no file.
    pub lines: Vec<u32>,
}

impl Code {
    /// The line of the test's file that an instruction comes from, if it comes from one.
    pub fn line(&self, instruction: usize) -> Option<u32> {
        self.lines.get(instruction).copied()
    }
}

/// One instruction.
#[derive(Clone, PartialEq, Debug)]
pub enum Instr {
    /// `to = value`, registers only.
    Set {
        /// The register written.
        to: Reg,
        /// Over registers and constants.
        value: Expr,
    },
    /// `to = *at`.
    Load {
        /// The register written.
        to: Reg,
        /// The location read.
        at: LocationId,
        /// How strongly; [`Order::Na`] for a plain access.
        order: Order,
    },
    /// `*at = value`.
    Store {
        /// The location written.
        at: LocationId,
        /// What.
        value: Expr,
        /// How strongly; [`Order::Na`] for a plain access.
        order: Order,
    },
    /// `to = *at; *at = to op operand`, at once.
    Rmw {
        /// The register that gets the old value.
        to: Option<Reg>,
        /// The location.
        at: LocationId,
        /// The operation.
        op: RmwOp,
        /// Its operand.
        operand: Expr,
        /// How strongly.
        order: Order,
    },
    /// Compare and swap: `to` gets 1 or 0; on failure `expected` gets the value read.
    Cas {
        /// The register that gets whether it succeeded.
        to: Option<Reg>,
        /// The location.
        at: LocationId,
        /// What it compares with, and where the value read goes on failure.
        expected: Expected,
        /// What it writes on success.
        desired: Expr,
        /// The order on success.
        order: Order,
        /// The order on failure.
        failure: Order,
        /// Whether it may fail spuriously.
        weak: bool,
    },
    /// A fence.
    Fence {
        /// How strongly.
        order: Order,
    },
    /// Goes on at `to` when `condition` is 0.
    JumpIfZero {
        /// The condition.
        condition: Expr,
        /// An index into [`Code::body`].
        to: usize,
    },
    /// Goes on at `to`, which lies ahead.
    Jump {
        /// An index into [`Code::body`].
        to: usize,
    },
    /// The end of a loop's body: goes back to `to`. An exhaustive exploration gives up the execution (it is
    /// *cut*) after a bounded number of rounds of one loop; sampling goes on.
    Repeat {
        /// An index into [`Code::body`], at or before this instruction.
        to: usize,
    },
    /// Sleeps while the location holds `expected` (futex wait).
    Wait {
        /// The location.
        at: LocationId,
        /// The value for which it sleeps.
        expected: i64,
    },
    /// Wakes up to `count` sleepers of the location.
    Wake {
        /// The location.
        at: LocationId,
        /// How many.
        count: u32,
    },
}

/// What a compare-and-swap compares with.
#[derive(Clone, PartialEq, Debug)]
pub enum Expected {
    /// A register, which gets the value read when the comparison fails.
    Reg(Reg),
    /// A value that is thrown away.
    Value(Expr),
}

/// The operation of an RMW.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RmwOp {
    /// Replace.
    Exchange,
    /// Add.
    Add,
    /// Subtract.
    Sub,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Bitwise exclusive or.
    Xor,
}

impl RmwOp {
    /// What the location holds afterwards.
    pub fn apply(self, old: i64, operand: i64) -> i64 {
        match self {
            RmwOp::Exchange => operand,
            RmwOp::Add => old.wrapping_add(operand),
            RmwOp::Sub => old.wrapping_sub(operand),
            RmwOp::Or => old | operand,
            RmwOp::And => old & operand,
            RmwOp::Xor => old ^ operand,
        }
    }
}

/// An expression over registers; C's operators on 64-bit integers, wrapping.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A constant.
    Const(i64),
    /// A register.
    Reg(Reg),
    /// `!e`, C's logical not.
    Not(Box<Expr>),
    /// `-e`.
    Neg(Box<Expr>),
    /// A binary operation.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
}

/// C's binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `&&` (both sides are evaluated: there are no side effects)
    LogicalAnd,
    /// `||`
    LogicalOr,
}

impl Expr {
    /// Its value with these registers.
    pub fn eval(&self, registers: &[i64]) -> i64 {
        match self {
            Expr::Const(value) => *value,
            Expr::Reg(reg) => registers[reg.0],
            Expr::Not(e) => i64::from(e.eval(registers) == 0),
            Expr::Neg(e) => e.eval(registers).wrapping_neg(),
            Expr::Binary(op, a, b) => {
                let (a, b) = (a.eval(registers), b.eval(registers));
                match op {
                    BinaryOp::Add => a.wrapping_add(b),
                    BinaryOp::Sub => a.wrapping_sub(b),
                    BinaryOp::Mul => a.wrapping_mul(b),
                    BinaryOp::And => a & b,
                    BinaryOp::Or => a | b,
                    BinaryOp::Xor => a ^ b,
                    BinaryOp::Eq => i64::from(a == b),
                    BinaryOp::Ne => i64::from(a != b),
                    BinaryOp::Lt => i64::from(a < b),
                    BinaryOp::Le => i64::from(a <= b),
                    BinaryOp::Gt => i64::from(a > b),
                    BinaryOp::Ge => i64::from(a >= b),
                    BinaryOp::LogicalAnd => i64::from(a != 0 && b != 0),
                    BinaryOp::LogicalOr => i64::from(a != 0 || b != 0),
                }
            }
        }
    }
}

/// What is asked about the final states.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// Of how many states.
    pub quantifier: Quantifier,
    /// What.
    pub formula: Formula,
}

/// Of how many final states the formula is claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantifier {
    /// `exists`: of at least one.
    Exists,
    /// `~exists`: of none.
    NotExists,
    /// `forall`: of all.
    Forall,
}

/// A formula over a final state.
#[derive(Clone, PartialEq, Debug)]
pub enum Formula {
    /// `true` or `false`.
    Const(bool),
    /// A term equals a number.
    Eq(Term, i64),
    /// Not.
    Not(Box<Formula>),
    /// And.
    And(Box<Formula>, Box<Formula>),
    /// Or.
    Or(Box<Formula>, Box<Formula>),
}

/// A part of a final state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// A thread's register.
    Reg(usize, Reg),
    /// A location.
    Location(LocationId),
}

/// A final state: every register and every location.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct State {
    /// Registers by thread.
    pub registers: Vec<Vec<i64>>,
    /// Locations.
    pub memory: Vec<i64>,
}

impl Formula {
    /// Whether the formula holds in the state.
    pub fn holds(&self, state: &State) -> bool {
        match self {
            Formula::Const(value) => *value,
            Formula::Eq(Term::Reg(thread, reg), value) => state.registers[*thread][reg.0] == *value,
            Formula::Eq(Term::Location(at), value) => state.memory[at.0] == *value,
            Formula::Not(f) => !f.holds(state),
            Formula::And(a, b) => a.holds(state) && b.holds(state),
            Formula::Or(a, b) => a.holds(state) || b.holds(state),
        }
    }
}
