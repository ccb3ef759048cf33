//! Expressions and the `atomic_…` functions in them.
//!
//! The value of an expression is an [`Expr`] over registers; the accesses in it are emitted as instructions, left
//! to right, into temporaries. Assignments in an expression are emitted too: whoever reads the same
//! register elsewhere in the expression, unsequenced, has no right to either value in C.

use super::code::access_order;
use super::types::CType;
use super::{Kind, ParseError, Parser, Pos, Result, Token, unsupported};
use crate::litmus::program::{BinaryOp, Expected, Expr, Instr, LocationId, Reg, RmwOp};
use crate::order::Order;
use alloc::boxed::Box;
use alloc::format;

/// A binary operator and how tightly it binds, as in C.
fn binary_operator(kind: Kind<'_>) -> Option<(BinaryOp, u8)> {
    let Kind::Punct(punct) = kind else { return None };
    Some(match punct {
        "||" => (BinaryOp::LogicalOr, 1),
        "&&" => (BinaryOp::LogicalAnd, 2),
        "|" => (BinaryOp::Or, 3),
        "^" => (BinaryOp::Xor, 4),
        "&" => (BinaryOp::And, 5),
        "==" => (BinaryOp::Eq, 6),
        "!=" => (BinaryOp::Ne, 6),
        "<" => (BinaryOp::Lt, 7),
        "<=" => (BinaryOp::Le, 7),
        ">" => (BinaryOp::Gt, 7),
        ">=" => (BinaryOp::Ge, 7),
        "+" => (BinaryOp::Add, 8),
        "-" => (BinaryOp::Sub, 8),
        "*" => (BinaryOp::Mul, 9),
        _ => return None,
    })
}

/// The operation of `register op= value`; `None` for a plain `=`.
fn assignment_operator(kind: Kind<'_>) -> Option<Option<BinaryOp>> {
    let Kind::Punct(punct) = kind else { return None };
    Some(match punct {
        "=" => None,
        "+=" => Some(BinaryOp::Add),
        "-=" => Some(BinaryOp::Sub),
        "*=" => Some(BinaryOp::Mul),
        "&=" => Some(BinaryOp::And),
        "|=" => Some(BinaryOp::Or),
        "^=" => Some(BinaryOp::Xor),
        _ => return None,
    })
}

/// What an `atomic_…` function does.
#[derive(Clone, Copy)]
enum Function {
    Load,
    Store,
    Rmw(RmwOp),
    Cas { weak: bool },
    Fence,
}

/// The function of this name, and whether it is given its orders.
fn function(name: &str) -> Option<(Function, bool)> {
    if name == "atomic_thread_fence" {
        return Some((Function::Fence, true));
    }
    let (base, explicit) = match name.strip_suffix("_explicit") {
        Some(base) => (base, true),
        None => (name, false),
    };
    let function = match base {
        "atomic_load" => Function::Load,
        "atomic_store" => Function::Store,
        "atomic_exchange" => Function::Rmw(RmwOp::Exchange),
        "atomic_fetch_add" => Function::Rmw(RmwOp::Add),
        "atomic_fetch_sub" => Function::Rmw(RmwOp::Sub),
        "atomic_fetch_or" => Function::Rmw(RmwOp::Or),
        "atomic_fetch_and" => Function::Rmw(RmwOp::And),
        "atomic_fetch_xor" => Function::Rmw(RmwOp::Xor),
        "atomic_compare_exchange_strong" => Function::Cas { weak: false },
        "atomic_compare_exchange_weak" => Function::Cas { weak: true },
        _ => return None,
    };
    Some((function, explicit))
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary(op, Box::new(left), Box::new(right))
}

impl<'t> Parser<'t> {
    /// An expression; its accesses are emitted.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.nested(|parser| match parser.assignment()? {
            Some(to) => Ok(Expr::Reg(to)),
            None => parser.binary(1),
        })
    }

    /// `register = value` and `register op= value`, if one comes next.
    pub(super) fn assignment(&mut self) -> Result<Option<Reg>> {
        let Token { kind: Kind::Name(name), at } = self.peek() else { return Ok(None) };
        let Some(op) = assignment_operator(self.peek_at(1).kind) else { return Ok(None) };
        self.not_a_parameter(name, at)?;
        self.name("a register")?;
        let operator_at = self.advance().at;
        self.operator(operator_at)?;
        let to = match op {
            None => self.thread.register(name),
            Some(_) => self.readable(name, at)?,
        };
        let value = self.expression()?;
        match op {
            None => self.thread.assign(to, value, at),
            Some(op) => {
                let value = binary(op, Expr::Reg(to), value);
                self.thread.emit(Instr::Set { to, value }, at);
            }
        }
        self.thread.declare_by_assignment(to);
        Ok(Some(to))
    }

    /// Operators that bind at least as tightly as `minimum`.
    fn binary(&mut self, minimum: u8) -> Result<Expr> {
        let mut left = self.unary()?;
        while let Some((op, strength)) = binary_operator(self.peek().kind)
            && strength >= minimum
        {
            let at = self.advance().at;
            self.operator(at)?;
            left = if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
                self.short_circuit(op, left, strength, at)?
            } else {
                binary(op, left, self.binary(strength + 1)?)
            };
        }
        self.supported_operator()?;
        Ok(left)
    }

    /// The right side of `&&` or `||`. If it has accesses, they happen only where C says so.
    fn short_circuit(&mut self, op: BinaryOp, left: Expr, strength: u8, at: Pos) -> Result<Expr> {
        // Whether there are any is known once the side has been read, so it is compiled apart.
        let before = core::mem::take(&mut self.thread.body);
        let right = self.binary(strength + 1)?;
        let fragment = core::mem::replace(&mut self.thread.body, before);
        if fragment.is_empty() {
            return Ok(binary(op, left, right));
        }
        let truth = |value| binary(BinaryOp::Ne, value, Expr::Const(0));
        let to = self.thread.temporary();
        self.thread.emit(Instr::Set { to, value: truth(left) }, at);
        let goes_on = match op {
            BinaryOp::LogicalAnd => Expr::Reg(to),
            _ => Expr::Not(Box::new(Expr::Reg(to))),
        };
        let decided = self.thread.jump(Some(goes_on), at);
        self.thread.append(fragment);
        self.thread.emit(Instr::Set { to, value: truth(right) }, at);
        self.thread.land(decided);
        Ok(Expr::Reg(to))
    }

    fn unary(&mut self) -> Result<Expr> {
        let Token { kind, at } = self.peek();
        let Kind::Punct(punct @ ("!" | "-" | "+" | "~" | "*")) = kind else { return self.primary() };
        self.advance();
        self.operator(at)?;
        if punct == "*" {
            let (location, ty) = self.shared_pointer()?;
            return Ok(self.load(location, access_order(ty), at));
        }
        let operand = self.nested(Self::unary)?;
        Ok(match punct {
            "!" => Expr::Not(Box::new(operand)),
            "-" => Expr::Neg(Box::new(operand)),
            "~" => binary(BinaryOp::Xor, operand, Expr::Const(-1)),
            _ => operand,
        })
    }

    fn primary(&mut self) -> Result<Expr> {
        let Token { kind, at } = self.peek();
        match kind {
            Kind::Number(value) => {
                self.advance();
                Ok(Expr::Const(value))
            }
            Kind::Name(name) if self.peek_at(1).kind.is("(") => match self.call(true)? {
                Some(value) => Ok(value),
                None => Err(ParseError::new(at, format!("`{name}` has no value"))),
            },
            Kind::Name(_) => {
                let (name, at) = self.name("an expression")?;
                Ok(Expr::Reg(self.readable(name, at)?))
            }
            Kind::Punct("(") => {
                self.no_cast()?;
                self.advance();
                let value = self.expression()?;
                self.expect(")")?;
                Ok(value)
            }
            Kind::Punct(_) | Kind::End => Err(self.unexpected("an expression")),
        }
    }

    /// A register that is declared here.
    pub(super) fn readable(&self, name: &str, at: Pos) -> Result<Reg> {
        self.not_a_parameter(name, at)?;
        self.thread.lookup(name).ok_or_else(|| ParseError::new(at, format!("`{name}` is not declared here")))
    }

    /// The name of a parameter.
    pub(super) fn shared_pointer(&mut self) -> Result<(LocationId, CType)> {
        let (name, at) = self.name("a pointer to shared memory")?;
        self.thread.parameters.get(name).copied().ok_or_else(|| {
            ParseError::new(at, format!("`{name}` is no parameter of this thread, so it is not shared"))
        })
    }

    fn load(&mut self, location: LocationId, order: Order, at: Pos) -> Expr {
        let to = self.thread.temporary();
        self.thread.emit(Instr::Load { to, at: location, order }, at);
        Expr::Reg(to)
    }

    /// A call of an `atomic_…` function; `wanted`: somebody uses its value, if it has one.
    pub(super) fn call(&mut self, wanted: bool) -> Result<Option<Expr>> {
        let (name, name_at) = self.name("a function")?;
        let Some((function, explicit)) = function(name) else {
            return Err(unsupported::unknown_function(name, name_at));
        };
        self.expect("(")?;
        let value = match function {
            Function::Fence => {
                let order = self.order("a fence", &Order::ALL)?;
                if order != Order::Relaxed {
                    self.thread.emit(Instr::Fence { order }, name_at);
                }
                None
            }
            Function::Load => {
                let (at, _) = self.shared_pointer()?;
                let order = self.order_argument(explicit, "a load", &LOAD_ORDERS)?;
                Some(self.load(at, order, name_at))
            }
            Function::Store => {
                let (at, _) = self.shared_pointer()?;
                let value = self.argument()?;
                let order = self.order_argument(explicit, "a store", &STORE_ORDERS)?;
                self.thread.emit(Instr::Store { at, value, order }, name_at);
                None
            }
            Function::Rmw(op) => {
                let (at, _) = self.shared_pointer()?;
                let operand = self.argument()?;
                let order = self.order_argument(explicit, "a read-modify-write", &Order::ALL)?;
                let to = wanted.then(|| self.thread.temporary());
                self.thread.emit(Instr::Rmw { to, at, op, operand, order }, name_at);
                to.map(Expr::Reg)
            }
            Function::Cas { weak } => self.compare_exchange(weak, explicit, wanted, name_at)?,
        };
        self.expect(")")?;
        Ok(value)
    }

    /// The arguments of a compare-and-swap. `expected` is `&register`, or (as in herd's tests) a pointer to a
    /// shared location, which C reads before and, after a failure, writes as what it is: another object.
    fn compare_exchange(
        &mut self,
        weak: bool,
        explicit: bool,
        wanted: bool,
        start: Pos,
    ) -> Result<Option<Expr>> {
        let (at, _) = self.shared_pointer()?;
        self.expect(",")?;
        let (expected, object) = if self.eat("&") {
            let (name, at) = self.name("a register")?;
            (self.readable(name, at)?, None)
        } else {
            let (location, ty) = self.shared_pointer()?;
            let to = self.thread.temporary();
            self.thread.emit(Instr::Load { to, at: location, order: access_order(ty) }, start);
            (to, Some((location, access_order(ty))))
        };
        let desired = self.argument()?;
        let order = self.order_argument(explicit, "a compare-and-swap", &Order::ALL)?;
        let failure = self.order_argument(explicit, "a failed compare-and-swap", &LOAD_ORDERS)?;
        let to = (wanted || object.is_some()).then(|| self.thread.temporary());
        let expected_in = Expected::Reg(expected);
        let cas = Instr::Cas { to, at, expected: expected_in, desired, order, failure, weak };
        self.thread.emit(cas, start);
        if let (Some((at, order)), Some(to)) = (object, to) {
            let succeeded = self.thread.jump(Some(Expr::Not(Box::new(Expr::Reg(to)))), start);
            self.thread.emit(Instr::Store { at, value: Expr::Reg(expected), order }, start);
            self.thread.land(succeeded);
        }
        Ok(to.map(Expr::Reg))
    }

    /// `, value`
    fn argument(&mut self) -> Result<Expr> {
        self.expect(",")?;
        self.expression()
    }

    /// `, memory_order_…` if the function is given its orders, else the strongest.
    fn order_argument(&mut self, explicit: bool, what: &str, allowed: &[Order]) -> Result<Order> {
        if !explicit {
            return Ok(Order::SeqCst);
        }
        self.expect(",")?;
        self.order(what, allowed)
    }

    fn order(&mut self, what: &str, allowed: &[Order]) -> Result<Order> {
        let at = self.peek().at;
        let order = match self.peek_name() {
            Some("memory_order_relaxed") => Order::Relaxed,
            Some("memory_order_acquire" | "memory_order_consume") => Order::Acquire,
            Some("memory_order_release") => Order::Release,
            Some("memory_order_acq_rel") => Order::AcqRel,
            Some("memory_order_seq_cst") => Order::SeqCst,
            _ => return Err(self.unexpected("a memory order (`memory_order_…`)")),
        };
        if !allowed.contains(&order) {
            return Err(ParseError::new(at, format!("{what} cannot be {order}")));
        }
        self.advance();
        Ok(order)
    }
}

const LOAD_ORDERS: [Order; 3] = [Order::Relaxed, Order::Acquire, Order::SeqCst];
const STORE_ORDERS: [Order; 3] = [Order::Relaxed, Order::Release, Order::SeqCst];
