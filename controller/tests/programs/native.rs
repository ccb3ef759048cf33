//! The programs themselves, without wmtrace: they compile, and the right ones are right.

use crate::build::{
    Built, Flavour, GNU_O0, LLVM_O0, LLVM_O2, MUSL, MUSL_STATIC, NO_PIE, RUST_DEBUG, STATIC, STATIC_PIE,
    STATIC_STRIPPED, STRIPPED,
};
use crate::run::{Directory, executions, feed};
use crate::source::{Language, Source, Variant, for_each};

fn runs_right(source: &Source, built: &Built, times: u64) -> Result<(), String> {
    let directory = Directory::new("native");
    for time in 0..times {
        let output = feed(directory.command(&built.path).args(&built.args), &source.stdin);
        if output.status.code() != Some(source.status) {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} in run {time}: {errors}", output.status));
        }
    }
    let strays = directory.strays();
    if strays.is_empty() { Ok(()) } else { Err(format!("left {strays:?}")) }
}

fn check(directory: &str) {
    for_each(
        &Source::all(directory),
        |source| source.name.clone(),
        |source| {
            if source.has(Variant::Buggy) {
                source.build(Variant::Buggy, source.usual());
            }
            runs_right(source, &source.build(Variant::Right, source.usual()), executions() / 10)
        },
    );
}

#[test]
fn verdicts() {
    check("verdicts");
}

#[test]
fn patterns() {
    check("patterns");
}

#[test]
fn odd() {
    check("odd");
}

/// Other compilers, and other ways to link.
#[test]
fn flavours() {
    let c: [Flavour; 10] =
        [GNU_O0, LLVM_O0, LLVM_O2, STATIC, STATIC_PIE, NO_PIE, STRIPPED, STATIC_STRIPPED, MUSL, MUSL_STATIC];
    let mut table: Vec<(Source, Flavour)> = Vec::new();
    for name in ["verdicts/assert.c", "patterns/barrier.c", "odd/signals.c"] {
        table.extend(c.map(|flavour| (Source::named(name), flavour)));
    }
    for name in ["patterns/prodcons.cpp", "patterns/atomic_wait.cpp"] {
        table.extend(c[..7].iter().map(|flavour| (Source::named(name), *flavour)));
    }
    table.push((Source::named("patterns/channels.rs"), RUST_DEBUG));
    for_each(
        &table,
        |(source, flavour)| format!("{} {flavour:?}", source.name),
        |(source, flavour)| runs_right(source, &source.build(Variant::Right, *flavour), 3),
    );
}

/// clang must compile what is not made for gcc alone.
#[test]
fn clang_compiles_everything() {
    let mut sources = [Source::all("verdicts"), Source::all("patterns"), Source::all("odd")].concat();
    sources.retain(|source| source.language != Language::Rust && source.name != "odd/rep_movs.c");
    for_each(
        &sources,
        |source| source.name.clone(),
        |source| runs_right(source, &source.build(Variant::Right, LLVM_O2), 1),
    );
}
