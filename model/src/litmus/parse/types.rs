//! C's integer types, as far as tests use them.

use super::{ParseError, Parser, Result};

/// An integer type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CType {
    pub(super) width: u8,
    pub(super) signed: bool,
    pub(super) atomic: bool,
}

impl CType {
    pub(super) const INT: CType = CType { width: 4, signed: true, atomic: false };

    /// Whether values look the same in memory.
    pub(super) fn same_bytes(self, other: CType) -> bool {
        (self.width, self.signed) == (other.width, other.signed)
    }
}

/// `typedef`s, also with `atomic_` before them.
fn typedef(name: &str) -> Option<(u8, bool)> {
    Some(match name {
        "int8_t" => (1, true),
        "uint8_t" => (1, false),
        "int16_t" => (2, true),
        "uint16_t" => (2, false),
        "int32_t" => (4, true),
        "uint32_t" => (4, false),
        "int64_t" | "intptr_t" | "ptrdiff_t" | "intmax_t" => (8, true),
        "uint64_t" | "uintptr_t" | "size_t" | "uintmax_t" => (8, false),
        _ => return None,
    })
}

/// The rest of `atomic_…` where it is no `typedef`'s name.
fn atomic_only(name: &str) -> Option<(u8, bool)> {
    Some(match name {
        "bool" => (1, false),
        "char" | "schar" => (1, true),
        "uchar" => (1, false),
        "short" => (2, true),
        "ushort" => (2, false),
        "int" => (4, true),
        "uint" => (4, false),
        "long" | "llong" => (8, true),
        "ulong" | "ullong" => (8, false),
        _ => return None,
    })
}

/// A word of a type.
enum Word {
    /// `volatile`, `const`: no difference here.
    Qualifier,
    /// `_Atomic`, alone or with the type in parentheses.
    Atomic,
    /// `signed`, `unsigned`.
    Sign(bool),
    /// `int`, which may follow another width.
    Int,
    /// A width, and the sign it has by itself.
    Base(u8, bool),
    /// A name that says it all: width, signed, atomic.
    Whole(CType),
}

fn word(name: &str) -> Option<Word> {
    Some(match name {
        "volatile" | "const" => Word::Qualifier,
        "_Atomic" => Word::Atomic,
        "signed" => Word::Sign(true),
        "unsigned" => Word::Sign(false),
        "int" => Word::Int,
        "char" => Word::Base(1, true),
        "short" => Word::Base(2, true),
        "long" => Word::Base(8, true),
        "bool" | "_Bool" => Word::Base(1, false),
        _ => {
            let (base, atomic) = match name.strip_prefix("atomic_") {
                Some(rest) => (typedef(rest).or_else(|| atomic_only(rest)), true),
                None => (typedef(name), false),
            };
            let (width, signed) = base?;
            Word::Whole(CType { width, signed, atomic })
        }
    })
}

/// Whether the name is a type's, and so nobody else's.
pub(super) fn begins_type(name: &str) -> bool {
    word(name).is_some()
}

impl Parser<'_> {
    /// A type without its `*`, if one comes next.
    pub(super) fn optional_type(&mut self) -> Result<Option<CType>> {
        let start = self.peek().at;
        let (mut base, mut sign, mut atomic, mut any) = (None, None, false, false);
        while let Some(word) = self.peek_name().and_then(word) {
            let at = self.advance().at;
            any = true;
            let new = match word {
                Word::Qualifier => continue,
                Word::Sign(signed) => {
                    sign = Some(signed);
                    continue;
                }
                Word::Atomic => {
                    atomic = true;
                    if !self.eat("(") {
                        continue;
                    }
                    let Some(inner) = self.nested(Self::optional_type)? else {
                        return Err(self.unexpected("a type"));
                    };
                    self.expect(")")?;
                    inner
                }
                Word::Int if base.is_some() => continue,
                Word::Int => CType::INT,
                Word::Base(width, signed) => CType { width, signed, atomic: false },
                Word::Whole(ty) => ty,
            };
            // `long long` and `int long`, but not `char long`.
            if base.is_some_and(|base: CType| base != CType::INT && base != new) {
                return Err(ParseError::new(at, "two types at once"));
            }
            base = Some(new);
        }
        if !any {
            return Ok(None);
        }
        let Some(base) = base.or_else(|| (sign.is_some()).then_some(CType::INT)) else {
            return Err(ParseError::new(start, "a qualifier without a type"));
        };
        Ok(Some(CType {
            signed: sign.unwrap_or(base.signed),
            atomic: atomic || base.atomic,
            width: base.width,
        }))
    }
}
