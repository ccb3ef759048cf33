//! Every right program stays clean, by every strategy.

use crate::build::{
    Flavour, GNU_O0, LLVM_O2, MUSL, MUSL_STATIC, NO_PIE, RUST_DEBUG, STATIC, STATIC_PIE, STATIC_STRIPPED,
    STRIPPED,
};
use crate::run::{Directory, STRATEGIES, executions};
use crate::source::{Source, Variant, for_each};

fn is_clean(source: &Source, flavour: Flavour, runs: u64, strategies: &[&str]) -> Result<(), String> {
    let directory = Directory::new("clean");
    let built = source.build(Variant::Right, flavour);
    for strategy in strategies {
        let (status, options) = (source.status, source.options.join(" "));
        let options =
            format!("--strategy {strategy} -n {runs} --keep-going --expect-exit {status} {options}");
        directory.report_with(&source.stdin, &options, &built)?.is_clean(runs)?;
    }
    Ok(())
}

fn check(directory: &str) {
    let runs = executions().div_ceil(STRATEGIES.len() as u64);
    for_each(
        &Source::all(directory),
        |source| source.name.clone(),
        |source| is_clean(source, source.usual(), runs, &STRATEGIES),
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
#[ignore = "long: scripts/test-long runs it"]
fn odd() {
    check("odd");
}

/// Static, stripped, position-dependent and musl programs, other compilers, no optimisation.
#[test]
#[ignore = "long: scripts/test-long runs it"]
fn flavours() {
    let c = [GNU_O0, LLVM_O2, STATIC, STATIC_PIE, NO_PIE, STRIPPED, STATIC_STRIPPED, MUSL, MUSL_STATIC];
    let mut table: Vec<(Source, Flavour)> = Vec::new();
    for name in
        ["verdicts/assert.c", "verdicts/livelock.c", "patterns/barrier.c", "odd/signals.c", "odd/cancel.c"]
    {
        table.extend(c.map(|flavour| (Source::named(name), flavour)));
    }
    for name in ["patterns/prodcons.cpp", "patterns/atomic_wait.cpp", "patterns/shared_ptr.cpp"] {
        table.extend(c[..7].iter().map(|flavour| (Source::named(name), *flavour)));
    }
    for source in Source::all("patterns") {
        if source.name.ends_with(".rs") {
            table.push((source, RUST_DEBUG));
        }
    }
    for_each(
        &table,
        |(source, flavour)| format!("{} {flavour:?}", source.name),
        |(source, flavour)| is_clean(source, *flavour, executions() / 7, &["pctwm", "random"]),
    );
}
