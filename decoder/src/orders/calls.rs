//! Atomic operations that are calls: of libatomic (`__atomic_load_16`, where the processor has no instruction for it),
//! and of AArch64's outline atomics. The access itself is in the function that is called, which serves everybody and
//! so does not know what its caller's source asked for; the caller does.

use super::info::{Atomic, OrderInfo, Source};
use super::ops::OpKind;
use super::{Inside, Orders};
use crate::aarch64::{OutlineOp, outline_atomic};
use crate::effect::Arch;
use wmtrace_model::order::Order;

/// A call of a function that is an atomic operation.
#[derive(Clone, PartialEq, Debug)]
pub struct AtomicCall {
    /// The function.
    pub name: String,
    /// What it does.
    pub kind: OpKind,
    /// Bytes; 0: only an argument tells.
    pub width: u16,
    /// Its order. If nobody states it, `policy`: it is an argument whose value only a thread knows.
    pub info: OrderInfo,
    /// The order of the instructions in the function, if its name tells.
    pub isa: Option<Order>,
}

impl Orders<'_> {
    /// What the call at `pc` of the function at `target` is, if it is an atomic operation.
    pub fn call(&self, pc: u64, target: u64) -> Option<AtomicCall> {
        let name = self.called(target)?;
        let (kind, width, isa) = match outline_atomic(name) {
            Some(outline) => {
                let kind = if outline.op == OutlineOp::Cas { OpKind::Cas } else { OpKind::Rmw };
                (kind, u16::from(outline.width), Some(outline.order))
            }
            None => {
                let (kind, width) = libatomic(name)?;
                (kind, width, None)
            }
        };
        let fits = |inside: &Inside<'_>| match inside.ops[0].1.kind {
            // `exchange` and the like are loops of compare-and-swap for what is too large.
            OpKind::Rmw | OpKind::Cas => matches!(kind, OpKind::Rmw | OpKind::Cas),
            found => found == kind,
        };
        let found = match self.inside(pc).filter(fits) {
            _ if self.by_file(pc).is_some() => self.by_file(pc),
            Some(inside) => self.stated(pc, &inside).or_else(|| self.told_by_text(&inside)),
            None => self.told_by_statement(pc, kind),
        };
        let unknown = || match isa {
            Some(order) => OrderInfo::new(order, Source::Isa, Atomic::Yes),
            None => OrderInfo::new(self.options.assume.order(kind.access()), Source::Policy, Atomic::Yes),
        };
        Some(AtomicCall { name: name.to_owned(), kind, width, info: found.unwrap_or_else(unknown), isa })
    }

    /// C's builtins: the one call of this kind in the statement.
    fn told_by_statement(&self, pc: u64, kind: OpKind) -> Option<OrderInfo> {
        let statement = self.kept.0.texts.statement(self.debug.files(), &self.debug.line(pc)?)?;
        let calls = statement.calls();
        let mut fitting = calls.iter().filter(|call| call.kind == kind);
        let (Some(call), None) = (fitting.next(), fitting.next()) else { return None };
        Some(OrderInfo { failure: call.failure, ..OrderInfo::new(call.order?, Source::Text, Atomic::Yes) })
    }

    /// The name of the function at an address: its own, or that of the import that a PLT entry jumps to.
    pub(super) fn called(&self, target: u64) -> Option<&str> {
        let own = self.image.symbol_at(target).filter(|symbol| symbol.addr == target && symbol.function);
        match own {
            Some(symbol) => Some(&symbol.name),
            None => self.image.imports().get(&self.slot(target)?).map(String::as_str),
        }
    }

    /// The slot that a PLT entry loads its target from.
    fn slot(&self, entry: u64) -> Option<u64> {
        let code = self.image.code_at(entry)?;
        match self.image.arch() {
            Arch::X86_64 => {
                // `jmp [rip + x]`, after an `endbr64` and with a `bnd`, maybe.
                let at = code.get(..16)?.windows(2).position(|pair| pair == [0xff, 0x25])?;
                let offset = i32::from_le_bytes(code.get(at + 2..at + 6)?.try_into().ok()?);
                Some(entry.wrapping_add(at as u64 + 6).wrapping_add_signed(i64::from(offset)))
            }
            Arch::Aarch64 => {
                // `adrp x16, page; ldr x17, [x16, #offset]`, after a `bti`, maybe.
                let word = |at: usize| Some(u32::from_le_bytes(code.get(at..at + 4)?.try_into().ok()?));
                let skip = if word(0)? == 0xd503_245f { 4 } else { 0 };
                let (adrp, ldr) = (word(skip)?, word(skip + 4)?);
                if adrp & 0x9f00_001f != 0x9000_0010 || ldr & 0xffc0_03ff != 0xf940_0211 {
                    return None;
                }
                let pages = (adrp >> 29 & 3 | (adrp >> 5 & 0x7_ffff) << 2) << 11;
                let page = i64::from(pages.cast_signed() >> 11) << 12;
                let base = (entry.wrapping_add(skip as u64) & !0xfff).wrapping_add_signed(page);
                Some(base.wrapping_add(u64::from(ldr >> 10 & 0xfff) * 8))
            }
        }
    }
}

/// What a function of libatomic does, and how many bytes wide.
fn libatomic(name: &str) -> Option<(OpKind, u16)> {
    name.strip_prefix("__atomic_")?;
    let (base, width) = match name.rsplit_once('_') {
        Some((base, digits @ ("1" | "2" | "4" | "8" | "16"))) => (base, digits.parse().ok()?),
        _ => (name, 0),
    };
    let (kind, fixed) = super::source::c_function(base)?;
    // The fences of libatomic's names are the compiler's own.
    (fixed.is_none() && kind != OpKind::Fence).then_some((kind, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libatomic() {
        assert_eq!(libatomic("__atomic_load_16"), Some((OpKind::Load, 16)));
        assert_eq!(libatomic("__atomic_load"), Some((OpKind::Load, 0)));
        assert_eq!(libatomic("__atomic_compare_exchange_16"), Some((OpKind::Cas, 16)));
        assert_eq!(libatomic("__atomic_fetch_nand_8"), Some((OpKind::Rmw, 8)));
        assert_eq!(libatomic("__atomic_add_fetch_4"), Some((OpKind::Rmw, 4)));
        assert_eq!(libatomic("__atomic_test_and_set_1"), Some((OpKind::Rmw, 1)));
        for other in ["__atomic_is_lock_free", "__atomic_thread_fence", "atomic_load", "__atomic_", "main"] {
            assert_eq!(libatomic(other), None, "{other}");
        }
    }
}
