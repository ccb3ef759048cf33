//! Mistakes are named where they are, and what is not supported is named as that.

use super::parse;
use super::tests::{body_error, error};
use alloc::format;

#[test]
fn mistakes_are_named_where_they_are() {
    let wrong = [
        ("", "1:1: expected a C litmus test: `C name`"),
        ("X86 t", "1:1: expected a C litmus test: `C name`, found `X86`"),
        ("\u{1b}[2J t", "1:1: expected a C litmus test: `C name`"),
        ("C t\n#include <stdatomic.h>", "2:1: preprocessor lines are not supported: leave them out"),
        ("C\n{}", "1:2: expected the test's name after `C`"),
        ("C t\nwhat", "2:1: expected `{`, a string or `key=value`"),
        ("C t\n\"what", "2:1: this string does not end"),
        ("C t (* what", "1:5: this comment does not end"),
        ("C t", "1:4: expected `{`, found the end of the file"),
        ("C t {", "1:6: expected a location, a register or `}`, found the end of the file"),
        ("C t {}", "1:7: expected a thread `P0 (…) {…}`, found the end of the file"),
        ("C t {x=1 y=2}", "1:10: expected `;`, found `y`"),
        ("C t {x=1;x=2;}", "1:10: `x` is set twice"),
        ("C t {0:r=1;0:r=2;}", "1:12: `0:r` is set twice"),
        ("C t {1:r=1} P0 () {}", "1:6: `1:r` is set, but there is no thread P1"),
        ("C t {0:x=1} P0 (int *x) {}", "1:6: `x` is a pointer to shared memory: write `*x`"),
        ("C t {} P1 () {}", "1:8: expected `P0`, found `P1`"),
        ("C t {} P0 () {", "1:15: expected a statement, found the end of the file"),
        ("C t {} P0 (int *x, int *x) {}", "1:25: two parameters are called `x`"),
        ("C t {} P0 () {} é", "1:17: unexpected character 'é'"),
        ("C t {} P0 () {} \u{1b}", "1:17: unexpected character '\\u{1b}'"),
        ("C t {x=99999999999999999999}", "1:8: `99999999999999999999` is not a number of at most 64 bits"),
        ("C t {x=08}", "1:8: `08` is not a number of at most 64 bits"),
    ];
    for (text, message) in wrong {
        assert_eq!(error(text), message);
    }
    let wrong = [
        ("atomic_load_explicit(x, memory_order_release);", "4:25: a load cannot be release"),
        ("atomic_store_explicit(x, 1, memory_order_acquire);", "4:29: a store cannot be acquire"),
        ("atomic_store_explicit(x, 1, memory_order_consume);", "4:29: a store cannot be acquire"),
        (
            "int e = 0; atomic_compare_exchange_strong_explicit(x, &e, 1, memory_order_seq_cst, memory_order_release);",
            "4:84: a failed compare-and-swap cannot be release",
        ),
        ("atomic_load_explicit(x);", "4:23: expected `,`, found `)`"),
        (
            "atomic_load_explicit(x, relaxed);",
            "4:25: expected a memory order (`memory_order_…`), found `relaxed`",
        ),
        ("atomic_load(q);", "4:13: `q` is no parameter of this thread, so it is not shared"),
        ("int r = atomic_store(x, 1);", "4:9: `atomic_store` has no value"),
        ("int r = x;", "4:9: `x` is a pointer to shared memory: write `*x`"),
        ("x = 1;", "4:1: `x` is a pointer to shared memory: write `*x`"),
        ("int x = 1;", "4:5: `x` is a pointer to shared memory: write `*x`"),
        ("int r = q;", "4:9: `q` is not declared here"),
        ("int r = 1", "5:1: expected `;`, found `}`"),
        ("int r = 1 / 2;", "4:11: the operator `/` is not supported"),
        ("int r = (int)1;", "4:9: casts are not supported"),
        ("r;", "4:2: expected `=` or `(` after `r`, found `;`"),
        ("do { } until (1);", "4:8: expected `while`, found `until`"),
        ("*x += 1;", "4:4: expected `=`, found `+=`"),
        ("1;", "4:1: expected a statement, found `1`"),
        ("/* ", "4:1: this comment does not end"),
    ];
    for (body, message) in wrong {
        assert_eq!(body_error(body), message);
    }
}

#[test]
fn what_is_not_supported_is_named() {
    let wrong = [
        (
            "C t { int *p = &x; }",
            "1:16: expected a number, found `&` (addresses as values are not supported)",
        ),
        ("C t { p=x; }", "1:9: expected a number, found `x` (addresses as values are not supported)"),
        ("C t { 0:r1=x; }", "1:12: expected a number, found `x` (addresses as values are not supported)"),
        ("C t { int **p; }", "1:12: pointers to pointers are not supported"),
        ("C t { int x[2] = {0,1}; }", "1:12: arrays are not supported"),
        (
            "C t { mutex m; }",
            "1:7: unknown type `mutex`: only C's integers and their atomic types are supported",
        ),
        (
            "C t {} P0 (int *x, spinlock_t *l) {}",
            "1:20: unknown type `spinlock_t`: only C's integers and their atomic types are supported",
        ),
        ("C t {} P0 (int *x[2]) {}", "1:18: arrays are not supported"),
    ];
    for (text, message) in wrong {
        assert_eq!(error(text), message);
    }
    let wrong = [
        (
            "WRITE_ONCE(*x, 1);",
            "4:1: `WRITE_ONCE` is the Linux kernel's: only C11's atomic operations are supported",
        ),
        (
            "int r = smp_load_acquire(x);",
            "4:9: `smp_load_acquire` is the Linux kernel's: only C11's atomic operations are supported",
        ),
        ("for (int i = 0; i < 3; i++) {}", "4:1: `for` is not supported: write `while`"),
        ("int r; if (r) return;", "4:15: `return` is not supported"),
        ("int r; while (r) { break; }", "4:20: `break` is not supported"),
        ("int *p = 0;", "4:5: pointers in registers are not supported"),
        ("int r[2];", "4:6: arrays are not supported"),
        ("int r = 1; r = r ? 1 : 2;", "4:18: the operator `?` is not supported"),
        ("int r = 1 << 2;", "4:11: the operator `<<` is not supported"),
        ("int r = 1; r %= 2;", "4:14: the operator `%=` is not supported"),
        ("int r = 1; r->x = 2;", "4:13: the operator `->` is not supported"),
        ("int r = 1; int s = r[0];", "4:21: arrays are not supported"),
        ("(void)atomic_load(x);", "4:1: casts are not supported"),
    ];
    for (body, message) in wrong {
        assert_eq!(body_error(body), message);
    }
    let message = body_error("atomic_flag_clear(x);");
    assert!(
        message.starts_with("4:1: unknown function `atomic_flag_clear`: supported are `atomic_load`"),
        "{message}"
    );
}

/// A name as long as the file is not printed whole.
#[test]
fn messages_are_short() {
    let message = parse(&format!("C t {{}} P0 () {{ {} }}", "q".repeat(100_000))).unwrap_err().message;
    assert_eq!(message.chars().count(), super::MAX_MESSAGE + 1);
    assert!(message.ends_with('…'));
}
