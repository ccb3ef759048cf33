//! The reader of herd's C litmus format.
//!
//! ```text
//! C SB+rlx
//! "optional description"          (* comments *)
//! Expect=allowed
//! { x = 0; y = 0; }
//! P0 (atomic_int* x, atomic_int* y) {
//!   atomic_store_explicit(x, 1, memory_order_relaxed);
//!   int r0 = atomic_load_explicit(y, memory_order_relaxed);
//! }
//! P1 (…) { … }
//! exists (0:r0=0 /\ 1:r1=0)
//! ```
//!
//! One pass: tokens (`lex`) go straight to the instructions of a [`Program`] (`code` for statements, `expr` for
//! expressions), because the language has nothing that needs a second look. Where it departs from
//! C or from herd:
//!
//! - Registers are 64-bit integers whatever their declared type; shared variables have their type's width.
//!   `char` is signed, as on x86-64.
//! - `*x` on a pointer to an atomic type is sequentially consistent, as C says, and plain otherwise. The
//!   `atomic_…` functions also take pointers to plain types, as GCC's do: the one way to mix atomic and
//!   plain accesses to a location.
//! - `memory_order_consume` means acquire; a relaxed fence does nothing and is dropped.
//! - A register needs no declaration if it is assigned before it is used (herd). One that is declared again
//!   after its block has ended is the same register; shadowing is an error.
//! - Inside a thread `(*` is C's parenthesis and star; outside it begins a comment.
//! - Numbers in the init block, and those that a location is compared with, are converted to its type.
//! - `filter` is refused, and so is what has no meaning for integers in registers and locations: addresses as
//!   values, arrays, structures (`unsupported`).
//!
//! The input is not trusted. Nesting, threads, locations, the size of an expression and of a thread are
//! bounded, so that neither reading nor evaluating a program overflows the stack; nothing here panics.

#[cfg(test)]
mod catalogue;
mod code;
mod condition;
mod expr;
mod init;
mod lex;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod robustness;
#[cfg(test)]
mod tests;
mod types;
mod unsupported;

use super::program::{Code, Expect, Location, LocationId, Program};
use crate::op::{Addr, Place};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use code::Thread;
use lex::{Kind, Pos, Token};
use thiserror::Error;
use types::CType;

/// Why a text is not a litmus test, and where.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong, or what was expected.
    pub message: String,
}

impl ParseError {
    fn new(at: Pos, message: impl Into<String>) -> ParseError {
        let mut message = message.into();
        // A name can be as long as the file; nobody reads that.
        if let Some((cut, _)) = message.char_indices().nth(MAX_MESSAGE) {
            message.truncate(cut);
            message.push('…');
        }
        ParseError { line: at.line, column: at.column, message }
    }
}

type Result<T> = core::result::Result<T, ParseError>;

/// Characters of an error's message.
const MAX_MESSAGE: usize = 300;
/// Threads in a test.
const MAX_THREADS: usize = 64;
/// Shared locations in a test.
const MAX_LOCATIONS: usize = 1024;
/// Blocks and parentheses inside each other. Reading recurses; this bounds the stack.
const MAX_NESTING: usize = 100;
/// Operators in one statement or condition. Evaluating (and dropping) an expression recurses as deep.
const MAX_OPERATORS: usize = 1000;
/// Instructions in a thread: the engine numbers them with 16 bits.
const MAX_INSTRUCTIONS: usize = 0xffff;
/// Registers of a thread, temporaries included. Blocks are closed in time proportional to it.
const MAX_REGISTERS: usize = 4096;
/// Where the first location lives, and how far apart they are: no two share the bytes of an access.
const FIRST_ADDRESS: u64 = 0x1000;
const ADDRESS_STEP: u64 = 16;

/// Reads a litmus test.
///
/// # Errors
/// When the text is not a test in the language described in this module's documentation, with the place of
/// the first mistake.
pub fn parse(text: &str) -> Result<Program> {
    let (header, tokens) = lex::scan(text)?;
    let expect = expectation(&header.metadata)?;
    let mut parser = Parser {
        tokens,
        next: 0,
        nesting: 0,
        operators: 0,
        shared: Vec::new(),
        names: BTreeMap::new(),
        register_init: Vec::new(),
        thread: Thread::default(),
    };
    parser.init_block()?;
    let mut threads = Vec::new();
    // The names of each thread's registers, for the condition.
    let mut registers = Vec::new();
    while parser.at_thread() {
        let thread = parser.thread(threads.len())?;
        let (body, lines) = thread.body.into_iter().unzip();
        threads.push(Code { registers: thread.registers, body, lines });
        registers.push(thread.names);
    }
    if threads.is_empty() {
        return Err(parser.unexpected("a thread `P0 (…) {…}`"));
    }
    if let Some(&(thread, name, _, at)) = parser.register_init.iter().find(|init| init.0 >= threads.len()) {
        return Err(ParseError::new(
            at,
            format!("`{thread}:{name}` is set, but there is no thread P{thread}"),
        ));
    }
    let observed = parser.locations(&registers)?;
    let condition = parser.condition(&registers)?;
    let locations = parser.shared.iter().enumerate().map(|(index, it)| it.location(index)).collect();
    Ok(Program { name: header.name.to_string(), locations, threads, condition, observed, expect })
}

/// What the metadata says about the answer: `Expect=forbidden|allowed|required`, or herd's
/// `Result=Never|Sometimes|Always`. Other keys are for other tools.
fn expectation(metadata: &[lex::Metadata<'_>]) -> Result<Option<Expect>> {
    let mut expect = None;
    for entry in metadata {
        let known = match (entry.key, entry.value) {
            ("Expect", "forbidden") | ("Result", "Never") => Expect::Forbidden,
            ("Expect", "allowed") | ("Result", "Sometimes") => Expect::Allowed,
            ("Expect", "required") | ("Result", "Always") => Expect::Required,
            ("Expect", _) => {
                return Err(ParseError::new(entry.at, "`Expect` is `forbidden`, `allowed` or `required`"));
            }
            ("Result", _) => {
                return Err(ParseError::new(entry.at, "`Result` is `Never`, `Sometimes` or `Always`"));
            }
            _ => continue,
        };
        if expect.is_some_and(|earlier| earlier != known) {
            return Err(ParseError::new(entry.at, "contradicts the expectation given before"));
        }
        expect = Some(known);
    }
    Ok(expect)
}

/// A shared location as far as it is known: the init block and each thread may add to it.
struct Shared<'t> {
    name: &'t str,
    /// From a typed initialisation. Whether it is atomic does not count: herd's tests write `int x = 0` for
    /// what the threads take as `atomic_int* x`.
    declared: Option<CType>,
    /// From the threads' parameters, which must all agree.
    used: Option<CType>,
    init: Option<i64>,
}

impl Shared<'_> {
    /// The location, as far as it is known.
    fn location(&self, index: usize) -> Location {
        let ty = self.used.or(self.declared).unwrap_or(CType::INT);
        let addr = Addr(FIRST_ADDRESS + ADDRESS_STEP * index as u64);
        let name = self.name.to_string();
        let mut location = Location { name, place: Place::new(addr, ty.width), signed: ty.signed, init: 0 };
        location.init = converted(&location, self.init.unwrap_or(0));
        location
    }
}

/// A number as the location holds it: C's conversion to its type.
fn converted(location: &Location, number: i64) -> i64 {
    location.decode(location.encode(number))
}

/// The number in `P0`, as herd writes a thread's name.
fn thread_name(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('P')?;
    let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    number.then(|| digits.parse().unwrap_or(usize::MAX))
}

struct Parser<'t> {
    /// All tokens; the last is [`Kind::End`].
    tokens: Vec<Token<'t>>,
    next: usize,
    nesting: usize,
    operators: usize,
    shared: Vec<Shared<'t>>,
    names: BTreeMap<&'t str, LocationId>,
    /// `thread:register = value`, and where it stands.
    register_init: Vec<(usize, &'t str, i64, Pos)>,
    /// The thread being read.
    thread: Thread<'t>,
}

impl<'t> Parser<'t> {
    /// The token `ahead` places after the next one.
    fn peek_at(&self, ahead: usize) -> Token<'t> {
        self.tokens[(self.next + ahead).min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> Token<'t> {
        self.peek_at(0)
    }

    fn advance(&mut self) -> Token<'t> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn unexpected(&self, expected: &str) -> ParseError {
        let token = self.peek();
        ParseError::new(token.at, format!("expected {expected}, found {}", token.kind))
    }

    fn at(&self, punct: &str) -> bool {
        self.peek().kind.is(punct)
    }

    /// Takes the punctuation if it comes next.
    fn eat(&mut self, punct: &str) -> bool {
        let there = self.at(punct);
        if there {
            self.advance();
        }
        there
    }

    fn expect(&mut self, punct: &str) -> Result<()> {
        if self.eat(punct) { Ok(()) } else { Err(self.unexpected(&format!("`{punct}`"))) }
    }

    /// The next token as a name, which is not taken.
    fn peek_name(&self) -> Option<&'t str> {
        match self.peek().kind {
            Kind::Name(name) => Some(name),
            Kind::Number(_) | Kind::Punct(_) | Kind::End => None,
        }
    }

    fn eat_name(&mut self, word: &str) -> bool {
        let there = self.peek_name() == Some(word);
        if there {
            self.advance();
        }
        there
    }

    fn name(&mut self, what: &str) -> Result<(&'t str, Pos)> {
        let at = self.peek().at;
        match self.peek_name() {
            Some(name) if !types::begins_type(name) => {
                self.advance();
                Ok((name, at))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// A number with an optional minus.
    fn number(&mut self) -> Result<i64> {
        let negative = self.eat("-");
        let Kind::Number(value) = self.peek().kind else {
            return Err(self.not_a_number());
        };
        self.advance();
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    /// Runs `inner` one level deeper, up to [`MAX_NESTING`].
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == MAX_NESTING {
            let at = self.peek().at;
            return Err(ParseError::new(at, format!("nested more than {MAX_NESTING} levels deep")));
        }
        self.nesting += 1;
        let result = inner(self);
        self.nesting -= 1;
        result
    }

    /// Counts an operator of the current statement, up to [`MAX_OPERATORS`].
    fn operator(&mut self, at: Pos) -> Result<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return Err(ParseError::new(
                at,
                format!("more than {MAX_OPERATORS} operators in one expression"),
            ));
        }
        Ok(())
    }

    fn location(&mut self, name: &'t str, at: Pos) -> Result<LocationId> {
        if let Some(&id) = self.names.get(name) {
            return Ok(id);
        }
        if self.shared.len() == MAX_LOCATIONS {
            return Err(ParseError::new(at, format!("more than {MAX_LOCATIONS} shared locations")));
        }
        let id = LocationId(self.shared.len());
        self.shared.push(Shared { name, declared: None, used: None, init: None });
        self.names.insert(name, id);
        Ok(id)
    }

    /// Whether a thread's head comes next: `P` and a number.
    fn at_thread(&self) -> bool {
        self.peek_name().is_some_and(|name| thread_name(name).is_some())
    }

    /// `P0 (atomic_int* x, int* y) { … }`
    fn thread(&mut self, number: usize) -> Result<Thread<'t>> {
        let head = format!("P{number}");
        if number == MAX_THREADS {
            return Err(ParseError::new(self.peek().at, format!("more than {MAX_THREADS} threads")));
        }
        if !self.eat_name(&head) {
            return Err(self.unexpected(&format!("`{head}`")));
        }
        self.thread = Thread::default();
        self.expect("(")?;
        if !(self.eat_name("void") || self.at(")")) {
            loop {
                self.parameter()?;
                if !self.eat(",") {
                    break;
                }
            }
        }
        self.expect(")")?;
        for index in 0..self.register_init.len() {
            let (thread, name, value, at) = self.register_init[index];
            if thread == number {
                self.initialise(name, value, at)?;
            }
        }
        self.expect("{")?;
        self.block()?;
        Ok(core::mem::take(&mut self.thread))
    }

    fn parameter(&mut self) -> Result<()> {
        let Some(ty) = self.optional_type()? else {
            return Err(match self.peek() {
                Token { kind: Kind::Name(name), at } => unsupported::unknown_type(name, at),
                _ => self.unexpected("a type"),
            });
        };
        self.expect("*")?;
        if self.at("*") {
            return Err(unsupported::pointer_to_pointer(self.peek().at));
        }
        let (name, at) = self.name("a parameter's name")?;
        self.no_array()?;
        let id = self.location(name, at)?;
        let shared = &mut self.shared[id.0];
        let agrees_with_init = shared.declared.is_none_or(|declared| declared.same_bytes(ty));
        if !agrees_with_init || shared.used.is_some_and(|used| used != ty) {
            return Err(ParseError::new(at, format!("`{name}` has another type elsewhere in this test")));
        }
        shared.used = Some(ty);
        if self.thread.parameters.insert(name, (id, ty)).is_some() {
            return Err(ParseError::new(at, format!("two parameters are called `{name}`")));
        }
        Ok(())
    }
}
