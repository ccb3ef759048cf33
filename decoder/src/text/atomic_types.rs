//! Which names of C may be atomic by their declarations: what debug information before DWARF 5 cannot say.

use super::items::Items;
use super::lex::{Kind, Token};
use std::collections::HashSet;

impl Items {
    /// The names of C's declarations that mention an atomic type, or one of `types`; whether each is a type's.
    pub(super) fn atomic_names(&self, types: &HashSet<String>) -> Vec<(String, bool)> {
        let mut found = Vec::new();
        let end = |token: &Token| matches!(token.kind, Kind::Mark(b';' | b'{' | b'}'));
        // Whether what comes before each open block is such a declaration: `_Atomic enum { A, B } x;`
        let mut open = Vec::new();
        let mut before = false;
        for declaration in self.tokens.code.split_inclusive(end) {
            let words = || declaration.iter().filter(|token| token.kind == Kind::Word);
            let mut texts = words().map(|token| self.tokens.text(token));
            let is_one = before || texts.any(|word| is_atomic_type(word) || types.contains(word));
            before = match declaration.last().map(|token| token.kind) {
                Some(Kind::Mark(b'{')) => {
                    open.push(is_one);
                    false
                }
                Some(Kind::Mark(b'}')) => open.pop().unwrap_or(false),
                _ => false,
            };
            if is_one {
                let is_type = words().next().is_some_and(|first| self.tokens.text(first) == "typedef");
                found.extend(words().map(|token| (self.tokens.text(token).to_owned(), is_type)));
            }
        }
        for definition in self.definitions.iter().filter(|definition| definition.is_macro) {
            let (tokens, _) = self.at(&definition.place);
            let mut texts = tokens.iter().map(|token| self.tokens.text(token));
            if texts.any(|word| is_atomic_type(word) || types.contains(word)) {
                found.push((definition.name.clone(), true));
            }
        }
        found
    }
}

/// Whether a word of C is an atomic type, or makes one.
fn is_atomic_type(word: &str) -> bool {
    const TYPES: &str = " bool char schar uchar short ushort int uint long ulong llong ullong char8_t char16_t char32_t \
        wchar_t flag size_t ptrdiff_t intptr_t uintptr_t intmax_t uintmax_t ";
    let listed = |rest: &str| {
        TYPES.contains(&format!(" {rest} ")) || rest.starts_with("int_") || rest.starts_with("uint_")
    };
    word == "_Atomic" || word.strip_prefix("atomic_").is_some_and(listed)
}

#[cfg(test)]
mod tests {
    use super::super::compiled::Macros;
    use super::super::lex::Language;
    use super::*;

    #[test]
    fn declarations_that_mention_an_atomic_type() {
        let text = "typedef _Atomic int counter;\nstruct s { int plain; atomic_bool flag; };\n\
                    static _Atomic enum { A, B } state;\nint other = 1;\n#define LONG _Atomic long\n";
        let items = Items::new(text.to_owned(), Language::C, &Macros::default());
        let found = items.atomic_names(&HashSet::new());
        let has = |name: &str, is_type: bool| found.contains(&(name.to_owned(), is_type));
        assert!(has("counter", true) && has("LONG", true));
        assert!(has("flag", false) && has("state", false));
        assert!(!found.iter().any(|(name, _)| name == "other" || name == "plain"), "{found:?}");
        let users = Items::new("counter hits;".to_owned(), Language::C, &Macros::default());
        let types: HashSet<String> = ["counter".to_owned()].into();
        assert!(users.atomic_names(&types).contains(&("hits".to_owned(), false)));
    }
}
