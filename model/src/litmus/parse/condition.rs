//! The last lines of a test: `locations […]`, and what is asked about the final states.

use super::{Kind, MAX_OPERATORS, ParseError, Parser, Result, Token, converted};
use crate::litmus::program::{Condition, Formula, Quantifier, Reg, Term};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

/// The names of each thread's registers.
type Registers<'t> = [BTreeMap<&'t str, Reg>];

impl<'t> Parser<'t> {
    /// `locations [x; 0:r0;]`, if it comes next: what to show besides what the condition names.
    pub(super) fn locations(&mut self, registers: &Registers<'t>) -> Result<Vec<Term>> {
        let mut terms = Vec::new();
        if !self.eat_name("locations") {
            return Ok(terms);
        }
        self.expect("[")?;
        while !self.eat("]") {
            let term = self.term(registers)?;
            if terms.len() == MAX_OPERATORS {
                return Err(ParseError::new(self.peek().at, format!("more than {MAX_OPERATORS} are listed")));
            }
            if !terms.contains(&term) {
                terms.push(term);
            }
            if !self.at("]") {
                self.expect(";")?;
            }
        }
        self.eat(";");
        Ok(terms)
    }

    /// Everything after that, to the end of the file.
    pub(super) fn condition(&mut self, registers: &Registers<'t>) -> Result<Option<Condition>> {
        self.operators = 0;
        let quantifier = match self.peek() {
            Token { kind: Kind::End, .. } => return Ok(None),
            Token { kind: Kind::Name("filter"), at } => {
                return Err(ParseError::new(at, "`filter` is not supported"));
            }
            Token { kind: Kind::Name("exists"), .. } => Quantifier::Exists,
            Token { kind: Kind::Name("forall"), .. } => Quantifier::Forall,
            Token { kind: Kind::Punct("~"), .. } if self.peek_at(1).kind == Kind::Name("exists") => {
                self.advance();
                Quantifier::NotExists
            }
            _ => return Err(self.unexpected("a thread, `exists`, `~exists` or `forall`")),
        };
        self.advance();
        let formula = self.implication(registers)?;
        if self.peek().kind != Kind::End {
            return Err(self.unexpected("`/\\`, `\\/` or the end of the file"));
        }
        Ok(Some(Condition { quantifier, formula }))
    }

    /// `a => b => c` is `a => (b => c)`.
    fn implication(&mut self, registers: &Registers<'t>) -> Result<Formula> {
        let left = self.disjunction(registers)?;
        if !self.at("=>") {
            return Ok(left);
        }
        let at = self.advance().at;
        self.operator(at)?;
        let right = self.nested(|parser| parser.implication(registers))?;
        Ok(Formula::Or(Box::new(Formula::Not(Box::new(left))), Box::new(right)))
    }

    fn disjunction(&mut self, registers: &Registers<'t>) -> Result<Formula> {
        let mut left = self.conjunction(registers)?;
        while self.at("\\/") {
            let at = self.advance().at;
            self.operator(at)?;
            left = Formula::Or(Box::new(left), Box::new(self.conjunction(registers)?));
        }
        Ok(left)
    }

    fn conjunction(&mut self, registers: &Registers<'t>) -> Result<Formula> {
        let mut left = self.atom(registers)?;
        while self.at("/\\") {
            let at = self.advance().at;
            self.operator(at)?;
            left = Formula::And(Box::new(left), Box::new(self.atom(registers)?));
        }
        Ok(left)
    }

    fn atom(&mut self, registers: &Registers<'t>) -> Result<Formula> {
        if self.eat("~") || self.eat_name("not") {
            let negated = self.nested(|parser| parser.atom(registers))?;
            return Ok(Formula::Not(Box::new(negated)));
        }
        if self.eat("(") {
            let inside = self.nested(|parser| parser.implication(registers))?;
            self.expect(")")?;
            return Ok(inside);
        }
        if self.eat_name("true") {
            return Ok(Formula::Const(true));
        }
        if self.eat_name("false") {
            return Ok(Formula::Const(false));
        }
        let term = self.term(registers)?;
        let equal = if self.eat("=") || self.eat("==") {
            true
        } else if self.eat("!=") || self.eat("<>") {
            false
        } else {
            return Err(self.unexpected("`=` or `!=`"));
        };
        let at = self.peek().at;
        let mut number = self.number()?;
        if self.at(":") {
            return Err(ParseError::new(at, "a comparison is with a number, not with another register"));
        }
        if let Term::Location(id) = term {
            number = converted(&self.shared[id.0].location(id.0), number);
        }
        let formula = Formula::Eq(term, number);
        Ok(if equal { formula } else { Formula::Not(Box::new(formula)) })
    }

    /// `0:r0`, `x` or `[x]`
    fn term(&mut self, registers: &Registers<'t>) -> Result<Term> {
        let at = self.peek().at;
        if let Some(thread) = self.thread_prefix()? {
            let (name, name_at) = self.name("a register")?;
            let Some(names) = registers.get(thread) else {
                return Err(ParseError::new(at, format!("there is no thread P{thread}")));
            };
            return match names.get(name) {
                Some(&reg) => Ok(Term::Reg(thread, reg)),
                None => Err(ParseError::new(name_at, format!("thread P{thread} has no register `{name}`"))),
            };
        }
        let bracketed = self.eat("[");
        let (name, at) = self.name("a register or a location")?;
        if bracketed {
            self.expect("]")?;
        }
        match self.names.get(name) {
            Some(&id) => Ok(Term::Location(id)),
            None => Err(ParseError::new(at, format!("there is no location `{name}`"))),
        }
    }
}
