//! Rust with line tables alone: the operations are known by name, what they access is not.

use super::{Directory, accesses, json};
use serde_json::Value;

/// More live values than registers: pointers and values are spilled in the middle of atomic operations.
const SPILLING: &str = "
use std::sync::atomic::{AtomicU64, Ordering::*};
#[inline(never)]
pub fn busy(a: &AtomicU64, b: &AtomicU64, x: &mut [u64; 32]) -> u64 {
    let mut s = [1u64; 20];
    for i in 0..32 {
        let v = a.load(Acquire);
        for j in 0..20 { s[j] = s[j].wrapping_mul(v ^ x[i]).rotate_left(j as u32); }
        b.store(s[3] ^ s[7] ^ s[11], Release);
        x[i] = s[0].wrapping_add(s[19]);
        let k = b.fetch_add(s[5], AcqRel);
        s[9] ^= k; s[2] ^= a.swap(k, Relaxed);
    }
    s.iter().fold(0, |p, q| p ^ q)
}
fn main() { println!(\"{}\", busy(&AtomicU64::new(1), &AtomicU64::new(2), &mut [3; 32])); }
";

#[cfg(target_arch = "x86_64")]
#[test]
fn spilled_registers_are_not_atomic_for_sure() {
    let directory = Directory::new("line-tables");
    directory.file("busy.rs", SPILLING);
    directory.run("rustc", "-O -C debuginfo=line-tables-only --edition 2021 busy.rs");
    let report = json(&["--all", "--function", "busy"], &directory.0.join("busy"));
    let sure: Vec<&Value> = accesses(&report).iter().filter(|entry| entry["atomic"] == "yes").collect();
    let stack = |entry: &&Value| entry["text"].as_str().unwrap().contains("[rsp");
    assert!(!sure.iter().any(&stack), "{sure:#?}");
    for (op, order) in [("load", "acquire"), ("store", "release"), ("rmw", "acq_rel"), ("rmw", "relaxed")] {
        assert!(sure.iter().any(|e| e["op"] == op && e["order"] == order), "no {order} {op}: {sure:#?}");
    }
    // The test is about something: there are spills.
    assert!(accesses(&report).iter().filter(stack).count() > 10);
}
