//! What a file defines, as far as fences are concerned: functions, macros and types with the tokens that they are made
//! of, the files that it includes, and the fences in any stretch of tokens.
//!
//! A definition is anything behind whose name a fence may be: a function, a macro, the destructor of a type, another
//! name for one of these. Too many are harmless. One that is missed is not, if its name is then taken for that of
//! something harmless: so whoever asks must treat names without a definition with care.

use super::compiled::{self, Macros};
use super::lex::{Kind, Language, Token, Tokens};
use std::ops::{BitOr, BitOrAssign, Range};
use wmtrace_model::order::Order;

/// What fences do to a thread, as far as they have no instruction: sequentially consistent ones have.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Effects {
    /// Some of them acquire.
    pub(crate) acquire: bool,
    /// Some of them release.
    pub(crate) release: bool,
}

impl Effects {
    pub(crate) const BOTH: Effects = Effects { acquire: true, release: true };

    pub(crate) fn of(order: Order) -> Effects {
        match order {
            Order::SeqCst => Effects::default(),
            order => Effects { acquire: order.acquires(), release: order.releases() },
        }
    }

    pub(crate) fn any(self) -> bool {
        self.acquire || self.release
    }

    /// The order of a fence with these effects.
    pub(crate) fn order(self) -> Option<Order> {
        match (self.acquire, self.release) {
            (true, true) => Some(Order::AcqRel),
            (true, false) => Some(Order::Acquire),
            (false, true) => Some(Order::Release),
            (false, false) => None,
        }
    }
}

impl BitOr for Effects {
    type Output = Effects;
    fn bitor(self, other: Effects) -> Effects {
        Effects { acquire: self.acquire || other.acquire, release: self.release || other.release }
    }
}

impl BitOrAssign for Effects {
    fn bitor_assign(&mut self, other: Effects) {
        *self = *self | other;
    }
}

/// Where the tokens of a definition are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Among the code.
    Code(Range<usize>),
    /// In a directive.
    Preprocessor(Range<usize>),
}

/// A definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// The line of its name, and that of its end.
    pub(crate) lines: (u32, u32),
    pub(crate) place: Place,
    /// A macro: debug information knows nothing of its calls.
    pub(crate) is_macro: bool,
    /// Whether it depends on a condition what it is. (The guard of a header is none.)
    pub(crate) conditional: bool,
}

/// What a macro of C stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Macro {
    /// `None`: it takes no parentheses.
    pub(crate) parameters: Option<Vec<String>>,
    pub(crate) body: String,
}

/// A file that another one includes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Include {
    pub(crate) path: String,
    /// In quotes: it may be beside the file.
    pub(crate) quoted: bool,
}

/// A fence in a stretch of tokens, or a word that may stand for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A fence.
    Fence(Effects),
    /// Something that orders as a fence does, and is none in the language.
    Barrier(Effects),
    /// A name; whether something is called by it.
    Name { called: bool },
}

/// What is known of a file.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) tokens: Tokens,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) includes: Vec<Include>,
    /// Modules of Rust that are files of their own.
    pub(crate) modules: Vec<String>,
    /// Tokens of code that were not compiled.
    off: Vec<Range<usize>>,
    /// Tokens that may not have been.
    perhaps: Vec<Range<usize>>,
    language: Language,
}

/// The most lines between the one that a compiler calls a function's and its first block.
const HEADER: u32 = 32;

/// Words that look like calls.
const KEYWORDS: [&str; 30] = [
    "if",
    "while",
    "for",
    "switch",
    "return",
    "sizeof",
    "catch",
    "alignof",
    "_Alignof",
    "decltype",
    "static_assert",
    "_Static_assert",
    "noexcept",
    "throw",
    "defined",
    "__attribute__",
    "__attribute",
    "requires",
    "case",
    "constexpr",
    "alignas",
    "typeof",
    "__typeof__",
    "match",
    "fn",
    "in",
    "else",
    "do",
    "new",
    "delete",
];

/// Whether a name behind these tokens is that of a member: `a.b`, `a->b`, `a::b`.
fn is_member(before: &[Token]) -> bool {
    let mark = |back: usize| before.len().checked_sub(back).map(|at| before[at].kind);
    match mark(1) {
        Some(Kind::Mark(b'.')) => true,
        Some(Kind::Mark(b'>')) => mark(2) == Some(Kind::Mark(b'-')),
        Some(Kind::Mark(b':')) => mark(2) == Some(Kind::Mark(b':')),
        _ => false,
    }
}

/// Words that are statements by themselves, and no names.
const STATEMENTS: [&str; 5] = ["break", "continue", "return", "default", "__builtin_unreachable"];

pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word) || STATEMENTS.contains(&word)
}

impl Items {
    pub(crate) fn new(text: String, language: Language, macros: &Macros) -> Items {
        let tokens = Tokens::new(text, language);
        let mut items = Items {
            tokens,
            definitions: Vec::new(),
            includes: Vec::new(),
            modules: Vec::new(),
            off: Vec::new(),
            perhaps: Vec::new(),
            language,
        };
        match language {
            Language::C => {
                let off = compiled::off(&items.tokens, macros);
                (items.off, items.perhaps) = (off.code, off.perhaps);
                items.directives(&off.lines, macros);
                items.of_c();
            }
            Language::Rust => {
                items.off = compiled::off_by_cfg(&items.tokens);
                items.of_rust();
            }
        }
        items
    }

    fn is_off(&self, at: usize) -> bool {
        self.off.iter().any(|range| range.contains(&at))
    }

    /// Whether a token of a function that was compiled may not have been: a conditional inside of the function may have
    /// left it out.
    pub(crate) fn may_be_left_out(&self, token: &Token, function: &Range<usize>) -> bool {
        let at = self.tokens.code.partition_point(|other| other.at < token.at);
        self.perhaps.iter().any(|range| range.contains(&at) && function.start < range.start)
    }

    fn directives(&mut self, off: &[Range<u32>], macros: &Macros) {
        // Of each open conditional: whether it is the guard of the file.
        let mut open: Vec<bool> = Vec::new();
        for (number, directive) in self.tokens.directives.iter().enumerate() {
            let first = self.tokens.preprocessor.get(directive.tokens.start);
            match first.filter(|_| !directive.tokens.is_empty()).map(|word| self.tokens.text(word)) {
                Some("if" | "ifdef" | "ifndef") => open.push(number == 0 && directive.before == 0),
                Some("endif") => drop(open.pop()),
                _ => {}
            }
            if off.iter().any(|lines| lines.contains(&directive.line)) {
                continue;
            }
            let range = directive.tokens.clone();
            let words = &self.tokens.preprocessor[range.clone()];
            match words.first().map(|word| self.tokens.text(word)) {
                Some("define") => {
                    let Some(name) = words.get(1) else { continue };
                    let text = self.tokens.text(name);
                    // With `-g3` what was never defined was not compiled.
                    if macros.complete && !macros.bodies.contains_key(text) {
                        continue;
                    }
                    self.definitions.push(Definition {
                        name: text.to_owned(),
                        lines: (directive.line, words.last().map_or(directive.line, |word| word.line)),
                        place: Place::Preprocessor(range.start + 2..range.end),
                        is_macro: true,
                        conditional: open.contains(&false),
                    });
                }
                Some("include" | "include_next" | "import") => {
                    let [_, path @ ..] = words else { continue };
                    let (Some(first), Some(last)) = (path.first(), path.last()) else { continue };
                    let quoted = first.kind == Kind::Literal;
                    // `<a/b.h>` is a row of tokens; a macro is none that can be followed.
                    let text = if quoted {
                        self.tokens.text(first).trim_matches('"').to_owned()
                    } else {
                        let parts = path[1..path.len().max(2) - 1].iter();
                        let joined: String = parts.map(|part| self.tokens.text(part)).collect();
                        if self.tokens.text(first) == "<" && self.tokens.text(last) == ">" {
                            joined
                        } else {
                            String::new()
                        }
                    };
                    self.includes.push(Include { path: text, quoted });
                }
                _ => {}
            }
        }
    }

    fn define(&mut self, name: &str, range: Range<usize>, is_macro: bool) {
        let line = |at: usize| self.tokens.code.get(at).map_or(0, |token| token.line);
        let lines = (line(range.start), line(range.end.saturating_sub(1)));
        let name = name.to_owned();
        let place = Place::Code(range);
        self.definitions.push(Definition { name, lines, place, is_macro, conditional: false });
    }

    /// The token after a bracket's partner, if it has one.
    fn behind(&self, at: usize) -> Option<usize> {
        let partner = self.tokens.code.get(at)?.partner;
        (partner != u32::MAX && partner as usize > at).then_some(partner as usize + 1)
    }

    fn of_c(&mut self) {
        let mut found = Vec::new();
        for at in 0..self.tokens.code.len() {
            let Some(word) = self.tokens.word(at).filter(|_| !self.is_off(at)) else { continue };
            match word {
                "struct" | "class" | "union" => found.extend(self.type_of_c(at)),
                // Another name: `using G = Guard;`, `typedef Guard G;`.
                "using" | "typedef" => {
                    let end = (at..self.tokens.code.len().min(at + 64)).find(|&at| self.tokens.is(at, b';'));
                    let Some(end) = end else { continue };
                    let name = if word == "using" { at + 1 } else { end - 1 };
                    if let Some(name) = self.tokens.word(name) {
                        found.push((name.to_owned(), at..end));
                    }
                }
                _ if is_keyword(word) || !self.tokens.is(at + 1, b'(') => {}
                _ => {
                    if let Some(end) = self.body_of_c(at + 1) {
                        let owner = self.owner_of_operator(at, word);
                        found.push((word.to_owned(), at..end));
                        found.extend(owner.map(|owner| (owner, at..end)));
                    }
                }
            }
        }
        found.into_iter().for_each(|(name, range)| self.define(&name, range, false));
    }

    /// If parameters that begin here belong to the definition of a function: where it ends.
    fn body_of_c(&self, parameters: usize) -> Option<usize> {
        let mut at = self.behind(parameters)?;
        for _ in 0..256 {
            let token = self.tokens.code.get(at)?;
            match token.kind {
                Kind::Mark(b'{') => {
                    let end = self.behind(at)?;
                    // A member's initial value: `: a{1}, b{2} { … }`.
                    let more = self.tokens.is(end, b',') || self.tokens.is(end, b'{');
                    if !(more && self.tokens.word(at - 1).is_some()) {
                        return Some(end);
                    }
                    at = end;
                }
                Kind::Mark(b'(' | b'[') => at = self.behind(at)?,
                Kind::Mark(b'-') if self.tokens.is(at + 1, b'>') => at += 2,
                Kind::Mark(b':' | b',' | b'<' | b'>' | b'&' | b'*' | b'~') | Kind::Word => at += 1,
                Kind::Mark(_) | Kind::Literal => return None,
            }
        }
        None
    }

    /// Operators and conversions are called without a name: they belong to their type.
    fn owner_of_operator(&self, at: usize, word: &str) -> Option<String> {
        let operator = word == "operator" || at > 0 && self.tokens.word(at - 1) == Some("operator");
        let types = ["struct", "class"];
        // The innermost type around it, or the one that it is qualified with.
        let qualified = (at.saturating_sub(4)..at).rev().find(|&at| self.tokens.is(at, b':'))?;
        let by_name = self.tokens.word(qualified.checked_sub(2)?).filter(|_| operator);
        by_name.filter(|name| !types.contains(name)).map(str::to_owned)
    }

    /// A type: what its members are. What its functions do is theirs, but for those without a name.
    fn type_of_c(&self, at: usize) -> Option<(String, Range<usize>)> {
        let name = self.tokens.word(at + 1)?;
        let open = (at + 2..self.tokens.code.len().min(at + 64))
            .find(|&at| self.tokens.is(at, b'{') || self.tokens.is(at, b';') || self.tokens.is(at, b'('))?;
        if !self.tokens.is(open, b'{') {
            return None;
        }
        // Bases count, and members up to the first function.
        let end = self.behind(open)?;
        let first = (open + 1..end).find(|&at| self.tokens.is(at, b'{') || self.tokens.is(at, b'('));
        Some((name.to_owned(), at + 2..first.unwrap_or(end)))
    }

    fn of_rust(&mut self) {
        let mut found: Vec<(String, Range<usize>, bool)> = Vec::new();
        let mut modules = Vec::new();
        // `impl Drop for X`: its functions are called without a name.
        let mut implicit: Vec<(Range<usize>, String)> = Vec::new();
        for at in 0..self.tokens.code.len() {
            let Some(word) = self.tokens.word(at).filter(|_| !self.is_off(at)) else { continue };
            let name = || self.tokens.word(at + 1).map(str::to_owned);
            match word {
                "fn" => {
                    let Some((name, end)) = name().zip(self.body_of_rust(at + 2)) else { continue };
                    let around = implicit.iter().filter(|(range, _)| range.contains(&at));
                    found.extend(around.map(|(_, owner)| (owner.clone(), at + 1..end, false)));
                    found.push((name, at + 1..end, false));
                }
                "macro_rules" if self.tokens.is(at + 1, b'!') => {
                    if let Some((name, end)) = self.tokens.word(at + 2).zip(self.behind(at + 3)) {
                        found.push((name.to_owned(), at + 3..end, true));
                    }
                }
                "mod" if self.tokens.is(at + 2, b';') => modules.extend(name()),
                // `use atomic::fence as f;`
                "as" if self.is_use(at) => {
                    let before = at.checked_sub(1).filter(|&at| self.tokens.word(at).is_some());
                    found.extend(name().zip(before).map(|(name, before)| (name, before..at, false)));
                }
                "impl" => implicit.extend(self.implicit_of(at)),
                _ => {}
            }
        }
        self.modules = modules;
        found.into_iter().for_each(|(name, range, is_macro)| self.define(&name, range, is_macro));
    }

    /// Whether a token is a part of a `use`.
    fn is_use(&self, at: usize) -> bool {
        let before = (at.saturating_sub(256)..at).rev().take_while(|&at| !self.tokens.is(at, b';'));
        before.into_iter().any(|at| self.tokens.word(at) == Some("use"))
    }

    fn body_of_rust(&self, mut at: usize) -> Option<usize> {
        for _ in 0..1024 {
            match self.tokens.code.get(at)?.kind {
                Kind::Mark(b'{') => return self.behind(at),
                Kind::Mark(b';' | b'}') => return None,
                Kind::Mark(b'(' | b'[') => at = self.behind(at)?,
                Kind::Mark(_) | Kind::Word | Kind::Literal => at += 1,
            }
        }
        None
    }

    fn implicit_of(&self, at: usize) -> Option<(Range<usize>, String)> {
        let open = (at..self.tokens.code.len().min(at + 128)).find(|&at| self.tokens.is(at, b'{'))?;
        let by = (at..open).find(|&at| self.tokens.word(at) == Some("for"))?;
        let is_implicit = |at: usize| matches!(self.tokens.word(at), Some("Drop" | "Deref" | "DerefMut"));
        // The last part of the type's path, before its arguments.
        let path = (by + 1..open).take_while(|&at| !self.tokens.is(at, b'<'));
        let name = path.filter_map(|at| self.tokens.word(at)).last()?;
        (at..by).any(is_implicit).then(|| Some((open..self.behind(open)?, name.to_owned())))?
    }

    /// What a macro of C stands for.
    pub(crate) fn expansion(&self, definition: &Definition) -> Option<Macro> {
        let Place::Preprocessor(range) = &definition.place else { return None };
        let words = self.tokens.preprocessor.get(range.clone())?;
        let name = self.tokens.preprocessor.get(range.start.checked_sub(1)?)?;
        let text =
            |words: &[Token]| words.iter().map(|word| self.tokens.text(word)).collect::<Vec<_>>().join(" ");
        // Parameters follow the name without a space.
        let takes =
            words.first().is_some_and(|word| word.kind == Kind::Mark(b'(') && word.at == name.at + name.len);
        if !takes {
            return Some(Macro { parameters: None, body: text(words) });
        }
        let end = words.iter().position(|word| word.kind == Kind::Mark(b')'))?;
        let parameters = words[1..end].iter().filter(|word| word.kind != Kind::Mark(b','));
        let parameters = parameters.map(|word| self.tokens.text(word).to_owned()).collect();
        Some(Macro { parameters: Some(parameters), body: text(&words[end + 1..]) })
    }

    /// The tokens of a place.
    pub(super) fn at(&self, place: &Place) -> (&[Token], usize) {
        match place {
            Place::Code(range) => (self.tokens.code.get(range.clone()).unwrap_or(&[]), range.start),
            Place::Preprocessor(range) => {
                (self.tokens.preprocessor.get(range.clone()).unwrap_or(&[]), range.start)
            }
        }
    }

    /// The fences and names in a place, each with its token.
    pub(crate) fn contents<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = (&'a Token, Found)> {
        let (tokens, first) = self.at(place);
        let in_code = matches!(place, Place::Code(_));
        let in_c = self.language == Language::C;
        let on = move |at: usize| !(in_code && self.is_off(first + at));
        let words = tokens.iter().enumerate().filter(move |(at, token)| token.kind == Kind::Word && on(*at));
        words.map(move |(at, token)| {
            let found = match self.found(token, &tokens[at + 1..]) {
                // A member is no macro.
                Found::Name { .. } if in_c && is_member(&tokens[..at]) => Found::Name { called: false },
                // Nor is what is declared: `int f(void)`, `std::thread t(run)`.
                Found::Name { .. } if in_c && self.is_declared(&tokens[..at]) => {
                    Found::Name { called: false }
                }
                // A statement that is one word: `BARRIER;`.
                Found::Name { .. } if in_c && self.is_alone(&tokens[..at], &tokens[at + 1..]) => {
                    Found::Name { called: true }
                }
                found => found,
            };
            (token, found)
        })
    }

    /// Whether a name behind these tokens is what a type declares.
    fn is_declared(&self, before: &[Token]) -> bool {
        let before =
            before.last().filter(|token| token.kind == Kind::Word).map(|token| self.tokens.text(token));
        before.is_some_and(|word| {
            !matches!(word, "return" | "else" | "do" | "case" | "co_return" | "co_await" | "throw")
        })
    }

    /// Whether a word between these tokens is a statement by itself. `(void)x;` is a cast.
    fn is_alone(&self, before: &[Token], behind: &[Token]) -> bool {
        let begins =
            before.last().is_none_or(|token| matches!(token.kind, Kind::Mark(b';' | b'{' | b'}' | b')')));
        let cast = before.len() > 1 && self.tokens.text(&before[before.len() - 2]) == "void";
        begins && !cast && behind.first().is_some_and(|token| token.kind == Kind::Mark(b';'))
    }

    fn found(&self, word: &Token, behind: &[Token]) -> Found {
        let is = |at: usize, mark: u8| behind.get(at).is_some_and(|token| token.kind == Kind::Mark(mark));
        let rust = self.language == Language::Rust;
        let called = is(0, b'(') || rust && (is(0, b'!') || is(0, b':') && is(1, b':') && is(2, b'<'));
        match self.tokens.text(word) {
            // A function `fence` of C or C++ is the program's own.
            name @ ("atomic_thread_fence"
            | "__atomic_thread_fence"
            | "__c11_atomic_thread_fence"
            | "fence")
                if rust || name != "fence" =>
            {
                let order = if is(0, b'(') { self.order(&behind[1..]) } else { None };
                Found::Fence(order.map_or(Effects::BOTH, Effects::of))
            }
            // What the processor does not reorder is in order behind assembly that the compiler must not move memory
            // accesses across. Assembly that states another instruction is that.
            "asm" | "__asm__" | "__asm" => {
                let statement = behind.iter().take(256).take_while(|token| token.kind != Kind::Mark(b';'));
                let mut texts = statement.map(|token| self.tokens.text(token));
                let barrier = is(0, b'!') || texts.any(|text| text == "\"memory\"");
                if barrier { Found::Barrier(Effects::BOTH) } else { Found::Name { called: false } }
            }
            // A read-modify-write that changes nothing, and whose result nobody uses: LLVM leaves nothing of it, or only
            // what its order asks for.
            name if name.contains("fetch_") && is(0, b'(') && self.adds_nothing(&behind[1..]) => {
                Found::Barrier(self.last_order(&behind[1..]).map_or(Effects::BOTH, Effects::of))
            }
            _ => Found::Name { called },
        }
    }

    /// The arguments of a call, which begin here.
    fn arguments<'a>(&self, behind: &'a [Token]) -> &'a [Token] {
        let mut depth = 0_i32;
        let end = behind.iter().take(64).position(|token| {
            depth += i32::from(token.kind == Kind::Mark(b'(')) - i32::from(token.kind == Kind::Mark(b')'));
            depth < 0
        });
        &behind[..end.unwrap_or(0)]
    }

    fn adds_nothing(&self, behind: &[Token]) -> bool {
        self.arguments(behind).iter().any(|token| self.tokens.text(token) == "0")
    }

    /// The order that the last argument of a call is.
    fn last_order(&self, behind: &[Token]) -> Option<Order> {
        let all = self.arguments(behind);
        let from = all.iter().rposition(|token| token.kind == Kind::Mark(b','))?;
        self.order(&behind[from + 1..])
    }

    /// The order that an argument is, if it is just that.
    fn order(&self, argument: &[Token]) -> Option<Order> {
        let end = argument.iter().take(16).position(|token| token.kind == Kind::Mark(b')'))?;
        let plain = |token: &Token| matches!(token.kind, Kind::Word | Kind::Mark(b':'));
        let written = &argument[..end];
        let last = written.last().filter(|_| written.iter().all(plain))?;
        let name = self.tokens.text(last);
        order_named(name)
    }

    /// Whether two lines exclude each other: they are in different branches of one conditional of the preprocessor.
    pub(crate) fn exclude_each_other(&self, one: u32, other: u32) -> bool {
        let branches = |line: u32| {
            // Of each open conditional: where it begins, and the number of its branch.
            let mut open: Vec<(u32, u32)> = Vec::new();
            for directive in self.tokens.directives.iter().take_while(|directive| directive.line < line) {
                let first = self.tokens.preprocessor.get(directive.tokens.start);
                match first.filter(|_| !directive.tokens.is_empty()).map(|word| self.tokens.text(word)) {
                    Some("if" | "ifdef" | "ifndef") => open.push((directive.line, 0)),
                    Some("elif" | "else" | "elifdef" | "elifndef") => {
                        if let Some(last) = open.last_mut() {
                            last.1 += 1;
                        }
                    }
                    Some("endif") => drop(open.pop()),
                    _ => {}
                }
            }
            open
        };
        let (one, other) = (branches(one), branches(other));
        one.iter().any(|(from, branch)| other.iter().any(|(its, number)| from == its && branch != number))
    }

    /// The atomic operations that are called among some tokens of code: name, line and column, and the order.
    pub(crate) fn operations(&self, range: Range<usize>) -> Vec<Operation<'_>> {
        let mut found = Vec::new();
        for at in range.filter(|&at| self.tokens.is(at + 1, b'(') && !self.is_off(at)) {
            let Some(name) = self.tokens.word(at) else { continue };
            let token = &self.tokens.code[at];
            let behind = self.tokens.code.get(at + 2..).unwrap_or(&[]);
            let arguments = self.arguments(behind);
            let words = arguments.iter().filter(|token| token.kind == Kind::Word);
            let stated = words.filter_map(|word| order_named(self.tokens.text(word)));
            let order = stated.fold(None, |sum: Option<Order>, order| {
                Some(sum.map_or(order, |sum| if sum < order { order } else { sum }))
            });
            let member = is_member(&self.tokens.code[..at]);
            found.push(Operation { name, line: token.line, column: token.column, order, member });
        }
        found
    }

    /// Whether a line is a part of inline assembly.
    pub(crate) fn is_assembly(&self, line: u32) -> bool {
        // It is a few lines long.
        let near = self.lines(line.saturating_sub(64), line);
        near.filter(|&at| matches!(self.tokens.word(at), Some("asm" | "global_asm"))).any(|at| {
            let open = if self.tokens.is(at + 1, b'!') { at + 2 } else { at + 1 };
            self.tokens.code[at].line <= line
                && self.behind(open).is_some_and(|end| line <= self.tokens.code[end - 1].line)
        })
    }

    /// Whether a line begins with an attribute of Rust: code that a macro has made of one is where the attribute is.
    pub(crate) fn is_attribute(&self, line: u32) -> bool {
        let first = self.lines(line, line).start;
        self.tokens.code.get(first).is_some_and(|token| token.line == line && token.kind == Kind::Mark(b'#'))
    }

    /// The tokens of lines `from` to `to`, both included.
    pub(crate) fn lines(&self, from: u32, to: u32) -> Range<usize> {
        let at = |line: u32| self.tokens.code.partition_point(|token| token.line < line);
        at(from)..at(to.saturating_add(1))
    }

    /// The tokens of the function, lambda or closure that begins in a line and reaches to another at least. If several
    /// begin there, all of them.
    pub(crate) fn around(&self, line: u32, to: u32) -> Option<Range<usize>> {
        let from = self.lines(line, line).start;
        let end = |at: usize| self.behind(at).filter(|&end| self.tokens.code[end - 1].line >= to);
        let blocks = |range: Range<usize>| range.filter(|&at| self.tokens.is(at, b'{'));
        // The whole line, with all that begins in it.
        let whole = self.lines(line, line);
        let begun = blocks(whole.clone()).filter_map(|at| self.behind(at)).max();
        if let Some(last) = begun.filter(|_| blocks(whole.clone()).any(|at| end(at).is_some())) {
            return Some(from..last.max(whole.end));
        }
        // Parameters, attributes and the type of a result may be lines of their own.
        let later = blocks(whole.end..self.lines(line, line.saturating_add(HEADER)).end);
        match later.filter_map(end).next() {
            Some(end) => Some(from..end),
            // `|| fence(Acquire)`
            None if to <= line => Some(whole),
            None => None,
        }
    }
}

/// A call that may be an atomic operation.
pub(crate) struct Operation<'a> {
    pub(crate) name: &'a str,
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// The strongest that is written there.
    pub(crate) order: Option<Order>,
    /// It is a member's: `x.load(…)`.
    pub(crate) member: bool,
}

/// The order that a word names.
fn order_named(name: &str) -> Option<Order> {
    let bare = name.strip_prefix("memory_order_").or_else(|| name.strip_prefix("__ATOMIC_")).unwrap_or(name);
    match bare {
        "relaxed" | "Relaxed" | "RELAXED" => Some(Order::Relaxed),
        "consume" | "CONSUME" | "acquire" | "Acquire" | "ACQUIRE" => Some(Order::Acquire),
        "release" | "Release" | "RELEASE" => Some(Order::Release),
        "acq_rel" | "AcqRel" | "ACQ_REL" => Some(Order::AcqRel),
        "seq_cst" | "SeqCst" | "SEQ_CST" => Some(Order::SeqCst),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
