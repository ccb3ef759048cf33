//! Random litmus programs, and how to show one to a person.
//!
//! Programs are small (2-3 threads of up to 4 events over 2-3 cells) and varied: every kind of access, order and
//! fence. Stored values are distinct, so that a final state says which store each load has read. Program number
//! `index` of a seed is always the same program, whatever was generated before it.

use std::fmt::Write as _;
use wmtrace_model::execution::{Event, EventId, Execution};
use wmtrace_model::litmus::program::{
    Code, Expected, Expr, Instr, Location, LocationId, Program, Reg, RmwOp,
};
use wmtrace_model::op::{Addr, Place};
use wmtrace_model::order::Order;
use wmtrace_model::rng::Rng;

/// What a program may contain, so that each class for which we promise something has its share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Palette {
    sc_accesses: bool,
    sc_fences: bool,
    plain: bool,
}

/// The program with this number.
pub(crate) fn program(seed: u64, index: u64) -> Program {
    let mut rng = Rng::new(Rng::seed_of(seed, index));
    let palette = match rng.below(8) {
        0 | 1 => Palette { sc_accesses: false, sc_fences: false, plain: false },
        2 | 3 => Palette { sc_accesses: false, sc_fences: true, plain: false },
        4..=6 => Palette { sc_accesses: true, sc_fences: true, plain: false },
        _ => Palette { sc_accesses: true, sc_fences: true, plain: true },
    };
    let cells = 2 + usize::from(rng.below(4) == 0);
    let threads = 2 + rng.below(2);
    let mut generator = Generator { rng, palette, cells, next_value: 1 };
    let threads = (0..threads).map(|_| generator.thread()).collect();
    let location = |index: usize| Location {
        name: ["x", "y", "z"][index].to_owned(),
        place: Place::new(Addr(0x1000 + 16 * index as u64), 4),
        signed: true,
        init: 0,
    };
    let locations = (0..cells).map(location).collect();
    let name = format!("random-{seed}-{index}");
    Program { name, locations, threads, condition: None, observed: Vec::new(), expect: None }
}

struct Generator {
    rng: Rng,
    palette: Palette,
    cells: usize,
    /// The next value that nobody has stored yet.
    next_value: i64,
}

impl Generator {
    fn thread(&mut self) -> Code {
        let mut code = Code::default();
        for _ in 0..1 + self.rng.below(4) {
            let instr = self.instruction(&mut code.registers);
            code.body.push(instr);
        }
        code
    }

    fn instruction(&mut self, registers: &mut Vec<String>) -> Instr {
        let mut register = || {
            registers.push(format!("r{}", registers.len()));
            Reg(registers.len() - 1)
        };
        match self.rng.below(20) {
            0..=6 => {
                let (to, at) = (register(), self.cell());
                Instr::Load { to, at, order: self.access(&[Order::Relaxed, Order::Acquire]) }
            }
            7..=12 => {
                let (at, value) = (self.cell(), self.value());
                Instr::Store { at, value, order: self.access(&[Order::Relaxed, Order::Release]) }
            }
            13 | 14 => {
                let (to, at, order) = (Some(register()), self.cell(), self.rmw());
                let (op, operand) = match self.rng.below(2) {
                    0 => (RmwOp::Exchange, self.value()),
                    // Far above the stored values: sums are distinct from them and from each other.
                    _ => (RmwOp::Add, Expr::Const(16)),
                };
                Instr::Rmw { to, at, op, operand, order }
            }
            15 | 16 => {
                let (to, at, order) = (Some(register()), self.cell(), self.rmw());
                // One of the values in use, so that it succeeds now and then; often the initial one.
                let expected = Expr::Const(self.rng.below(self.next_value as usize) as i64);
                let reg = register();
                let failure = self.order(&[Order::Relaxed, Order::Acquire]);
                Instr::Cas {
                    to,
                    at,
                    expected: match self.rng.below(2) {
                        // A register of its own, which is 0.
                        0 => Expected::Reg(reg),
                        _ => Expected::Value(expected),
                    },
                    desired: self.value(),
                    order,
                    failure,
                    weak: self.rng.below(8) == 0,
                }
            }
            _ => {
                let weak = [Order::Acquire, Order::Release, Order::AcqRel];
                let sc = self.palette.sc_fences && self.rng.below(3) > 0;
                let order = if sc { Order::SeqCst } else { weak[self.rng.below(weak.len())] };
                Instr::Fence { order }
            }
        }
    }

    fn cell(&mut self) -> LocationId {
        LocationId(self.rng.below(self.cells))
    }

    fn value(&mut self) -> Expr {
        self.next_value += 1;
        Expr::Const(self.next_value - 1)
    }

    /// One of the orders, or SC if there are SC accesses.
    fn order(&mut self, weak: &[Order]) -> Order {
        if self.palette.sc_accesses && self.rng.below(3) == 0 {
            Order::SeqCst
        } else {
            weak[self.rng.below(weak.len())]
        }
    }

    /// The order of a load or store: perhaps none.
    fn access(&mut self, weak: &[Order]) -> Order {
        if self.palette.plain && self.rng.below(3) == 0 { Order::Na } else { self.order(weak) }
    }

    fn rmw(&mut self) -> Order {
        self.order(&[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel])
    }
}

/// What a program contains that our promises depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Contents {
    pub(crate) sc_accesses: bool,
    pub(crate) sc_fences: bool,
    pub(crate) plain: bool,
}

pub(crate) fn contents(program: &Program) -> Contents {
    let mut contents = Contents { sc_accesses: false, sc_fences: false, plain: false };
    for instr in program.threads.iter().flat_map(|code| &code.body) {
        match *instr {
            Instr::Load { order, .. } | Instr::Store { order, .. } | Instr::Rmw { order, .. } => {
                contents.sc_accesses |= order.is_sc();
                contents.plain |= !order.is_atomic();
            }
            Instr::Cas { order, failure, .. } => contents.sc_accesses |= order.is_sc() || failure.is_sc(),
            Instr::Fence { order } => contents.sc_fences |= order.is_sc(),
            Instr::Set { .. }
            | Instr::JumpIfZero { .. }
            | Instr::Jump { .. }
            | Instr::Repeat { .. }
            | Instr::Wait { .. }
            | Instr::Wake { .. } => {}
        }
    }
    contents
}

/// A random program in a form to read: one line an instruction.
pub(crate) fn show(program: &Program) -> String {
    let mut text = format!("{}\n", program.name);
    for (thread, code) in program.threads.iter().enumerate() {
        writeln!(text, "P{thread}:").expect("a string");
        for instr in &code.body {
            let name = |at: &LocationId| &program.locations[at.0].name;
            let line = match instr {
                Instr::Load { to, at, order } => format!("r{} = {} {order}", to.0, name(at)),
                Instr::Store { at, value, order } => format!("{} = {} {order}", name(at), shown(value)),
                Instr::Rmw { to, at, op, operand, order } => {
                    let to = to.map_or(String::new(), |to| format!("r{} = ", to.0));
                    format!("{to}{op:?}({}, {}) {order}", name(at), shown(operand))
                }
                Instr::Cas { to, at, expected, desired, order, failure, weak } => {
                    let to = to.map_or(String::new(), |to| format!("r{} = ", to.0));
                    let expected = match expected {
                        Expected::Reg(reg) => format!("&r{}", reg.0),
                        Expected::Value(value) => shown(value),
                    };
                    let kind = if *weak { "weak-cas" } else { "cas" };
                    format!("{to}{kind}({}, {expected}, {}) {order}/{failure}", name(at), shown(desired))
                }
                Instr::Fence { order } => format!("fence {order}"),
                other => format!("{other:?}"),
            };
            writeln!(text, "  {line}").expect("a string");
        }
    }
    text
}

fn shown(expr: &Expr) -> String {
    match expr {
        Expr::Const(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

/// An execution in a form to read: one line an event.
pub(crate) fn show_execution(execution: &Execution) -> String {
    let line = |(id, event): (EventId, &Event)| format!("  {id} {}: {:?}\n", event.thread, event.label);
    execution.iter().map(line).collect()
}
