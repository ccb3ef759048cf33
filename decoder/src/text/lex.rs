//! Source text as tokens: words, punctuation and literals of C, C++ and Rust, each with its line and column.
//!
//! Comments and what is in literals are gone. Brackets know their partners. Directives of the preprocessor are kept
//! apart: their tokens are not code. This is no parser, and malformed text is no error: a bracket without a partner
//! has none, a literal without an end ends with its line (C) or with the text (Rust).

use std::ops::Range;

/// The language, as far as it matters to tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    /// C and C++.
    C,
    /// Rust.
    Rust,
}

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// An identifier or keyword.
    Word,
    /// A number, a string, a character.
    Literal,
    /// One character of punctuation.
    Mark(u8),
}

/// A token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    /// Where it begins in the text.
    pub(crate) at: u32,
    /// How long it is.
    pub(crate) len: u32,
    /// From 1.
    pub(crate) line: u32,
    /// From 1, in bytes.
    pub(crate) column: u32,
    pub(crate) kind: Kind,
    /// Of a bracket: the number of its partner; of any other token, and without a partner: [`u32::MAX`].
    pub(crate) partner: u32,
}

/// A directive of the preprocessor: `#`, its name, and the rest of its (logical) line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Directive {
    pub(crate) line: u32,
    /// Its tokens in [`Tokens::preprocessor`], without the `#`.
    pub(crate) tokens: Range<usize>,
    /// How many tokens of code are before it.
    pub(crate) before: usize,
}

/// A text, taken apart.
#[derive(Default, Debug)]
pub(crate) struct Tokens {
    text: String,
    /// The code.
    pub(crate) code: Vec<Token>,
    /// What is in directives.
    pub(crate) preprocessor: Vec<Token>,
    pub(crate) directives: Vec<Directive>,
}

impl Tokens {
    /// Takes a text apart.
    pub(crate) fn new(text: String, language: Language) -> Tokens {
        let mut lexer = Lexer { bytes: text.as_bytes(), language, at: 0, line: 1, start: 0 };
        let mut out = Tokens::default();
        let mut fresh = true;
        while lexer.skip(&mut fresh, false) {
            if language == Language::C && fresh && lexer.bytes[lexer.at] == b'#' {
                lexer.directive(&mut out);
                fresh = true;
                continue;
            }
            fresh = false;
            let token = lexer.token();
            out.code.push(token);
        }
        pair(&mut out.code);
        pair(&mut out.preprocessor);
        out.text = text;
        out
    }

    /// What a token says.
    pub(crate) fn text(&self, token: &Token) -> &str {
        self.text.get(token.at as usize..(token.at + token.len) as usize).unwrap_or("")
    }

    /// The word that a token of code is, if it is one.
    pub(crate) fn word(&self, at: usize) -> Option<&str> {
        self.code.get(at).filter(|token| token.kind == Kind::Word).map(|token| self.text(token))
    }

    /// Whether a token of code is this character.
    pub(crate) fn is(&self, at: usize, mark: u8) -> bool {
        self.code.get(at).is_some_and(|token| token.kind == Kind::Mark(mark))
    }
}

/// Finds the partners of brackets. What closes something else than was opened last closes nothing, unless something
/// further out fits.
fn pair(tokens: &mut [Token]) {
    let mut open: Vec<usize> = Vec::new();
    for at in 0..tokens.len() {
        let Kind::Mark(mark) = tokens[at].kind else { continue };
        let wanted = match mark {
            b'(' | b'[' | b'{' => {
                open.push(at);
                continue;
            }
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            _ => continue,
        };
        // Branches of a conditional may open a bracket twice that is closed once: the innermost one that fits.
        if let Some(depth) = open.iter().rposition(|&at| tokens[at].kind == Kind::Mark(wanted)) {
            let partner = open[depth];
            open.truncate(depth);
            tokens[partner].partner = at as u32;
            tokens[at].partner = partner as u32;
        }
    }
}

struct Lexer<'a> {
    bytes: &'a [u8],
    language: Language,
    at: usize,
    line: u32,
    /// Where the line begins.
    start: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn step(&mut self) {
        if self.bytes[self.at] == b'\n' {
            self.line += 1;
            self.start = self.at + 1;
        }
        self.at += 1;
    }

    /// Goes on to the next token; `fresh` becomes whether a line begins before it. Within a directive (`inside`) only to
    /// the end of its line. Whether there is a token.
    fn skip(&mut self, fresh: &mut bool, inside: bool) -> bool {
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\n' if inside => return false,
                b'\n' => {
                    *fresh = true;
                    self.step();
                }
                b'\\' if self.peek(1) == b'\n' => (0..2).for_each(|_| self.step()),
                b'\\' if self.peek(1) == b'\r' && self.peek(2) == b'\n' => (0..3).for_each(|_| self.step()),
                b'/' if self.peek(1) == b'/' => self.line_comment(),
                b'/' if self.peek(1) == b'*' => self.comment(),
                byte if byte.is_ascii_whitespace() => self.step(),
                _ => return true,
            }
        }
        false
    }

    fn line_comment(&mut self) {
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
            // C's goes on after a backslash.
            if self.language == Language::C && self.bytes[self.at] == b'\\' && self.peek(1) == b'\n' {
                self.step();
            }
            self.step();
        }
    }

    fn comment(&mut self) {
        let mut depth = 0u32;
        while self.at < self.bytes.len() {
            match (self.bytes[self.at], self.peek(1)) {
                (b'/', b'*') if depth == 0 || self.language == Language::Rust => {
                    depth += 1;
                    self.step();
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.step();
                }
                _ => {}
            }
            self.step();
            if depth == 0 {
                return;
            }
        }
    }

    fn directive(&mut self, out: &mut Tokens) {
        let line = self.line;
        self.step();
        let first = out.preprocessor.len();
        while self.skip(&mut false, true) {
            let token = self.token();
            out.preprocessor.push(token);
        }
        let tokens = first..out.preprocessor.len();
        out.directives.push(Directive { line, tokens, before: out.code.len() });
    }

    fn token(&mut self) -> Token {
        let (at, line, column) = (self.at, self.line, (self.at - self.start + 1) as u32);
        let kind = self.kind();
        Token { at: at as u32, len: (self.at - at) as u32, line, column, kind, partner: u32::MAX }
    }

    fn kind(&mut self) -> Kind {
        let byte = self.bytes[self.at];
        let rust = self.language == Language::Rust;
        match byte {
            b'"' => self.string(b'"'),
            b'\'' if !rust => self.string(b'\''),
            b'\'' => return self.character_or_lifetime(),
            b'R' if !rust && self.peek(1) == b'"' => self.raw_of_cpp(),
            b'r' if rust && self.begins_raw(1) => self.raw_of_rust(1),
            b'b' | b'c' if rust && self.peek(1) == b'"' => {
                self.step();
                self.string(b'"');
            }
            b'b' | b'c' if rust && self.peek(1) == b'r' && self.begins_raw(2) => self.raw_of_rust(2),
            b'0'..=b'9' => self.number(),
            _ if is_word(byte) => {
                while self.at < self.bytes.len() && is_word(self.bytes[self.at]) {
                    self.at += 1;
                }
                return Kind::Word;
            }
            _ => {
                self.step();
                return Kind::Mark(byte);
            }
        }
        Kind::Literal
    }

    fn number(&mut self) {
        while self.at < self.bytes.len() {
            let byte = self.bytes[self.at];
            // `1'000` is a number of C++'s, `1..2` is a range of Rust's.
            let separator = byte == b'\'' && self.language == Language::C && is_word(self.peek(1));
            let point = byte == b'.' && self.peek(1).is_ascii_digit();
            if !(is_word(byte) || separator || point) {
                break;
            }
            self.at += 1;
        }
    }

    /// A literal in quotes.
    fn string(&mut self, quote: u8) {
        self.step();
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\\' if self.at + 1 < self.bytes.len() => self.step(),
                b'\n' if self.language == Language::C => return,
                byte if byte == quote => return self.step(),
                _ => {}
            }
            self.step();
        }
    }

    fn character_or_lifetime(&mut self) -> Kind {
        let rest = &self.bytes[self.at + 1..];
        let character = match rest.first() {
            Some(b'\\') => true,
            Some(&first) => {
                let len = match first {
                    0..0x80 => 1,
                    0x80..0xe0 => 2,
                    0xe0..0xf0 => 3,
                    _ => 4,
                };
                rest.get(len) == Some(&b'\'')
            }
            None => false,
        };
        if character {
            self.string(b'\'');
            Kind::Literal
        } else {
            self.step();
            Kind::Mark(b'\'')
        }
    }

    fn begins_raw(&self, ahead: usize) -> bool {
        let rest = &self.bytes[(self.at + ahead).min(self.bytes.len())..];
        let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
        rest.get(hashes) == Some(&b'"')
    }

    fn raw_of_rust(&mut self, prefix: usize) {
        (0..prefix).for_each(|_| self.step());
        let mut end = vec![b'"'];
        while self.peek(0) == b'#' {
            end.push(b'#');
            self.step();
        }
        self.step();
        self.up_to(&end);
    }

    fn raw_of_cpp(&mut self) {
        let from = self.at + 2;
        let delimiter = self.bytes[from..].iter().take(17).position(|byte| *byte == b'(');
        let Some(len) = delimiter else {
            self.step();
            return self.string(b'"');
        };
        let end = [b")", &self.bytes[from..from + len], b"\""].concat();
        self.up_to(&end);
    }

    fn up_to(&mut self, end: &[u8]) {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let len = memchr::memmem::find(rest, end).map_or(rest.len(), |at| at + end.len());
        (0..len).for_each(|_| self.step());
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str, language: Language) -> String {
        let tokens = Tokens::new(text.to_owned(), language);
        let words: Vec<&str> = tokens.code.iter().map(|token| tokens.text(token)).collect();
        words.join(" ")
    }

    #[test]
    fn comments_and_literals() {
        let c = |text| code(text, Language::C);
        assert_eq!(c("a /* b */ c // d\ne"), "a c e");
        assert_eq!(c("f('{', \"}/*\", '\\'');"), "f ( '{' , \"}/*\" , '\\'' ) ;");
        assert_eq!(c("x = 1'000; y"), "x = 1'000 ; y");
        assert_eq!(c("R\"a({\")a\" z"), "R\"a({\")a\" z");
        assert_eq!(c("// a \\\n b\nc"), "c");
        let rust = |text| code(text, Language::Rust);
        assert_eq!(rust("/* a /* b */ c */ d"), "d");
        assert_eq!(rust("r#\"{\"#; \"a\nb\"; x"), "r#\"{\"# ; \"a\nb\" ; x");
        assert_eq!(rust("fn f<'a>(c: &'a u8) { '{' }"), "fn f < ' a > ( c : & ' a u8 ) { '{' }");
        assert_eq!(rust("0..n b'\"' '\u{e9}'"), "0 . . n b '\"' '\u{e9}'");
    }

    #[test]
    fn directives_are_no_code() {
        let tokens = Tokens::new("a\n#define F(x) \\\n  g(x)\nb # c\n".into(), Language::C);
        let words: Vec<&str> = tokens.code.iter().map(|token| tokens.text(token)).collect();
        assert_eq!(words, ["a", "b", "#", "c"]);
        let [directive] = &tokens.directives[..] else { panic!("one directive") };
        assert_eq!((directive.line, directive.before, directive.tokens.len()), (2, 1, 9));
        assert_eq!((tokens.code[1].line, tokens.code[1].column), (4, 1));
    }

    #[test]
    fn brackets_have_partners() {
        let tokens = Tokens::new("f(a[1], {2}) ) (".into(), Language::C);
        let partner = |at: usize| tokens.code[at].partner;
        assert_eq!((partner(1), partner(3), partner(7)), (10, 5, 9));
        assert_eq!((partner(11), partner(12)), (u32::MAX, u32::MAX));
    }

    #[test]
    fn anything_has_an_end() {
        for text in ["\"", "'", "/*", "R\"(", "r#\"", "'\\", "#", "\\", "//\\\n", "b\"\\", "1'"] {
            for language in [Language::C, Language::Rust] {
                let _ = Tokens::new(text.to_owned(), language);
            }
        }
    }
}
