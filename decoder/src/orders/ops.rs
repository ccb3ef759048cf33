//! Which functions are atomic operations: the members and free functions of C++'s `<atomic>` (libstdc++ and
//! libc++), `core::sync::atomic` of Rust, and the few atomics that libstdc++ itself uses.
//!
//! A function is known by its path (namespaces, types, name) as the debug information gives it, template and
//! generic arguments removed.

use crate::effect::AccessKind;
use wmtrace_model::order::Order;

/// What an atomic operation does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OpKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes: exchange, fetch-and-modify.
    Rmw,
    /// Compares and maybe writes.
    Cas,
    /// Orders other accesses.
    Fence,
}

impl OpKind {
    /// The access that it makes.
    pub const fn access(self) -> AccessKind {
        match self {
            OpKind::Load => AccessKind::Load,
            OpKind::Store => AccessKind::Store,
            OpKind::Rmw | OpKind::Cas | OpKind::Fence => AccessKind::Rmw,
        }
    }
}

/// How an order is written as a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    /// `enum memory_order` and `__ATOMIC_…`.
    C,
    /// `core::sync::atomic::Ordering`.
    Rust,
}

impl Scale {
    /// The order that a number means.
    pub(crate) fn order(self, value: u64) -> Option<Order> {
        match (self, value) {
            // The upper half holds hints for hardware lock elision; consume is acquire in every compiler.
            (Scale::C, _) => match value & 0xffff {
                0 => Some(Order::Relaxed),
                1 | 2 => Some(Order::Acquire),
                3 => Some(Order::Release),
                4 => Some(Order::AcqRel),
                5 => Some(Order::SeqCst),
                _ => None,
            },
            (Scale::Rust, 0) => Some(Order::Relaxed),
            (Scale::Rust, 1) => Some(Order::Release),
            (Scale::Rust, 2) => Some(Order::Acquire),
            (Scale::Rust, 3) => Some(Order::AcqRel),
            (Scale::Rust, 4) => Some(Order::SeqCst),
            (Scale::Rust, _) => None,
        }
    }

    /// Bytes of the enumeration.
    pub(crate) fn size(self) -> u8 {
        match self {
            Scale::C => 4,
            Scale::Rust => 1,
        }
    }

    /// What the parameter with the order may be called; of compare-and-swap that for success.
    pub(crate) fn order_names(self) -> &'static [&'static str] {
        match self {
            Scale::C => &["__m", "__m1", "__s", "__success", "__order"],
            Scale::Rust => &["order", "success"],
        }
    }

    /// What the parameter with the order of a failed compare-and-swap may be called.
    pub(crate) fn failure_names(self) -> &'static [&'static str] {
        match self {
            Scale::C => &["__m2", "__f", "__failure"],
            Scale::Rust => &["failure"],
        }
    }

    /// What the parameter with the object's address may be called.
    pub(crate) fn object_names(self) -> &'static [&'static str] {
        match self {
            Scale::C => &["this", "__ptr", "__a", "__mem"],
            Scale::Rust => &["dst", "self"],
        }
    }
}

/// An atomic operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Op {
    pub(crate) kind: OpKind,
    pub(crate) scale: Scale,
    /// The order that it has by definition (operators, functions without an order argument).
    pub(crate) fixed: Option<Order>,
    /// `this` is not the object but a reference to it (`atomic_ref`).
    pub(crate) indirect: bool,
}

/// The order of a failed compare-and-swap that names only one order.
pub(crate) fn failure_of(success: Order) -> Order {
    match success {
        Order::AcqRel => Order::Acquire,
        Order::Release => Order::Relaxed,
        Order::Na | Order::Relaxed | Order::Acquire | Order::SeqCst => success,
    }
}

/// The operation that a function is.
pub(crate) fn recognise(path: &[String]) -> Option<Op> {
    let plain: Vec<&str> = path.iter().map(|part| bare(part)).collect();
    match plain.as_slice() {
        // Without its namespace, in line tables. Nobody else calls a function so.
        ["atomic_thread_fence"] => op(OpKind::Fence, None),
        ["core", "sync", "atomic", .., name] => rust(name),
        ["__gnu_cxx", "__exchange_and_add" | "__atomic_add"] => op(OpKind::Rmw, Some(Order::AcqRel)),
        ["std", between @ .., name] => {
            // libc++ has an inline namespace (`__1`, `__ndk1`); libstdc++ has `_V2`, `__8` …
            let owner = between.iter().rev().find(|part| !is_version(part));
            match owner {
                None | Some(&"__atomic_impl") => {
                    free(name).or_else(|| member(name).filter(|_| owner.is_some()))
                }
                Some(&("atomic" | "__atomic_base" | "__atomic_float" | "atomic_flag")) => member(name),
                Some(&("atomic_ref" | "__atomic_ref" | "__atomic_ref_base")) => {
                    member(name).map(|op| Op { indirect: true, ..op })
                }
                Some(_) => None,
            }
        }
        _ => None,
    }
}

/// The operation that a function is of which only the bare name and the source file are known: all that line tables
/// (`-g1`, `debuginfo=line-tables-only`) leave.
pub(crate) fn recognise_in_file(name: &str, file: &str) -> Option<Op> {
    let name = bare(name);
    if file.ends_with("/core/src/sync/atomic.rs") {
        rust(name)
    } else if file.ends_with("/bits/atomic_base.h") || file.contains("/c++/") && file.ends_with("/atomic") {
        free(name).or_else(|| member(name))
    } else {
        None
    }
}

/// Without template and generic arguments; operators keep their `<`.
fn bare(part: &str) -> &str {
    if part.starts_with("operator") {
        return part;
    }
    part.find('<').filter(|&at| at > 0).map_or(part, |at| &part[..at])
}

fn is_version(part: &str) -> bool {
    part.strip_prefix("__").is_some_and(|rest| {
        rest.strip_prefix("ndk").unwrap_or(rest).bytes().all(|byte| byte.is_ascii_digit()) && !rest.is_empty()
    })
}

fn op(kind: OpKind, fixed: Option<Order>) -> Option<Op> {
    Some(Op { kind, scale: Scale::C, fixed, indirect: false })
}

/// A member of an atomic type, or of libstdc++'s `__atomic_impl`, which has the same names.
fn member(name: &str) -> Option<Op> {
    let sc = Some(Order::SeqCst);
    if let Some(operator) = name.strip_prefix("operator") {
        return match operator.trim() {
            "=" => op(OpKind::Store, sc),
            "++" | "--" | "+=" | "-=" | "&=" | "|=" | "^=" => op(OpKind::Rmw, sc),
            // A conversion: `operator int`.
            _ if operator.starts_with(' ') => op(OpKind::Load, sc),
            _ => None,
        };
    }
    match name {
        "load" | "test" => op(OpKind::Load, None),
        "store" | "clear" => op(OpKind::Store, None),
        "exchange" | "test_and_set" => op(OpKind::Rmw, None),
        "compare_exchange_weak" | "compare_exchange_strong" => op(OpKind::Cas, None),
        // libstdc++'s helpers for `operator+=` of atomic_ref.
        "__add_fetch" | "__sub_fetch" | "__and_fetch" | "__or_fetch" | "__xor_fetch" => op(OpKind::Rmw, sc),
        _ if name.starts_with("fetch_") => op(OpKind::Rmw, None),
        _ => None,
    }
}

/// A free function of `<atomic>`.
fn free(name: &str) -> Option<Op> {
    if matches!(name, "atomic_thread_fence" | "__cxx_atomic_thread_fence") {
        return op(OpKind::Fence, None);
    }
    let rest = match name.strip_prefix("__cxx_atomic_") {
        // libc++'s layer over the builtins: always with an order.
        Some(rest) => return member(rest),
        None => name.strip_prefix("atomic_")?,
    };
    let rest = rest.strip_prefix("flag_").unwrap_or(rest);
    let (rest, explicit) = rest.strip_suffix("_explicit").map_or((rest, false), |rest| (rest, true));
    let found = member(rest)?;
    Some(Op { fixed: if explicit { None } else { Some(Order::SeqCst) }, ..found })
}

/// A function of `core::sync::atomic`.
fn rust(name: &str) -> Option<Op> {
    let kind = match name {
        "load" | "atomic_load" => OpKind::Load,
        "store" | "atomic_store" => OpKind::Store,
        "compare_exchange"
        | "compare_exchange_weak"
        | "compare_and_swap"
        | "atomic_compare_exchange"
        | "atomic_compare_exchange_weak" => OpKind::Cas,
        "fence" => OpKind::Fence,
        // A loop of the others.
        "fetch_update" => return None,
        "swap" | "atomic_swap" | "atomic_add" | "atomic_sub" | "atomic_and" | "atomic_nand" | "atomic_or"
        | "atomic_xor" | "atomic_max" | "atomic_min" | "atomic_umax" | "atomic_umin" => OpKind::Rmw,
        _ if name.starts_with("fetch_") => OpKind::Rmw,
        _ => return None,
    };
    Some(Op { kind, scale: Scale::Rust, fixed: None, indirect: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(path: &str) -> Option<(OpKind, Option<Order>)> {
        let path: Vec<String> = path.split("::").map(str::to_owned).collect();
        recognise(&path).map(|op| (op.kind, op.fixed))
    }

    #[test]
    fn cpp() {
        let sc = Some(Order::SeqCst);
        assert_eq!(kind("std::__atomic_base<unsigned int>::load"), Some((OpKind::Load, None)));
        assert_eq!(kind("std::__1::__atomic_base<int, true>::fetch_add"), Some((OpKind::Rmw, None)));
        assert_eq!(kind("std::atomic<bool>::operator bool"), Some((OpKind::Load, sc)));
        assert_eq!(kind("std::__atomic_base<int>::operator++"), Some((OpKind::Rmw, sc)));
        assert_eq!(kind("std::atomic<int*>::operator="), Some((OpKind::Store, sc)));
        assert_eq!(kind("std::atomic_thread_fence"), Some((OpKind::Fence, None)));
        assert_eq!(kind("std::__1::__cxx_atomic_thread_fence"), Some((OpKind::Fence, None)));
        assert_eq!(kind("std::__1::__cxx_atomic_load<int>"), Some((OpKind::Load, None)));
        assert_eq!(kind("std::__atomic_impl::compare_exchange_weak<int>"), Some((OpKind::Cas, None)));
        assert_eq!(kind("std::atomic_load<int>"), Some((OpKind::Load, sc)));
        assert_eq!(kind("std::atomic_flag_test_and_set_explicit"), Some((OpKind::Rmw, None)));
        assert_eq!(kind("__gnu_cxx::__exchange_and_add"), Some((OpKind::Rmw, Some(Order::AcqRel))));
        for other in
            ["std::vector<int>::store", "std::load", "mine::atomic<int>::load", "std::atomic_signal_fence"]
        {
            assert_eq!(kind(other), None, "{other}");
        }
    }

    #[test]
    fn rust_paths() {
        assert_eq!(kind("core::sync::atomic::AtomicU32::load"), Some((OpKind::Load, None)));
        assert_eq!(kind("core::sync::atomic::Atomic<u32>::fetch_max"), Some((OpKind::Rmw, None)));
        assert_eq!(kind("core::sync::atomic::atomic_load<u32>"), Some((OpKind::Load, None)));
        assert_eq!(kind("core::sync::atomic::fence"), Some((OpKind::Fence, None)));
        for other in [
            "core::sync::atomic::AtomicU32::new",
            "core::sync::atomic::compiler_fence",
            "core::cell::Cell::load",
        ] {
            assert_eq!(kind(other), None, "{other}");
        }
    }
}
