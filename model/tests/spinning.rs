//! Programs that wait: they finish under every strategy, at every depth, without falling back to random
//! choices; what can never finish is reported as what it is.

mod support;

use support::{parameters, program, run_with};
use wmtrace_model::litmus::program::{Code, Instr, LocationId, Program};
use wmtrace_model::litmus::sim::End;
use wmtrace_model::machine::Config;
use wmtrace_model::op::{ModelKind, Stuck};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::{StrategyKind, build};

/// Test-and-set: the waiting thread writes (the same value again) in every round.
const TAS_LOCK: &str = r#"C tas-lock
{}
P0 (atomic_int* l, int* d) {
    while (atomic_exchange_explicit(l, 1, memory_order_acquire) == 1) { }
    int r = *d; *d = r + 1;
    atomic_store_explicit(l, 0, memory_order_release);
}
P1 (atomic_int* l, int* d) {
    while (atomic_exchange_explicit(l, 1, memory_order_acquire) == 1) { }
    int r = *d; *d = r + 1;
    atomic_store_explicit(l, 0, memory_order_release);
}
P2 (atomic_int* l, int* d) {
    while (atomic_exchange_explicit(l, 1, memory_order_acquire) == 1) { }
    int r = *d; *d = r + 1;
    atomic_store_explicit(l, 0, memory_order_release);
}
forall (d=3)"#;

/// Test-and-test-and-set with a weak compare-and-swap.
const TTAS_LOCK: &str = r#"C ttas-lock
{}
P0 (atomic_int* l, int* d) {
    int ok = 0;
    while (ok == 0) {
        while (atomic_load_explicit(l, memory_order_relaxed) == 1) { }
        int e = 0;
        ok = atomic_compare_exchange_weak_explicit(l, &e, 1, memory_order_acquire, memory_order_relaxed);
    }
    int r = *d; *d = r + 1;
    atomic_store_explicit(l, 0, memory_order_release);
}
P1 (atomic_int* l, int* d) {
    int ok = 0;
    while (ok == 0) {
        while (atomic_load_explicit(l, memory_order_relaxed) == 1) { }
        int e = 0;
        ok = atomic_compare_exchange_weak_explicit(l, &e, 1, memory_order_acquire, memory_order_relaxed);
    }
    int r = *d; *d = r + 1;
    atomic_store_explicit(l, 0, memory_order_release);
}
forall (d=2)"#;

/// A ticket lock: each thread waits for its own number.
const TICKET_LOCK: &str = r#"C ticket-lock
{}
P0 (atomic_int* next, atomic_int* now, int* d) {
    int me = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    while (atomic_load_explicit(now, memory_order_acquire) != me) { }
    int r = *d; *d = r + 1;
    atomic_store_explicit(now, me + 1, memory_order_release);
}
P1 (atomic_int* next, atomic_int* now, int* d) {
    int me = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    while (atomic_load_explicit(now, memory_order_acquire) != me) { }
    int r = *d; *d = r + 1;
    atomic_store_explicit(now, me + 1, memory_order_release);
}
P2 (atomic_int* next, atomic_int* now, int* d) {
    int me = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    while (atomic_load_explicit(now, memory_order_acquire) != me) { }
    int r = *d; *d = r + 1;
    atomic_store_explicit(now, me + 1, memory_order_release);
}
forall (d=3)"#;

/// A sequence lock: two writers, one reader that retries.
const SEQLOCK: &str = r#"C seqlock
{}
P0 (atomic_int* seq, atomic_int* a, atomic_int* b) {
    int ok = 0;
    while (ok == 0) {
        int s = atomic_load_explicit(seq, memory_order_acquire);
        if ((s & 1) == 0) {
            int e = s;
            ok = atomic_compare_exchange_strong_explicit(seq, &e, s + 1, memory_order_acq_rel, memory_order_relaxed);
        }
    }
    atomic_store_explicit(a, 3, memory_order_release);
    atomic_store_explicit(b, 3, memory_order_release);
    atomic_fetch_add_explicit(seq, 1, memory_order_release);
}
P1 (atomic_int* seq, atomic_int* a, atomic_int* b) {
    int ok = 0;
    while (ok == 0) {
        int s = atomic_load_explicit(seq, memory_order_acquire);
        if ((s & 1) == 0) {
            int e = s;
            ok = atomic_compare_exchange_strong_explicit(seq, &e, s + 1, memory_order_acq_rel, memory_order_relaxed);
        }
    }
    atomic_store_explicit(a, 2, memory_order_release);
    atomic_store_explicit(b, 2, memory_order_release);
    atomic_fetch_add_explicit(seq, 1, memory_order_release);
}
P2 (atomic_int* seq, atomic_int* a, atomic_int* b) {
    int s = 1; int t = 0; int x = 0; int y = 0;
    while (s != t) {
        s = atomic_load_explicit(seq, memory_order_acquire);
        t = s - 1;
        if ((s & 1) == 0) {
            x = atomic_load_explicit(a, memory_order_acquire);
            y = atomic_load_explicit(b, memory_order_acquire);
            t = atomic_load_explicit(seq, memory_order_relaxed);
        }
    }
}
forall ((2:x=0 /\ 2:y=0) \/ (2:x=2 /\ 2:y=2) \/ (2:x=3 /\ 2:y=3))"#;

/// A sense barrier for three: the last to arrive opens it.
const BARRIER: &str = r#"C barrier
{}
P0 (atomic_int* n, atomic_int* step, int* d) {
    *d = 1;
    int s = atomic_load_explicit(step, memory_order_relaxed);
    int k = atomic_fetch_add_explicit(n, 1, memory_order_acq_rel);
    if (k == 2) { atomic_store_explicit(n, 0, memory_order_relaxed); atomic_fetch_add_explicit(step, 1, memory_order_release); }
    else { while (atomic_load_explicit(step, memory_order_acquire) == s) { } }
}
P1 (atomic_int* n, atomic_int* step, int* d) {
    int s = atomic_load_explicit(step, memory_order_relaxed);
    int k = atomic_fetch_add_explicit(n, 1, memory_order_acq_rel);
    if (k == 2) { atomic_store_explicit(n, 0, memory_order_relaxed); atomic_fetch_add_explicit(step, 1, memory_order_release); }
    else { while (atomic_load_explicit(step, memory_order_acquire) == s) { } }
    int r = *d;
}
P2 (atomic_int* n, atomic_int* step, int* d) {
    int s = atomic_load_explicit(step, memory_order_relaxed);
    int k = atomic_fetch_add_explicit(n, 1, memory_order_acq_rel);
    if (k == 2) { atomic_store_explicit(n, 0, memory_order_relaxed); atomic_fetch_add_explicit(step, 1, memory_order_release); }
    else { while (atomic_load_explicit(step, memory_order_acquire) == s) { } }
    int r = *d;
}
forall (1:r=1 /\ 2:r=1)"#;

#[test]
fn waiting_programs_finish_right_under_every_strategy() {
    for text in [TAS_LOCK, TTAS_LOCK, TICKET_LOCK, SEQLOCK, BARRIER] {
        let program = program(text);
        let condition = program.condition.as_ref().expect("a condition");
        for model in ModelKind::ALL {
            for kind in StrategyKind::ALL {
                for depth in 0..4 {
                    for seed in 0..40 {
                        let what = format!("{} {model} {kind} d={depth} seed={seed}", program.name);
                        let mut config = Config::new(model);
                        config.max_events = 2000;
                        let strategy = build(kind, &parameters(depth, 40, 20, 2), seed);
                        let (outcome, machine) = run_with(&program, config, strategy);
                        assert_eq!(outcome.end, End::Finished, "{what}");
                        assert!(condition.formula.holds(&outcome.state), "{what}: {:?}", outcome.state);
                        assert_eq!(machine.findings(), [], "{what}");
                    }
                }
            }
        }
    }
}

/// Every ending of the program under every strategy, model and a few depths.
fn endings(program: &Program) -> impl Iterator<Item = (End, String)> + '_ {
    ModelKind::ALL.into_iter().flat_map(move |model| {
        StrategyKind::ALL.into_iter().flat_map(move |kind| {
            (0..20).map(move |seed| {
                let mut config = Config::new(model);
                config.max_events = 10_000;
                let strategy = build(kind, &parameters(seed as u32 % 3, 10, 5, 1), seed);
                (run_with(program, config, strategy).0.end, format!("{model} {kind} seed={seed}"))
            })
        })
    })
}

#[test]
fn threads_that_wait_for_each_other_in_loops_are_a_livelock() {
    let program = program(
        r#"C livelock
{}
P0 (atomic_int* x, atomic_int* y) {
    while (atomic_load_explicit(x, memory_order_acquire) == 0) { }
    atomic_store_explicit(y, 1, memory_order_release);
}
P1 (atomic_int* x, atomic_int* y) {
    while (atomic_load_explicit(y, memory_order_acquire) == 0) { }
    atomic_store_explicit(x, 1, memory_order_release);
}
forall (true)"#,
    );
    for (end, what) in endings(&program) {
        assert_eq!(end, End::Stuck(Stuck::Livelock), "{what}");
    }
}

/// A thread that counts its rounds and gives up is not a livelock, however patient it is.
#[test]
fn a_loop_that_gives_up_is_no_livelock() {
    let program = program(
        r#"C gives-up
{}
P0 (atomic_int* x) {
    int i = 0;
    while (i < 300 && atomic_load_explicit(x, memory_order_relaxed) == 0) { i = i + 1; }
}
P1 (atomic_int* x) {
    int i = 0;
    while (i < 300 && atomic_exchange_explicit(x, 0, memory_order_relaxed) == 0) { i = i + 1; }
}
forall (0:i=300 /\ 1:i=300)"#,
    );
    for (end, what) in endings(&program) {
        assert_eq!(end, End::Finished, "{what}");
    }
}

/// Two threads that sleep on futex words, each to be woken by the other.
#[test]
fn threads_that_sleep_for_each_other_are_a_deadlock() {
    let mut program =
        program("C deadlock\n{}\nP0 (atomic_int* x, atomic_int* y) {}\nP1 (atomic_int* x) {}\nforall (true)");
    let (x, y) = (LocationId(0), LocationId(1));
    let one = wmtrace_model::litmus::program::Expr::Const(1);
    let thread = |mine, other| Code {
        registers: Vec::new(),
        body: vec![
            Instr::Wait { at: mine, expected: 0 },
            Instr::Store { at: other, value: one.clone(), order: Order::SeqCst },
            Instr::Wake { at: other, count: 1 },
        ],
        lines: Vec::new(),
    };
    program.threads = vec![thread(x, y), thread(y, x)];
    for (end, what) in endings(&program) {
        assert_eq!(end, End::Stuck(Stuck::Deadlock), "{what}");
    }
    // With one thread that starts, nobody is stuck: a sleeper is woken, or does not sleep at all.
    program.threads[0].body.remove(0);
    for (end, what) in endings(&program) {
        assert_eq!(end, End::Finished, "{what}");
    }
}

/// Each round of the loop does something new, so it is not recognised as spinning. It ends all the same, also at depth 0:
/// the store becomes visible some day, and the thread that makes it is not kept waiting for ever.
const BUSY_WAIT: &str = r#"C busy-wait
{}
P0 (atomic_int* x) {
    atomic_store_explicit(x, 1, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* n) {
    int r = 0;
    int round = 7;
    while (r == 0) {
        round = atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
        r = atomic_load_explicit(x, memory_order_relaxed);
    }
}
forall (x=1 \/ 1:round=7)"#;

#[test]
fn waits_end_that_are_not_recognised() {
    let program = program(BUSY_WAIT);
    let mut longest = 0;
    for model in [ModelKind::C11, ModelKind::Tso] {
        for kind in StrategyKind::ALL {
            for seed in 0..10 {
                let mut config = Config::new(model);
                config.max_events = 10_000;
                let strategy = build(kind, &parameters(u32::from(kind == StrategyKind::Pct), 8, 4, 1), seed);
                let (outcome, machine) = run_with(&program, config, strategy);
                assert_eq!(outcome.end, End::Finished, "{kind} under {model}, seed {seed}");
                longest = longest.max(machine.events());
            }
        }
    }
    assert!(longest > 4096, "some execution depends on being fair: {longest}");
}
