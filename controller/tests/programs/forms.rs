//! Operations that compilers make other instructions of than the usual ones: a read-modify-write that changes nothing is a
//! barrier and a load (LLVM), a sequentially consistent store is an XCHG.

use crate::build::{Built, compile};
use crate::run::{Directory, Report};

const COMPILERS: [&str; 3] = ["gcc", "clang", "clang-19"];

/// Whether a compiler is there; clang-19 need not be.
fn has(compiler: &str) -> bool {
    std::process::Command::new(compiler).arg("--version").output().is_ok()
}

/// The second thread sees `y` of the first one, so its read-modify-write of `x` sees the first one's: otherwise the first
/// one's would read from the second one's, a cycle of program order and reads-from (docs/MODELS.md). A load sees 0 in one of
/// seven executions. `EITHER`: the second thread does not look at `y`.
const IDLE: &str = r"
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static int failed;
static void *one(void *n) {
    atomic_fetch_add_explicit(&x, 1, memory_order_relaxed);
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    return n;
}
static void *two(void *n) {
    if (EITHER || atomic_load_explicit(&y, memory_order_relaxed) == 1) {
        int seen = OP;
        failed = seen != 1;
    }
    return n;
}
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, one, 0);
    pthread_create(&u, 0, two, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return failed;
}
";

const IDLE_RUST: &str = r"
use std::sync::atomic::{AtomicUsize, Ordering::*};
static X: AtomicUsize = AtomicUsize::new(0);
static Y: AtomicUsize = AtomicUsize::new(0);
fn main() {
    let t = std::thread::spawn(|| {
        X.fetch_add(1, Relaxed);
        Y.store(1, Relaxed);
    });
    let u = std::thread::spawn(|| if EITHER || Y.load(Relaxed) == 1 { OP } else { 1 });
    t.join().unwrap();
    std::process::exit((u.join().unwrap() != 1) as i32);
}
";

fn check(directory: &Directory, compiler: &'static str, flags: &[&str], name: &str, text: &str, op: &str) {
    for (either, expected) in [("0", &[][..]), ("1", &["exit"][..])] {
        let either = if compiler == "rustc" { ["false", "true"][usize::from(either == "1")] } else { either };
        let text = text.replace("EITHER", either).replace("OP", op);
        let source = directory.file(name, &text);
        let built = Built { path: compile(compiler, flags, &source, &text), args: Vec::new() };
        let report = directory.report("--model c11 -n 200", &built).unwrap();
        assert_eq!(report.kinds(), expected, "{compiler} {op}: {}", report.value());
        if !expected.is_empty() {
            let recording = report.recording(directory);
            let words = ["replay", "--format", "json", recording.to_str().unwrap()];
            let replayed = Report::read(&directory.wmtrace(&words).output().unwrap()).unwrap();
            assert_eq!(replayed.kinds(), expected, "{compiler} {op}");
        }
    }
}

#[test]
fn a_read_modify_write_that_changes_nothing_is_one() {
    let directory = Directory::new("idle");
    for compiler in COMPILERS.into_iter().filter(|compiler| has(compiler)) {
        for op in [
            "atomic_fetch_or_explicit(&x, 0, memory_order_acq_rel)",
            "atomic_fetch_add_explicit(&x, 0, memory_order_relaxed)",
            "atomic_fetch_and_explicit(&x, -1, memory_order_seq_cst)",
        ] {
            check(&directory, compiler, &["-O2", "-g", "-pthread"], "idle.c", IDLE, op);
        }
    }
    for op in ["X.fetch_add(0, SeqCst)", "X.fetch_sub(0, Acquire)", "X.fetch_xor(0, Relaxed)"] {
        check(&directory, "rustc", &["-g", "-O", "--edition=2021"], "idle.rs", IDLE_RUST, op);
    }
}

/// An assignment to an `_Atomic` object stores, and does not read: fresh memory may be written so, and it does not acquire.
#[test]
fn an_assignment_of_c_is_a_store() {
    const TEXT: &str = r"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct s { _Atomic int flag; int data; };
static _Atomic int ready;
int data;
#define SET(o, v) atomic_store(&(o), v)
static void *one(void *p) { data = 1; ready = 2; return p; }
static void *two(void *p) {
    struct s *s = malloc(sizeof *s); s->flag = 2; free(s);
    s = malloc(sizeof *s);
    SET(s->flag, 3);
    free(s);
    while (atomic_load_explicit(&ready, memory_order_relaxed) != 2)
        ;
    ready = 3;
    if (RACE)
        data = 2;
    return p;
}
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, one, 0);
    pthread_create(&u, 0, two, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
";
    let directory = Directory::new("assignment");
    let source = directory.file("assignment.c", TEXT);
    for compiler in COMPILERS.into_iter().filter(|compiler| has(compiler)) {
        for level in ["-O0", "-O2"] {
            for (race, expected) in [("-DRACE=0", &[][..]), ("-DRACE=1", &["race"][..])] {
                let path = compile(compiler, &[level, "-g", "-pthread", race], &source, TEXT);
                let built = Built { path, args: Vec::new() };
                let report = directory.report("--model c11 -n 60 --keep-going", &built).unwrap();
                assert_eq!(report.kinds(), expected, "{compiler} {level} {race}: {}", report.value());
            }
        }
    }
}
