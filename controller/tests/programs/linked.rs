//! Programs that contain what others load. The C runtime inside a static program runs natively, as the dynamic one does,
//! and an allocator that takes `malloc`'s place is followed like `malloc`.

use crate::build::{Built, Flavour, GNU_O2, STATIC, compile};
use crate::run::{Directory, executions, is_long};
use crate::source::{Language, Source, Variant, for_each, targets};

/// What a static program cannot do, or is not asked to.
const NOT_STATIC: [&str; 1] = ["odd/dlopen.c"];

fn sources(directory: &str) -> Vec<Source> {
    let mut sources = Source::all(directory);
    sources.retain(|it| it.language != Language::Rust && !NOT_STATIC.contains(&it.name.as_str()));
    sources
}

fn is_clean(source: &Source, flavour: Flavour, runs: u64) -> Result<(), String> {
    let directory = Directory::new("linked");
    let built = source.build(Variant::Right, flavour);
    let (status, options) = (source.status, source.options.join(" "));
    let options = format!("-n {runs} --keep-going --expect-exit {status} {options}");
    directory.report_with(&source.stdin, &options, &built)?.is_clean(runs)
}

/// Callbacks, exceptions, cancellation, signals, forks: whatever leads from the C runtime into the program and back.
#[test]
fn static_programs_are_clean() {
    let mut table = [sources("patterns"), sources("odd")].concat();
    if !is_long() {
        table.retain(|it| it.name.len() % 2 == 0);
    }
    for_each(&table, |it| it.name.clone(), |it| is_clean(it, STATIC, executions().div_ceil(20)));
}

/// What is wrong with a static program is found in the same way as if it were dynamic.
#[test]
fn static_programs_are_found_wrong() {
    let mut table = [sources("verdicts"), sources("patterns")].concat();
    table.retain(|it| it.has(Variant::Buggy));
    if !is_long() {
        table.retain(|it| it.name.len() % 2 == 1);
    }
    let check = |source: &Source| {
        let directory = Directory::new("linked");
        let built = source.build(Variant::Buggy, STATIC);
        let options = format!("-n 1000 --expect-exit {} {}", source.status, source.options.join(" "));
        let report = directory.report_with(&source.stdin, &options, &built)?;
        let kinds = report.kinds();
        let expected = |kind: &&str| source.expect.iter().any(|expected| expected == kind);
        if kinds.is_empty() != source.expect.iter().any(|kind| kind == "clean") || !kinds.iter().all(expected)
        {
            return Err(format!("expected {:?}, not {kinds:?}: {}", source.expect, report.value()));
        }
        Ok(())
    };
    for_each(&table, |it| it.name.clone(), check);
}

/// How many of so many executions show a bug.
fn rate(built: &Built, options: &str, runs: u64) -> u64 {
    let report = Directory::new("rate").report(&format!("-n {runs} --keep-going {options}"), built).unwrap();
    report.number("buggy_executions")
}

/// The threads of store buffering and of message passing are static functions.
const SHAPES: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int x, y;
static int a, b;
static void *one(void *n) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
#ifdef MP
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    a = 1;
#else
    a = atomic_load_explicit(&y, memory_order_relaxed);
#endif
    return n;
}
static void *two(void *n) {
#ifdef MP
    b = !atomic_load_explicit(&y, memory_order_relaxed);
    b |= atomic_load_explicit(&x, memory_order_relaxed);
    a &= 1;
#else
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    b = atomic_load_explicit(&x, memory_order_relaxed);
#endif
    return n;
}
int main(void) {
    pthread_t s, t;
    pthread_create(&s, NULL, one, NULL);
    pthread_create(&t, NULL, two, NULL);
    pthread_join(s, NULL);
    pthread_join(t, NULL);
#ifdef MP
    if (!b) abort();
#else
    if (!a && !b) abort();
#endif
    return 0;
}
"#;

fn shape(flags: &[&'static str]) -> Built {
    let directory = Directory::new("shapes");
    let path = directory.file("shapes.c", SHAPES);
    // The compiler's output is named after its flags and the text: the path must be the same each time.
    let place = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("shapes.c");
    std::fs::rename(path, &place).unwrap();
    let flags = [&["-std=gnu17", "-pthread"], flags].concat();
    Built { path: compile("gcc", &flags, &place, SHAPES), args: Vec::new() }
}

/// A static program shows its bugs about as often as the dynamic one. The rates of 200 executions, here between 20 and 150,
/// have standard deviations below 8, so a factor of 2 between two that are the same has a probability below 1 in 1,000;
/// with the C library under the model they were lower by a factor of 20 and more.
#[test]
fn static_programs_are_explored_like_dynamic_ones() {
    let mut table: Vec<(String, Built, Built, &str)> = Vec::new();
    for (name, switch) in [("SB", "-DSB"), ("MP", "-DMP")] {
        let build = |link| shape(&["-g", "-O2", switch, link]);
        table.push((format!("{name} -static"), build("-no-pie"), build("-static"), "--races off"));
        table.push((format!("{name} -static-pie"), build("-no-pie"), build("-static-pie"), "--races off"));
    }
    // Without debug information: static functions without a name that anybody could know are the program's all the same.
    let build = |link| shape(&["-O2", "-DSB", link]);
    table.push(("SB without -g".into(), build("-no-pie"), build("-static"), "--model tso"));
    let benchmarks: &[&str] =
        if is_long() { &["dekker", "msqueue", "rwlock", "barrier"] } else { &["dekker"] };
    for name in benchmarks {
        let path = targets().join(format!("benchmarks/{name}/{name}.cpp"));
        let text = std::fs::read_to_string(&path).unwrap();
        let build = |link| {
            let flags = ["-std=c++17", "-g", "-O2", "-DBUGGY", "-DINSERTED=0", "-pthread", link];
            Built { path: compile("g++", &flags, &path, &text), args: Vec::new() }
        };
        table.push(((*name).to_owned(), build("-no-pie"), build("-static"), ""));
    }
    let check = |(_, dynamic, whole, options): &(String, Built, Built, &str)| {
        let (dynamic, whole) = (rate(dynamic, options, 200), rate(whole, options, 200));
        let similar = whole > 0 && whole <= 2 * dynamic && dynamic <= 2 * whole;
        if similar { Ok(()) } else { Err(format!("{whole} of 200 instead of {dynamic}")) }
    };
    for_each(&table, |it| it.0.clone(), check);
}

/// Programs of `allocators/`, and how each is linked. Debian has no mimalloc to be linked in.
const ALLOCATORS: [(&str, &str); 14] = [
    ("churn.cpp", ""),
    ("churn.cpp", "-static"),
    ("churn.cpp", "-Wl,--no-as-needed -ljemalloc"),
    ("churn.cpp", "-Wl,--no-as-needed -ltcmalloc_minimal"),
    ("churn.cpp", "-Wl,--no-as-needed -lmimalloc"),
    ("churn.cpp", "-l:libjemalloc.a"),
    ("churn.cpp", "-l:libtcmalloc_minimal.a"),
    ("churn.cpp", "-static -l:libtcmalloc_minimal.a"),
    ("churn.cpp", "preload libjemalloc.so.2"),
    ("churn.cpp", "preload libmimalloc.so.2"),
    ("jemalloc.c", "-ljemalloc"),
    ("jemalloc.c", "-l:libjemalloc.a -lstdc++ -lm"),
    ("mimalloc.c", "-lmimalloc"),
    ("tcmalloc.c", "-ltcmalloc_minimal"),
];

fn allocator(source: &Source, variant: Variant, link: &str) -> Built {
    let switch = if variant == Variant::Buggy { "-DBUGGY" } else { "" };
    match link.strip_prefix("preload ") {
        None => Built { path: source.compile(GNU_O2, &format!("{switch} {link}")), args: Vec::new() },
        Some(library) => {
            let program = source.compile(GNU_O2, switch);
            let preload = format!("LD_PRELOAD={library}");
            Built { path: "/usr/bin/env".into(), args: vec![preload, program.display().to_string()] }
        }
    }
}

/// Blocks that are handed out again are no use after free, whoever hands them out.
#[test]
fn allocators_are_clean() {
    let mut table: Vec<(Source, &str)> =
        ALLOCATORS.iter().map(|&(name, link)| (Source::named(&format!("allocators/{name}")), link)).collect();
    for link in ["", "-static", "-Wl,--no-as-needed -ljemalloc", "-Wl,--no-as-needed -lmimalloc"] {
        table.push((Source::named("allocators/usable.c"), link));
    }
    let check = |(source, link): &(Source, &str)| {
        let runs = executions().div_ceil(7);
        let built = allocator(source, Variant::Right, link);
        let options = format!("-n {runs} --keep-going --expect-exit 0 {}", source.options.join(" "));
        Directory::new("allocators").report(&options, &built)?.is_clean(runs)
    };
    for_each(&table, |(source, link)| format!("{} {link}", source.name), check);
}

/// A real one is found, also of a block that was allocated before there were threads. It needs one change of threads, at
/// a certain place of each: the default strategy finds it in the first 12 executions, as with glibc.
#[test]
fn allocators_find_uses_after_free() {
    let check = |(name, link): &(&str, &str)| {
        let source = Source::named(&format!("allocators/{name}"));
        let built = allocator(&source, Variant::Buggy, link);
        let report = Directory::new("allocators").report("-n 100 --races off --expect-exit 0", &built)?;
        let kinds = report.kinds();
        if kinds == ["use_after_free"] { Ok(()) } else { Err(format!("{kinds:?}: {}", report.value())) }
    };
    for_each(&ALLOCATORS, |(name, link)| format!("{name} {link}"), check);
}
