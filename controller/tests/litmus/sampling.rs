//! Sampled executions: options take effect, and one seed is one report.

use crate::support::{BOTH_ZERO, Directory, sb};

#[test]
fn the_same_seed_gives_the_same_report() {
    let dir = Directory::new("seeds");
    dir.file("a.litmus", sb("", "relaxed", &format!("exists {BOTH_ZERO}")));
    let sample = |seed| dir.litmus(&format!("--strategy random -n 100 -s {seed} --format json a.litmus")).out;
    assert_eq!(sample(1), sample(1));
    assert_ne!(sample(1), sample(2));
}

const STRATEGIES: [&str; 7] = ["random", "pct", "pctwm", "basicpos", "pos", "basicposwm", "poswm"];

/// The papers' example: with d=0 no read sees another thread's store, so both threads of SB read 0, always.
#[test]
fn pctwm_at_depth_0_shows_store_buffering_every_time() {
    let dir = Directory::new("depth0");
    let text = sb("", "relaxed", &format!("exists {BOTH_ZERO}"));
    let test = dir.answer("--strategy pctwm -d 0 -n 500 -s 3", &text);
    assert_eq!(test["observation"], "Always");
    assert_eq!((&test["executions"], &test["finished"]), (&500.into(), &500.into()));
    assert_eq!(
        test["states"],
        serde_json::json!([{"count": 500, "values": {"0:r0": 0, "1:r0": 0}, "witness": true}])
    );
    let run = dir.litmus("--strategy pctwm -d 0 -n 500 -s 3 t.litmus");
    assert!(run.out.starts_with("Test SB: c11, pctwm, 500 executions, seed 3, depth 0\n"), "{}", run.out);
}

/// Message passing from two stores: how many executions end in each state.
fn counts(dir: &Directory, options: &str) -> String {
    let text = "C t {} P0 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed);
                                            atomic_store_explicit(x, 2, memory_order_relaxed); }
                P1 (atomic_int* x) { int r0 = atomic_load_explicit(x, memory_order_relaxed);
                                     int r1 = atomic_load_explicit(x, memory_order_relaxed); }
                exists (1:r0=1)";
    dir.answer(options, text)["states"].to_string()
}

/// Each of -d, -k, -y and -s changes what is sampled, with the strategies that know it.
#[test]
fn options_take_effect() {
    let dir = Directory::new("options");
    let differ = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|options| counts(&dir, &format!("-n 300 --strategy {options}")));
        assert_ne!(one, other);
    };
    differ("pctwm -d 0", "pctwm -d 1");
    differ("pct -d 1", "pct -d 3");
    differ("pctwm -d 1 -k 2", "pctwm -d 1 -k 50");
    differ("pct -d 2 -k 2", "pct -d 2 -k 50");
    differ("pctwm -d 1 -y 1", "pctwm -d 1 -y 2");
    differ("poswm -y 1", "poswm -y 3");
    differ("basicposwm -y 1", "basicposwm -y 3");
    for strategy in STRATEGIES {
        differ(&format!("{strategy} -s 1"), &format!("{strategy} -s 2"));
    }
}

/// Where an option has no effect, that is said.
#[test]
fn options_without_effect_are_named() {
    let dir = Directory::new("no_effect");
    dir.file("a.litmus", sb("", "relaxed", ""));
    let run = dir.litmus("--strategy random -d 2 -y 2 -n 5 --format json a.litmus");
    let [depth, history] =
        ["--depth", "--history"].map(|it| format!("{it} has no effect with --strategy random"));
    assert_eq!(run.status, Some(0));
    assert_eq!(run.err, format!("wmtrace: {depth}\nwmtrace: {history}\n"));
    assert_eq!(run.json()["warnings"], serde_json::json!([depth, history]));
}

/// A lock that spins, under every strategy: it ends, and it excludes.
#[test]
fn a_spin_lock_finishes() {
    let dir = Directory::new("spin_lock");
    let thread = |number| {
        format!(
            "P{number} (atomic_int* lock, int* count) {{
               while (atomic_exchange_explicit(lock, 1, memory_order_acquire)) {{ }}
               *count = *count + 1;
               atomic_store_explicit(lock, 0, memory_order_release);
             }}\n"
        )
    };
    let text = format!("C lock {{}} {} forall (count=3)", [0, 1, 2].map(thread).concat());
    for strategy in STRATEGIES {
        let test = dir.answer(&format!("--strategy {strategy} -n 1000"), &text);
        assert_eq!(
            (&test["finished"], &test["holds"], &test["bug"]),
            (&1000.into(), &true.into(), &false.into())
        );
    }
}

/// A program without an end is given up, and the report says so.
#[test]
fn endless_programs_are_given_up() {
    let dir = Directory::new("endless");
    let text = "C endless {} P0 (atomic_int* x) { while (1) { *x = 1; } }
                P1 (atomic_int* x) { int r = 0; while (1) { r += *x; } } exists (x=1)";
    for strategy in STRATEGIES {
        let test = dir.answer(&format!("--strategy {strategy} -n 3 --max-events 500"), text);
        assert_eq!((&test["executions"], &test["over_limit"]), (&3.into(), &3.into()), "{strategy}");
    }
    let run = dir.litmus("--strategy random -q -n 3 --max-events 500 t.litmus");
    assert_eq!(run.out, "Observation endless Never 0 0 (incomplete)\n");
    let pure = dir.answer(
        "--strategy random -n 2",
        "C pure {} P0 () { int r = 0; while (1) { r = 0; } } exists (0:r=1)",
    );
    assert_eq!(pure["cut"], 2);
}
