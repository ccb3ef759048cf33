//! Whether the source calls an access volatile. That orders nothing between threads, but who writes it believes that it does:
//! reports say so.
//!
//! Of a static variable its own type tells. Of other accesses, the statement: whether it names something whose type is volatile
//! (a variable, a member, what a pointer leads to), or says `volatile` itself. A statement that also names other things may be
//! taken for volatile as a whole.

use super::Orders;
use crate::debug::Shape;

/// Rust's functions.
const FUNCTIONS: [&str; 2] = ["read_volatile", "write_volatile"];

impl Orders<'_> {
    /// Whether the instruction at `pc` is a volatile access; `addr` is where, if that is in this file.
    pub fn is_volatile(&self, pc: u64, addr: Option<u64>) -> bool {
        let frames = self.debug.frames(pc);
        if frames.iter().any(|frame| FUNCTIONS.iter().any(|name| frame.function.contains(name))) {
            return true;
        }
        let Some((unit, chain)) = self.debug.chain(pc) else { return false };
        let Some(&node) = chain.first() else { return false };
        let types = self.debug.types(unit, node);
        let shape = addr.and_then(|addr| types.iter().find_map(|types| types.static_at(addr)));
        if shape == Some(Shape::Volatile) {
            return true;
        }
        let line = self.debug.line(pc);
        let statement = line.and_then(|line| self.kept.0.texts.statement(self.debug.files(), &line));
        // The type of a static variable is known: only a cast makes an access to it volatile.
        let named = |word: &str| {
            matches!(word, "volatile" | "__volatile__" | "__volatile")
                || shape.is_none() && types.iter().any(|types| types.volatile_names.contains(word))
        };
        statement.is_some_and(|statement| statement.words().any(|(_, word)| named(word)))
    }
}
