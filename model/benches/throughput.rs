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
        Value::from(self.0[((at.addr.0 - BASE) / 8) as usize])
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
}

impl Mix {
    fn op(self, rng: &mut Rng) -> Op {
        let bits = rng.bits();
        let cell = (bits >> 32) as usize % CELLS;
        let at = Place::new(Addr(BASE + 8 * cell as u64), 8);
        let store = bits & 1 == 0;
        let kind = match self {
            Mix::Relaxed => 0,
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

/// Runs `events` atomic events, each followed by `plain` non-atomic accesses of the same thread. Returns the
/// nanoseconds it took.
fn run(model: ModelKind, mix: Mix, events: u64, plain: u32) -> u64 {
    let mut config = Config::new(model);
    config.keep_events = false;
    config.spin = false;
    config.races = plain > 0;
    let mut machine = Machine::new(config, Random::new(1));
    let mut ram = Ram(vec![0; CELLS]);
    let mut rng = Rng::new(2);
    for _ in 0..THREADS {
        machine.spawn(None, Site(0)).expect("four threads");
    }
    let mut ops: Vec<Op> = (0..THREADS).map(|_| mix.op(&mut rng)).collect();
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
                    read = how.read.unwrap_or(Value::from(ram.0[cell]));
                } else {
                    written = Value::from(done + 1);
                    ram.0[cell] = done + 1;
                }
                machine.retired(thread, read, written).expect("the engine does as it is told");
                for n in 0..plain {
                    let at = PLAIN + u64::from(thread.0) * 65536 + (rng.bits() % 4096) * 8;
                    machine.plain(thread, Site(2), Addr(at), 8, n % 2 == 0, &mut ram);
                }
                ops[index] = mix.op(&mut rng);
                machine.pending(thread, ops[index], Site(1), 0);
                done += 1;
            }
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
        let op = Mix::Mixed.op(&mut rng);
        let at = op.place().expect("an access").addr.0;
        if op.reads() {
            black_box(memory.get(&at));
        } else {
            memory.insert(at, event);
        }
    }
    cpu_ns() - start
}

fn main() {
    let n = std::env::var("N").map_or(2_000_000, |n| n.parse().unwrap());
    let base = reference(n) as f64 / n as f64;
    println!("reference {base:.1}");
    for (name, mix) in [("relaxed", Mix::Relaxed), ("acqrel", Mix::AcqRel), ("mixed", Mix::Mixed)] {
        println!("{name} {:.1}", run(ModelKind::C11, mix, n, 0) as f64 / n as f64);
    }
    println!("half NA {:.1}", run(ModelKind::C11, Mix::Mixed, n, 1) as f64 / n as f64);
}
