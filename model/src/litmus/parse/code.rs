//! Statements, and the thread that they are compiled into.

use super::types::{CType, begins_type};
use super::{Kind, MAX_INSTRUCTIONS, MAX_REGISTERS, ParseError, Parser, Pos, Result};
use crate::litmus::program::{BinaryOp, Expr, Instr, LocationId, Reg};
use crate::order::Order;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A thread while it is read.
#[derive(Default)]
pub(super) struct Thread<'t> {
    /// Pointers to shared memory.
    pub(super) parameters: BTreeMap<&'t str, (LocationId, CType)>,
    pub(super) registers: Vec<String>,
    pub(super) names: BTreeMap<&'t str, Reg>,
    /// For each register the depth of the block that declares it, while that block lasts.
    visible: Vec<Option<usize>>,
    /// How many blocks are open.
    depth: usize,
    /// Instructions, and the lines they come from.
    pub(super) body: Vec<(Instr, u32)>,
}

impl<'t> Thread<'t> {
    pub(super) fn emit(&mut self, instr: Instr, at: Pos) {
        self.body.push((instr, at.line));
    }

    fn new_register(&mut self, name: String) -> Reg {
        self.registers.push(name);
        self.visible.push(None);
        Reg(self.registers.len() - 1)
    }

    /// A register that no name in a file can have.
    pub(super) fn temporary(&mut self) -> Reg {
        self.new_register(format!("${}", self.registers.len()))
    }

    /// The register of this name. A new one is visible nowhere yet.
    pub(super) fn register(&mut self, name: &'t str) -> Reg {
        if let Some(&reg) = self.names.get(name) {
            return reg;
        }
        let reg = self.new_register(name.to_string());
        self.names.insert(name, reg);
        reg
    }

    /// The register of this name, where it may be read.
    pub(super) fn lookup(&self, name: &str) -> Option<Reg> {
        self.names.get(name).copied().filter(|reg| self.visible[reg.0].is_some())
    }

    /// An assignment declares a register for the whole thread if nothing else did.
    pub(super) fn declare_by_assignment(&mut self, reg: Reg) {
        self.visible[reg.0].get_or_insert(0);
    }

    fn close_block(&mut self) {
        for visible in &mut self.visible {
            if *visible == Some(self.depth) {
                *visible = None;
            }
        }
        self.depth -= 1;
    }

    /// `to = value`. The result of an access that has just been emitted goes to `to` directly: tests read
    /// better, and states have fewer registers, without a temporary for each load.
    pub(super) fn assign(&mut self, to: Reg, value: Expr, at: Pos) {
        if let Expr::Reg(temporary) = value
            && temporary.0 + 1 == self.registers.len()
            && self.registers[temporary.0].starts_with('$')
            && let Some(result) = self.body.last_mut().and_then(|(instr, _)| result_of(instr))
            && *result == temporary
        {
            *result = to;
            self.registers.pop();
            self.visible.pop();
            return;
        }
        self.emit(Instr::Set { to, value }, at);
    }

    /// Appends instructions whose jumps count from their own beginning.
    pub(super) fn append(&mut self, fragment: Vec<(Instr, u32)>) {
        let base = self.body.len();
        self.body.extend(fragment.into_iter().map(|(mut instr, line)| {
            if let Instr::JumpIfZero { to, .. } | Instr::Jump { to } | Instr::Repeat { to } = &mut instr {
                *to += base;
            }
            (instr, line)
        }));
    }

    /// A jump ahead, to a place that [`Thread::land`] tells later.
    pub(super) fn jump(&mut self, unless: Option<Expr>, at: Pos) -> Ahead {
        let instr = match unless {
            Some(condition) => Instr::JumpIfZero { condition, to: 0 },
            None => Instr::Jump { to: 0 },
        };
        self.emit(instr, at);
        Ahead(self.body.len() - 1)
    }

    /// The jump goes to what is emitted next.
    pub(super) fn land(&mut self, Ahead(jump): Ahead) {
        let here = self.body.len();
        if let Instr::JumpIfZero { to, .. } | Instr::Jump { to } = &mut self.body[jump].0 {
            *to = here;
        }
    }
}

/// A jump that does not know yet where it goes.
#[must_use]
pub(super) struct Ahead(usize);

/// The register that an access puts its result into.
fn result_of(instr: &mut Instr) -> Option<&mut Reg> {
    match instr {
        Instr::Load { to, .. } => Some(to),
        Instr::Rmw { to, .. } | Instr::Cas { to, .. } => to.as_mut(),
        Instr::Set { .. }
        | Instr::Store { .. }
        | Instr::Fence { .. }
        | Instr::JumpIfZero { .. }
        | Instr::Jump { .. }
        | Instr::Repeat { .. }
        | Instr::Wait { .. }
        | Instr::Wake { .. } => None,
    }
}

impl<'t> Parser<'t> {
    /// `thread:register = value` of the init block.
    pub(super) fn initialise(&mut self, name: &'t str, value: i64, at: Pos) -> Result<()> {
        self.not_a_parameter(name, at)?;
        let to = self.thread.register(name);
        self.thread.emit(Instr::Set { to, value: Expr::Const(value) }, at);
        self.thread.declare_by_assignment(to);
        Ok(())
    }

    pub(super) fn not_a_parameter(&self, name: &str, at: Pos) -> Result<()> {
        if self.thread.parameters.contains_key(name) {
            let message = format!("`{name}` is a pointer to shared memory: write `*{name}`");
            return Err(ParseError::new(at, message));
        }
        Ok(())
    }

    /// Statements up to the `}` of a block whose `{` has been taken.
    pub(super) fn block(&mut self) -> Result<()> {
        self.thread.depth += 1;
        while !self.eat("}") {
            self.statement()?;
        }
        self.thread.close_block();
        Ok(())
    }

    fn statement(&mut self) -> Result<()> {
        let start = self.peek().at;
        self.operators = 0;
        self.nested(Self::statement_inside)?;
        if self.thread.body.len() > MAX_INSTRUCTIONS {
            let message = format!("a thread of more than {MAX_INSTRUCTIONS} instructions");
            return Err(ParseError::new(start, message));
        }
        if self.thread.registers.len() > MAX_REGISTERS {
            return Err(ParseError::new(start, format!("a thread of more than {MAX_REGISTERS} registers")));
        }
        Ok(())
    }

    fn statement_inside(&mut self) -> Result<()> {
        if self.eat(";") {
            return Ok(());
        }
        if self.eat("{") {
            return self.block();
        }
        if self.at("*") && matches!(self.peek_at(1).kind, Kind::Name(_)) {
            return self.dereferenced_store();
        }
        if self.at("++") || self.at("--") {
            let up = self.advance().kind.is("++");
            let (name, at) = self.name("a register")?;
            self.step(name, at, up)?;
            return self.expect(";");
        }
        self.supported_statement()?;
        match self.peek_name() {
            Some("if") => self.if_statement(),
            Some("while") => self.while_statement(),
            Some("do") => self.do_statement(),
            Some(name) if begins_type(name) => self.declaration(),
            Some(name) => {
                let at = self.peek().at;
                let following = self.peek_at(1).kind;
                if following.is("(") {
                    self.call(false)?;
                } else if following.is("++") || following.is("--") {
                    self.advance();
                    self.advance();
                    self.step(name, at, following.is("++"))?;
                } else if self.assignment()?.is_none() {
                    self.advance();
                    self.supported_operator()?;
                    return Err(self.unexpected(&format!("`=` or `(` after `{name}`")));
                }
                self.expect(";")
            }
            None => Err(self.unexpected("a statement")),
        }
    }

    /// `name++` and its like, whose value nobody uses.
    fn step(&mut self, name: &'t str, at: Pos, up: bool) -> Result<()> {
        let to = self.readable(name, at)?;
        let op = if up { BinaryOp::Add } else { BinaryOp::Sub };
        let value = Expr::Binary(op, Box::new(Expr::Reg(to)), Box::new(Expr::Const(1)));
        self.thread.emit(Instr::Set { to, value }, at);
        Ok(())
    }

    /// `*x = value;`
    fn dereferenced_store(&mut self) -> Result<()> {
        let start = self.advance().at;
        let (at, ty) = self.shared_pointer()?;
        self.expect("=")?;
        let value = self.expression()?;
        self.thread.emit(Instr::Store { at, value, order: access_order(ty) }, start);
        self.expect(";")
    }

    /// `int r0, r1 = …;`
    fn declaration(&mut self) -> Result<()> {
        self.optional_type()?;
        loop {
            if self.at("*") {
                return Err(ParseError::new(self.peek().at, "pointers in registers are not supported"));
            }
            let (name, at) = self.name("a register's name")?;
            self.not_a_parameter(name, at)?;
            self.no_array()?;
            // The init block and assignments declare at depth 0; to say the type later is no harm.
            if self.thread.lookup(name).is_some_and(|reg| self.thread.visible[reg.0] > Some(0)) {
                return Err(ParseError::new(at, format!("`{name}` is declared twice")));
            }
            let to = self.thread.register(name);
            if self.eat("=") {
                let value = self.expression()?;
                self.thread.assign(to, value, at);
            }
            // Only now: an initialiser that reads its own register is a mistake.
            let depth = self.thread.depth;
            self.thread.visible[to.0].get_or_insert(depth);
            if !self.eat(",") {
                return self.expect(";");
            }
        }
    }

    fn condition_in_parentheses(&mut self) -> Result<Expr> {
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        Ok(condition)
    }

    fn if_statement(&mut self) -> Result<()> {
        let at = self.advance().at;
        let condition = self.condition_in_parentheses()?;
        let over_then = self.thread.jump(Some(condition), at);
        self.statement()?;
        if self.eat_name("else") {
            let over_else = self.thread.jump(None, at);
            self.thread.land(over_then);
            self.statement()?;
            self.thread.land(over_else);
        } else {
            self.thread.land(over_then);
        }
        Ok(())
    }

    fn while_statement(&mut self) -> Result<()> {
        let at = self.advance().at;
        let start = self.thread.body.len();
        let condition = self.condition_in_parentheses()?;
        let out = self.thread.jump(Some(condition), at);
        self.statement()?;
        self.thread.emit(Instr::Repeat { to: start }, at);
        self.thread.land(out);
        Ok(())
    }

    fn do_statement(&mut self) -> Result<()> {
        self.advance();
        let start = self.thread.body.len();
        self.statement()?;
        let at = self.peek().at;
        if !self.eat_name("while") {
            return Err(self.unexpected("`while`"));
        }
        let condition = self.condition_in_parentheses()?;
        let out = self.thread.jump(Some(condition), at);
        self.thread.emit(Instr::Repeat { to: start }, at);
        self.thread.land(out);
        self.expect(";")
    }
}

/// The order of `*x`.
pub(super) fn access_order(ty: CType) -> Order {
    if ty.atomic { Order::SeqCst } else { Order::Na }
}
