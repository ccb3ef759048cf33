//! No input panics, overflows the stack or takes long.

use super::tests::{SB, body_error, error, source};
use super::*;
use crate::litmus::program::Instr;
use crate::rng::Rng;
use alloc::vec;

#[test]
fn hostile_sizes_are_refused() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    let bodies = [
        format!("int r = {};", deep("(", ")")),
        format!("int r = {};", deep("!", "")),
        format!("int r = {};", deep("~-!", "")),
        format!("int r; {}", "if (1) ".repeat(100_000)),
        format!("int r; {}", "{".repeat(100_000)),
        format!("int r; {}", "r = ".repeat(100_000)),
        format!("int r; {}", "while (1) ".repeat(100_000)),
        format!("int r; r = {};", deep("atomic_fetch_add(x, ", ")")),
    ];
    for body in &bodies {
        assert!(body_error(body).ends_with("nested more than 100 levels deep"), "{}", body_error(body));
    }
    let long = format!("int r = 1{};", " + 1".repeat(100_000));
    assert!(body_error(&long).ends_with("more than 1000 operators in one expression"));
    let long = format!("{}exists x=1{}", source(""), "\\/x=1".repeat(100_000));
    assert!(error(&long).ends_with("more than 1000 operators in one expression"));
    for condition in ["~", "("] {
        let deep = format!("{}exists {}", source(""), condition.repeat(100_000));
        assert!(error(&deep).ends_with("nested more than 100 levels deep"));
    }
    let types = format!("C t {{}} P0 ({}", "_Atomic(".repeat(100_000));
    assert!(error(&types).ends_with("nested more than 100 levels deep"));
    assert!(body_error(&"*z=1;".repeat(70_000)).ends_with("a thread of more than 65535 instructions"));
    let many = (0..5000).map(|n| format!("int r{n};")).collect::<String>();
    assert!(body_error(&many).ends_with("a thread of more than 4096 registers"));
    let many = (0..65).map(|n| format!("P{n} () {{}} ")).collect::<String>();
    assert!(error(&format!("C t {{}} {many}")).ends_with("more than 64 threads"));
    let many = (0..2000).map(|n| format!("x{n}=0;")).collect::<String>();
    assert!(error(&format!("C t {{{many}}}")).ends_with("more than 1024 shared locations"));
    let many = (0..5000).map(|n| format!("0:x{n}=0;")).collect::<String>();
    assert!(error(&format!("C t {{{many}}}")).ends_with("more than 4096 registers are set"));
}

/// Changes, removes, doubles and moves bytes of valid tests: whatever comes out, `parse` returns, and what it
/// accepts has jumps and names that stay inside the program.
#[test]
fn mutated_tests_never_panic() {
    let cas = "int e = 0; if (!atomic_compare_exchange_strong(x, &e, 1) && *z || e) { e += 1; } else { do { e--; } \
               while (e > 0 && (e = *x)); }";
    let sources = [SB.to_string(), format!("{}forall ~(x=1 \\/ 0:e<>2)", source(cas))];
    let splices =
        ["(*", "*)", "{", "}", "(", "&&", "\"", "P2", "\u{fffd}", "0:", "999999999999999999999", "~"];
    let mut rng = Rng::new(1);
    let mut accepted = 0;
    for round in 0..20_000 {
        let mut bytes = sources[round % sources.len()].clone().into_bytes();
        for _ in 0..=rng.below(4) {
            let at = rng.below(bytes.len());
            match rng.below(4) {
                0 => bytes[at] = rng.below(256) as u8,
                1 => drop(bytes.remove(at)),
                2 => {
                    let splice = splices[rng.below(splices.len())];
                    bytes.splice(at..at, splice.bytes());
                }
                _ => {
                    let end = (at + rng.below(40)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = rng.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        if let Ok(program) = parse(&String::from_utf8_lossy(&bytes)) {
            accepted += 1;
            check_inside(&program);
        }
    }
    // Some mutations (in comments, names, numbers) are harmless; the loop must reach both outcomes.
    assert!((100..19_900).contains(&accepted), "{accepted}");
}

fn check_inside(program: &Program) {
    for code in &program.threads {
        let registers = vec![0; code.registers.len()];
        for (at, instr) in code.body.iter().enumerate() {
            match instr {
                Instr::Jump { to } => assert!(at < *to && *to <= code.body.len()),
                Instr::JumpIfZero { condition, to } => {
                    assert!(at < *to && *to <= code.body.len());
                    condition.eval(&registers);
                }
                Instr::Repeat { to } => assert!(*to <= at),
                Instr::Set { to, value } => {
                    assert!(to.0 < registers.len());
                    value.eval(&registers);
                }
                Instr::Load { to, at, .. } => {
                    assert!(to.0 < registers.len() && at.0 < program.locations.len());
                }
                Instr::Store { at, value, .. } => {
                    value.eval(&registers);
                    assert!(at.0 < program.locations.len());
                }
                Instr::Rmw { to, at, operand, .. } => {
                    operand.eval(&registers);
                    assert!(to.is_none_or(|to| to.0 < registers.len()) && at.0 < program.locations.len());
                }
                Instr::Cas { to, at, desired, .. } => {
                    desired.eval(&registers);
                    assert!(to.is_none_or(|to| to.0 < registers.len()) && at.0 < program.locations.len());
                }
                Instr::Fence { .. } | Instr::Wait { .. } | Instr::Wake { .. } => {}
            }
        }
    }
}
