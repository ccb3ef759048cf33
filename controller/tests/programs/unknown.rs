//! Programs whose memory orders nobody can tell: the debug information has none (C), and the source is gone.

use crate::build::{Built, compile};
use crate::run::{Directory, Report, executions};
use std::path::PathBuf;

/// Compiles text whose file is not there any more when it runs.
fn without_source(directory: &Directory, compiler: &'static str, text: &str) -> Built {
    let source = directory.file("gone.c", text);
    let path: PathBuf = compile(compiler, &["-O2", "-g", "-pthread"], &source, text);
    std::fs::remove_file(source).unwrap();
    Built { path, args: Vec::new() }
}

fn program(store: &str, load: &str) -> String {
    format!(
        r"
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static int a, b;
static void *one(void *n) {{ atomic_store_explicit(&x, 1, {store}); a = atomic_load_explicit(&y, {load}); return n; }}
static void *two(void *n) {{ atomic_store_explicit(&y, 1, {store}); b = atomic_load_explicit(&x, {load}); return n; }}
int main(void) {{
    pthread_t t, u;
    pthread_create(&t, 0, one, 0);
    pthread_create(&u, 0, two, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return !a && !b;
}}
"
    )
}

/// A load that is seq_cst is the same instruction as one that acquires. It must not be taken for the weaker one: store
/// buffering would be a false alarm. A store that is seq_cst is another one, so store buffering with weaker orders is
/// still found.
#[test]
fn are_never_taken_for_weaker_than_they_may_be() {
    let directory = Directory::new("unknown");
    for compiler in ["gcc", "clang"] {
        for model in ["auto", "c11", "tso"] {
            let strong = without_source(
                &directory,
                compiler,
                &program("memory_order_seq_cst", "memory_order_seq_cst"),
            );
            let options = format!("--model {model} -n {} --keep-going", executions());
            let report = directory.report(&options, &strong).unwrap();
            report.is_clean(executions()).unwrap();
            let weak = without_source(
                &directory,
                compiler,
                &program("memory_order_release", "memory_order_acquire"),
            );
            let report = directory.report(&format!("--model {model} -n 50"), &weak).unwrap();
            assert_eq!(report.kinds(), ["exit"], "{compiler} {model}: {}", report.value());
        }
    }
}

/// Without `--model`, c11 where debug information can tell orders, tso elsewhere: whatever the program does, also if it
/// has no thread, or maps memory before the first.
#[test]
fn the_model_follows_debug_information() {
    const TEXT: &str = r"
#include <pthread.h>
#include <stdlib.h>
static void *nothing(void *n) { return n; }
int main(int count, char **args) {
    (void)args;
    for (int i = 0; i < 10; i++) free(malloc(1 << 20));
    pthread_t t;
    if (count == 1) { pthread_create(&t, 0, nothing, 0); pthread_join(t, 0); }
    return 0;
}
";
    let directory = Directory::new("auto");
    let source = directory.file("auto.c", TEXT);
    for (flag, model) in [("-g", "c11"), ("-s", "tso")] {
        let path = compile("gcc", &["-O1", flag, "-pthread"], &source, TEXT);
        for args in [vec![], vec!["alone".to_owned()]] {
            let report = directory.report("-n 2", &Built { path: path.clone(), args }).unwrap();
            assert_eq!(report.value()["model"], model, "{flag}");
        }
    }
}

/// Under tso, a program without debug information that passes a message by `memcpy`: who has seen the copy has seen what
/// was stored before it. (Without that, a third of the executions fail.)
#[test]
fn copies_become_visible_in_their_turn() {
    const TEXT: &str = r"
#include <pthread.h>
#include <string.h>
static volatile int x;
static int flag[64], one[64] = {1};
static volatile size_t size = sizeof one;
static volatile int failed;
static void *writer(void *n) { x = 1; memcpy(flag, one, size); return n; }
static void *reader(void *n) { if (*(volatile int *)flag && !x) failed = 1; return n; }
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, writer, 0);
    pthread_create(&u, 0, reader, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return failed;
}
";
    let directory = Directory::new("copies");
    let source = directory.file("copies.c", TEXT);
    let path = compile("gcc", &["-O1", "-s", "-pthread"], &source, TEXT);
    let report = directory.report("-n 60 --keep-going", &Built { path, args: Vec::new() }).unwrap();
    assert_eq!(report.value()["model"], "tso");
    report.is_clean(60).unwrap();
}

/// Of an access to a variable whose type is not known (`-g1`), and whose line has no atomic word, nobody knows whether it is
/// atomic. Two of them that nothing orders are a warning that says where, and a bug for who asks for that. Not without any
/// debug information: there, every access is like that.
#[test]
fn races_of_unsure_accesses_are_warnings() {
    const TEXT: &str = r"
#include <pthread.h>
int shared, seen;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *writer(void *n) {
    if (LOCKS) pthread_mutex_lock(&mutex);
    shared = 1;
    if (LOCKS) pthread_mutex_unlock(&mutex);
    return n;
}
static void *reader(void *n) {
    if (LOCKS) pthread_mutex_lock(&mutex);
    seen = shared;
    if (LOCKS) pthread_mutex_unlock(&mutex);
    return n;
}
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, writer, 0);
    pthread_create(&u, 0, reader, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
";
    let directory = Directory::new("possible");
    let source = directory.file("possible.c", TEXT);
    let lines = |report: &Report| -> Vec<Vec<u64>> {
        let warnings = report.value()["warnings"].as_array().unwrap().iter();
        let possible = warnings.filter(|warning| warning["kind"] == "possible_race");
        let lines = |race: &serde_json::Value| {
            race["sites"].as_array().unwrap().iter().map(|site| site["line"].as_u64().unwrap()).collect()
        };
        possible.map(lines).collect()
    };
    let run = |flags: &[&'static str], options: &str| {
        let path = compile("gcc", &[&["-O1", "-pthread"], flags].concat(), &source, TEXT);
        let options = format!("--model c11 -n 40 --keep-going {options}");
        directory.report(&options, &Built { path, args: Vec::new() }).unwrap()
    };
    let unlocked = run(&["-g1", "-DLOCKS=0"], "");
    unlocked.is_clean(40).unwrap();
    let [race] = &lines(&unlocked)[..] else { panic!("{:?}", unlocked.value()["warnings"]) };
    assert!(race.contains(&7) && race.contains(&13), "{race:?}");
    assert_eq!(run(&["-g1", "-DLOCKS=0"], "--races on").bugs()[0]["kind"], "race");
    let quiet: [(&[&str], &str); 3] =
        [(&["-g1", "-DLOCKS=1"], ""), (&["-g1", "-DLOCKS=0"], "--races off"), (&["-s", "-DLOCKS=0"], "")];
    for (flags, options) in quiet {
        let report = run(flags, options);
        report.is_clean(40).unwrap();
        assert_eq!(lines(&report), Vec::<Vec<u64>>::new(), "{flags:?} {options}");
    }
}
