//! Which text was compiled for sure not: branches of preprocessor conditionals and items under `#[cfg]` whose
//! condition is known to be false.
//!
//! A condition has three values. Most depend on options of the compiler's that nobody knows any more: such text may
//! have been compiled. Known are the numbers, what every compiler for x86-64 Linux defines and what none does, and, if
//! debug information has macros (`-g3`), what was never defined, or as nothing but 0.

use super::lex::{Kind, Token, Tokens};
use std::collections::HashMap;
use std::ops::Range;

/// What is known of the macros that were defined when a unit was compiled: all of them (`-g3`), or nothing.
#[derive(Default, Debug)]
pub(crate) struct Macros {
    /// What each was defined as, over time.
    pub(crate) bodies: HashMap<String, Vec<String>>,
    /// Whether there are no others.
    pub(crate) complete: bool,
}

impl Macros {
    /// Whether a macro was defined as this and nothing else. Parameters are a part of the text in debug information.
    pub(super) fn is_only(&self, name: &str, body: &str) -> bool {
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let [known] = self.bodies.get(name).map_or(&[][..], Vec::as_slice) else { return false };
        self.complete && bare(known).ends_with(&bare(body))
    }
}

/// What every compiler for this system defines, and what none does.
const ALWAYS: [&str; 10] = [
    "__x86_64__",
    "__x86_64",
    "__amd64__",
    "__linux__",
    "__linux",
    "__unix__",
    "__unix",
    "__ELF__",
    "__LP64__",
    "__GNUC__",
];
const NEVER: [&str; 24] = [
    "_WIN32",
    "_WIN64",
    "WIN32",
    "__WIN32__",
    "__CYGWIN__",
    "__MINGW32__",
    "_MSC_VER",
    "__APPLE__",
    "__MACH__",
    "__aarch64__",
    "__arm__",
    "__i386__",
    "_M_IX86",
    "_M_X64",
    "_M_ARM64",
    "__powerpc__",
    "__powerpc64__",
    "__mips__",
    "__sparc__",
    "__s390__",
    "__FreeBSD__",
    "__OpenBSD__",
    "__sun",
    "__riscv",
];

/// What conditionals have made of a text.
#[derive(Default)]
pub(crate) struct Off {
    /// The tokens of code that were not compiled, as ranges.
    pub(crate) code: Vec<Range<usize>>,
    /// Those that may not have been.
    pub(crate) perhaps: Vec<Range<usize>>,
    /// The lines of directives that were not looked at.
    pub(crate) lines: Vec<Range<u32>>,
}

/// What was not compiled, and what may not have been.
pub(crate) fn off(tokens: &Tokens, macros: &Macros) -> Off {
    let mut off = Off::default();
    // Of each open conditional: whether the current branch is on, whether an earlier one was, where the branch began.
    let mut open: Vec<(Option<bool>, Option<bool>, usize, u32)> = Vec::new();
    let mut end =
        |(on, _, from, line): (Option<bool>, Option<bool>, usize, u32), to: usize, last: u32| match on {
            Some(false) => {
                off.code.push(from..to);
                off.lines.push(line + 1..last);
            }
            None => off.perhaps.push(from..to),
            Some(true) => {}
        };
    for directive in &tokens.directives {
        let words = &tokens.preprocessor[directive.tokens.clone()];
        let Some((name, rest)) = words.split_first() else { continue };
        let condition = Condition { tokens, words: rest, macros };
        let here = (directive.before, directive.line);
        match tokens.text(name) {
            "if" => open.push((condition.value(), Some(false), here.0, here.1)),
            "ifdef" => open.push((condition.defined(), Some(false), here.0, here.1)),
            "ifndef" => open.push((condition.defined().map(|on| !on), Some(false), here.0, here.1)),
            branch @ ("elif" | "elifdef" | "elifndef" | "else") => {
                let Some(last) = open.pop() else { continue };
                end(last, here.0, here.1);
                let before = either(last.0, last.1);
                let on = match branch {
                    "elif" => condition.value(),
                    "elifdef" => condition.defined(),
                    "elifndef" => condition.defined().map(|on| !on),
                    _ => Some(true),
                };
                open.push((both(before.map(|before| !before), on), before, here.0, here.1));
            }
            "endif" => {
                if let Some(last) = open.pop() {
                    end(last, here.0, here.1);
                }
            }
            _ => {}
        }
    }
    off
}

fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn either(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    both(a.map(|a| !a), b.map(|b| !b)).map(|neither| !neither)
}

/// The condition of an `#if`.
struct Condition<'a> {
    tokens: &'a Tokens,
    words: &'a [Token],
    macros: &'a Macros,
}

impl Condition<'_> {
    /// Whether the macro that it names is defined.
    fn defined(&self) -> Option<bool> {
        self.is_defined(self.tokens.text(self.words.first()?))
    }

    fn is_defined(&self, name: &str) -> Option<bool> {
        if ALWAYS.contains(&name) {
            return Some(true);
        }
        // What is defined some time may not have been yet: the guard of a header.
        let never = self.macros.complete && !self.macros.bodies.contains_key(name);
        (never || NEVER.contains(&name)).then_some(false)
    }

    fn value(&self) -> Option<bool> {
        let mut at = 0;
        let value = self.any(&mut at, 0);
        // What was not understood may be anything.
        value.filter(|_| at == self.words.len()).map(|value| value != 0)
    }

    fn mark(&self, at: usize) -> Option<u8> {
        match self.words.get(at)?.kind {
            Kind::Mark(mark) => Some(mark),
            Kind::Word | Kind::Literal => None,
        }
    }

    fn two(&self, at: usize, mark: u8) -> bool {
        self.mark(at) == Some(mark) && self.mark(at + 1) == Some(mark)
    }

    fn any(&self, at: &mut usize, depth: u32) -> Option<i64> {
        let mut value = self.all(at, depth);
        while self.two(*at, b'|') {
            *at += 2;
            let other = self.all(at, depth);
            value = either(value.map(|v| v != 0), other.map(|v| v != 0)).map(i64::from);
        }
        value
    }

    fn all(&self, at: &mut usize, depth: u32) -> Option<i64> {
        let mut value = self.compared(at, depth);
        while self.two(*at, b'&') {
            *at += 2;
            let other = self.compared(at, depth);
            value = both(value.map(|v| v != 0), other.map(|v| v != 0)).map(i64::from);
        }
        value
    }

    fn compared(&self, at: &mut usize, depth: u32) -> Option<i64> {
        let left = self.one(at, depth);
        let (holds, len): (fn(i64, i64) -> bool, usize) = match (self.mark(*at), self.mark(*at + 1)) {
            (Some(b'='), Some(b'=')) => (|a, b| a == b, 2),
            (Some(b'!'), Some(b'=')) => (|a, b| a != b, 2),
            (Some(b'<'), Some(b'=')) => (|a, b| a <= b, 2),
            (Some(b'>'), Some(b'=')) => (|a, b| a >= b, 2),
            (Some(b'<'), other) if other != Some(b'<') => (|a, b| a < b, 1),
            (Some(b'>'), other) if other != Some(b'>') => (|a, b| a > b, 1),
            _ => return left,
        };
        *at += len;
        let right = self.one(at, depth);
        left.zip(right).map(|(a, b)| i64::from(holds(a, b)))
    }

    fn one(&self, at: &mut usize, depth: u32) -> Option<i64> {
        let word = self.words.get(*at)?;
        // Hostile text may nest for ever.
        if depth > 32 {
            return None;
        }
        *at += 1;
        match word.kind {
            Kind::Mark(b'!') => self.one(at, depth + 1).map(|value| i64::from(value == 0)),
            Kind::Mark(b'(') => {
                let value = self.any(at, depth + 1);
                if self.mark(*at) == Some(b')') {
                    *at += 1;
                }
                value
            }
            Kind::Mark(_) => None,
            Kind::Literal => number(self.tokens.text(word)),
            Kind::Word => match self.tokens.text(word) {
                "defined" => {
                    let bracket = self.mark(*at) == Some(b'(');
                    *at += usize::from(bracket);
                    let name = self.words.get(*at).map(|word| self.tokens.text(word));
                    *at += 1 + usize::from(bracket);
                    name.and_then(|name| self.is_defined(name)).map(i64::from)
                }
                name => self.named(name, at),
            },
        }
    }

    fn named(&self, name: &str, at: &mut usize) -> Option<i64> {
        if self.mark(*at) == Some(b'(') {
            // `__has_include(…)`, `GCC_VERSION(4, 8)`.
            let mut depth = 0;
            while let Some(word) = self.words.get(*at) {
                depth += i32::from(word.kind == Kind::Mark(b'(')) - i32::from(word.kind == Kind::Mark(b')'));
                *at += 1;
                if depth == 0 {
                    break;
                }
            }
            return None;
        }
        // What is not defined is 0, too.
        let zero = match self.macros.bodies.get(name).map(Vec::as_slice) {
            Some([body]) => number(body.trim()) == Some(0),
            Some(_) => false,
            None => self.is_defined(name) == Some(false),
        };
        zero.then_some(0)
    }
}

fn number(text: &str) -> Option<i64> {
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The tokens of Rust that were not compiled: what is behind `#[cfg(…)]` with a condition that does not hold.
pub(crate) fn off_by_cfg(tokens: &Tokens) -> Vec<Range<usize>> {
    let mut off = Vec::new();
    let mut at = 0;
    while at + 4 < tokens.code.len() {
        let is_cfg = tokens.is(at, b'#') && tokens.is(at + 1, b'[') && tokens.word(at + 2) == Some("cfg");
        let end = tokens.code[at + 1].partner;
        if !is_cfg || end == u32::MAX || !tokens.is(at + 3, b'(') {
            at += 1;
            continue;
        }
        let mut inner = at + 4;
        let holds = cfg(tokens, &mut inner, 0);
        at = end as usize + 1;
        if holds == Some(false) {
            off.push(at..item_end(tokens, at));
        }
    }
    off
}

/// Where the item, statement, field or expression that begins here ends.
fn item_end(tokens: &Tokens, mut at: usize) -> usize {
    while let Some(token) = tokens.code.get(at) {
        match token.kind {
            Kind::Mark(b'{') if token.partner != u32::MAX => return token.partner as usize + 1,
            Kind::Mark(b'(' | b'[') if token.partner != u32::MAX => at = token.partner as usize,
            Kind::Mark(b';' | b',') => return at + 1,
            Kind::Mark(b'}' | b')' | b']') => return at,
            Kind::Word | Kind::Literal | Kind::Mark(_) => {}
        }
        at += 1;
    }
    at
}

fn cfg(tokens: &Tokens, at: &mut usize, depth: u32) -> Option<bool> {
    let name = tokens.word(*at)?;
    *at += 1;
    if tokens.is(*at, b'(') && depth < 32 {
        let end = tokens.code[*at].partner as usize;
        *at += 1;
        let mut values = Vec::new();
        while *at < end {
            values.push(cfg(tokens, at, depth + 1));
            // To the next one.
            while *at < end && !tokens.is(*at, b',') {
                *at += 1;
            }
            *at += 1;
        }
        return match name {
            "not" => values.first().copied().flatten().map(|value| !value),
            "all" => values.into_iter().fold(Some(true), both),
            "any" => values.into_iter().fold(Some(false), either),
            _ => None,
        };
    }
    let value = tokens.is(*at, b'=').then(|| tokens.code.get(*at + 1)).flatten();
    let value = value.map(|token| tokens.text(token).trim_matches('"'));
    match (name, value) {
        ("unix", None) => Some(true),
        ("windows", None) => Some(false),
        ("target_arch", Some(arch)) => Some(arch == "x86_64"),
        ("target_os", Some(os)) => Some(os == "linux"),
        ("target_family", Some(family)) => Some(family == "unix"),
        ("target_pointer_width", Some(width)) => Some(width == "64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::lex::Language;
    use super::*;

    fn left(text: &str, macros: &Macros) -> String {
        let tokens = Tokens::new(text.to_owned(), Language::C);
        kept(&tokens, &off(&tokens, macros).code)
    }

    fn kept(tokens: &Tokens, off: &[Range<usize>]) -> String {
        let on = |(at, _): &(usize, &Token)| !off.iter().any(|range| range.contains(at));
        let words: Vec<&str> =
            tokens.code.iter().enumerate().filter(on).map(|(_, token)| tokens.text(token)).collect();
        words.join(" ")
    }

    #[test]
    fn conditions_that_are_known() {
        let nothing = Macros::default();
        let c = |text| left(text, &nothing);
        assert_eq!(c("#if 0\na\n#else\nb\n#endif\nc"), "b c");
        assert_eq!(c("#ifdef X\na\n#else\nb\n#endif"), "a b", "nobody knows X");
        assert_eq!(c("#ifdef _WIN32\na\n#elif defined(__linux__)\nb\n#else\nc\n#endif"), "b");
        assert_eq!(c("#if defined(X) && 0\na\n#endif"), "");
        assert_eq!(c("#if !(defined _WIN32 || 0x1 > 2)\na\n#else\nb\n#endif"), "a");
        assert_eq!(c("#if X(1) || 1\na\n#else\nb\n#endif"), "a");
        assert_eq!(c("#if 0 + 0\na\n#endif"), "a", "sums are not understood");
        assert_eq!(c("#if 0\n#if 1\na\n#endif\nb\n#endif"), "");
    }

    #[test]
    fn with_all_macros_it_is_known_what_was_never_defined() {
        let bodies = [("N", "2"), ("OFF", "0")].map(|(name, body)| (name.to_owned(), vec![body.to_owned()]));
        let macros = Macros { bodies: bodies.into(), complete: true };
        assert_eq!(left("#ifdef X\na\n#endif\n#if N >= 2\nb\n#endif\n#if !X\nc\n#endif", &macros), "b c");
        assert_eq!(left("#if OFF\na\n#endif\n#ifndef N\nb\n#endif", &macros), "b", "N may come later");
    }

    #[test]
    fn cfg_of_rust() {
        let tokens = |text: &str| Tokens::new(text.to_owned(), Language::Rust);
        let rust = |text: &str| kept(&tokens(text), &off_by_cfg(&tokens(text)));
        assert_eq!(rust("#[cfg(windows)] f(a, b); c"), "# [ cfg ( windows ) ] c");
        assert!(rust("#[cfg(feature = \"x\")] f();").ends_with("f ( ) ;"));
        assert!(!rust("#[cfg(not(any(unix, x)))] fn g() { zz() } i").contains("zz"));
        assert!(!rust("#[cfg(all(target_arch = \"arm\", x))] fn g() { zz() } i").contains("zz"));
    }
}
