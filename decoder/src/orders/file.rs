//! The user's orders file (`--orders`): one rule a line, `#` begins a comment.
//!
//! ```text
//! function queue::push release     # every access of the function and of what is inlined into it
//! queue.cpp:42 acquire             # every access of this line; a path's end is enough
//! libqueue.so+0x1234 relaxed       # the instruction at this offset
//! ```
//!
//! Orders: `na`, `relaxed`, `acquire`, `release`, `acq_rel`, `seq_cst`. The narrowest rule wins: instruction, then
//! line, then function; of two of the same kind the last.

use crate::debug::Frame;
use std::fmt;
use wmtrace_model::order::Order;

/// A parsed orders file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct OrdersFile {
    rules: Vec<(Place, Order)>,
}

/// Where a rule of an orders file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// At an instruction of a module.
    Instruction {
        /// The end of the module's path.
        module: String,
        /// The address in it.
        offset: u64,
    },
    /// At a line of the source.
    Line {
        /// The end of the file's path.
        file: String,
        /// Its number.
        line: u32,
    },
    /// In a function.
    Function(String),
}

/// What is wrong with an orders file, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{line}:{column}: {problem}")]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// The last word is no order.
    #[error("'{0}' is no order (na, relaxed, acquire, release, acq_rel, seq_cst)")]
    Order(String),
    /// There is no order after the place.
    #[error("an order is missing")]
    NoOrder,
    /// The place has none of the three forms.
    #[error("'{0}' is no place (function NAME, FILE:LINE, MODULE+0xOFFSET)")]
    Place(String),
}

impl OrdersFile {
    /// Parses the text of a file.
    pub fn parse(text: &str) -> Result<OrdersFile, ParseError> {
        let mut rules = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let rule = line.split('#').next().unwrap_or_default();
            let trimmed = rule.trim();
            if trimmed.is_empty() {
                continue;
            }
            let error = |word: &str, problem| {
                // `word` is a part of `rule`: its distance from the start is its column.
                let bytes = word.as_ptr() as usize - rule.as_ptr() as usize;
                ParseError { line: number + 1, column: rule[..bytes].chars().count() + 1, problem }
            };
            let Some((place, order)) = trimmed.rsplit_once(char::is_whitespace) else {
                return Err(error(trimmed, Problem::NoOrder));
            };
            let known = Order::ALL.into_iter().find(|known| known.name() == order);
            let known = known.ok_or_else(|| error(order, Problem::Order(order.to_owned())))?;
            let place = place.trim();
            rules.push((
                Place::parse(place).ok_or_else(|| error(place, Problem::Place(place.to_owned())))?,
                known,
            ));
        }
        Ok(OrdersFile { rules })
    }

    /// Where the rules hold, in the order of the file.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.rules.iter().map(|rule| &rule.0)
    }

    /// The order of an instruction in a module, whose frames are given.
    pub(crate) fn find(&self, module: &str, pc: u64, frames: &[Frame]) -> Option<Order> {
        let last = |test: &dyn Fn(&Place) -> bool| {
            self.rules.iter().rev().find(|(place, _)| test(place)).map(|rule| rule.1)
        };
        last(&|place| matches!(place, Place::Instruction { module: of, offset } if *offset == pc && ends(module, of)))
            .or_else(|| {
                last(&|place| {
                    let Place::Line { file, line } = place else { return false };
                    frames.iter().filter_map(|frame| frame.line.as_ref()).any(|at| at.line == *line && ends(&at.file, file))
                })
            })
            .or_else(|| {
                last(&|place| {
                    let Place::Function(name) = place else { return false };
                    frames.iter().any(|frame| same_function(&frame.function, name))
                })
            })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Instruction { module, offset } => write!(f, "{module}+{offset:#x}"),
            Place::Line { file, line } => write!(f, "{file}:{line}"),
            Place::Function(name) => write!(f, "function {name}"),
        }
    }
}

impl Place {
    fn parse(text: &str) -> Option<Place> {
        if let Some(name) = text.strip_prefix("function").filter(|rest| rest.starts_with(char::is_whitespace))
        {
            return Some(Place::Function(name.trim().to_owned()));
        }
        if let Some((module, offset)) = text.rsplit_once("+0x") {
            let offset = u64::from_str_radix(offset, 16).ok()?;
            return (!module.is_empty()).then(|| Place::Instruction { module: module.to_owned(), offset });
        }
        let (file, line) = text.rsplit_once(':')?;
        let line = line.parse().ok().filter(|&line| line > 0)?;
        (!file.is_empty()).then(|| Place::Line { file: file.to_owned(), line })
    }
}

/// Whether a path ends with these components.
pub fn ends(path: &str, suffix: &str) -> bool {
    path.strip_suffix(suffix)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/') || suffix.starts_with('/'))
}

/// Whether a demangled name is this one, with or without its parameters.
pub fn same_function(function: &str, name: &str) -> bool {
    function == name || function.split('(').next() == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debug::SourceLine;

    fn frames() -> Vec<Frame> {
        let line = |file: &str, line| Some(SourceLine { file: file.into(), line, column: 1 });
        vec![
            Frame { function: "q::pop(int)".into(), inlined: true, line: line("/src/q.cpp", 42) },
            Frame { function: "main".into(), inlined: false, line: line("/src/main.cpp", 7) },
        ]
    }

    #[test]
    fn the_narrowest_rule_wins() {
        let file = OrdersFile::parse(
            "function main relaxed\nfunction q::pop release\n\nq.cpp:42 acquire # why\nlib.so+0x10 seq_cst\n",
        );
        let file = file.unwrap();
        assert_eq!(file.find("/usr/lib/lib.so", 0x10, &frames()), Some(Order::SeqCst));
        assert_eq!(file.find("/usr/lib/other.so", 0x10, &frames()), Some(Order::Acquire));
        assert_eq!(file.find("a", 1, &frames()[1..]), Some(Order::Relaxed));
        assert_eq!(file.find("a", 1, &[]), None);
    }

    #[test]
    fn a_path_ends_at_a_component() {
        assert!(
            ends("/src/q.cpp", "q.cpp")
                && ends("/src/q.cpp", "src/q.cpp")
                && ends("/src/q.cpp", "/src/q.cpp")
        );
        assert!(!ends("/src/aq.cpp", "q.cpp"));
    }

    #[test]
    fn errors_have_a_place() {
        let error = |text: &str| OrdersFile::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("\n  function f strong"),
            "2:14: 'strong' is no order (na, relaxed, acquire, release, acq_rel, seq_cst)"
        );
        assert_eq!(error("relaxed"), "1:1: an order is missing");
        assert_eq!(
            error(" f.c:0 na"),
            "1:2: 'f.c:0' is no place (function NAME, FILE:LINE, MODULE+0xOFFSET)"
        );
    }
}
