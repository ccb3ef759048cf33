//! What C has and litmus tests here do not: named as such, so that nobody looks for a typing error.

use super::types::begins_type;
use super::{Kind, ParseError, Parser, Pos, Result};
use alloc::format;

pub(super) fn unknown_type(name: &str, at: Pos) -> ParseError {
    ParseError::new(
        at,
        format!("unknown type `{name}`: only C's integers and their atomic types are supported"),
    )
}

pub(super) fn pointer_to_pointer(at: Pos) -> ParseError {
    ParseError::new(at, "pointers to pointers are not supported")
}

/// A call of something that is no `atomic_…` function of ours.
pub(super) fn unknown_function(name: &str, at: Pos) -> ParseError {
    const LINUX: [&str; 16] = [
        "READ_ONCE",
        "WRITE_ONCE",
        "smp_",
        "rcu_",
        "synchronize_",
        "spin_",
        "srcu_",
        "xchg",
        "cmpxchg",
        "atomic_read",
        "atomic_set",
        "atomic_inc",
        "atomic_dec",
        "atomic_add",
        "atomic_sub",
        "atomic_cmpxchg",
    ];
    let message = if LINUX.iter().any(|prefix| name.starts_with(prefix)) {
        format!("`{name}` is the Linux kernel's: only C11's atomic operations are supported")
    } else {
        format!(
            "unknown function `{name}`: supported are `atomic_load`, `atomic_store`, `atomic_exchange`, \
             `atomic_fetch_add|sub|or|and|xor`, `atomic_compare_exchange_strong|weak`, all also with `_explicit`, \
             and `atomic_thread_fence`"
        )
    };
    ParseError::new(at, message)
}

impl Parser<'_> {
    /// Refuses a statement that begins with a word which C knows and we do not, or with a cast.
    pub(super) fn supported_statement(&self) -> Result<()> {
        if self.at("(") {
            self.no_cast()?;
        }
        let hint = match self.peek_name() {
            Some("for") => ": write `while`",
            Some(
                "return" | "goto" | "break" | "continue" | "switch" | "case" | "default" | "struct" | "union"
                | "enum" | "typedef" | "static" | "extern" | "register" | "asm" | "float" | "double" | "void",
            ) => "",
            _ => return Ok(()),
        };
        let word = self.peek();
        Err(ParseError::new(word.at, format!("{} is not supported{hint}", word.kind)))
    }

    /// Refuses an operator of C that comes next and that expressions here do not have.
    pub(super) fn supported_operator(&self) -> Result<()> {
        let next = self.peek();
        match next.kind {
            Kind::Punct("/" | "%" | "<<" | ">>" | "?" | "/=" | "%=" | "<<=" | ">>=" | "->") => {
                Err(ParseError::new(next.at, format!("the operator {} is not supported", next.kind)))
            }
            Kind::Punct("[") => self.no_array(),
            Kind::Name(_) | Kind::Number(_) | Kind::Punct(_) | Kind::End => Ok(()),
        }
    }

    /// Refuses `[` after a name.
    pub(super) fn no_array(&self) -> Result<()> {
        if self.at("[") {
            return Err(ParseError::new(self.peek().at, "arrays are not supported"));
        }
        Ok(())
    }

    /// Refuses `(type)`.
    pub(super) fn no_cast(&self) -> Result<()> {
        match self.peek_at(1).kind {
            Kind::Name(name) if name == "void" || begins_type(name) => {
                Err(ParseError::new(self.peek().at, "casts are not supported"))
            }
            Kind::Name(_) | Kind::Number(_) | Kind::Punct(_) | Kind::End => Ok(()),
        }
    }

    /// Where a number should be, something else is.
    pub(super) fn not_a_number(&self) -> ParseError {
        let mut error = self.unexpected("a number");
        if self.at("&") || self.peek_name().is_some() {
            error.message += " (addresses as values are not supported)";
        }
        error
    }
}
