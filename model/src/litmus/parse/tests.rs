//! Each construct compiles to what it should.

use super::*;
use crate::litmus::program::{
    BinaryOp, Condition, Expected, Expr, Formula, Instr, Quantifier, Reg, RmwOp, Term,
};
use crate::order::Order;
use alloc::boxed::Box;

pub(super) const SB: &str = r#"C SB+rlx
"a description" (* a (* nested *) comment *)
Cycle=Fre PodWR
Expect=allowed
{ x = 0; [y] = 0; } // both are zero
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(y, memory_order_acquire); /* a
  comment */
}
P1 (volatile atomic_int *x, atomic_int *y) {
  atomic_store_explicit(y, 1, memory_order_release);
  int r1 = atomic_load(x);
}
locations [x; 0:r0;]
exists (0:r0=0 /\ 1:r1=0)
"#;

/// A test around the statements of one thread with `x`, `y` atomic and `z` plain.
pub(super) fn source(body: &str) -> String {
    format!("C t\n{{}}\nP0 (atomic_int* x, atomic_int* y, int* z) {{\n{body}\n}}\n")
}

fn compile(body: &str) -> Code {
    let mut program = parse(&source(body)).unwrap_or_else(|error| panic!("{body}: {error}"));
    program.threads.remove(0)
}

/// The error of a thread's statements; their first line is line 4.
pub(super) fn body_error(body: &str) -> String {
    parse(&source(body)).expect_err(body).to_string()
}

pub(super) fn error(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

const X: LocationId = LocationId(0);
const Y: LocationId = LocationId(1);
const Z: LocationId = LocationId(2);

fn reg(index: usize) -> Expr {
    Expr::Reg(Reg(index))
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

fn load(to: usize, at: LocationId, order: Order) -> Instr {
    Instr::Load { to: Reg(to), at, order }
}

fn set(to: usize, value: Expr) -> Instr {
    Instr::Set { to: Reg(to), value }
}

#[test]
fn a_whole_test() {
    let program = parse(SB).unwrap();
    assert_eq!(program.name, "SB+rlx");
    assert_eq!(program.expect, Some(Expect::Allowed));
    let names: Vec<_> = program.locations.iter().map(|l| (l.name.as_str(), l.place.addr.0, l.init)).collect();
    assert_eq!(names, [("x", 0x1000, 0), ("y", 0x1010, 0)]);
    assert_eq!(program.threads[0].registers, ["r0"]);
    assert_eq!(
        program.threads[0].body,
        [Instr::Store { at: X, value: Expr::Const(1), order: Order::Relaxed }, load(0, Y, Order::Acquire)]
    );
    assert_eq!(program.threads[1].body[1], load(0, X, Order::SeqCst));
    let formula = Formula::And(
        Box::new(Formula::Eq(Term::Reg(0, Reg(0)), 0)),
        Box::new(Formula::Eq(Term::Reg(1, Reg(0)), 0)),
    );
    assert_eq!(program.condition, Some(Condition { quantifier: Quantifier::Exists, formula }));
}

#[test]
fn init_blocks() {
    let program = parse(
        "C t { int x = -1; [y] = 0x10; atomic_int *w; uint8_t b = 7; 0:r1 = 5; }
         P0 (atomic_int* x, long* y, atomic_ulong *n) { int r0 = r1; }",
    )
    .unwrap();
    let locations: Vec<_> =
        program.locations.iter().map(|l| (l.name.as_str(), l.place.width, l.signed, l.init)).collect();
    assert_eq!(
        locations,
        [("x", 4, true, -1), ("y", 8, true, 16), ("w", 4, true, 0), ("b", 1, false, 7), ("n", 8, false, 0)]
    );
    assert_eq!(program.threads[0].registers, ["r1", "r0"]);
    assert_eq!(program.threads[0].body, [set(0, Expr::Const(5)), set(1, reg(0))]);
    assert_eq!(program.condition, None);
}

#[test]
fn types() {
    let widths = [
        ("char", 1, true),
        ("unsigned char", 1, false),
        ("short int", 2, true),
        ("unsigned", 4, false),
        ("long long unsigned int", 8, false),
        ("_Atomic int", 4, true),
        ("_Atomic(uint16_t)", 2, false),
        ("volatile _Atomic(long)", 8, true),
        ("atomic_bool", 1, false),
        ("atomic_uint8_t", 1, false),
        ("const int64_t", 8, true),
        ("atomic_size_t", 8, false),
    ];
    for (ty, width, signed) in widths {
        let program = parse(&format!("C t {{}} P0 ({ty}* x) {{}}")).unwrap();
        let location = &program.locations[0];
        assert_eq!((location.place.width, location.signed), (width, signed), "{ty}");
    }
    assert_eq!(error("C t {} P0 (char long* x) {}"), "1:17: two types at once");
    assert_eq!(error("C t {} P0 (volatile* x) {}"), "1:12: a qualifier without a type");
    assert_eq!(error("C t {} P0 (int x) {}"), "1:16: expected `*`, found `x`");
    assert_eq!(error("C t {} P0 (int** x) {}"), "1:16: pointers to pointers are not supported");
    let contradiction = "C t {}\nP0 (int* x) {}\nP1 (long* x) {}";
    assert_eq!(error(contradiction), "3:11: `x` has another type elsewhere in this test");
    let contradiction = "C t { long x = 0; }\nP0 (atomic_int* x) {}";
    assert_eq!(error(contradiction), "2:17: `x` has another type elsewhere in this test");
}

#[test]
fn plain_and_atomic_dereferences() {
    assert_eq!(compile("int r0 = *z;").body, [load(0, Z, Order::Na)]);
    assert_eq!(compile("int r0 = *x;").body, [load(0, X, Order::SeqCst)]);
    let store = |at, order| Instr::Store { at, value: Expr::Const(1), order };
    assert_eq!(compile("*z = 1;").body, [store(Z, Order::Na)]);
    assert_eq!(compile("*x = 1;").body, [store(X, Order::SeqCst)]);
    // In a body, `(*` is no comment.
    assert_eq!(compile("int r0 = (*z);").body, [load(0, Z, Order::Na)]);
    // A pointer to a plain type can be accessed atomically.
    let relaxed = compile("int r0 = atomic_load_explicit(z, memory_order_relaxed);");
    assert_eq!(relaxed.body, [load(0, Z, Order::Relaxed)]);
}

#[test]
fn read_modify_writes() {
    let ops = [
        ("exchange", RmwOp::Exchange),
        ("fetch_add", RmwOp::Add),
        ("fetch_sub", RmwOp::Sub),
        ("fetch_or", RmwOp::Or),
        ("fetch_and", RmwOp::And),
        ("fetch_xor", RmwOp::Xor),
    ];
    for (name, op) in ops {
        let code = compile(&format!(
            "atomic_{name}(x, 2); int r0 = atomic_{name}_explicit(x, 2, memory_order_acq_rel);"
        ));
        let rmw = |to, order| Instr::Rmw { to, at: X, op, operand: Expr::Const(2), order };
        assert_eq!(code.registers, ["r0"]);
        assert_eq!(code.body, [rmw(None, Order::SeqCst), rmw(Some(Reg(0)), Order::AcqRel)]);
    }
}

#[test]
fn compare_and_swap() {
    let code = compile(
        "int e = 0;
         int ok = atomic_compare_exchange_weak_explicit(x, &e, 1, memory_order_release, memory_order_consume);
         atomic_compare_exchange_strong(x, &e, 2);",
    );
    let cas = |to, desired, order, failure, weak| Instr::Cas {
        to,
        at: X,
        expected: Expected::Reg(Reg(0)),
        desired: Expr::Const(desired),
        order,
        failure,
        weak,
    };
    assert_eq!(code.registers, ["e", "ok"]);
    assert_eq!(code.body[1], cas(Some(Reg(1)), 1, Order::Release, Order::Acquire, true));
    assert_eq!(code.body[2], cas(None, 2, Order::SeqCst, Order::SeqCst, false));
}

/// herd's tests point `expected` to shared memory: read before, written after a failure only.
#[test]
fn compare_and_swap_with_expected_in_memory() {
    let code = compile("int ok = atomic_compare_exchange_strong(x, z, 1);");
    assert_eq!(code.registers, ["ok", "$1", "$2"]);
    assert_eq!(code.body[0], load(1, Z, Order::Na));
    assert!(matches!(code.body[1], Instr::Cas { to: Some(Reg(2)), expected: Expected::Reg(Reg(1)), .. }));
    assert_eq!(
        code.body[2..],
        [
            Instr::JumpIfZero { condition: Expr::Not(Box::new(reg(2))), to: 4 },
            Instr::Store { at: Z, value: reg(1), order: Order::Na },
            set(0, reg(2)),
        ]
    );
}

#[test]
fn fences() {
    let code = compile(
        "atomic_thread_fence(memory_order_relaxed);
         atomic_thread_fence(memory_order_acq_rel);
         atomic_thread_fence(memory_order_seq_cst);",
    );
    assert_eq!(code.body, [Instr::Fence { order: Order::AcqRel }, Instr::Fence { order: Order::SeqCst }]);
}

#[test]
fn registers_and_operators() {
    let code = compile("int a = 1, b; b = a + 2 * 3 - -4; b += a; b++; --b; b = !a | ~b;");
    let sum = binary(BinaryOp::Mul, Expr::Const(2), Expr::Const(3));
    let sum = binary(BinaryOp::Add, reg(0), sum);
    let one = || Expr::Const(1);
    assert_eq!(
        code.body,
        [
            set(0, one()),
            set(1, binary(BinaryOp::Sub, sum, Expr::Neg(Box::new(Expr::Const(4))))),
            set(1, binary(BinaryOp::Add, reg(1), reg(0))),
            set(1, binary(BinaryOp::Add, reg(1), one())),
            set(1, binary(BinaryOp::Sub, reg(1), one())),
            set(
                1,
                binary(
                    BinaryOp::Or,
                    Expr::Not(Box::new(reg(0))),
                    binary(BinaryOp::Xor, reg(1), Expr::Const(-1))
                )
            ),
        ]
    );
    assert_eq!(code.registers, ["a", "b"]);
}

#[test]
fn an_assignment_declares() {
    assert_eq!(compile("r0 = *z; int r1 = r0;").registers, ["r0", "r1"]);
    assert_eq!(compile("if (1) { r0 = 1; } r1 = r0;").registers, ["r0", "r1"]);
    assert_eq!(body_error("r0 = r0 + 1;"), "4:6: `r0` is not declared here");
    assert_eq!(body_error("r0 += 1;"), "4:1: `r0` is not declared here");
}

#[test]
fn blocks_and_scopes() {
    let code = compile("if (1) { int a = 1; } else { int a = 2; }");
    assert_eq!(code.registers, ["a"]);
    assert_eq!(body_error("if (1) { int a = 1; } int b = a;"), "4:31: `a` is not declared here");
    assert_eq!(body_error("int a; { int a; }"), "4:14: `a` is declared twice");
    assert_eq!(body_error("int a = a;"), "4:9: `a` is not declared here");
}

#[test]
fn if_and_else() {
    let code = compile("int r = 0; if (r == 1) r = 2; else if (r) { r = 3; } else r = 4;");
    assert_eq!(
        code.body,
        [
            set(0, Expr::Const(0)),
            Instr::JumpIfZero { condition: binary(BinaryOp::Eq, reg(0), Expr::Const(1)), to: 4 },
            set(0, Expr::Const(2)),
            Instr::Jump { to: 8 },
            Instr::JumpIfZero { condition: reg(0), to: 7 },
            set(0, Expr::Const(3)),
            Instr::Jump { to: 8 },
            set(0, Expr::Const(4)),
        ]
    );
}

#[test]
fn loops() {
    let code = compile("while (atomic_load(x) == 0) { *z = 1; }");
    assert_eq!(
        code.body,
        [
            load(0, X, Order::SeqCst),
            Instr::JumpIfZero { condition: binary(BinaryOp::Eq, reg(0), Expr::Const(0)), to: 4 },
            Instr::Store { at: Z, value: Expr::Const(1), order: Order::Na },
            Instr::Repeat { to: 0 },
        ]
    );
    let code = compile("int r; do { r = *x; } while (!r);");
    assert_eq!(
        code.body,
        [
            load(0, X, Order::SeqCst),
            Instr::JumpIfZero { condition: Expr::Not(Box::new(reg(0))), to: 3 },
            Instr::Repeat { to: 0 },
        ]
    );
}

#[test]
fn accesses_in_conditions_are_short_circuited() {
    let ne = |value| binary(BinaryOp::Ne, value, Expr::Const(0));
    let code = compile("int a = 1; if (a && *z == 2) a = 3;");
    assert_eq!(
        code.body,
        [
            set(0, Expr::Const(1)),
            set(2, ne(reg(0))),
            Instr::JumpIfZero { condition: reg(2), to: 5 },
            load(1, Z, Order::Na),
            set(2, ne(binary(BinaryOp::Eq, reg(1), Expr::Const(2)))),
            Instr::JumpIfZero { condition: reg(2), to: 7 },
            set(0, Expr::Const(3)),
        ]
    );
    // Jumps inside the right side move with it.
    let code = compile("int a = 1; a = a || (*z && *x);");
    let jumps: Vec<_> = code
        .body
        .iter()
        .enumerate()
        .filter_map(|(at, instr)| match instr {
            Instr::JumpIfZero { to, .. } => Some((at, *to)),
            _ => None,
        })
        .collect();
    assert_eq!(jumps, [(2, 9), (5, 8)]);
    // Without accesses there is nothing to guard.
    let pure = compile("int a = 1; int b = a && 2 || 0;");
    assert_eq!(pure.body.len(), 2);
}

#[test]
fn accesses_and_assignments_in_expressions() {
    let code = compile("int r; while ((r = *x) == 0) {} int s = *x + *y;");
    assert_eq!(code.body[0], load(0, X, Order::SeqCst));
    assert_eq!(
        code.body[1],
        Instr::JumpIfZero { condition: binary(BinaryOp::Eq, reg(0), Expr::Const(0)), to: 3 }
    );
    assert_eq!(code.body[3], load(2, X, Order::SeqCst));
    assert_eq!(code.body[4], load(3, Y, Order::SeqCst));
    assert_eq!(code.body[5], set(1, binary(BinaryOp::Add, reg(2), reg(3))));
    assert!(code.registers[2..].iter().all(|name| name.starts_with('$')));
}

#[test]
fn conditions() {
    let with = |condition: &str| format!("{}{condition}", source("int r = 0;"));
    let formula = |text: &str| parse(&with(text)).unwrap().condition.unwrap();
    let r = |value| Box::new(Formula::Eq(Term::Reg(0, Reg(0)), value));
    let x = |value| Box::new(Formula::Eq(Term::Location(X), value));
    let not = |formula| Box::new(Formula::Not(formula));
    let cases = [
        ("exists 0:r=1", Quantifier::Exists, *r(1)),
        ("~exists (x=-1)", Quantifier::NotExists, *x(-1)),
        ("forall [x] == 0x10", Quantifier::Forall, *x(16)),
        ("exists (0:r != 1 /\\ x <> 2)", Quantifier::Exists, Formula::And(not(r(1)), not(x(2)))),
        // `/\` binds tighter than `\/`, `~` tighter than both.
        (
            "exists x=1 \\/ ~ 0:r=2 /\\ not (true)",
            Quantifier::Exists,
            Formula::Or(x(1), Box::new(Formula::And(not(r(2)), not(Box::new(Formula::Const(true)))))),
        ),
        ("locations [x;] exists false", Quantifier::Exists, Formula::Const(false)),
        ("forall (P0:r=1 => x=2)", Quantifier::Forall, Formula::Or(not(r(1)), x(2))),
    ];
    for (text, quantifier, formula_expected) in cases {
        assert_eq!(formula(text), Condition { quantifier, formula: formula_expected }, "{text}");
    }
    let wrong = [
        ("filter (x=1)", "6:1: `filter` is not supported"),
        ("exists 1:r=0", "6:8: there is no thread P1"),
        ("exists 0:q=0", "6:10: thread P0 has no register `q`"),
        ("exists 0:$0=0", "6:10: unexpected character '$'"),
        ("exists q=0", "6:8: there is no location `q`"),
        ("exists x", "6:9: expected `=` or `!=`, found the end of the file"),
        ("exists x=y", "6:10: expected a number, found `y` (addresses as values are not supported)"),
        ("exists 0:r=0:r", "6:12: a comparison is with a number, not with another register"),
        ("exists x=1 y=1", "6:12: expected `/\\`, `\\/` or the end of the file, found `y`"),
        ("maybe x=1", "6:1: expected a thread, `exists`, `~exists` or `forall`, found `maybe`"),
        ("exists (x=1", "6:12: expected `)`, found the end of the file"),
        ("locations [x", "6:13: expected `;`, found the end of the file"),
        ("locations [q;]", "6:12: there is no location `q`"),
    ];
    for (text, message) in wrong {
        assert_eq!(error(&with(text)), message);
    }
}

#[test]
fn expectations() {
    let expect = |line: &str| parse(&format!("C t\n{line}\n{{}} P0 () {{}}")).map(|program| program.expect);
    assert_eq!(expect("Expect=forbidden"), Ok(Some(Expect::Forbidden)));
    assert_eq!(expect("Result=Never"), Ok(Some(Expect::Forbidden)));
    assert_eq!(expect("(*\n * Result: Never\n *\n * Why: …\n *)"), Ok(Some(Expect::Forbidden)));
    assert_eq!(expect("(* Result: Always *)"), Ok(Some(Expect::Required)));
    assert_eq!(expect("(* Result: depends *)"), Ok(None));
    assert_eq!(expect("Result = Sometimes\r"), Ok(Some(Expect::Allowed)));
    assert_eq!(expect("Result=Always"), Ok(Some(Expect::Required)));
    assert_eq!(expect("Generator=diy"), Ok(None));
    let message = |line: &str| expect(line).unwrap_err().to_string();
    assert_eq!(message("Expect=no"), "2:1: `Expect` is `forbidden`, `allowed` or `required`");
    assert_eq!(message("Result=no"), "2:1: `Result` is `Never`, `Sometimes` or `Always`");
    assert_eq!(message("Expect=forbidden\nResult=Always"), "3:1: contradicts the expectation given before");
}

/// A number that a location cannot hold is the number that it would hold, as in C's comparisons with its type.
#[test]
fn numbers_are_converted_to_the_location() {
    let program = parse("C t { u=-1; } P0 (atomic_uint* u, char* c) {} exists (u=-1 /\\ c=255)").unwrap();
    assert_eq!(program.locations[0].init, 0xffff_ffff);
    let eq = |at, value| Box::new(Formula::Eq(Term::Location(LocationId(at)), value));
    assert_eq!(program.condition.unwrap().formula, Formula::And(eq(0, 0xffff_ffff), eq(1, -1)));
}

#[test]
fn locations_are_observed() {
    let text = format!("{}locations [x; 0:r; x; P0:r]; exists y=0", source("int r = 0;"));
    let program = parse(&text).unwrap();
    assert_eq!(program.observed, [Term::Location(X), Term::Reg(0, Reg(0))]);
}

/// Every instruction has the line of the access or the keyword that it comes from.
#[test]
fn instructions_have_lines() {
    let code = compile(
        "int r =
           *z;
         if (r)
           atomic_store_explicit(
             x,
             atomic_load(
               y),
             memory_order_relaxed);
         do {
           r = r
             && *z;
         } while (!r);",
    );
    let accesses = code.body.iter().zip(&code.lines).filter_map(|(instr, line)| match instr {
        Instr::Load { at, .. } | Instr::Store { at, .. } => Some((at.0, *line)),
        _ => None,
    });
    assert_eq!(accesses.collect::<Vec<_>>(), [(2, 5), (1, 9), (0, 7), (2, 14)]);
    assert_eq!((code.line(1), code.lines.last(), code.line(99)), (Some(6), Some(&15), None));
    assert_eq!(code.lines.len(), code.body.len());
}
