//! How fast the machine is, how its cost grows, and how much memory it keeps.
//!
//! `cargo bench -p wmtrace-model` (or `scripts/bench`) prints a table. Absolute rates depend on the machine it
//! runs on, so each is set against a named reference measured in the same run: the same loads and stores made
//! through a hash map from address to value, which is the least that any tool that intercepts accesses does.

use std::collections::HashMap;
use std::hint::black_box;
use wmtrace_model::machine::{Config, Machine, Memory};
use wmtrace_model::op::{Addr, ModelKind, Op, Place, Site, Step, ThreadId, Value};
use wmtrace_model::order::Order;
use wmtrace_model::rng::Rng;
use wmtrace_model::strategy::Random;

const THREADS: u32 = 4;
const CELLS: usize = 1000;
const BASE: u64 = 0x10_0000;
/// Non-atomic variables live elsewhere; each thread has its own, so that they do not race.
const PLAIN: u64 = 0x80_0000;

struct Ram(Vec<u64>);

impl Memory for Ram {
    fn read(&mut self, at: Place) -> Value {
        self.0.get(((at.addr.0 - BASE) / 8) as usize).copied().unwrap_or(0).into()
    }
}

/// Nanoseconds that this thread has been on a processor: what others do to the machine counts less.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    text.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
}

/// What the threads do.
#[derive(Clone, Copy, PartialEq)]
enum Mix {
    /// Relaxed accesses only.
    Relaxed,
    /// Acquire loads and release stores only.
    AcqRel,
    /// Relaxed, acquire/release and SC accesses in equal shares.
    Mixed,
    /// Relaxed accesses, and thread 0 looks at one cell only: it could read every old store of the others.
    Lagging,
    /// Relaxed accesses, each to a place that nobody has touched before.
    Wandering,
}

impl Mix {
    fn op(self, thread: u32, event: u64, rng: &mut Rng) -> Op {
        let bits = rng.bits();
        let lags = self == Mix::Lagging && thread == 0;
        let cell = match self {
            Mix::Wandering => event as usize,
            _ if lags => 0,
            _ => (bits >> 32) as usize % CELLS,
        };
        let at = Place::new(Addr(BASE + 8 * cell as u64), 8);
        let store = bits & 1 == 0;
        let kind = match self {
            Mix::Relaxed | Mix::Lagging | Mix::Wandering => 0,
            Mix::AcqRel => 1,
            Mix::Mixed => (bits >> 8) as usize % 3,
        };
        if store {
            Op::Store { at, order: [Order::Relaxed, Order::Release, Order::SeqCst][kind] }
        } else {
            Op::Load { at, order: [Order::Relaxed, Order::Acquire, Order::SeqCst][kind] }
        }
    }
}

/// Runs `events` atomic events; with `plain`, races are looked for, and each event is followed by that many
/// non-atomic accesses of the same thread. The nanoseconds it took.
fn run(model: ModelKind, mix: Mix, events: u64, plain: Option<u32>) -> u64 {
    let mut config = Config::new(model);
    config.keep_events = false;
    config.spin = false;
    config.races = plain.is_some();
    let mut machine = Machine::new(config, Random::new(1));
    let mut ram = Ram(vec![0; CELLS]);
    let mut rng = Rng::new(2);
    for _ in 0..THREADS {
        machine.spawn(None, Site(0)).expect("four threads");
    }
    let mut ops: Vec<Op> = (0..THREADS).map(|thread| mix.op(thread, 0, &mut rng)).collect();
    for thread in 0..THREADS {
        machine.pending(ThreadId(thread), ops[thread as usize], Site(1), 0);
    }
    let start = cpu_ns();
    let mut done = 0;
    while done < events {
        match machine.next(&mut ram) {
            Step::Run { thread, how } => {
                let index = thread.index();
                let op = ops[index];
                let (mut read, mut written) = (0, 0);
                let cell = ((op.place().expect("an access").addr.0 - BASE) / 8) as usize;
                if op.reads() {
                    read = how.read.unwrap_or_else(|| ram.read(op.place().expect("an access")));
                } else {
                    written = Value::from(done + 1);
                    if let (false, Some(word)) = (how.hold, ram.0.get_mut(cell)) {
                        *word = done + 1;
                    }
                }
                machine.retired(thread, read, written).expect("the engine does as it is told");
                for n in 0..plain.unwrap_or(0) {
                    let at = PLAIN + u64::from(thread.0) * 65536 + (rng.bits() % 4096) * 8;
                    machine.plain(thread, Site(2), Addr(at), 8, n % 2 == 0, &mut ram);
                }
                ops[index] = mix.op(thread.0, done, &mut rng);
                machine.pending(thread, ops[index], Site(1), 0);
                done += 1;
            }
            Step::Commit { at, value, .. } => ram.0[((at.addr.0 - BASE) / 8) as usize] = value as u64,
            other => panic!("{other:?}"),
        }
    }
    black_box(&machine);
    cpu_ns() - start
}

/// The reference: the same accesses through a hash map.
fn reference(events: u64) -> u64 {
    let mut memory: HashMap<u64, u64> = HashMap::new();
    let mut rng = Rng::new(2);
    let start = cpu_ns();
    for event in 0..events {
        let op = Mix::Mixed.op(0, event, &mut rng);
        let at = op.place().expect("an access").addr.0;
        if op.reads() {
            black_box(memory.get(&at));
        } else {
            memory.insert(at, event);
        }
    }
    cpu_ns() - start
}

/// Megabytes that the process has in memory.
fn resident_mb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a number") / 1024
}

/// A line of the table: nanoseconds and millions a second of one kind of event, and how many references that is.
fn line(name: &str, nanoseconds: f64, reference: f64, target: Option<f64>) -> bool {
    let rate = 1000.0 / nanoseconds;
    let (goal, met) = match target {
        None => (String::new(), true),
        Some(goal) => {
            (format!("  goal {goal} M/s: {}", if rate >= goal { "met" } else { "MISSED" }), rate >= goal)
        }
    };
    println!("{name:<44} {nanoseconds:>7.1} ns {rate:>7.1} M/s {:>6.1} x{goal}", nanoseconds / reference);
    met
}

fn main() {
    let n = 1_000_000;
    let each = |total: u64, n: u64| total as f64 / n as f64;
    // The best of five: everything that disturbs a run makes it slower.
    let best = |run: &dyn Fn() -> u64| each((0..5).map(|_| run()).min().expect("five runs"), n);
    let base = best(&|| reference(n));
    println!("4 threads, 1000 cells, random strategy; processor time; x: times the reference\n");
    let mut met = line("reference: hash map, one access", base, base, None);
    for model in [ModelKind::Sc, ModelKind::Tso, ModelKind::Pslo] {
        line(&format!("{model}, relaxed"), best(&|| run(model, Mix::Relaxed, n, None)), base, None);
    }
    met &= line("c11, relaxed", best(&|| run(ModelKind::C11, Mix::Relaxed, n, None)), base, Some(5.0));
    met &= line("c11, acquire/release", best(&|| run(ModelKind::C11, Mix::AcqRel, n, None)), base, Some(5.0));
    let mixed = best(&|| run(ModelKind::C11, Mix::Mixed, n, None));
    met &= line("c11, relaxed, acquire/release and SC", mixed, base, Some(5.0));
    let with_races = best(&|| run(ModelKind::C11, Mix::Mixed, n, Some(0)));
    let half = best(&|| run(ModelKind::C11, Mix::Mixed, n, Some(1)));
    line("the same with races on, and a plain access each", half, base, None);
    met &= line("  of which the plain access", half - with_races, base, Some(10.0));

    println!("\nc11, relaxed, acquire/release and SC, by length of the execution:");
    for exponent in 4..=8 {
        let n = 10u64.pow(exponent);
        // Short ones often enough to be measured.
        let times = (1_000_000 / n).max(1);
        let total: u64 = (0..times).map(|_| run(ModelKind::C11, Mix::Mixed, n, None)).sum();
        line(
            &format!("10^{exponent} events (peak {} MB so far)", resident_mb()),
            each(total, n * times),
            base,
            None,
        );
    }
    let n = 10_000_000;
    let lagging = each(run(ModelKind::C11, Mix::Lagging, n, None), n);
    line("10^7 events, one thread sees nothing of 999 cells", lagging, base, None);
    let wandering = each(run(ModelKind::C11, Mix::Wandering, n, None), n);
    line("10^7 events, each in another place", wandering, base, None);
    let peak = resident_mb();
    println!("peak memory: {peak} MB, goal under 200 MB: {}", if peak < 200 { "met" } else { "MISSED" });
    if !met || peak >= 200 {
        std::process::exit(1);
    }
}
