//! Programs for AArch64 that LLVM has compiled: Rust ones, by Debian's rustc, and clang's. The same verdicts as for x86-64.

use crate::aarch64::{is_clean, is_found};
use crate::build::{CROSS_LLVM, CROSS_LLVM_LLSC, CROSS_LLVM_O0, CROSS_RUST, CROSS_RUST_DEBUG};
use crate::source::{Language, Source, Variant, for_each};

fn sources() -> Vec<Source> {
    let mut all = Source::all("verdicts");
    all.extend(Source::all("patterns"));
    all.retain(|source| source.language == Language::Rust);
    all
}

fn name(source: &Source) -> String {
    source.name.clone()
}

#[test]
fn wrong_programs() {
    let mut wrong = sources();
    wrong.retain(|source| source.has(Variant::Buggy));
    for_each(&wrong, name, |source| is_found(source, CROSS_RUST));
}

#[test]
fn right_programs() {
    for_each(&sources(), name, |source| is_clean(source, CROSS_RUST, 5, "random"));
}

/// Unoptimised code, in which an order is an argument.
#[test]
fn unoptimised() {
    let source = Source::named("patterns/stack.rs");
    is_clean(&source, CROSS_RUST_DEBUG, 5, "random").unwrap();
    is_found(&source, CROSS_RUST_DEBUG).unwrap();
}

#[test]
fn clang() {
    for flavour in [CROSS_LLVM, CROSS_LLVM_LLSC, CROSS_LLVM_O0] {
        is_clean(&Source::named("patterns/spinlock.cpp"), flavour, 5, "random").unwrap();
        is_clean(&Source::named("patterns/refcount.cpp"), flavour, 5, "random").unwrap();
        is_found(&Source::named("patterns/refcount.cpp"), flavour).unwrap();
    }
}
