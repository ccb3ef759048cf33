//! Source text: the order that a call states, and what a statement shows.
//!
//! This is no parser. It finds the call at a line and column, or the atomic calls of a statement, and reads
//! orders that stand there by name. Whatever is not plainly written (a variable, a conditional, a macro) is not
//! understood, and then the text says nothing.

use super::ops::{Op, OpKind, Scale, failure_of};
use crate::debug::{DebugFile, Files, SourceLine};
use crate::text::Macro;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use wmtrace_model::order::Order;

/// The most lines that a statement may have.
const MAX_LINES: usize = 12;
/// The longest source file that is read.
const MAX_FILE: usize = 16 << 20;

/// Source files, read once.
#[derive(Default)]
pub(crate) struct Texts {
    files: Mutex<HashMap<String, Option<Arc<Vec<String>>>>>,
    /// What is known of macros, by file and name.
    macros: Mutex<HashMap<(String, String), bool>>,
    /// Whether a file has directives of OpenMP.
    openmp: Mutex<HashMap<String, bool>>,
}

/// A statement, and where in it the instruction is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Statement {
    pub(crate) text: String,
    /// The column, as a position in `text`.
    pub(crate) at: Option<usize>,
    /// The instruction is one of a macro's, somewhere in this part of `text`: what the macro stands for.
    pub(crate) within: Option<(usize, usize)>,
}

/// An atomic call in C.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    /// From its name to its closing parenthesis.
    pub(crate) extent: (usize, usize),
    pub(crate) kind: OpKind,
    /// Its first argument: what it is about.
    pub(crate) object: String,
    pub(crate) order: Option<Order>,
    pub(crate) failure: Option<Order>,
}

impl Call {
    /// Whether another call does the same to some object.
    pub(crate) fn is_as(&self, other: &Call) -> bool {
        let known = self.order.is_some();
        known && (self.kind, self.order, self.failure) == (other.kind, other.order, other.failure)
    }
}

impl Texts {
    fn file(&self, files: &dyn Files, path: &str) -> Option<Arc<Vec<String>>> {
        let mut known = self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let read = || {
            let bytes = files.open(DebugFile::Source(path)).filter(|bytes| bytes.len() <= MAX_FILE)?;
            Some(Arc::new(uncommented(&String::from_utf8_lossy(&bytes)).lines().map(str::to_owned).collect()))
        };
        known.entry(path.to_owned()).or_insert_with(read).clone()
    }

    /// A file as it is.
    pub(crate) fn whole(&self, files: &dyn Files, path: &str) -> Option<String> {
        let bytes = files.open(DebugFile::Source(path)).filter(|bytes| bytes.len() <= MAX_FILE)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The orders that a call of an atomic operation states (the second: of failure).
    pub(crate) fn call(
        &self,
        files: &dyn Files,
        line: &SourceLine,
        op: Op,
    ) -> Option<(Order, Option<Order>)> {
        let lines = self.file(files, &line.file)?;
        let first = (line.line as usize).checked_sub(1)?;
        let column = (line.column as usize).checked_sub(1)?;
        let mut text = lines.get(first)?.get(column..)?.to_owned();
        for more in lines.iter().skip(first + 1).take(MAX_LINES) {
            text.push('\n');
            text.push_str(more);
        }
        let open = text.find('(')?;
        // From the name, or from the parenthesis itself: anything else is not this call.
        if !text[..open].chars().all(|c| c.is_alphanumeric() || "_:<>, .".contains(c)) {
            return None;
        }
        let arguments = arguments(&text[open..])?.0;
        let orders: Vec<Order> = arguments.iter().filter_map(|argument| order_in(argument)).collect();
        let written = arguments.iter().filter(|argument| mentions_order(argument)).count();
        if written != orders.len() {
            return None;
        }
        match (orders.as_slice(), op.kind, op.scale) {
            (&[success, failure], OpKind::Cas, _) => Some((success, Some(failure))),
            // With an argument more this is the order of failure, and that of success is not written there.
            (&[success], OpKind::Cas, Scale::C) if arguments.len() <= values(op.kind) + 1 => {
                Some((success, Some(failure_of(success))))
            }
            // C++'s default argument.
            (&[], _, Scale::C) if arguments.len() <= values(op.kind) => {
                Some((Order::SeqCst, (op.kind == OpKind::Cas).then_some(Order::SeqCst)))
            }
            (&[order], OpKind::Load | OpKind::Store | OpKind::Rmw | OpKind::Fence, _) => Some((order, None)),
            _ => None,
        }
    }

    /// Whether a file defines a macro, on one line, and nothing in it can hide an access.
    pub(crate) fn is_plain_macro(&self, files: &dyn Files, path: &str, name: &str) -> bool {
        let mut known = self.macros.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let key = (path.to_owned(), name.to_owned());
        *known.entry(key).or_insert_with(|| self.read_macro(files, path, name))
    }

    fn read_macro(&self, files: &dyn Files, path: &str, name: &str) -> bool {
        let Some(lines) = self.file(files, path) else { return false };
        let body = |line: &String| {
            let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?;
            let rest = rest.trim_start().strip_prefix(name)?.strip_prefix('(')?;
            Some(rest.split_once(')')?.1.to_owned())
        };
        let mut bodies = lines.iter().filter_map(body).peekable();
        let plain = |text: String| {
            let statement = Statement { text, at: None, within: None };
            !statement.may_hide_atomics()
                && !statement.text.trim_end().ends_with('\\')
                && !statement.unknown(|_| false).1
        };
        bodies.peek().is_some() && bodies.all(plain)
    }

    /// Whether OpenMP makes the accesses of a statement atomic, or may: a directive before it, or a variable that some
    /// directive reduces. What is compiled then looks like the statement.
    pub(crate) fn is_openmp(&self, files: &dyn Files, line: &SourceLine, statement: &Statement) -> bool {
        /// The most lines between the directive and the statement: `atomic capture` has a block.
        const BEFORE: usize = 4;
        let Some(lines) = self.file(files, &line.file) else { return false };
        let directive = |line: &String| {
            let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("pragma")?;
            Some(rest.trim_start().strip_prefix("omp")?.to_owned())
        };
        let mut known = self.openmp.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let any = || lines.iter().any(|line| directive(line).is_some());
        if !*known.entry(line.file.clone()).or_insert_with(any) {
            return false;
        }
        let at = (line.line as usize).min(lines.len());
        let near = lines[at.saturating_sub(BEFORE + 1)..at].iter().filter_map(directive);
        let own = at.checked_sub(1).and_then(|at| lines.get(at)).and_then(directive).is_some();
        let reduced = |directive: String| {
            let lists = directive.split("reduction").skip(1).filter_map(|rest| {
                Some(rest.split_once(':')?.1.split(')').next().unwrap_or_default().to_owned())
            });
            let names = lists.collect::<Vec<_>>().join(",");
            statement.words().any(|(_, word)| names.split(',').any(|name| name.trim() == word))
        };
        own || near.into_iter().any(|it| it.contains("atomic"))
            || lines.iter().filter_map(directive).any(reduced)
    }

    /// The statement that a place lies in.
    pub(crate) fn statement(&self, files: &dyn Files, line: &SourceLine) -> Option<Statement> {
        let lines = self.file(files, &line.file)?;
        let at = (line.line as usize).checked_sub(1).filter(|&at| at < lines.len())?;
        let ends = |line: &str| line.trim_end().ends_with([';', '{', '}', ':']) || line.trim().is_empty();
        let mut first = at;
        while first > 0
            && at - first < MAX_LINES
            && !ends(&lines[first - 1])
            && !lines[first - 1].starts_with('#')
        {
            first -= 1;
        }
        let mut last = at;
        while last + 1 < lines.len() && last - at < MAX_LINES && !ends(&lines[last]) {
            last += 1;
        }
        let before: usize = lines[first..at].iter().map(|line| line.len() + 1).sum();
        let column = (line.column as usize).checked_sub(1).filter(|&column| column < lines[at].len());
        let statement = Statement {
            text: lines[first..=last].join("\n"),
            at: column.map(|column| before + column),
            within: None,
        };
        Some(statement.without_header())
    }
}

impl Statement {
    /// What is behind the condition of an `if` or a loop is a statement of its own.
    fn without_header(mut self) -> Statement {
        while let Some(at) = self.at {
            let start = self.text.len() - self.text.trim_start().len();
            let rest = &self.text[start..];
            let name = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            let open = start + name + rest[name..].len() - rest[name..].trim_start().len();
            if !matches!(&rest[..name], "if" | "while" | "for" | "switch")
                || !self.text[open..].starts_with('(')
            {
                break;
            }
            let Some(end) = arguments(&self.text[open..]).map(|(_, len)| open + len).filter(|&end| end <= at)
            else {
                break;
            };
            self = Statement { text: self.text[end..].to_owned(), at: Some(at - end), within: None };
        }
        self
    }

    /// Without the other statements of its lines, if it is known where in them the instruction is.
    pub(crate) fn alone(self) -> Statement {
        let Some(at) = self.at else { return self };
        let (first, last) = self.within.unwrap_or((at, at));
        // A position that parentheses are open at is inside a header or a call: nothing ends there.
        let mut depth = 0_i32;
        let (mut start, mut end) = (0, self.text.len());
        for (here, c) in self.text.char_indices() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                ';' | '{' | '}' if depth == 0 && here < first => start = here + 1,
                ';' | '{' | '}' if depth == 0 && here >= last => {
                    end = here + 1;
                    break;
                }
                _ => {}
            }
        }
        match depth < 0 {
            true => self,
            false => Statement {
                text: self.text[start..end].to_owned(),
                at: Some(at - start),
                within: self.within.map(|(first, last)| (first - start, last - start)),
            },
        }
    }

    /// With macros replaced by what they stand for, as far as that is certain. An instruction of a macro is where the
    /// macro's name is; afterwards, where its only atomic call is, if it has one.
    pub(crate) fn expanded<'m>(mut self, macros: impl Fn(&str) -> Option<&'m Macro>) -> Statement {
        /// The most replacements, and the longest text: macros can stand for each other.
        const MOST: usize = 64;
        const LONGEST: usize = 1 << 14;
        for _ in 0..MOST {
            let found = self.words().find_map(|(at, word)| {
                let known = macros(word)?;
                let end = at + word.len();
                match &known.parameters {
                    None => Some((at, end, known.body.clone())),
                    Some(parameters) => {
                        let open = end + self.text[end..].find('(')?;
                        let called = self.text[end..open].trim().is_empty();
                        let (arguments, len) = arguments(&self.text[open..]).filter(|_| called)?;
                        Some((at, open + len, substituted(known, parameters, &arguments)?))
                    }
                }
            });
            let Some((start, end, body)) = found.filter(|(.., body)| body.len() < LONGEST) else { break };
            let moved = |at: usize| match at {
                at if at < start => at,
                at if at >= end => at - end + start + body.len(),
                _ => start,
            };
            if self.at.is_some_and(|at| (start..end).contains(&at)) {
                let inner = Statement { text: body.clone(), at: None, within: None };
                let (first, last) =
                    self.within.map_or((start, start), |(first, last)| (moved(first), moved(last)));
                self.within = Some((first.min(start), last.max(start + body.len())));
                self.at = match &inner.calls()[..] {
                    [call] => Some(start + call.extent.0),
                    _ => Some(start),
                };
            } else {
                self.at = self.at.map(moved);
                self.within = self.within.map(|(first, last)| (moved(first), moved(last)));
            }
            self.text.replace_range(start..end, &body);
            if self.text.len() > LONGEST {
                break;
            }
        }
        self
    }

    /// The identifiers, with their positions.
    pub(crate) fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        let text = &self.text;
        let word = |c: char| c.is_alphanumeric() || c == '_';
        text.match_indices(word).filter(move |&(at, _)| !text[..at].ends_with(word)).map(move |(at, _)| {
            (at, &text[at..at + text[at..].find(|c| !word(c)).unwrap_or(text.len() - at)])
        })
    }

    /// Whether something here may be atomic although no type says so: a builtin, assembly, `volatile`, or a macro
    /// that could hide one.
    pub(crate) fn may_hide_atomics(&self) -> bool {
        self.words().any(|(at, word)| {
            let call = self.text[at + word.len()..].trim_start().starts_with('(');
            let shouted = word.len() > 2
                && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            // The standard library's own macros are attributes and casts.
            let shouted = shouted && !word.starts_with("_GLIBCXX") && !word.starts_with("_LIBCPP");
            // A fence is no access.
            let fence = word.ends_with("atomic_thread_fence") || word.ends_with("atomic_signal_fence");
            word.contains("atomic_") && !fence
                || word.contains("__sync_")
                || matches!(word, "asm" | "__asm" | "__asm__" | "volatile" | "__volatile__" | "_Atomic")
                || call && shouted
        })
    }

    /// Whether something here has a name that nobody knows: a macro, or a variable that is declared elsewhere. The
    /// second: whether it looks like a call. Names in capitals are taken for constants, and members that are called and
    /// whatever is qualified for functions, which debug information has.
    pub(crate) fn unknown(&self, known: impl Fn(&str) -> bool) -> (bool, bool) {
        let (mut any, mut called) = (false, false);
        for (at, word) in self.words() {
            let (before, after) = (self.text[..at].trim_end(), self.text[at + word.len()..].trim_start());
            let call = after.starts_with('(');
            let qualified = before.ends_with("::") || after.starts_with("::");
            let method = call && (before.ends_with('.') || before.ends_with("->"));
            let literal = word.starts_with(|c: char| c.is_ascii_digit()) || after.starts_with('\'');
            // Constants by convention; reserved names are the standard library's parameters.
            let constant = !call && (!word.contains(|c: char| c.is_lowercase()) || word.starts_with("__"));
            if qualified || method || literal || constant || harmless(word) || known(word) {
                continue;
            }
            any = true;
            called |= call;
        }
        (any, called)
    }

    /// Whether something is assigned here: an `=` that is no part of another operator.
    pub(crate) fn assigns(&self) -> bool {
        self.text.match_indices('=').any(|(at, _)| {
            let before = self.text[..at].chars().next_back();
            !self.text[at + 1..].starts_with('=') && before.is_none_or(|c| !"=!<>+-*/%&|^".contains(c))
        })
    }

    /// The calls of C's atomic functions and builtins.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.words().filter_map(|(at, word)| self.call(at, word)).collect()
    }

    /// Which of several calls an instruction is of: the one whose name is where the compiler says that it is. Not if
    /// another is about the same object, for a compiler may have made one instruction of both.
    pub(crate) fn named<'c>(&self, calls: &[&'c Call]) -> Option<&'c Call> {
        let at = self.at?;
        let call = *calls.iter().find(|call| call.extent.0 == at)?;
        (calls.iter().filter(|other| other.object == call.object).count() == 1).then_some(call)
    }

    fn call(&self, at: usize, name: &str) -> Option<Call> {
        let (kind, fixed) = c_function(name)?;
        let rest = &self.text[at + name.len()..];
        let open = rest.find('(').filter(|&open| rest[..open].trim().is_empty())?;
        let (arguments, len) = arguments(&rest[open..])?;
        let extent = (at, at + name.len() + open + len);
        let orders: Vec<Option<Order>> = arguments
            .iter()
            .filter(|argument| mentions_order(argument))
            .map(|argument| order_in(argument))
            .collect();
        let (order, failure) = match (fixed, kind, orders.as_slice()) {
            (Some(order), OpKind::Cas, _) => (Some(order), Some(order)),
            (Some(order), _, _) => (Some(order), None),
            (None, OpKind::Cas, &[success, failure]) => (success, failure),
            (None, OpKind::Load | OpKind::Store | OpKind::Rmw | OpKind::Fence, &[order]) => (order, None),
            (None, _, _) => (None, None),
        };
        let object = arguments.first().copied().unwrap_or_default().to_owned();
        Some(Call { extent, kind, object, order, failure })
    }
}

/// The body of a macro with arguments in the places of its parameters. One that makes names (`##`) is not understood.
fn substituted(known: &Macro, parameters: &[String], arguments: &[&str]) -> Option<String> {
    if known.body.contains('#') || parameters.len() != arguments.len() {
        return None;
    }
    let body = Statement { text: known.body.clone(), at: None, within: None };
    let (mut out, mut from) = (String::new(), 0);
    for (at, word) in body.words() {
        if let Some(number) = parameters.iter().position(|parameter| parameter == word) {
            out.push_str(&body.text[from..at]);
            out.push_str(arguments[number]);
            from = at + word.len();
        }
    }
    out.push_str(&body.text[from..]);
    Some(out)
}

/// Words of C and C++ that access nothing, and the standard's macros and functions that become plain instructions and
/// access nothing but their arguments.
fn harmless(word: &str) -> bool {
    const WORDS: &str = " alignas alignof and asm auto bool break case catch char char16_t char32_t char8_t class \
        co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype \
        default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline \
        int int128 long mutable namespace new noexcept not nullptr operator or override private protected public \
        register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast \
        struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual \
        void while wchar_t xor final import typeof std \
        assert errno offsetof stdin stdout stderr va_arg va_copy va_end va_start likely unlikely isnan isinf \
        isfinite setjmp sigsetjmp min max \
        memcpy memmove memset memcmp memchr strcpy strncpy strcmp strncmp strlen strcat strchr strrchr abs fabs \
        sqrt floor ceil ";
    let mut letters = word.trim_start_matches('_').chars();
    // Reserved names of types and template parameters (`_Args`), which optimised code may have none of.
    let reserved = word.starts_with('_')
        && letters.next().is_some_and(char::is_uppercase)
        && word.contains(|c: char| c.is_lowercase());
    reserved
        || word.starts_with("memory_order")
        || word.starts_with("__builtin_")
        || word.starts_with("__glibcxx_")
        || word.starts_with("_GLIBCXX")
        || word.starts_with("_LIBCPP")
        // `__inline__`, `__restrict`, `__extension__`, `__thread` …
        || WORDS.contains(&format!(" {} ", word.trim_matches('_')))
        || matches!(word.trim_matches('_'), "attribute" | "extension" | "thread" | "label" | "func" | "FUNCTION")
}

/// How many arguments a C++ operation takes at most beside its orders.
fn values(kind: OpKind) -> usize {
    match kind {
        OpKind::Load | OpKind::Fence => 0,
        OpKind::Store | OpKind::Rmw => 1,
        OpKind::Cas => 2,
    }
}

/// What a C function or builtin does, and its order, if that is no argument.
pub(super) fn c_function(name: &str) -> Option<(OpKind, Option<Order>)> {
    if let Some(rest) = name.strip_prefix("__sync_") {
        let (kind, order) = match rest {
            "synchronize" => (OpKind::Fence, Order::SeqCst),
            "lock_release" => (OpKind::Store, Order::Release),
            "lock_test_and_set" => (OpKind::Rmw, Order::Acquire),
            "bool_compare_and_swap" | "val_compare_and_swap" => (OpKind::Cas, Order::SeqCst),
            _ => (OpKind::Rmw, Order::SeqCst),
        };
        return Some((kind, Some(order)));
    }
    let builtin = name.strip_prefix("__atomic_").or_else(|| name.strip_prefix("__c11_atomic_"));
    let (rest, stated) = match builtin {
        Some(rest) => (rest.strip_suffix("_n").unwrap_or(rest), true),
        None => {
            let rest = name.strip_prefix("atomic_")?;
            let plain = rest.strip_suffix("_explicit");
            (plain.unwrap_or(rest), plain.is_some() || rest == "thread_fence")
        }
    };
    let rest = rest.strip_prefix("flag_").unwrap_or(rest);
    let kind = match rest {
        "load" => OpKind::Load,
        "store" | "clear" => OpKind::Store,
        "exchange" | "test_and_set" => OpKind::Rmw,
        "compare_exchange" | "compare_exchange_strong" | "compare_exchange_weak" => OpKind::Cas,
        "thread_fence" => OpKind::Fence,
        _ if rest.starts_with("fetch_") || rest.ends_with("_fetch") => OpKind::Rmw,
        _ => return None,
    };
    Some((kind, if stated { None } else { Some(Order::SeqCst) }))
}

/// The arguments of a call, and how long it is; `text` begins at its opening parenthesis.
fn arguments(text: &str) -> Option<(Vec<&str>, usize)> {
    let (mut depth, mut start, mut found) = (0u32, 1, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 1 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            let last = text[start..at].trim();
            if !last.is_empty() || !found.is_empty() {
                found.push(last);
            }
            return Some((found, at + 1));
        }
    }
    None
}

const NAMES: [(&str, Order); 6] = [
    ("relaxed", Order::Relaxed),
    ("consume", Order::Acquire),
    ("acquire", Order::Acquire),
    ("release", Order::Release),
    ("acq_rel", Order::AcqRel),
    ("seq_cst", Order::SeqCst),
];
const RUST_NAMES: [(&str, Order); 5] = [
    ("Relaxed", Order::Relaxed),
    ("Acquire", Order::Acquire),
    ("Release", Order::Release),
    ("AcqRel", Order::AcqRel),
    ("SeqCst", Order::SeqCst),
];

/// Whether an argument is about an order at all.
fn mentions_order(argument: &str) -> bool {
    let last = argument.rsplit([':', ' ']).next().unwrap_or(argument);
    argument.contains("memory_order")
        || argument.contains("__ATOMIC_")
        || argument.contains("Ordering")
        || RUST_NAMES.iter().any(|(name, _)| *name == last)
}

/// The order that an argument is; none if it is anything but an order's name.
fn order_in(argument: &str) -> Option<Order> {
    let words: Vec<&str> = argument.split("::").map(str::trim).collect();
    let (last, before) = words.split_last()?;
    if !before.iter().all(|word| word.chars().all(|c| c.is_alphanumeric() || c == '_')) {
        return None;
    }
    let c = |name: &str| NAMES.iter().find(|(known, _)| *known == name).map(|(_, order)| *order);
    if let Some(name) = last.strip_prefix("memory_order_") {
        return c(name);
    }
    if let Some(name) = last.strip_prefix("__ATOMIC_") {
        return c(&name.to_ascii_lowercase());
    }
    if before.last() == Some(&"memory_order") {
        return c(last);
    }
    RUST_NAMES.iter().find(|(name, _)| name == last).map(|(_, order)| *order)
}

/// A text without its comments and what is in its strings, lines and columns unchanged. A comment without an end, and
/// a string without one in its line, are none: a raw string may contain anything.
fn uncommented(text: &str) -> String {
    let mut out = text.to_owned().into_bytes();
    let blank = |out: &mut [u8]| out.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let len = match rest {
            [b'/', b'/', ..] => line,
            [b'/', b'*', ..] => memchr::memmem::find(&rest[2..], b"*/").map_or(1, |end| end + 4),
            [b'\'', b'"', b'\'', ..] | [b'\'', b'\\', b'"', b'\'', ..] => 3,
            [b'"', ..] => match string(&rest[..line]) {
                // The quotes stay.
                Some(len) => {
                    blank(&mut out[at + 1..at + len - 1]);
                    at += len;
                    continue;
                }
                None => 1,
            },
            _ => 1,
        };
        if len > 1 && rest[0] == b'/' {
            blank(&mut out[at..at + len]);
        }
        at += len;
    }
    // What was replaced begins and ends at ASCII characters.
    String::from_utf8_lossy(&out).into_owned()
}

/// How long the string literal is that begins here.
fn string(line: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match line.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests;
