//! The papers' own examples, with the probabilities that the papers give.
//!
//! Every count is compared with a binomial distribution (five standard deviations, fixed seeds), and every
//! execution is certified.

mod support;

use std::collections::BTreeSet;
use support::{count, is_binomial, parameters, program, run_with};
use wmtrace_model::litmus::program::{Program, State};
use wmtrace_model::machine::{Config, Machine, Memory};
use wmtrace_model::op::{Addr, ModelKind, Op, Place, Site, Step, ThreadId, Value};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::{Parameters, StrategyKind, build};

/// PCTWM paper §2.2, P1: one thread stores 1, 2, … k to X, the other reads X once.
fn p1(k: u32) -> Program {
    let stores: String =
        (1..=k).map(|n| format!("atomic_store_explicit(x, {n}, memory_order_relaxed);")).collect();
    program(&format!(
        "C P1\n{{}}\nP0 (atomic_int* x) {{ {stores} }}\n\
         P1 (atomic_int* x) {{ int r = atomic_load_explicit(x, memory_order_relaxed); }}\n\
         exists (1:r={k})"
    ))
}

fn reached(program: &Program, state: &State) -> bool {
    program.condition.as_ref().is_some_and(|condition| condition.formula.holds(state))
}

/// §3.3: at d = 1 and h = 1 the load is the sink, runs last and reads the newest store; at h = 2 it reads one
/// of the last two. k does not matter.
#[test]
fn pctwm_finds_p1_always_at_history_1_and_half_the_time_at_2() {
    for k in [2, 10, 50, 100] {
        let program = p1(k);
        let hit = |outcome: &wmtrace_model::litmus::sim::Outcome| reached(&program, &outcome.state);
        let c11 = ModelKind::C11;
        let always = count(&program, c11, StrategyKind::Pctwm, &parameters(1, k + 1, 1, 1), 300, hit);
        assert_eq!(always, 300, "k = {k}");
        let half = count(&program, c11, StrategyKind::Pctwm, &parameters(1, k + 1, 1, 2), 2000, hit);
        assert!(is_binomial(half, 2000, 0.5), "k = {k}: {half} of 2000");
        let never = count(&program, c11, StrategyKind::Pctwm, &parameters(0, k + 1, 1, 2), 300, hit);
        assert_eq!(never, 0, "k = {k}: nothing is communicated at depth 0");
    }
}

/// §3.2: store buffering needs no communication at all, so depth 0 always shows it; under tso too.
#[test]
fn pctwm_finds_store_buffering_always_at_depth_0() {
    let program = program(
        "C SB\n{}\n\
         P0 (atomic_int* x, atomic_int* y) {
            atomic_store_explicit(x, 1, memory_order_relaxed);
            int r = atomic_load_explicit(y, memory_order_relaxed);
         }
         P1 (atomic_int* x, atomic_int* y) {
            atomic_store_explicit(y, 1, memory_order_relaxed);
            int r = atomic_load_explicit(x, memory_order_relaxed);
         }
         exists (0:r=0 /\\ 1:r=0)",
    );
    for model in [ModelKind::C11, ModelKind::Tso, ModelKind::Pso, ModelKind::Pslo] {
        let hit = |outcome: &wmtrace_model::litmus::sim::Outcome| reached(&program, &outcome.state);
        let hits = count(&program, model, StrategyKind::Pctwm, &parameters(0, 4, 2, 1), 500, hit);
        assert_eq!(hits, 500, "{model}");
    }
}

/// §5.2, MP1: release and acquire fences forbid a = 1, b = 0, whatever the strategy tries.
#[test]
fn fences_forbid_mp1_for_every_strategy() {
    let program = program(
        "C MP1\n{}\n\
         P0 (atomic_int* x, atomic_int* y) {
            atomic_store_explicit(x, 1, memory_order_relaxed);
            atomic_thread_fence(memory_order_release);
            atomic_store_explicit(y, 1, memory_order_relaxed);
         }
         P1 (atomic_int* x, atomic_int* y) {
            int a = atomic_load_explicit(y, memory_order_relaxed);
            atomic_thread_fence(memory_order_acquire);
            int b = atomic_load_explicit(x, memory_order_relaxed);
         }
         exists (1:a=1 /\\ 1:b=0)",
    );
    let hit = |outcome: &wmtrace_model::litmus::sim::Outcome| reached(&program, &outcome.state);
    for kind in StrategyKind::ALL {
        for depth in 0..4 {
            let hits = count(&program, ModelKind::C11, kind, &parameters(depth, 6, 3, 2), 300, hit);
            assert_eq!(hits, 0, "{kind} at depth {depth}");
        }
    }
}

/// §5.3, MP2: needs two communications, into e2 and then into e4.
fn mp2() -> Program {
    program(
        "C MP2\n{}\n\
         P0 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
         P1 (atomic_int* x, atomic_int* y) {
            int a = atomic_load_explicit(x, memory_order_relaxed);
            if (a == 1) { atomic_store_explicit(y, 1, memory_order_relaxed); }
         }
         P2 (atomic_int* x, atomic_int* y) {
            int b = atomic_load_explicit(y, memory_order_relaxed);
            int c = 2;
            if (b == 1) { c = atomic_load_explicit(x, memory_order_relaxed); }
         }
         exists (2:b=1 /\\ 2:c=0)",
    )
}

/// With k_com = 3 there are 3·2 ordered pairs of sinks, one of which is right: 1/6, above the bound
/// 1/(h·k_com)^d = 1/9. Fewer than two sinks never find it.
#[test]
fn pctwm_finds_mp2_at_depth_2_with_at_least_its_bound() {
    let program = mp2();
    let hit = |outcome: &wmtrace_model::litmus::sim::Outcome| reached(&program, &outcome.state);
    let pctwm =
        |depth| count(&program, ModelKind::C11, StrategyKind::Pctwm, &parameters(depth, 5, 3, 1), 6000, hit);
    let hits = pctwm(2);
    assert!(is_binomial(hits, 6000, 1.0 / 6.0), "{hits} of 6000");
    assert!(hits as f64 / 6000.0 >= 1.0 / 9.0);
    assert_eq!((pctwm(0), pctwm(1)), (0, 0));
}

/// With k_com = 2 both e2 and e4 are sinks: it is the order of the tuple that decides, [e2, e4] always and
/// [e4, e2] never.
#[test]
fn pctwm_finds_mp2_only_in_the_order_of_the_tuple() {
    let program = mp2();
    let mut found = 0;
    for seed in 0..2000 {
        let strategy = build(StrategyKind::Pctwm, &parameters(2, 5, 2, 1), seed);
        let (outcome, machine) = run_with(&program, Config::new(ModelKind::C11), strategy);
        let first_of = |thread| machine.execution().events.iter().position(|e| e.thread == ThreadId(thread));
        let in_order = first_of(1) < first_of(2);
        assert_eq!(reached(&program, &outcome.state), in_order, "seed {seed}");
        found += u64::from(in_order);
    }
    assert!(is_binomial(found, 2000, 0.5), "{found} of 2000");
}

/// §2.2: under SC, PCT at d = 1 runs one thread after the other, so it finds P1's bug half the time.
#[test]
fn pct_finds_p1_half_the_time_under_sc() {
    for k in [5, 100] {
        let program = p1(k);
        let hit = |outcome: &wmtrace_model::litmus::sim::Outcome| reached(&program, &outcome.state);
        let pct = parameters(1, k + 1, 1, 1);
        let hits = count(&program, ModelKind::Sc, StrategyKind::Pct, &pct, 2000, hit);
        assert!(is_binomial(hits, 2000, 0.5), "k = {k}: {hits} of 2000");
    }
}

/// PCT's bound 1/(t·k^(d-1)) on a bug of depth 2: the load must come between two stores of another thread.
#[test]
fn pct_keeps_its_bound_at_depth_2() {
    let noise = "atomic_store_explicit(y, 1, memory_order_relaxed);".repeat(7);
    let program = program(&format!(
        "C between\n{{}}\nP0 (atomic_int* x, atomic_int* y) {{
            atomic_store_explicit(x, 1, memory_order_relaxed);
            atomic_store_explicit(x, 2, memory_order_relaxed); {noise} }}
         P1 (atomic_int* x) {{ int r = atomic_load_explicit(x, memory_order_relaxed); }}
         exists (1:r=1)"
    ));
    let hit = |outcome: &wmtrace_model::litmus::sim::Outcome| reached(&program, &outcome.state);
    let hits = count(&program, ModelKind::Sc, StrategyKind::Pct, &parameters(2, 10, 1, 1), 4000, hit);
    // t = 2, k = 10: the bound is 1/20. P0 must have priority, and the change point be its first step: 1/20.
    assert!(is_binomial(hits, 4000, 1.0 / 20.0), "{hits} of 4000");
}

/// BasicPOS paper, Figure 3: under SC the load comes last if its priority is the lowest of k + 1.
#[test]
fn basicpos_finds_p1_with_probability_one_in_k_plus_1() {
    for k in [4, 20] {
        let program = p1(k);
        let hit = |outcome: &wmtrace_model::litmus::sim::Outcome| reached(&program, &outcome.state);
        let hits =
            count(&program, ModelKind::Sc, StrategyKind::BasicPos, &parameters(0, k + 1, 1, 1), 4000, hit);
        assert!(is_binomial(hits, 4000, 1.0 / f64::from(k + 1)), "k = {k}: {hits} of 4000");
    }
}

/// The same figure: all of P1's events race, so POS draws anew after every step and becomes a random walk,
/// which finds the bug with probability 1/2^k. (The paper says 1/k! for POS in the caption and "degenerates
/// into the random walk" in the text; the text is right.)
#[test]
fn pos_degenerates_to_a_random_walk_on_p1() {
    let program = p1(4);
    let hit = |outcome: &wmtrace_model::litmus::sim::Outcome| reached(&program, &outcome.state);
    for kind in [StrategyKind::Pos, StrategyKind::Random] {
        let hits = count(&program, ModelKind::Sc, kind, &parameters(0, 5, 1, 1), 4000, hit);
        assert!(is_binomial(hits, 4000, 1.0 / 16.0), "{kind}: {hits} of 4000");
    }
}

/// BasicPOS paper, Figure 2 (from the POS paper), an engine of its own: `x++` is one event there, and `wait`
/// is not enabled before `signal`. Returns whether the assertion A4 fails.
fn figure_2(kind: StrategyKind, depth: u32, seed: u64) -> bool {
    const X: usize = 0;
    const Y: usize = 1;
    const Z: usize = 2;
    const W: usize = 3;
    const A: ThreadId = ThreadId(0);
    const B: ThreadId = ThreadId(1);
    /// A thread that is away until A signals; B's `wait` waits for its end.
    const SIGNAL: ThreadId = ThreadId(2);

    struct Ram([u64; 4]);
    impl Memory for Ram {
        fn read(&mut self, at: Place) -> Value {
            Value::from(self.0[(at.addr.0 / 8) as usize])
        }
    }
    let place = |variable: usize| Place::new(Addr(8 * variable as u64), 8);
    let load = |variable| Op::Load { at: place(variable), order: Order::Relaxed };
    let store = |variable| Op::Store { at: place(variable), order: Order::Relaxed };
    let add = |variable| Op::Rmw { at: place(variable), order: Order::Relaxed };
    let code_a = [add(X), add(Y), store(W), load(Z)];
    let code_b = [store(X), load(X), store(Y), Op::Join { child: SIGNAL }, load(Y), store(Z)];

    let strategy = build(kind, &parameters(depth, 10, 10, 1), seed);
    let mut machine = Machine::new(Config::new(ModelKind::Sc), strategy);
    let mut ram = Ram([0; 4]);
    for _ in 0..3 {
        machine.spawn(None, Site(0)).expect("three threads");
    }
    machine.away(SIGNAL);
    let mut pc = [0, 0];
    let (mut a, mut b) = (0, 0);
    let mut failed = false;
    machine.pending(A, code_a[0], Site(0), 0);
    machine.pending(B, code_b[0], Site(100), 0);
    loop {
        let thread = match machine.next(&mut ram) {
            Step::Run { thread, .. } => thread,
            Step::Finished => return failed,
            other => panic!("{other:?}"),
        };
        let step = pc[thread.index()];
        pc[thread.index()] += 1;
        let (mut read, mut written) = (0, 0);
        match (thread, step) {
            (A, variable @ (X | Y)) => {
                read = ram.0[variable];
                ram.0[variable] += 1;
                written = read + 1;
            }
            (A, 2) => written = 0,
            (A, _) => {
                read = ram.0[Z];
                failed = read >= 5;
            }
            (_, 0) => {
                written = 1;
                ram.0[X] = 1;
            }
            (_, 1) => {
                read = ram.0[X];
                a = read;
            }
            (_, 2) => {
                written = a;
                ram.0[Y] = a;
            }
            (_, 4) => {
                read = ram.0[Y];
                b = read;
            }
            (_, 5) => {
                written = a + b;
                ram.0[Z] = a + b;
            }
            _ => {}
        }
        machine
            .retired(thread, Value::from(read), Value::from(written))
            .expect("memory is as the model has it");
        if (thread, step) == (A, 2) {
            machine.exit(SIGNAL, Site(0));
        }
        let code: &[Op] = if thread == A { &code_a } else { &code_b };
        match code.get(step + 1) {
            Some(&op) => machine.pending(thread, op, Site(thread.0 * 100 + step as u32 + 1), 0),
            None => machine.exit(thread, Site(0)),
        }
    }
}

/// POS finds it with probability 1/48; PCT with 1/200, or 1/180 here, where the two change points differ.
#[test]
fn pos_beats_pct_on_figure_2() {
    let hits = |kind, depth, runs| (0..runs).filter(|&seed| figure_2(kind, depth, seed)).count() as u64;
    let pos = hits(StrategyKind::Pos, 0, 30_000);
    assert!(is_binomial(pos, 30_000, 1.0 / 48.0), "{pos} of 30000");
    let pct = hits(StrategyKind::Pct, 3, 30_000);
    assert!(is_binomial(pct, 30_000, 1.0 / 180.0), "{pct} of 30000");
    assert!(is_binomial(pct, 30_000, 1.0 / 200.0), "{pct} of 30000, the paper's number");
}

/// C11Tester lets relaxed and release stores go first, and so does `random` where c11 has insertion: it reaches what it
/// reaches without. The rarest outcome of these has probability about 1/200 in each run, so that 4000 runs miss one
/// with probability below 10⁻⁸.
#[test]
fn an_eager_random_walk_loses_no_outcome() {
    let names = [
        "SB+rlx",
        "MP+rlx",
        "MP+rel+acq",
        "2+2W+rlx",
        "2+2W+rel",
        "S+rlx",
        "R+rlx",
        "WRC+rlx",
        "RMW+add+store",
        "RS+other-store",
        "SB+sc-fences",
        "R+rlx+sc-fence",
        "CoWR",
        "Z6.3+rlx",
    ];
    for name in names {
        let path = format!("{}/../targets/litmus/{name}.litmus", env!("CARGO_MANIFEST_DIR"));
        let program = program(&std::fs::read_to_string(&path).expect(&path));
        let mut config = Config::new(ModelKind::C11);
        config.insertion = true;
        let outcomes = |eager| -> BTreeSet<_> {
            let parameters = Parameters { eager, ..parameters(0, 1, 1, 1) };
            let run =
                |seed| run_with(&program, config.clone(), build(StrategyKind::Random, &parameters, seed)).0;
            (0..4000).map(|seed| run(seed).state).collect()
        };
        assert_eq!(outcomes(true), outcomes(false), "{name}");
    }
}
