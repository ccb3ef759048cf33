//! The events of one thread along one path, with values known or not yet known.
//!
//! A *path* is the answers to the thread's questions in order: does this jump go on to the next instruction,
//! does this compare-and-swap succeed. Given the path, the events are fixed, whatever values the reads return;
//! so the oracle first chooses paths, then where reads read from, and only then computes values. A path that
//! the values contradict is dropped.

use wmtrace_model::litmus::program::{Expected, Expr, Instr, Program};
use wmtrace_model::order::Order;

/// What an event does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A load; `locked` for a failed compare-and-swap.
    Read { locked: bool },
    /// A store, or the initial value of a location.
    Write,
    /// A successful read-modify-write: one event that reads and writes.
    Rmw,
    /// A fence.
    Fence,
}

/// An event of a candidate execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    /// The thread; `None` for an initial write.
    pub(crate) thread: Option<usize>,
    pub(crate) kind: Kind,
    pub(crate) order: Order,
    /// The location, an index into the program's; `None` for a fence.
    pub(crate) at: Option<usize>,
    /// What it reads, once known.
    pub(crate) read: Option<i64>,
    /// What it writes, once known.
    pub(crate) written: Option<i64>,
}

impl Event {
    pub(crate) fn reads(&self) -> bool {
        matches!(self.kind, Kind::Read { .. } | Kind::Rmw)
    }

    pub(crate) fn writes(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::Rmw)
    }
}

/// How far a walk got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// To the end of the thread.
    Done,
    /// To a question that the path does not answer.
    Question,
    /// To an answer that the values contradict.
    Contradiction,
    /// To the bound on the rounds of a loop.
    Cut,
}

/// A thread's events and registers along a path.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    pub(crate) events: Vec<Event>,
    pub(crate) registers: Vec<Option<i64>>,
    pub(crate) end: End,
}

/// Runs a thread along `path`, its `i`-th event reading `reads[i]`; all reads past the end are unknown.
/// A loop goes back at most `unroll` times.
pub(crate) fn walk(
    program: &Program,
    thread: usize,
    path: &[bool],
    reads: &[Option<i64>],
    unroll: usize,
) -> Walk {
    let code = &program.threads[thread];
    let mut walk =
        Walk { events: Vec::new(), registers: vec![Some(0); code.registers.len()], end: End::Done };
    let mut answers = path.iter().copied();
    let mut rounds = vec![0; code.body.len()];
    let mut pc = 0;
    while pc < code.body.len() {
        let instr = &code.body[pc];
        pc += 1;
        let event = |kind, order, at: Option<usize>, read, written: Option<i64>| {
            let at_location = |value| normal(program, at.expect("it writes"), value);
            Event { thread: Some(thread), kind, order, at, read, written: written.map(at_location) }
        };
        let read = reads.get(walk.events.len()).copied().flatten();
        match instr {
            Instr::Set { to, value } => walk.registers[to.0] = eval(value, &walk.registers),
            Instr::Load { to, at, order } => {
                walk.events.push(event(Kind::Read { locked: false }, *order, Some(at.0), read, None));
                walk.registers[to.0] = read;
            }
            Instr::Store { at, value, order } => {
                let written = eval(value, &walk.registers);
                walk.events.push(event(Kind::Write, *order, Some(at.0), None, written));
            }
            Instr::Rmw { to, at, op, operand, order } => {
                let operand = eval(operand, &walk.registers);
                let written = read.zip(operand).map(|(old, operand)| op.apply(old, operand));
                walk.events.push(event(Kind::Rmw, *order, Some(at.0), read, written));
                if let Some(to) = to {
                    walk.registers[to.0] = read;
                }
            }
            Instr::Cas { to, at, expected, desired, order, failure, weak } => {
                let Some(succeeds) = answers.next() else {
                    walk.end = End::Question;
                    return walk;
                };
                let compared = match expected {
                    Expected::Reg(reg) => walk.registers[reg.0],
                    Expected::Value(value) => eval(value, &walk.registers),
                };
                if let (Some(compared), Some(read)) = (compared, read) {
                    let equal = normal(program, at.0, compared) == read;
                    // Success needs equality; only a weak one can fail in spite of it.
                    if succeeds && !equal || !succeeds && equal && !weak {
                        walk.end = End::Contradiction;
                        return walk;
                    }
                }
                walk.events.push(if succeeds {
                    let written = eval(desired, &walk.registers);
                    event(Kind::Rmw, *order, Some(at.0), read, written)
                } else {
                    event(Kind::Read { locked: true }, *failure, Some(at.0), read, None)
                });
                if let (Expected::Reg(reg), false) = (expected, succeeds) {
                    walk.registers[reg.0] = read;
                }
                if let Some(to) = to {
                    walk.registers[to.0] = Some(i64::from(succeeds));
                }
            }
            Instr::Fence { order } => walk.events.push(event(Kind::Fence, *order, None, None, None)),
            Instr::JumpIfZero { condition, to } => {
                let Some(holds) = answers.next() else {
                    walk.end = End::Question;
                    return walk;
                };
                if eval(condition, &walk.registers).is_some_and(|value| (value != 0) != holds) {
                    walk.end = End::Contradiction;
                    return walk;
                }
                if !holds {
                    pc = *to;
                }
            }
            Instr::Jump { to } => pc = *to,
            Instr::Repeat { to } => {
                rounds[pc - 1] += 1;
                if rounds[pc - 1] > unroll {
                    walk.end = End::Cut;
                    return walk;
                }
                pc = *to;
            }
            Instr::Wait { .. } | Instr::Wake { .. } => panic!("the oracle knows no futexes"),
        }
    }
    walk
}

/// Every path of the thread from its start to its end, with the events along it. The values are unknown except
/// where they do not depend on memory, and these prune already.
pub(crate) fn paths(program: &Program, thread: usize, unroll: usize) -> Vec<(Vec<bool>, Vec<Event>)> {
    let mut found = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let walk = walk(program, thread, &path, &[], unroll);
        match walk.end {
            End::Done => found.push((path, walk.events)),
            End::Question => {
                for answer in [true, false] {
                    open.push(path.iter().copied().chain([answer]).collect());
                }
            }
            End::Contradiction | End::Cut => {}
        }
    }
    found
}

/// What a location of this type holds after a write of `value`.
pub(crate) fn normal(program: &Program, at: usize, value: i64) -> i64 {
    let location = &program.locations[at];
    location.decode(location.encode(value))
}

/// The value of an expression, if every register in it is known.
fn eval(expr: &Expr, registers: &[Option<i64>]) -> Option<i64> {
    fn known(expr: &Expr, registers: &[Option<i64>]) -> bool {
        match expr {
            Expr::Const(_) => true,
            Expr::Reg(reg) => registers[reg.0].is_some(),
            Expr::Not(e) | Expr::Neg(e) => known(e, registers),
            Expr::Binary(_, a, b) => known(a, registers) && known(b, registers),
        }
    }
    let values: Vec<i64> = registers.iter().map(|value| value.unwrap_or(0)).collect();
    known(expr, registers).then(|| expr.eval(&values))
}
