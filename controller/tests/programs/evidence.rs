//! What reports say of how well orders are known.

use crate::build::{Built, compile};
use crate::run::{Directory, Report};

/// Message passing whose writer has no release: the reader's fence alone does not help.
const TEXT: &str = r"#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static int data;
static atomic_int flag;
static void *writer(void *n) {
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return n;
}
static void *reader(void *n) {
    if (atomic_load_explicit(&flag, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_acquire);
        int seen = data;
        assert(seen == 1);
    }
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

fn report(compiler: &'static str, level: &'static str) -> Report {
    let directory = Directory::new("evidence");
    let source = directory.file("evidence.c", TEXT);
    let path = compile(compiler, &[level, "-g", "-pthread"], &source, TEXT);
    directory.report("-n 100", &Built { path, args: Vec::new() }).unwrap()
}

/// gcc leaves a row for the fence, and all orders are in the text: nothing is assumed. The fence's event has the fence's line.
#[test]
fn what_is_known_is_sure() {
    for level in ["-O0", "-O2"] {
        let report = report("gcc", level);
        let bug = &report.bugs()[0];
        assert_eq!((&bug["kind"], &bug["evidence"]), (&"race".into(), &"sure".into()), "{level}: {bug}");
        assert_eq!(bug["strengthened_at"].as_array().map(Vec::len), Some(0), "{level}");
        assert!(bug["sites"].as_array().unwrap().iter().all(|site| site["evidence"] == "sure"), "{level}");
        let events = bug["events"].as_array().unwrap();
        let fence = events.iter().find(|event| event["text"] == "fence acquire").expect("a fence");
        assert!(fence["at"].as_str().unwrap().starts_with("evidence.c:13"), "{level}: {fence}");
        assert_eq!((&fence["order_from"], &fence["evidence"]), (&"source".into(), &"sure".into()), "{level}");
        let store = events.iter().find(|event| event["text"].as_str().unwrap().ends_with("= 1 relaxed"));
        assert_eq!(store.expect("the flag")["evidence"], "sure", "{level}");
    }
}

/// clang from 15 on leaves nothing of the fence: the reader as a whole is strengthened, and the report says where.
#[test]
fn what_is_strengthened_is_said() {
    let report = report("clang-19", "-O2");
    let bug = &report.bugs()[0];
    assert_eq!((&bug["kind"], &bug["evidence"]), (&"race".into(), &"strengthened".into()), "{bug}");
    let places = bug["strengthened_at"].as_array().unwrap();
    assert!(places.iter().any(|place| place.as_str().unwrap().starts_with("evidence.c:12")), "{places:?}");
}
