//! From text to tokens: the line-oriented head of a test first, then everything else at once.

use super::{ParseError, Result};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A place in the text, both from 1; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pos {
    pub(super) line: u32,
    pub(super) column: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind<'t> {
    Name(&'t str),
    /// C's literals up to 64 bits; what is above `i64::MAX` keeps its bits.
    Number(i64),
    Punct(&'static str),
    End,
}

impl Kind<'_> {
    pub(super) fn is(self, punct: &str) -> bool {
        matches!(self, Kind::Punct(this) if this == punct)
    }
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Name(name) => write!(f, "`{name}`"),
            Kind::Number(value) => write!(f, "`{value}`"),
            Kind::Punct(punct) => write!(f, "`{punct}`"),
            Kind::End => f.write_str("the end of the file"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    pub(super) at: Pos,
}

/// A line `key=value` of the head.
pub(super) struct Metadata<'t> {
    pub(super) key: &'t str,
    pub(super) value: &'t str,
    pub(super) at: Pos,
}

/// What stands before the init block.
pub(super) struct Header<'t> {
    pub(super) name: &'t str,
    pub(super) metadata: Vec<Metadata<'t>>,
}

/// Punctuation, each before its own prefixes. Some of it is only here to be named in an error.
const PUNCTUATION: [&str; 48] = [
    "<<=", ">>=", "=>", "/\\", "\\/", "&&", "||", "==", "!=", "<>", "<=", ">=", "<<", ">>", "->", "++", "--",
    "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "{", "}", "(", ")", "[", "]", ";", ",", ":", "=", "<",
    ">", "+", "-", "*", "/", "%", "&", "|", "^", "!", "~", "?",
];

/// Splits a test into its head and its tokens, of which the last is [`Kind::End`].
pub(super) fn scan(text: &str) -> Result<(Header<'_>, Vec<Token<'_>>)> {
    // Editors on some systems begin a text with a byte order mark.
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut scanner = Scanner { rest, at: Pos { line: 1, column: 1 } };
    let header = scanner.header()?;
    let mut tokens = Vec::new();
    // `(*` begins a comment outside the threads' bodies. The init block is the first in braces.
    let (mut depth, mut in_threads) = (0u32, false);
    loop {
        scanner.skip_blank(depth == 0 || !in_threads)?;
        let token = scanner.token()?;
        if token.kind.is("{") {
            depth = depth.saturating_add(1);
        } else if token.kind.is("}") {
            depth = depth.saturating_sub(1);
            in_threads |= depth == 0;
        }
        tokens.push(token);
        if token.kind == Kind::End {
            return Ok((header, tokens));
        }
    }
}

struct Scanner<'t> {
    rest: &'t str,
    at: Pos,
}

impl<'t> Scanner<'t> {
    /// Takes the first `bytes` bytes, which must end between characters.
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        for char in taken.chars() {
            if char == '\n' {
                self.at.line += 1;
                self.at.column = 1;
            } else {
                self.at.column += 1;
            }
        }
        taken
    }

    /// Takes characters as long as `wanted` holds.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|char| !wanted(char)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Skips white space and comments; `ocaml`: also those in `(* … *)`.
    fn skip_blank(&mut self, ocaml: bool) -> Result<()> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|char| char != '\n');
            } else if self.rest.starts_with("/*") {
                let start = self.at;
                let Some(end) = self.rest[2..].find("*/") else {
                    return Err(ParseError::new(start, "this comment does not end"));
                };
                self.take(end + 4);
            } else if ocaml && self.rest.starts_with("(*") {
                self.ocaml_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    /// OCaml's comments nest.
    fn ocaml_comment(&mut self) -> Result<()> {
        let start = self.at;
        let mut depth = 0usize;
        loop {
            if self.rest.starts_with("(*") {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*)") {
                depth -= 1;
                self.take(2);
                if depth == 0 {
                    return Ok(());
                }
            } else if let Some(char) = self.rest.chars().next() {
                self.take(char.len_utf8());
            } else {
                return Err(ParseError::new(start, "this comment does not end"));
            }
        }
    }

    /// `C name`, then strings and `key=value` lines, up to the init block. The Linux kernel's tests say their
    /// answer in a comment there, in a line `Result: Never`.
    fn header(&mut self) -> Result<Header<'t>> {
        let (text, beginning) = (self.rest, self.at);
        self.skip_blank(true)?;
        let start = self.at;
        let language = self.take_while(|char| !char.is_whitespace());
        if language != "C" {
            let word =
                !language.is_empty() && language.chars().all(|char| char.is_alphanumeric() || char == '_');
            let found = if word { format!(", found `{language}`") } else { String::new() };
            return Err(ParseError::new(start, format!("expected a C litmus test: `C name`{found}")));
        }
        self.take_while(|char| char == ' ' || char == '\t');
        let name = self.take_while(|char| !char.is_whitespace());
        if name.is_empty() {
            return Err(ParseError::new(self.at, "expected the test's name after `C`"));
        }
        let mut metadata = Vec::new();
        loop {
            self.skip_blank(true)?;
            let at = self.at;
            match self.rest.chars().next() {
                Some('{') => {
                    let head = &text[..text.len() - self.rest.len()];
                    let results = head.lines().filter_map(|line| {
                        let line = line.trim_start_matches([' ', '\t', '(', '*']);
                        let value = line.strip_prefix("Result:")?.trim_end_matches([')', '*']).trim();
                        // Anything else in a comment is just a comment.
                        let known = matches!(value, "Never" | "Sometimes" | "Always");
                        known.then_some(Metadata { key: "Result", value, at: beginning })
                    });
                    metadata.extend(results);
                    return Ok(Header { name, metadata });
                }
                Some('"') => {
                    let Some(end) = self.rest[1..].find('"') else {
                        return Err(ParseError::new(at, "this string does not end"));
                    };
                    self.take(end + 2);
                }
                Some('#') => {
                    return Err(ParseError::new(at, "preprocessor lines are not supported: leave them out"));
                }
                Some(_) => {
                    let line = self.take_while(|char| char != '\n');
                    let Some((key, value)) = line.split_once('=') else {
                        return Err(ParseError::new(at, "expected `{`, a string or `key=value`"));
                    };
                    metadata.push(Metadata { key: key.trim(), value: value.trim(), at });
                }
                None => return Err(ParseError::new(at, "expected `{`, found the end of the file")),
            }
        }
    }

    fn token(&mut self) -> Result<Token<'t>> {
        let at = self.at;
        let kind = match self.rest.chars().next() {
            None => Kind::End,
            Some('a'..='z' | 'A'..='Z' | '_') => {
                Kind::Name(self.take_while(|char| char.is_ascii_alphanumeric() || char == '_'))
            }
            Some('0'..='9') => Kind::Number(self.number()?),
            Some(char) => match PUNCTUATION.iter().find(|punct| self.rest.starts_with(**punct)) {
                Some(punct) => {
                    self.take(punct.len());
                    Kind::Punct(punct)
                }
                None => return Err(ParseError::new(at, format!("unexpected character {char:?}"))),
            },
        };
        Ok(Token { kind, at })
    }

    fn number(&mut self) -> Result<i64> {
        let at = self.at;
        let literal = self.take_while(|char| char.is_ascii_alphanumeric() || char == '_');
        let digits = literal.trim_end_matches(['u', 'U', 'l', 'L']);
        let (digits, radix) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hexadecimal) => (hexadecimal, 16),
            None if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
            None => (digits, 10),
        };
        u64::from_str_radix(digits, radix)
            .map(u64::cast_signed)
            .map_err(|_| ParseError::new(at, format!("`{literal}` is not a number of at most 64 bits")))
    }
}
