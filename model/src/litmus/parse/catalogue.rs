//! Texts in the style of the catalogues that people have: diy's generated C tests, the C11 papers' and hand-written ones,
//! with all their habits of layout. Each is read; what it means is checked by what the condition says.

use super::super::program::{Condition, Instr, Program, Quantifier};
use super::parse;
use super::tests::error;
use alloc::format;
use alloc::string::String;

fn read(text: &str) -> Program {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn quantifier(program: &Program) -> Option<Quantifier> {
    program.condition.as_ref().map(|Condition { quantifier, .. }| *quantifier)
}

/// (name, the text after `C name`, instructions of each thread).
const TESTS: [(&str, &str, &[usize]); 15] = [
    (
        "MP",
        r"
{
[x]=0;
[y]=0;
}

P0 (atomic_int* y,atomic_int* x) {
  atomic_store_explicit(x,1,memory_order_relaxed);
  atomic_store_explicit(y,1,memory_order_release);
}

P1 (atomic_int* y,atomic_int* x) {
  int r0 = atomic_load_explicit(y,memory_order_acquire);
  int r1 = atomic_load_explicit(x,memory_order_relaxed);
}

exists (1:r0=1 /\ 1:r1=0)",
        &[2, 2],
    ),
    (
        "SB+diy",
        r#"
"PodWR Fre PodWR Fre"
Generator=diy7 (version 7.56+03)
Prefetch=0:x=F,0:y=T,1:y=F,1:x=T
Com=Fr Fr
Orig=PodWR Fre PodWR Fre

{}

P0 (volatile int* y, volatile int* x) {
  *x = 1;
  int r0 = *y;
}

P1 (volatile int* y, volatile int* x) {
  *y = 1;
  int r0 = *x;
}

exists (0:r0=0 /\ 1:r0=0)"#,
        &[2, 2],
    ),
    (
        "LB+data",
        r"
{}
P0 (atomic_int* y,atomic_int* x)
{
  int r1 = atomic_load_explicit(x,memory_order_relaxed);
  int r2 = r1 ^ r1;
  atomic_store_explicit(y,1+r2,memory_order_relaxed);
}
P1 (atomic_int* y,atomic_int* x)
{
  int r3 = atomic_load_explicit(y,memory_order_relaxed);
  if (r3) { atomic_store_explicit(x,1,memory_order_relaxed); }
}
exists (0:r1=1 /\ 1:r3=1)",
        &[3, 3],
    ),
    (
        "IRIW+locations",
        r"
{ x=0; y=0; }
P0 (atomic_int* x) { atomic_store_explicit(x,1,memory_order_relaxed); }
P1 (atomic_int* x,atomic_int* y) {
  int r0 = atomic_load_explicit(x,memory_order_acquire); // first
  int r1 = atomic_load_explicit(y,memory_order_acquire); /* second */
}
P2 (atomic_int* y) { atomic_store_explicit(y,1,memory_order_relaxed); }
P3 (atomic_int* x,atomic_int* y) {
  int r0 = atomic_load_explicit(y,memory_order_acquire);
  int r1 = atomic_load_explicit(x,memory_order_acquire);
}
locations [x;y;]
exists (1:r0=1 /\ 1:r1=0 /\ 3:r0=1 /\ 3:r1=0)",
        &[1, 2, 1, 2],
    ),
    (
        "CoRR",
        "
{ atomic_int x = 0; }
P0 (atomic_int* x) { atomic_store_explicit(x,1,memory_order_relaxed); }
P1 (atomic_int* x) {
  int r0 = atomic_load_explicit(x,memory_order_relaxed);
  int r1 = atomic_load_explicit(x,memory_order_relaxed);
}
~exists (1:r0=1 /\\ 1:r1=0)",
        &[1, 2],
    ),
    (
        "2+2W+forall",
        r"
{int x=0; int y=0;}
P0 (atomic_int* y,atomic_int* x) {
  atomic_store(x,2);
  atomic_store(y,1);
}
P1 (atomic_int* y,atomic_int* x) {
  atomic_store(y,2);
  atomic_store(x,1);
}
forall (not ([x]=2 /\ [y]=2))",
        &[2, 2],
    ),
    (
        "negative+hex",
        r"
{ x=-1; y=0x10; }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, -2, memory_order_relaxed);
  int r0 = atomic_load_explicit(y, memory_order_relaxed) + 0xff;
}
exists (x=-2 /\ 0:r0=0x10f \/ x=-0x1)",
        &[3],
    ),
    (
        "registers+init",
        r"
{ 0:r0=7; P1:r1=-3; x=0 }
P0 (atomic_int* x) { atomic_store_explicit(x,r0,memory_order_relaxed); }
P1 (atomic_int* x) { r1 = r1 + *x; }
exists (P1:r1=4)",
        &[2, 3],
    ),
    (
        "CAS+pointer",
        r"
{ x=0; expected=0; }
P0 (atomic_int* x, int* expected) {
  int r0 = atomic_compare_exchange_strong_explicit(x,expected,1,memory_order_acq_rel,memory_order_acquire);
}
P1 (atomic_int* x) {
  int expected = 0;
  int ok = atomic_compare_exchange_weak_explicit(x, &expected, 2, memory_order_seq_cst, memory_order_relaxed);
}
exists (0:r0=1 /\ 1:ok=0 /\ 1:expected=1)",
        &[5, 2],
    ),
    (
        "nested+ctrl",
        r"
{}
P0 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(x,memory_order_relaxed);
  if (r0 == 1) {
    if (atomic_load_explicit(y,memory_order_relaxed)) {
      atomic_store_explicit(y, 2, memory_order_relaxed);
    } else {
      atomic_store_explicit(y, 3, memory_order_relaxed);
    }
  } else if (r0 == -1) {
    atomic_thread_fence(memory_order_seq_cst);
  }
}
exists (y=3)",
        &[10],
    ),
    (
        "loops",
        r"
{}
P0 (atomic_int* x) {
  int r0;
  do {
    r0 = atomic_load_explicit(x, memory_order_acquire);
  } while (r0 == 0);
  while (r0 > 0) r0--;
}
P1 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_release); }
forall (0:r0=0)",
        &[6, 1],
    ),
    (
        "fences",
        r"
{}
P0 (atomic_int* x, int* d) {
  *d = 1;
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(x, 1, memory_order_relaxed);
}
P1 (atomic_int* x, int* d) {
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int r1 = (r0 == 1) * *d;
}
exists (1:r0=1 /\ ~(1:r1=1))",
        &[3, 4],
    ),
    (
        "_Atomic",
        r"
{}
P0 (_Atomic int *x, _Atomic(int) *y) {
  atomic_store(x, 1);
  *y = atomic_fetch_add(x, 2);
  int r = atomic_exchange_explicit(x, 3, memory_order_acq_rel);
}
exists (0:r=3 /\ y=1)",
        &[4],
    ),
    (
        "comments",
        r"
(* A comment of herd's, (* nested *) *)
{ x=0; (* and here *) }
P0 (atomic_int* x) // the only thread
{
	int r0;

	/* not a (* comment of herd's */
	r0 = atomic_load(x);
}

exists (0:r0=0) (* Bad outcome. *)",
        &[1],
    ),
    (
        "widths",
        "\n{ uint8_t b=255; }\nP0 (atomic_uchar* b, atomic_llong* l) { *l = atomic_fetch_add(b, 1); }",
        &[2],
    ),
];

#[test]
fn catalogue_tests_are_read() {
    for (name, text, lengths) in TESTS {
        // Also as editors on other systems write it.
        let unix = format!("C {name}\n{text}\n");
        for text in [unix.clone(), unix.replace('\n', "\r\n"), format!("\u{feff}{unix}")] {
            let program = read(&text);
            assert_eq!(program.name, name);
            let found = program.threads.iter().map(|code| code.body.len());
            assert!(found.eq(lengths.iter().copied()), "{name}: {:?}", program.threads);
            assert_eq!(program.condition.is_none(), name == "widths");
        }
    }
    let of = |wanted: &str| {
        let (name, text, _) = TESTS.iter().find(|(name, ..)| *name == wanted).unwrap();
        read(&format!("C {name}{text}"))
    };
    assert_eq!(quantifier(&of("CoRR")), Some(Quantifier::NotExists));
    assert_eq!(quantifier(&of("2+2W+forall")), Some(Quantifier::Forall));
    assert_eq!(of("IRIW+locations").observed.len(), 2);
    assert!(matches!(of("CAS+pointer").threads[0].body[1], Instr::Cas { weak: false, .. }));
    assert_eq!(of("widths").locations.iter().map(|l| l.place.width).max(), Some(8));
}

/// A Linux kernel test is refused at the first thing in it that is the kernel's.
#[test]
fn kernel_tests_are_refused() {
    let text: String = [
        "C MP+pooncerelease+poacquireonce\n\n(*\n * Result: Never\n *)\n\n{}\n\n",
        "P0(int *buf, int *flag) // Producer\n{\n\tWRITE_ONCE(*buf, 1);\n\tsmp_store_release(flag, 1);\n}\n\n",
        "P1(int *buf, int *flag) // Consumer\n{\n\tint r0;\n\n\tr0 = smp_load_acquire(flag);\n}\n\n",
        "exists (1:r0=1) (* Bad outcome. *)\n",
    ]
    .concat();
    let message = "is the Linux kernel's: only C11's atomic operations are supported";
    assert_eq!(error(&text), format!("11:2: `WRITE_ONCE` {message}"));
}
