//! What an engine of real programs tells the machine beside the operations themselves: calls of synchronising
//! library functions, faults, sleeps that are no futex, memory that others have written.

mod support;

use support::conductor::{Conductor, Ram, Reads};
use wmtrace_model::machine::{Config, Finding, Machine};
use wmtrace_model::op::{Addr, How, ModelKind, Op, Place, Site, Step, Stuck, ThreadId};
use wmtrace_model::order::Order;

const X: Place = Place::new(Addr(0x100), 4);
const Y: Place = Place::new(Addr(0x200), 4);
const LOCK: Place = Place::new(Addr(0x300), 16);

const T0: ThreadId = ThreadId(0);
const T1: ThreadId = ThreadId(1);

fn load(at: Place, order: Order) -> Op {
    Op::Load { at, order }
}

fn store(at: Place, order: Order) -> Op {
    Op::Store { at, order }
}

fn conductor(model: ModelKind, reads: Reads, threads: u32) -> Conductor {
    Conductor::new(Config::new(model), reads, threads)
}

/// A machine whose threads are all running.
fn machine(model: ModelKind, threads: u32) -> (Machine<Reads>, Ram) {
    let mut machine = Machine::new(Config::new(model), Reads::Newest);
    for _ in 0..threads {
        machine.spawn(None, Site(0)).expect("a few threads");
    }
    (machine, Ram::default())
}

/// The next step is this thread's, which does as it is told and reads 0 if it reads.
fn runs(machine: &mut Machine<Reads>, ram: &mut Ram, thread: ThreadId) -> How {
    match machine.next(ram) {
        Step::Run { thread: it, how } if it == thread => {
            machine.retired(thread, how.read.unwrap_or(0), 0).expect("agreed");
            how
        }
        step => panic!("{step:?}"),
    }
}

#[test]
fn a_call_that_synchronises_is_a_step_and_no_event() {
    for model in ModelKind::ALL {
        let (mut machine, mut ram) = machine(model, 1);
        machine.pending(T0, Op::Sync { at: LOCK }, Site(1), 0);
        assert_eq!(runs(&mut machine, &mut ram, T0), How::default());
        assert_eq!(
            (machine.counts(), machine.execution().events.len()),
            ((1, 0), 0),
            "and, alone, no communication"
        );
        machine.pending(T0, Op::Sync { at: LOCK }, Site(1), 0);
        runs(&mut machine, &mut ram, T0);
        machine.exit(T0, Site(2));
        assert_eq!(machine.next(&mut ram), Step::Finished);
    }
}

/// Letting others run is a point at which threads are scheduled, and nothing else: no event, no communication.
#[test]
fn a_yield_is_a_step_and_no_event() {
    for model in ModelKind::ALL {
        let (mut machine, mut ram) = machine(model, 2);
        for thread in [T0, T1] {
            machine.pending(thread, Op::Yield, Site(1), 0);
        }
        assert_eq!(runs(&mut machine, &mut ram, T0), How::default());
        machine.exit(T0, Site(2));
        runs(&mut machine, &mut ram, T1);
        machine.exit(T1, Site(2));
        assert_eq!(machine.next(&mut ram), Step::Finished);
        assert_eq!((machine.counts(), machine.execution().events.len()), ((2, 0), 2), "the threads' ends");
    }
}

/// The library is to see what its caller has written.
#[test]
fn a_call_that_synchronises_commits_held_stores() {
    for model in [ModelKind::Pso, ModelKind::Pslo] {
        let mut it = conductor(model, Reads::Newest, 1);
        it.act(0, store(X, Order::Relaxed), 5);
        it.act(0, Op::Sync { at: LOCK }, 0);
        assert_eq!(wmtrace_model::machine::Memory::read(&mut it.ram, X), 5);
        it.findings();
    }
}

/// `while (!x && trylock()) {}`: what `trylock` says may be another thing once somebody has unlocked.
#[test]
fn a_loop_with_a_call_is_no_livelock_while_it_may_have_missed_something() {
    let (mut machine, mut ram) = machine(ModelKind::C11, 2);
    let round = |machine: &mut Machine<Reads>, ram: &mut Ram| {
        runs(machine, ram, T0);
        machine.pending(T0, Op::Sync { at: LOCK }, Site(2), 43);
        runs(machine, ram, T0);
        machine.pending(T0, load(X, Order::Acquire), Site(1), 42);
    };
    machine.pending(T1, Op::Fence { order: Order::SeqCst }, Site(9), 0);
    machine.pending(T0, load(X, Order::Acquire), Site(1), 42);
    round(&mut machine, &mut ram);
    runs(&mut machine, &mut ram, T1);
    machine.release(T1, 7, Site(9));
    machine.exit(T1, Site(9));
    round(&mut machine, &mut ram);
    assert_eq!(machine.next(&mut ram), Step::Stuck(Stuck::Livelock), "now it has missed nothing");
}

/// Every kind of operation, after each of which the same thread and another one go on as if there had been none.
#[test]
fn a_fault_leaves_no_trace() {
    let (order, failure, expected) = (Order::SeqCst, Order::Relaxed, 0);
    let ops = [
        load(X, Order::Relaxed),
        store(X, Order::Relaxed),
        store(X, order),
        Op::Rmw { at: X, order },
        Op::Cas { at: X, order, failure, expected, weak: false },
        Op::Fence { order },
        Op::Wait { at: X, expected: 1 },
        Op::Wait { at: X, expected: 0 },
        Op::Wake { at: X, count: 1 },
        Op::Sync { at: LOCK },
        Op::Yield,
        Op::Join { child: ThreadId(2) },
    ];
    for model in ModelKind::ALL {
        for op in ops {
            for warm in [false, true] {
                let mut it = conductor(model, Reads::Oldest, 2);
                let done = it.spawn(0);
                it.machine.back(ThreadId(done));
                it.machine.exit(ThreadId(done), Site(0));
                if warm {
                    // There is a history, and (PSO, PSLO) a held store to read.
                    it.act(1, store(X, Order::SeqCst), 0);
                    it.act(0, store(X, Order::Relaxed), 0);
                }
                it.machine.back(T0);
                it.machine.pending(T0, op, Site(50), 0);
                let step = loop {
                    match it.machine.next(&mut it.ram) {
                        Step::Commit { at, value, .. } => it.ram.write(at, value),
                        step => break step,
                    }
                };
                let Step::Run { thread: T0, how } = step else { panic!("{step:?}") };
                let before = it.machine.execution().clone();
                it.machine.faulted(T0);
                assert_eq!(it.machine.execution(), &before);
                assert_eq!(how.sleeps, matches!(op, Op::Wait { expected: 0, .. }));
                if !warm {
                    // The page was not there; now it is, and holds something else.
                    it.ram.write(X, 9);
                }
                while let Some(Step::Commit { at, value, .. }) = it.machine.flush(T0, &mut it.ram) {
                    it.ram.write(at, value);
                }
                it.machine.away(T0);
                let (found, update) = (if warm { 0 } else { 9 }, Op::Rmw { at: X, order });
                assert_eq!(it.act(1, update, found + 1), found, "{model} {op:?}");
                assert_eq!(it.act(0, update, 7), found + 1, "{model} {op:?}");
                it.findings();
            }
        }
    }
}

/// All stuck, a timer fires, all stuck again, as often as one likes: nothing is lost by asking.
#[test]
fn sleepers_can_be_interrupted_again_and_again() {
    for model in ModelKind::ALL {
        let (mut machine, mut ram) = machine(model, 2);
        machine.sleep(T0);
        machine.pending(T1, Op::Wait { at: X, expected: 0 }, Site(1), 0);
        let step = machine.next(&mut ram);
        assert!(matches!(step, Step::Run { thread: T1, how: How { sleeps: true, .. } }));
        for _ in 0..5 {
            for sleeper in [T0, T1] {
                assert_eq!(machine.next(&mut ram), Step::Stuck(Stuck::Deadlock));
                assert_eq!(machine.next(&mut ram), Step::Stuck(Stuck::Deadlock));
                machine.interrupt(sleeper);
                machine.pending(sleeper, Op::Sync { at: LOCK }, Site(2), 0);
                runs(&mut machine, &mut ram, sleeper);
                machine.sleep(sleeper);
                assert_eq!(machine.pending_op(sleeper), Some(Op::Sync { at: LOCK }));
            }
        }
        for sleeper in [T0, T1] {
            machine.interrupt(sleeper);
            assert_eq!(machine.pending_op(sleeper), None);
            assert!(!machine.has_ended(sleeper));
            machine.exit(sleeper, Site(3));
            assert!(machine.has_ended(sleeper));
        }
        assert_eq!(machine.next(&mut ram), Step::Finished);
    }
}

/// The one waits in a loop for what the other does after a sleep.
#[test]
fn a_spinning_thread_goes_on_when_the_one_it_waits_for_was_interrupted() {
    let (mut machine, mut ram) = machine(ModelKind::C11, 2);
    let look = |machine: &mut Machine<Reads>| machine.pending(T0, load(X, Order::Acquire), Site(1), 42);
    machine.sleep(T1);
    look(&mut machine);
    assert!(!machine.is_spinning(T0));
    runs(&mut machine, &mut ram, T0);
    look(&mut machine);
    assert!(machine.is_spinning(T0) && !machine.is_spinning(T1));
    assert_eq!(machine.pending_op(T0), Some(load(X, Order::Acquire)));
    for _ in 0..3 {
        assert_eq!(machine.next(&mut ram), Step::Stuck(Stuck::Livelock));
        machine.interrupt(T1);
        machine.sleep(T1);
    }
    machine.interrupt(T1);
    machine.pending(T1, store(X, Order::Release), Site(2), 0);
    assert!(matches!(machine.next(&mut ram), Step::Run { thread: T1, .. }));
    ram.write(X, 1);
    machine.retired(T1, 0, 1).expect("agreed");
    machine.sleep(T1);
    assert!(matches!(machine.next(&mut ram), Step::Run { thread: T0, .. }));
    machine.retired(T0, 1, 0).expect("agreed");
}

/// `while (!x) usleep(1);`, and nobody writes `x` any more: a livelock, but not before its time.
#[test]
fn polling_is_a_livelock_when_patience_is_at_an_end() {
    let mut config = Config::new(ModelKind::C11);
    config.limits.patience = 50;
    let (mut machine, mut ram) = (Machine::new(config, Reads::Newest), Ram::default());
    machine.spawn(None, Site(0)).expect("one thread");
    for round in 0.. {
        machine.pending(T0, load(X, Order::Acquire), Site(1), 42);
        if machine.next(&mut ram) == Step::Stuck(Stuck::Livelock) {
            assert_eq!(round, 51);
            break;
        }
        machine.retired(T0, 0, 0).expect("agreed");
        machine.sleep(T0);
        assert_eq!(machine.next(&mut ram), Step::Stuck(Stuck::Deadlock));
        machine.interrupt(T0);
    }
}

#[test]
fn requeued_sleepers_sleep_elsewhere() {
    let (mut machine, mut ram) = machine(ModelKind::Tso, 4);
    let wait = Op::Wait { at: X, expected: 0 };
    (0..4).for_each(|thread| machine.away(ThreadId(thread)));
    for thread in [2, 0, 1] {
        machine.back(ThreadId(thread));
        machine.pending(ThreadId(thread), wait, Site(1), 0);
        assert!(matches!(machine.next(&mut ram), Step::Run { how: How { sleeps: true, .. }, .. }));
    }
    let threads = |ids: &[u32]| ids.iter().map(|&id| ThreadId(id)).collect::<Vec<_>>();
    assert_eq!(machine.sleepers(X.addr), threads(&[2, 0, 1]));
    assert_eq!(machine.requeue(X.addr, Y.addr, 2), 2);
    assert_eq!(machine.sleepers(X.addr), threads(&[1]));
    assert_eq!(machine.sleepers(Y.addr), threads(&[2, 0]));
    assert_eq!(machine.requeue(X.addr, Y.addr, 0), 0);
    assert_eq!(machine.requeue(X.addr, Y.addr, u32::MAX), 1);
    machine.back(ThreadId(3));
    machine.pending(ThreadId(3), Op::Wake { at: X, count: 9 }, Site(2), 0);
    runs(&mut machine, &mut ram, ThreadId(3));
    assert_eq!(machine.woken(), []);
    machine.pending(ThreadId(3), Op::Wake { at: Y, count: 9 }, Site(2), 0);
    runs(&mut machine, &mut ram, ThreadId(3));
    assert_eq!(machine.woken().len(), 3);
    assert_eq!(machine.sleepers(Y.addr), []);
}

/// Nobody reads what was there before; the heap's state stays, but the bytes are written.
#[test]
fn a_foreign_write_is_what_everybody_sees() {
    for model in ModelKind::ALL {
        let mut it = conductor(model, Reads::Oldest, 2);
        it.machine.alloc(T0, Site(1), X.addr, 4, false);
        it.machine.free(T0, Site(2), Y.addr, 4);
        it.act(0, store(X, Order::SeqCst), 1);
        it.act(0, store(X, Order::Relaxed), 2);
        it.ram.write(X, 9);
        it.machine.foreign(T1, Site(3), X.addr, 4);
        it.machine.foreign(T1, Site(3), Y.addr, 4);
        for thread in [0, 1] {
            assert_eq!(it.act(thread, load(X, Order::Relaxed), 0), 9, "{model}");
        }
        assert_eq!(it.findings(), []);
        it.act(1, load(Y, Order::Relaxed), 0);
        assert!(matches!(it.findings(), [Finding::UseAfterFree { .. }]));
    }
}

/// A plain store before it is forgotten: what comes after does not race with it. And a fresh byte is written.
#[test]
fn a_foreign_write_forgets_races_and_freshness() {
    let mut it = conductor(ModelKind::C11, Reads::Newest, 2);
    it.machine.alloc(T0, Site(1), Y.addr, 4, false);
    it.plain(0, X.addr.0, 4, true);
    it.machine.foreign(T0, Site(2), X.addr, 4);
    it.machine.foreign(T0, Site(2), Y.addr, 4);
    it.plain(1, X.addr.0, 4, true);
    it.act(0, load(Y, Order::Relaxed), 0);
    assert_eq!(it.findings(), []);
}

/// A held store across the end of the range goes with all of its bytes.
#[test]
fn a_foreign_write_takes_held_stores_along() {
    for model in [ModelKind::Pso, ModelKind::Pslo] {
        let wide = Place::new(Addr(0x100), 8);
        let mut it = conductor(model, Reads::Newest, 2);
        it.act(0, store(wide, Order::Relaxed), 5);
        it.machine.foreign(T1, Site(3), Addr(0x104), 4);
        assert_eq!(it.act(0, load(X, Order::Relaxed), 0), 0);
        it.findings();
    }
}

fn watchful(model: ModelKind, reads: Reads, threads: u32) -> Conductor {
    let mut config = Config::new(model);
    config.foreign = true;
    Conductor::new(config, reads, threads)
}

/// Memory changes behind the machine's back before each kind of operation, on exact places and on mixed bytes.
#[test]
fn foreign_writes_are_noticed() {
    let (order, failure) = (Order::SeqCst, Order::Relaxed);
    for model in ModelKind::ALL {
        for mixed in [false, true] {
            let mut it = watchful(model, Reads::Oldest, 2);
            it.act(0, store(X, order), 1);
            if mixed {
                it.act(0, store(Place::new(Addr(0x102), 4), order), 0);
            }
            let ops = [
                load(X, Order::Relaxed),
                load(X, Order::Na),
                Op::Rmw { at: X, order },
                Op::Cas { at: X, order, failure, expected: 0x0501, weak: false },
                Op::Wait { at: X, expected: 1 },
            ];
            for (op, value) in ops.into_iter().zip(0x0501..) {
                let found = if matches!(op, Op::Cas { .. }) { 0x0501 } else { value };
                it.ram.write(X, found);
                assert_eq!(it.act(1, op, 0x77), found, "{model} {op:?}");
                let last = if op.writes() { 0x77 } else { found };
                assert!([found, last].contains(&it.act(0, load(X, order), 0)), "{model} {op:?}");
            }
            // What is read without a choice, too.
            it.ram.write(X, 0x1234);
            it.plain(1, X.addr.0, 4, false);
            it.ram.write(X, 0x4321);
            it.act(1, store(X, order), 8);
            assert!([0x4321, 8].contains(&it.act(0, load(X, order), 0)));
            if model != ModelKind::C11 {
                assert_eq!(it.findings(), []);
            }
            it.findings();
        }
    }
}

/// Without the setting, it is the engine's mistake.
#[test]
fn foreign_writes_are_mismatches_unless_expected() {
    let mut it = conductor(ModelKind::Tso, Reads::Newest, 1);
    it.act(0, store(X, Order::Relaxed), 1);
    it.machine.back(T0);
    it.machine.pending(T0, load(X, Order::Relaxed), Site(9), 0);
    assert!(matches!(it.machine.next(&mut it.ram), Step::Run { .. }));
    assert!(it.machine.retired(T0, 2, 0).is_err());
}

/// A thread waits in a loop for what only foreign code writes; another one may notice first, and see to it that the
/// new value is an initial one again.
#[test]
fn a_foreign_write_ends_a_wait() {
    for noticed in [false, true] {
        let mut config = Config::new(ModelKind::C11);
        config.foreign = true;
        let (mut machine, mut ram) = (Machine::new(config, Reads::Newest), Ram::default());
        (0..2).for_each(|_| assert!(machine.spawn(None, Site(0)).is_ok()));
        machine.sleep(T1);
        let look = |machine: &mut Machine<Reads>| machine.pending(T0, load(X, Order::Acquire), Site(1), 42);
        look(&mut machine);
        runs(&mut machine, &mut ram, T0);
        machine.away(T0);
        if noticed {
            ram.write(X, 1);
            machine.interrupt(T1);
            machine.pending(T1, load(X, Order::Relaxed), Site(2), 0);
            assert!(matches!(machine.next(&mut ram), Step::Run { thread: T1, .. }));
            machine.retired(T1, 1, 0).expect("agreed");
            machine.pending(T1, Op::Fence { order: Order::SeqCst }, Site(3), 0);
        }
        machine.back(T0);
        look(&mut machine);
        ram.write(X, 1);
        assert!(machine.is_spinning(T0));
        assert!(matches!(machine.next(&mut ram), Step::Run { thread: T0, .. }));
        machine.retired(T0, 1, 0).expect("agreed");
    }
}

/// The same, while the machine is not told, and looks for itself.
#[test]
fn a_wait_for_foreign_code_is_no_livelock_once_that_has_written() {
    let mut config = Config::new(ModelKind::Tso);
    config.foreign = true;
    let (mut machine, mut ram) = (Machine::new(config, Reads::Newest), Ram::default());
    machine.spawn(None, Site(0)).expect("one thread");
    let look = |machine: &mut Machine<Reads>| machine.pending(T0, load(X, Order::Acquire), Site(1), 42);
    look(&mut machine);
    runs(&mut machine, &mut ram, T0);
    look(&mut machine);
    assert_eq!(machine.next(&mut ram), Step::Stuck(Stuck::Livelock));
    ram.write(X, 1);
    assert!(matches!(machine.next(&mut ram), Step::Run { thread: T0, .. }));
    machine.retired(T0, 1, 0).expect("agreed");
}

/// What was before a thread ran alone is forgotten: values, races, the heap, locks.
#[test]
fn a_thread_that_was_alone_finds_memory_as_it_is() {
    for model in ModelKind::ALL {
        let mut it = conductor(model, Reads::Oldest, 1);
        let mut child = it.spawn(0);
        for round in 0..3 {
            it.machine.free(ThreadId(child), Site(1), Y.addr, 4);
            it.plain(child, LOCK.addr.0, 4, true);
            it.act(child, store(X, Order::SeqCst), 1);
            it.act(child, store(X, Order::SeqCst), 2);
            it.machine.release(ThreadId(child), 5, Site(2));
            it.machine.back(ThreadId(child));
            it.machine.exit(ThreadId(child), Site(2));
            assert!(it.machine.has_ended(ThreadId(child)));
            it.machine.alone(T0, Site(3));
            it.ram.write(X, 9);
            child = it.spawn(0);
            for thread in [child, 0] {
                assert_eq!(it.act(thread, load(X, Order::Relaxed), 0), 9, "{model} {round}");
            }
            it.plain(child, LOCK.addr.0, 4, true);
            it.plain(child, Y.addr.0, 4, true);
            assert_eq!(it.findings(), []);
        }
    }
}

/// A thread that nobody made knows nothing of what came before, and must not.
#[test]
fn a_stranger_after_a_thread_was_alone_races_only_with_what_came_after() {
    let mut it = conductor(ModelKind::C11, Reads::Newest, 1);
    it.plain(0, X.addr.0, 4, true);
    it.machine.alone(T0, Site(1));
    let stranger = it.machine.spawn(None, Site(2)).expect("room");
    it.machine.away(stranger);
    it.plain(stranger.0, X.addr.0, 4, true);
    assert_eq!(it.findings(), []);
    it.plain(0, X.addr.0, 4, true);
    assert!(matches!(it.findings(), [Finding::Race(_)]));
}

#[test]
#[should_panic(expected = "t0 is not alone")]
fn a_thread_is_not_alone_with_another() {
    conductor(ModelKind::Sc, Reads::Newest, 2).machine.alone(T0, Site(1));
}

#[test]
#[should_panic(expected = "a store is held back")]
fn a_thread_is_not_alone_with_a_held_store() {
    let mut it = conductor(ModelKind::Pso, Reads::Newest, 1);
    it.act(0, store(X, Order::Relaxed), 1);
    it.machine.alone(T0, Site(1));
}

/// A copy of shared data under x86: it reads the newest stores, and its thread lags behind no more; what it writes
/// is a store like others.
#[test]
fn plain_ranges_over_cells_take_part_in_the_log() {
    let mut it = conductor(ModelKind::Tso, Reads::Oldest, 2);
    it.act(0, store(X, Order::Relaxed), 1);
    it.act(0, store(Y, Order::Relaxed), 1);
    assert_eq!(it.act(1, load(X, Order::Relaxed), 0), 0, "it lags behind");
    it.plain(1, Y.addr.0, 4, false);
    assert_eq!(it.act(1, load(X, Order::Relaxed), 0), 1, "it has seen the later store");

    // Both write by copies, then read: as with stores, each may miss the other's (SB), and never its own.
    let mut it = conductor(ModelKind::Tso, Reads::Oldest, 2);
    for (thread, mine, other) in [(0, X, Y), (1, Y, X)] {
        it.act(thread, load(mine, Order::Relaxed), 0);
        it.act(thread, load(other, Order::Relaxed), 0);
    }
    for (thread, mine) in [(0, X), (1, Y)] {
        it.ram.write(mine, 1);
        it.plain(thread, mine.addr.0, 4, true);
    }
    for (thread, mine, other) in [(0, X, Y), (1, Y, X)] {
        assert_eq!(it.act(thread, load(mine, Order::Relaxed), 0), 1, "its own");
        assert_eq!(it.act(thread, load(other, Order::Relaxed), 0), 0, "the other's is not there yet");
    }
    it.act(0, Op::Fence { order: Order::SeqCst }, 0);
    it.act(1, Op::Fence { order: Order::SeqCst }, 0);
    assert_eq!(it.act(1, load(X, Order::Relaxed), 0), 1, "it is before its own store in the log");
    it.findings();
}

/// Message passing by a copy, under TSO: `x = 1; memcpy(&y, …)` in one thread, and the other one looks at `y` (with a load,
/// or by another copy) and then reads the oldest `x` it may. Stores become visible in their order: who has seen the copy
/// has seen `x`; who has not may still read 0.
#[test]
fn a_copy_is_a_store_like_any_other() {
    for seen in [true, false] {
        for by_copy in [true, false] {
            for foreign in [true, false] {
                let mut it = conductor(ModelKind::Tso, Reads::Oldest, 2);
                it.act(0, store(X, Order::Relaxed), 1);
                if seen {
                    it.ram.write(Y, 1);
                    match foreign {
                        true => it.machine.foreign(T0, Site(90), Y.addr, 4),
                        false => it.plain(0, Y.addr.0, 4, true),
                    }
                }
                if by_copy {
                    it.plain(1, Y.addr.0, 4, false);
                } else {
                    assert_eq!(it.act(1, load(Y, Order::Relaxed), 0), u128::from(seen));
                }
                let read = it.act(1, load(X, Order::Relaxed), 0);
                assert_eq!(read, u128::from(seen), "by copy: {by_copy}, foreign: {foreign}");
                it.findings();
            }
        }
    }
}
