//! Every right program stays clean, by every strategy.

use crate::build::{
    Flavour, GNU_O0, LLVM_O2, MUSL, MUSL_STATIC, NO_PIE, RUST_DEBUG, STATIC, STATIC_PIE, STATIC_STRIPPED,
    STRIPPED,
};
use crate::run::{Directory, STRATEGIES, executions, is_long};
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
fn odd() {
    check("odd");
}

/// Everything at once, while other threads are held.
#[test]
fn stress() {
    let source = Source::named("stress/stress.c");
    is_clean(&source, source.usual(), executions().div_ceil(20), &["pctwm", "random"]).unwrap();
}

/// Static, stripped, position-dependent and musl programs, other compilers, no optimisation.
#[test]
fn flavours() {
    let c = [GNU_O0, LLVM_O2, STATIC, STATIC_PIE, NO_PIE, STRIPPED, STATIC_STRIPPED, MUSL, MUSL_STATIC];
    let (c, cpp): (&[Flavour], &[Flavour]) =
        if is_long() { (&c, &c[..7]) } else { (&[STATIC_PIE, STRIPPED, MUSL_STATIC], &[GNU_O0]) };
    let mut table: Vec<(Source, Flavour)> = Vec::new();
    for name in
        ["verdicts/assert.c", "verdicts/livelock.c", "patterns/barrier.c", "odd/signals.c", "odd/gives_up.c"]
    {
        table.extend(c.iter().map(|flavour| (Source::named(name), *flavour)));
    }
    for name in ["patterns/prodcons.cpp", "patterns/atomic_wait.cpp", "patterns/shared_ptr.cpp"] {
        table.extend(cpp.iter().map(|flavour| (Source::named(name), *flavour)));
    }
    if is_long() {
        // A static program sorts its tables of frames before its first exception, under the model: half a minute.
        table.extend(c.iter().map(|flavour| (Source::named("odd/cancel.c"), *flavour)));
    }
    let debug = ["patterns/channels.rs", "patterns/park.rs"];
    for source in Source::all("patterns") {
        if source.name.ends_with(".rs") && (is_long() || debug.contains(&source.name.as_str())) {
            table.push((source, RUST_DEBUG));
        }
    }
    for_each(
        &table,
        |(source, flavour)| format!("{} {flavour:?}", source.name),
        |(source, flavour)| is_clean(source, *flavour, executions() / 7, &["pctwm", "random"]),
    );
}
