//! A program's own names for what the model knows by number. All are identifiers: the parser takes nothing else.

use std::fmt;
use wmtrace_model::execution::Access;
use wmtrace_model::litmus::program::{Code, Condition, Formula, Instr, Program, Quantifier, Reg, Term};
use wmtrace_model::litmus::program::{Location, LocationId};
use wmtrace_model::op::{Addr, Site};
use wmtrace_model::order::Order;

/// Temporaries of the parser: nobody wrote them, nobody wants to see them.
fn is_temporary(code: &Code, reg: Reg) -> bool {
    code.registers[reg.0].starts_with('$')
}

/// The terms by which final states are told apart: those of the condition and of `locations […]`, or (`all`, or
/// the test has neither) every named register and every location.
pub(crate) fn observed(program: &Program, all: bool) -> Vec<Term> {
    let mut terms = Vec::new();
    match &program.condition {
        Some(condition) if !all => {
            collect(&condition.formula, &mut terms);
            terms.extend(program.observed.iter().filter(|term| !terms.contains(term)).collect::<Vec<_>>());
        }
        None if !all && !program.observed.is_empty() => terms.clone_from(&program.observed),
        _ => {
            for (thread, code) in program.threads.iter().enumerate() {
                let named = (0..code.registers.len()).map(Reg).filter(|reg| !is_temporary(code, *reg));
                terms.extend(named.map(|reg| Term::Reg(thread, reg)));
            }
            terms.extend((0..program.locations.len()).map(|at| Term::Location(LocationId(at))));
        }
    }
    terms
}

fn collect(formula: &Formula, terms: &mut Vec<Term>) {
    match formula {
        Formula::Const(_) => {}
        Formula::Eq(term, _) => {
            if !terms.contains(term) {
                terms.push(*term);
            }
        }
        Formula::Not(inner) => collect(inner, terms),
        Formula::And(a, b) | Formula::Or(a, b) => {
            collect(a, terms);
            collect(b, terms);
        }
    }
}

/// `0:r0` or `x`.
pub(crate) fn term(program: &Program, term: Term) -> String {
    match term {
        Term::Reg(thread, reg) => format!("{thread}:{}", program.threads[thread].registers[reg.0]),
        Term::Location(at) => program.locations[at.0].name.clone(),
    }
}

/// The location at this address.
pub(crate) fn location(program: &Program, addr: Addr) -> Option<&Location> {
    program.locations.iter().find(|location| location.place.addr == addr)
}

/// herd's word for the quantifier.
pub(crate) fn quantifier(quantifier: Quantifier) -> &'static str {
    match quantifier {
        Quantifier::Exists => "exists",
        Quantifier::NotExists => "~exists",
        Quantifier::Forall => "forall",
    }
}

/// The condition as herd writes it.
pub(crate) fn condition(program: &Program, condition: &Condition) -> String {
    let formula = Shown { program, formula: &condition.formula, around: 0 };
    format!("{} ({formula})", quantifier(condition.quantifier))
}

/// A formula, in parentheses if what is `around` it binds tighter (0 nothing, 1 `\/`, 2 `/\`, 3 `~`).
struct Shown<'a> {
    program: &'a Program,
    formula: &'a Formula,
    around: u8,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = |formula, around| Shown { program: self.program, formula, around };
        let parentheses = |strength: u8| if strength < self.around { ("(", ")") } else { ("", "") };
        match self.formula {
            Formula::Const(value) => write!(f, "{value}"),
            Formula::Eq(this, value) => write!(f, "{}={value}", term(self.program, *this)),
            Formula::Not(negated) => match &**negated {
                Formula::Eq(this, value) => write!(f, "{}!={value}", term(self.program, *this)),
                other => write!(f, "~{}", inner(other, 3)),
            },
            Formula::And(a, b) => {
                let (open, close) = parentheses(2);
                write!(f, "{open}{} /\\ {}{close}", inner(a, 2), inner(b, 2))
            }
            Formula::Or(a, b) => {
                let (open, close) = parentheses(1);
                write!(f, "{open}{} \\/ {}{close}", inner(a, 1), inner(b, 1))
            }
        }
    }
}

/// Where in the program a site is: the thread and the index of the instruction, as the `sim` engine numbers them.
pub(crate) fn instruction(site: Site) -> (usize, usize) {
    ((site.0 >> 16) as usize, (site.0 & 0xffff) as usize)
}

/// The instruction at a site.
pub(crate) fn instruction_at(program: &Program, site: Site) -> Option<&Instr> {
    let (thread, index) = instruction(site);
    program.threads.get(thread)?.body.get(index)
}

/// The line of the test's file that a site comes from.
pub(crate) fn line(program: &Program, site: Site) -> Option<u32> {
    let (thread, index) = instruction(site);
    program.threads.get(thread)?.line(index)
}

/// The order of an access that a race names.
pub(crate) fn order_of(program: &Program, access: &Access) -> Order {
    match instruction_at(program, access.site) {
        Some(Instr::Load { order, .. } | Instr::Store { order, .. } | Instr::Rmw { order, .. }) => *order,
        Some(Instr::Cas { order, failure, .. }) => {
            if access.store {
                *order
            } else {
                *failure
            }
        }
        // Nothing else touches memory with an order of its own.
        _ if access.atomic => Order::Relaxed,
        _ => Order::Na,
    }
}
