//! The machine through its interface: races, the heap, mixed sizes, synchronisation objects, held stores.

mod support;

use support::conductor::{Conductor, Reads};
use wmtrace_model::machine::{Config, Finding};
use wmtrace_model::op::{Addr, ModelKind, Op, Place, Site, ThreadId};
use wmtrace_model::order::Order;

const X: Place = Place::new(Addr(0x100), 4);
const FLAG: Place = Place::new(Addr(0x200), 4);

fn load(at: Place, order: Order) -> Op {
    Op::Load { at, order }
}

fn store(at: Place, order: Order) -> Op {
    Op::Store { at, order }
}

fn c11(reads: Reads, threads: u32) -> Conductor {
    Conductor::new(Config::new(ModelKind::C11), reads, threads)
}

fn races(conductor: &Conductor) -> usize {
    conductor.findings().iter().filter(|finding| matches!(finding, Finding::Race(_))).count()
}

/// Message passing of a plain variable through a flag with these orders: how many races are found.
fn message_passing(write: Order, read: Order, scheduled: bool) -> usize {
    let mut it = c11(Reads::Newest, 2);
    if scheduled {
        it.act(0, store(X, Order::Na), 1);
    } else {
        it.plain(0, X.addr.0, 4, true);
    }
    it.act(0, store(FLAG, write), 1);
    assert_eq!(it.act(1, load(FLAG, read), 0), 1);
    if scheduled {
        it.act(1, load(X, Order::Na), 0);
    } else {
        it.plain(1, X.addr.0, 4, false);
    }
    races(&it)
}

#[test]
fn a_plain_variable_races_unless_it_is_handed_over() {
    for scheduled in [false, true] {
        assert_eq!(message_passing(Order::Release, Order::Acquire, scheduled), 0);
        assert_eq!(message_passing(Order::SeqCst, Order::SeqCst, scheduled), 0);
        assert_eq!(message_passing(Order::Relaxed, Order::Acquire, scheduled), 1);
        assert_eq!(message_passing(Order::Release, Order::Relaxed, scheduled), 1);
    }
}

#[test]
fn atomic_and_plain_accesses_race_with_each_other() {
    let mut it = c11(Reads::Newest, 2);
    it.act(0, store(X, Order::Relaxed), 1);
    it.plain(1, X.addr.0, 4, false);
    assert_eq!(races(&it), 1, "an atomic store, then a plain load");

    let mut it = c11(Reads::Newest, 2);
    it.act(0, load(X, Order::SeqCst), 0);
    it.plain(1, X.addr.0, 4, false);
    assert_eq!(races(&it), 0, "two loads");
    it.plain(1, X.addr.0 + 3, 1, true);
    assert_eq!(races(&it), 1, "an atomic load, then a plain store to its last byte");

    let mut it = c11(Reads::Newest, 2);
    it.plain(0, X.addr.0, 4, true);
    it.act(1, load(X, Order::SeqCst), 0);
    assert_eq!(races(&it), 1, "a plain store, then an atomic load");
}

/// What an access acquires happens before it: no race with what came before the release that it reads.
#[test]
fn an_acquire_load_does_not_race_with_what_it_acquires() {
    let mut it = c11(Reads::Newest, 2);
    it.act(0, store(X, Order::Na), 1);
    it.act(0, store(X, Order::Release), 2);
    assert_eq!(it.act(1, load(X, Order::Acquire), 0), 2);
    assert_eq!(races(&it), 0);
}

#[test]
fn a_failed_compare_and_swap_does_not_acquire_by_its_success_order() {
    let mut it = c11(Reads::Newest, 2);
    it.plain(0, X.addr.0, 4, true);
    it.act(0, store(FLAG, Order::Release), 1);
    let cas = Op::Cas { at: FLAG, order: Order::AcqRel, failure: Order::Relaxed, expected: 7, weak: false };
    assert_eq!(it.act(1, cas, 8), 1);
    it.plain(1, X.addr.0, 4, false);
    assert_eq!(races(&it), 1);
}

#[test]
fn creation_and_join_order_everything() {
    let mut it = c11(Reads::Oldest, 1);
    it.plain(0, X.addr.0, 4, true);
    it.act(0, store(FLAG, Order::Relaxed), 1);
    let child = it.spawn(0);
    assert_eq!(it.act(child, load(FLAG, Order::Relaxed), 0), 1, "the parent's store is the oldest");
    it.plain(child, X.addr.0, 4, true);
    it.act(child, store(FLAG, Order::Relaxed), 2);
    it.machine.exit(ThreadId(child), Site(0));
    it.act(0, Op::Join { child: ThreadId(child) }, 0);
    assert_eq!(it.act(0, load(FLAG, Order::Relaxed), 0), 2);
    it.plain(0, X.addr.0, 4, true);
    assert_eq!(races(&it), 0);
}

#[test]
fn a_lock_orders_its_holders() {
    let mut it = c11(Reads::Oldest, 2);
    it.plain(0, X.addr.0, 4, true);
    it.act(0, store(FLAG, Order::Relaxed), 1);
    it.machine.release(ThreadId(0), 99, Site(1));
    it.machine.acquire(ThreadId(1), 99, Site(2));
    assert_eq!(it.act(1, load(FLAG, Order::Relaxed), 0), 1);
    it.plain(1, X.addr.0, 4, true);
    assert_eq!(races(&it), 0);
    it.machine.acquire(ThreadId(0), 98, Site(3));
    it.plain(0, X.addr.0, 4, false);
    assert_eq!(races(&it), 1, "another lock orders nothing");
}

/// Slots of threads that everybody knows to have ended are used again, and races still name the right thread.
#[test]
fn ten_thousand_threads_one_after_the_other() {
    let mut config = Config::new(ModelKind::C11);
    config.keep_events = false;
    let mut it = Conductor::new(config, Reads::Oldest, 1);
    for round in 0..10_000 {
        let child = it.spawn(0);
        it.plain(child, X.addr.0, 4, true);
        it.act(child, store(FLAG, Order::Relaxed), round + 1);
        it.machine.exit(ThreadId(child), Site(0));
        it.act(0, Op::Join { child: ThreadId(child) }, 0);
        assert_eq!(it.act(0, load(FLAG, Order::Relaxed), 0), round + 1);
    }
    assert_eq!(it.machine.findings(), []);
    let (a, b) = (it.spawn(0), it.spawn(0));
    it.plain(a, X.addr.0, 4, true);
    it.plain(b, X.addr.0, 4, true);
    let [Finding::Race(race)] = it.machine.findings() else { panic!("{:?}", it.machine.findings()) };
    assert_eq!((race.first.thread, race.second.thread), (ThreadId(a), ThreadId(b)));
}

#[test]
fn freed_memory_is_not_to_be_touched() {
    let mut it = c11(Reads::Newest, 1);
    it.machine.alloc(ThreadId(0), Site(1), Addr(0x100), 64, false);
    it.act(0, store(X, Order::Relaxed), 1);
    it.machine.free(ThreadId(0), Site(2), Addr(0x100), 64);
    assert_eq!(it.findings(), []);
    it.act(0, load(X, Order::Relaxed), 0);
    it.plain(0, 0x13c, 8, true);
    let kinds: Vec<u64> = it
        .findings()
        .iter()
        .map(|finding| match finding {
            Finding::UseAfterFree { access, freed } => {
                assert_eq!(freed.site, Site(2));
                access.addr.0
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, [0x100, 0x13c]);
    // The same memory again, from the allocator: nothing is wrong with it.
    it.machine.alloc(ThreadId(0), Site(3), Addr(0x100), 64, true);
    it.act(0, load(X, Order::Relaxed), 0);
    it.plain(0, 0x138, 8, true);
    assert_eq!(it.findings().len(), 2);
}

/// Freeing memory that another thread uses, unordered, is a race even before anybody touches it again.
#[test]
fn freeing_what_another_thread_uses_is_a_race() {
    let mut it = c11(Reads::Newest, 2);
    it.plain(0, 0x100, 8, false);
    it.machine.free(ThreadId(1), Site(5), Addr(0x100), 64);
    assert_eq!(races(&it), 1);
}

/// The initial contents of fresh memory are no value: reading them is a bug although somebody has written the
/// cell since.
#[test]
fn fresh_memory_has_no_value() {
    let mut it = c11(Reads::Oldest, 2);
    it.machine.alloc(ThreadId(0), Site(1), Addr(0x100), 64, false);
    it.act(0, store(X, Order::Relaxed), 5);
    assert_eq!(it.findings(), []);
    assert_eq!(it.act(0, load(X, Order::Relaxed), 0), 5, "a thread sees its own store");
    it.act(1, load(X, Order::Relaxed), 0);
    assert!(matches!(it.findings(), [Finding::Uninitialised { .. }]));

    // Written without atomics before its first atomic access (a constructor), it has one.
    let mut it = c11(Reads::Oldest, 1);
    it.machine.alloc(ThreadId(0), Site(1), Addr(0x100), 64, false);
    it.plain(0, X.addr.0, 4, true);
    it.act(0, load(X, Order::Relaxed), 0);
    assert_eq!(it.findings(), []);
}

/// A wide store over two cells and a narrow load of a part: everybody reads the last bytes, and acquires.
#[test]
fn accesses_of_different_sizes_share_bytes() {
    let (low, high) = (Place::new(Addr(0x100), 4), Place::new(Addr(0x104), 4));
    let wide = Place::new(Addr(0x100), 8);
    let middle = Place::new(Addr(0x102), 4);
    for model in ModelKind::ALL {
        let mut it = Conductor::new(Config::new(model), Reads::Oldest, 2);
        it.act(0, store(low, Order::Relaxed), 0x1111_1111);
        it.act(0, store(high, Order::Relaxed), 0x2222_2222);
        it.plain(0, X.addr.0 + 0x40, 4, true);
        it.act(0, store(wide, Order::SeqCst), 0x4444_4444_3333_3333);
        assert_eq!(it.act(1, load(middle, Order::Acquire), 0), 0x4444_3333, "{model}");
        it.plain(1, X.addr.0 + 0x40, 4, false);
        it.act(1, store(low, Order::SeqCst), 0x5555_5555);
        assert_eq!(it.act(0, load(wide, Order::Relaxed), 0), 0x4444_4444_5555_5555, "{model}");
        assert_eq!(
            it.act(0, Op::Rmw { at: middle, order: Order::AcqRel }, 0x6666_6666),
            0x4444_5555,
            "{model}"
        );
        assert_eq!(it.act(0, load(wide, Order::Relaxed), 0), 0x4444_6666_6666_5555, "{model}");
        assert_eq!(it.findings(), [], "{model}");
    }
}

/// A copy over a whole cell is a store of the cell; a copy over a part of it takes its history away.
#[test]
fn plain_ranges_take_part_in_the_histories_of_cells() {
    for model in ModelKind::ALL {
        let mut it = Conductor::new(Config::new(model), Reads::Newest, 2);
        it.act(0, store(X, Order::SeqCst), 1);
        it.ram.write(Place::new(Addr(0x0fc), 16), 0x0000_0009_0000_0008_0000_0007);
        it.plain(0, 0x0fc, 16, true);
        assert_eq!(it.act(0, load(X, Order::Relaxed), 0), 8, "{model}");
        it.ram.write(Place::new(Addr(0x101), 1), 1);
        it.plain(0, 0x101, 1, true);
        assert_eq!(it.act(0, load(X, Order::Relaxed), 0), 0x108, "{model}");
        it.findings();
    }
}

/// A spinning thread is recognised without any fingerprint of its state, by repetition.
#[test]
fn spinning_is_recognised_by_repetition_too() {
    use wmtrace_model::machine::Machine;
    use wmtrace_model::op::{Step, Stuck};
    let mut config = Config::new(ModelKind::C11);
    config.limits.patience = 500;
    // `Reads` always picks the first: thread 0, which would spin for ever.
    let mut machine = Machine::new(config, Reads::Oldest);
    let mut ram = support::conductor::Ram::default();
    for _ in 0..2 {
        machine.spawn(None, Site(0)).expect("two threads");
    }
    machine.pending(ThreadId(0), load(X, Order::Acquire), Site(1), 0);
    machine.pending(ThreadId(1), store(FLAG, Order::Release), Site(2), 0);
    let mut rounds = 0;
    let end = loop {
        match machine.next(&mut ram) {
            Step::Run { thread: ThreadId(0), .. } => {
                rounds += 1;
                machine.retired(ThreadId(0), 0, 0).expect("agreed");
                machine.pending(ThreadId(0), load(X, Order::Acquire), Site(1), 0);
            }
            Step::Run { thread, .. } => {
                assert!(rounds < 30, "the other thread ran only after {rounds} rounds");
                machine.retired(thread, 0, 1).expect("agreed");
                machine.exit(thread, Site(2));
            }
            other => break other,
        }
    };
    assert_eq!(end, Step::Stuck(Stuck::Livelock));
    assert!(rounds >= 500);
}
