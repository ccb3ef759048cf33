//! What the machine once got wrong, each as the smallest program that showed it. Most were found by
//! `fuzz_machine.rs`.

mod support;

use support::conductor::{Conductor, Ram, Reads};
use support::{program, run_with};
use wmtrace_model::axioms::certify;
use wmtrace_model::litmus::sim::End;
use wmtrace_model::machine::{Config, Finding, Machine};
use wmtrace_model::op::{Addr, ModelKind, Op, Place, Site, Step, Stuck, ThreadId};
use wmtrace_model::order::Order;
use wmtrace_model::strategy::Random;

const X: Place = Place::new(Addr(0x200), 4);
const Y: Place = Place::new(Addr(0x300), 4);
/// A wide place, and its halves.
const WIDE: Place = Place::new(Addr(0x100), 8);
const LOW: Place = Place::new(Addr(0x100), 4);
const HIGH: Place = Place::new(Addr(0x104), 4);

fn load(at: Place, order: Order) -> Op {
    Op::Load { at, order }
}

fn store(at: Place, order: Order) -> Op {
    Op::Store { at, order }
}

const FENCE: Op = Op::Fence { order: Order::SeqCst };

fn engine(model: ModelKind, threads: u32) -> Conductor {
    Conductor::new(Config::new(model), Reads::Oldest, threads)
}

fn reads(it: &mut Conductor, reads: Reads) {
    *it.machine.strategy_mut() = reads;
}

/// A futex wait that does not sleep has read the newest store, and its thread has seen the log up to there.
#[test]
fn a_wait_moves_its_thread_forward_under_tso() {
    let mut it = engine(ModelKind::Tso, 2);
    it.act(0, store(Y, Order::Relaxed), 1);
    it.act(0, store(X, Order::Relaxed), 1);
    assert_eq!(it.act(1, Op::Wait { at: X, expected: 0 }, 0), 1);
    assert_eq!(it.act(1, load(Y, Order::Relaxed), 0), 1);
    it.findings();
}

/// A limit on the history takes away the old store that a thread could have read. The one that it must read
/// instead moves it forward like any other.
#[test]
fn a_store_that_is_the_only_one_left_moves_its_thread_forward_under_tso() {
    let mut config = Config::new(ModelKind::Tso);
    config.limits.history = 1;
    let mut it = Conductor::new(config, Reads::Oldest, 2);
    it.act(0, store(Y, Order::Relaxed), 1);
    for value in 1..=20 {
        it.act(0, store(X, Order::Relaxed), value);
    }
    assert!(it.act(1, load(X, Order::Relaxed), 0) > 0, "the initial value is forgotten");
    assert_eq!(it.act(1, load(Y, Order::Relaxed), 0), 1);
    it.findings();
}

/// Store buffering with fences, where one of the stores is a plain one to bytes of mixed sizes.
#[test]
fn a_plain_store_to_mixed_bytes_is_before_a_fence_under_tso() {
    let mut it = engine(ModelKind::Tso, 2);
    it.act(0, store(WIDE, Order::Relaxed), 0);
    it.act(0, load(LOW, Order::Relaxed), 0);
    it.act(1, store(X, Order::Relaxed), 1);
    it.act(1, FENCE, 0);
    assert_eq!(it.act(1, load(LOW, Order::Relaxed), 0), 0);
    it.ram.write(LOW, 1);
    it.plain(0, LOW.addr.0, 4, true);
    it.act(0, FENCE, 0);
    assert_eq!(it.act(0, load(X, Order::Relaxed), 0), 1);
    it.findings();
}

/// Message passing, where the flag is read by a plain load of a part of it.
#[test]
fn a_plain_load_of_a_part_moves_its_thread_forward_under_tso() {
    let mut it = engine(ModelKind::Tso, 2);
    it.act(0, store(X, Order::Relaxed), 1);
    it.act(0, store(WIDE, Order::Relaxed), 1);
    it.plain(1, WIDE.addr.0, 1, false);
    assert_eq!(it.act(1, load(X, Order::Relaxed), 0), 1);
    it.findings();
}

/// Message passing, where the reader has a barrier that is no operation between its loads.
#[test]
fn releasing_and_creating_are_barriers_under_pslo() {
    for create in [false, true] {
        let mut it = engine(ModelKind::Pslo, 2);
        it.act(0, store(X, Order::SeqCst), 1);
        it.act(0, store(Y, Order::SeqCst), 1);
        reads(&mut it, Reads::Newest);
        assert_eq!(it.act(1, load(Y, Order::Relaxed), 0), 1);
        if create {
            it.spawn(1);
        } else {
            it.machine.release(ThreadId(1), 7, Site(0));
        }
        reads(&mut it, Reads::Oldest);
        assert_eq!(it.act(1, load(X, Order::Relaxed), 0), 1);
        it.findings();
    }
}

/// Allocating a part of a cell does not make the rest of it forget who wrote it.
#[test]
fn bytes_beside_an_allocation_live_on() {
    for model in ModelKind::ALL {
        let mut it = engine(model, 1);
        it.act(0, store(WIDE, Order::SeqCst), 0x2222_2222_1111_1111);
        it.machine.alloc(ThreadId(0), Site(9), LOW.addr, 4, true);
        it.ram.write(LOW, 0);
        assert_eq!(it.act(0, load(HIGH, Order::Relaxed), 0), 0x2222_2222, "{model}");
        assert_eq!(it.act(0, load(LOW, Order::Relaxed), 0), 0, "{model}");
        assert_eq!(it.findings(), [], "{model}");
    }
}

/// Half of a granule comes back from the allocator: the other half is still freed.
#[test]
fn an_allocation_does_not_bring_its_neighbour_back() {
    let mut it = engine(ModelKind::C11, 1);
    it.machine.free(ThreadId(0), Site(1), WIDE.addr, 8);
    it.machine.alloc(ThreadId(0), Site(2), LOW.addr, 4, true);
    it.plain(0, LOW.addr.0, 4, false);
    assert_eq!(it.findings(), []);
    it.plain(0, HIGH.addr.0, 4, false);
    assert!(matches!(it.findings(), [Finding::UseAfterFree { .. }]));
}

/// A cell of which a part was initialised: only the other part is not.
#[test]
fn each_byte_is_initialised_for_itself() {
    let mut it = engine(ModelKind::C11, 1);
    it.machine.alloc(ThreadId(0), Site(1), WIDE.addr, 8, false);
    it.plain(0, LOW.addr.0, 4, true);
    it.act(0, load(WIDE, Order::Relaxed), 0);
    assert_eq!(it.findings().len(), 1);
    it.act(0, load(LOW, Order::Relaxed), 0);
    assert_eq!(it.findings().len(), 1, "the lower half was written");
    it.act(0, load(HIGH, Order::Relaxed), 0);
    assert_eq!(it.findings().len(), 2);
}

/// A copy of a structure with holes in it is no bug: only atomic loads are said to be uninitialised.
#[test]
fn a_non_atomic_operation_may_copy_what_is_not_initialised() {
    let mut it = engine(ModelKind::C11, 1);
    it.machine.alloc(ThreadId(0), Site(1), WIDE.addr, 8, false);
    it.act(0, store(LOW, Order::Relaxed), 1);
    it.act(0, load(WIDE, Order::Na), 0);
    assert_eq!(it.findings(), []);
}

/// A held store and the end of its memory: it becomes visible before, or never.
#[test]
fn a_held_store_does_not_arrive_in_another_life_of_its_memory() {
    for model in [ModelKind::Pso, ModelKind::Pslo] {
        for flush in [true, false] {
            let mut it = engine(model, 2);
            it.act(0, store(X, Order::Relaxed), 1);
            if flush {
                let step = it.machine.flush_range(X.addr, 1, &mut it.ram);
                assert_eq!(step, Some(Step::Commit { thread: ThreadId(0), at: X, value: 1 }));
                it.ram.write(X, 1);
                assert_eq!(it.machine.flush_range(X.addr, 1, &mut it.ram), None);
            }
            it.machine.free(ThreadId(1), Site(1), X.addr, 8);
            it.machine.alloc(ThreadId(1), Site(2), X.addr, 8, true);
            it.ram.write(X, 0);
            it.act(0, FENCE, 0);
            assert_eq!(it.act(1, load(X, Order::Acquire), 0), 0);
            assert_eq!(it.findings(), []);
        }
    }
}

/// A thread that nobody created knows nobody. In a dead thread's slot, it would hand on its own epochs for that
/// one's, and whoever had these would learn nothing from what the dead thread had published.
#[test]
fn a_thread_without_a_parent_is_nobodys_heir() {
    let mut it = Conductor::new(Config::new(ModelKind::C11), Reads::Newest, 1);
    let (writer, relay) = (it.spawn(0), it.spawn(0));
    it.plain(writer, WIDE.addr.0, 8, true);
    it.act(writer, store(X, Order::Release), 1);
    assert_eq!(it.act(relay, load(X, Order::Acquire), 0), 1);
    it.act(relay, store(Y, Order::Release), 1);
    it.machine.exit(ThreadId(relay), Site(0));
    it.act(0, Op::Join { child: ThreadId(relay) }, 0);
    it.act(writer, Op::Join { child: ThreadId(relay) }, 0);
    let flag = Place::new(Addr(0x400), 4);
    let root = |it: &mut Conductor| {
        let thread = it.machine.spawn(None, Site(0)).expect("room");
        it.machine.away(thread);
        thread.0
    };
    let (heir, reader) = (root(&mut it), root(&mut it));
    it.act(heir, store(flag, Order::Release), 1);
    assert_eq!(it.act(reader, load(flag, Order::Acquire), 0), 1);
    assert_eq!(it.act(reader, load(Y, Order::Acquire), 0), 1);
    it.plain(reader, WIDE.addr.0, 8, false);
    assert_eq!(it.findings(), []);
}

/// Ranges of no bytes, of too many, and at the end of the address space.
#[test]
fn ranges_of_any_length_anywhere() {
    const TERABYTE: u64 = 1 << 40;
    for model in ModelKind::ALL {
        let mut it = engine(model, 2);
        it.act(0, store(X, Order::SeqCst), 1);
        for (at, len) in [(0, TERABYTE), (0, u64::MAX), (u64::MAX - 600, u64::MAX), (u64::MAX, 9), (8, 0)] {
            it.machine.alloc(ThreadId(0), Site(1), Addr(at), len, false);
            it.plain(0, at, len, true);
            it.plain(0, at, len, false);
            it.machine.free(ThreadId(0), Site(2), Addr(at), len);
            it.machine.alloc(ThreadId(0), Site(3), Addr(at), len, true);
        }
        it.plain(0, u64::MAX - 8, 8, true);
        assert_eq!(it.findings(), [], "{model}");
    }
}

/// What is known of a few bytes is found in a huge range, and what a huge range says holds for each byte.
#[test]
fn a_huge_range_is_made_of_bytes() {
    const LEN: u64 = 1 << 40;
    let mut it = engine(ModelKind::C11, 2);
    it.plain(0, 0x1000, 4, false);
    it.plain(1, 0, LEN, true);
    assert!(matches!(it.findings(), [Finding::Race(race)] if race.first.thread == ThreadId(0)));

    let mut it = engine(ModelKind::C11, 1);
    it.machine.alloc(ThreadId(0), Site(1), Addr(0), LEN, false);
    it.act(0, store(X, Order::Relaxed), 7);
    it.ram.write(X, 9);
    it.plain(0, 0, LEN, true);
    assert_eq!(it.act(0, load(X, Order::Relaxed), 0), 9, "a store of the cell");
    it.act(0, load(Y, Order::Relaxed), 0);
    assert_eq!(it.findings(), [], "it was written");
    it.machine.free(ThreadId(0), Site(2), Addr(0), LEN);
    it.machine.alloc(ThreadId(0), Site(3), Addr(0), LEN / 2, true);
    it.plain(0, 0, LEN / 2, true);
    assert_eq!(it.findings(), []);
    it.plain(0, 1, LEN / 2, true);
    assert!(matches!(it.findings(), [Finding::UseAfterFree { freed, .. }] if freed.site == Site(2)));
}

/// A length of zero is no range: what starts there stays as it is.
#[test]
fn nothing_freed_is_nothing_forgotten() {
    let mut it = engine(ModelKind::C11, 1);
    it.machine.free(ThreadId(0), Site(1), X.addr, 64);
    it.machine.alloc(ThreadId(0), Site(2), X.addr, 0, false);
    it.plain(0, X.addr.0, 4, false);
    assert!(matches!(it.findings(), [Finding::UseAfterFree { .. }]));
}

/// A thread that could not be created was not.
#[test]
fn too_many_threads_leave_no_trace() {
    let mut machine = Machine::new(Config::new(ModelKind::Tso), Reads::Newest);
    machine.spawn(None, Site(0)).expect("the first");
    while machine.spawn(Some(ThreadId(0)), Site(0)).is_ok() {}
    assert!(machine.spawn(Some(ThreadId(0)), Site(0)).is_err());
    certify(machine.execution()).expect("a legal execution");
}

/// The verdicts of programs that finish, if only their threads go round once more.
#[test]
fn what_a_loop_writes_itself_ends_it() {
    let own = program(
        r#"C own-store
{}
P0 (atomic_int* x) {
    int r = 0;
    while (r == 0) { r = atomic_load_explicit(x, memory_order_relaxed); atomic_store_explicit(x, 1, memory_order_relaxed); }
}
forall (0:r=1)"#,
    );
    // The first keeps asking; the second takes the request away twice before it answers.
    let asks_again = program(
        r#"C asks-again
{}
P0 (atomic_int* ask, atomic_int* answer) {
    int r = 0;
    while (r == 0) { atomic_store_explicit(ask, 1, memory_order_relaxed); r = atomic_load_explicit(answer, memory_order_relaxed); }
}
P1 (atomic_int* ask, atomic_int* answer) {
    while (atomic_load_explicit(ask, memory_order_relaxed) == 0) { }
    atomic_store_explicit(ask, 0, memory_order_relaxed);
    while (atomic_load_explicit(ask, memory_order_relaxed) == 0) { }
    atomic_store_explicit(answer, 1, memory_order_relaxed);
}
forall (0:r=1)"#,
    );
    for program in [own, asks_again] {
        for model in ModelKind::ALL {
            for seed in 0..50 {
                let (outcome, _) = run_with(&program, Config::new(model), Random::new(seed));
                assert_eq!(outcome.end, End::Finished, "{} {model} seed={seed}", program.name);
            }
        }
    }
}

/// A thread that spins on X, in the same state every round, and does something else in between.
struct Spinner {
    machine: Machine<Reads>,
    ram: Ram,
}

const SPINNER: ThreadId = ThreadId(0);

impl Spinner {
    fn new() -> Spinner {
        let mut machine = Machine::new(Config::new(ModelKind::C11), Reads::Newest);
        for _ in 0..2 {
            machine.spawn(None, Site(0)).expect("two threads");
        }
        Spinner { machine, ram: Ram::default() }
    }

    fn about_to_read(&mut self) {
        self.machine.pending(SPINNER, load(X, Order::Acquire), Site(1), 42);
    }

    /// The next step is the spinner's.
    fn spins(&mut self) {
        assert!(matches!(self.machine.next(&mut self.ram), Step::Run { thread: SPINNER, .. }));
        self.machine.retired(SPINNER, 0, 0).expect("agreed");
    }
}

/// It wakes a thread that went to sleep after its last round.
#[test]
fn a_loop_that_would_wake_a_sleeper_is_no_livelock() {
    let mut it = Spinner::new();
    let other = ThreadId(1);
    let wake = |it: &mut Spinner| {
        it.machine.pending(SPINNER, Op::Wake { at: Y, count: 1 }, Site(2), 43);
        assert!(matches!(it.machine.next(&mut it.ram), Step::Run { thread: SPINNER, .. }));
        it.machine.retired(SPINNER, 0, 0).expect("agreed");
    };
    it.machine.pending(other, Op::Wait { at: Y, expected: 0 }, Site(9), 0);
    it.about_to_read();
    it.spins();
    wake(&mut it);
    it.about_to_read();
    let Step::Run { thread, how } = it.machine.next(&mut it.ram) else { panic!("the other sleeps") };
    assert!(thread == other && how.sleeps);
    it.spins();
    wake(&mut it);
    assert_eq!(it.machine.woken(), [other]);
}

/// It takes a lock, under which another thread has changed what it looks for; or reads that without a lock; or
/// asks the kernel.
#[test]
fn a_loop_that_looks_elsewhere_is_no_livelock() {
    for how in 0..4 {
        let mut it = Spinner::new();
        let look = |it: &mut Spinner| match how {
            0 => {
                it.machine.acquire(SPINNER, 5, Site(3));
                it.machine.release(SPINNER, 5, Site(4));
            }
            1 => it.machine.plain(SPINNER, Site(3), Y.addr, 4, false, &mut it.ram),
            2 => {
                it.machine.away(SPINNER);
                it.machine.back(SPINNER);
            }
            _ => {}
        };
        it.machine.pending(ThreadId(1), FENCE, Site(9), 0);
        it.about_to_read();
        it.spins();
        look(&mut it);
        it.about_to_read();
        assert!(matches!(it.machine.next(&mut it.ram), Step::Run { thread: ThreadId(1), .. }));
        it.machine.retired(ThreadId(1), 0, 0).expect("agreed");
        it.machine.acquire(ThreadId(1), 5, Site(9));
        it.machine.plain(ThreadId(1), Site(9), Y.addr, 4, true, &mut it.ram);
        it.machine.release(ThreadId(1), 5, Site(9));
        it.machine.exit(ThreadId(1), Site(9));
        if how < 3 {
            it.spins();
            look(&mut it);
            it.about_to_read();
        }
        if how != 2 {
            let end = it.machine.next(&mut it.ram);
            assert_eq!(end, Step::Stuck(Stuck::Livelock), "now it has seen everything ({how})");
        }
    }
}

/// A signal may set it free: it goes round once more, and is stuck only if it then finds everything as it was.
#[test]
fn a_thread_that_was_disturbed_is_no_livelock() {
    let mut it = Spinner::new();
    it.machine.exit(ThreadId(1), Site(9));
    it.about_to_read();
    it.spins();
    for _ in 0..3 {
        it.about_to_read();
        assert_eq!(it.machine.next(&mut it.ram), Step::Stuck(Stuck::Livelock));
        assert!(it.machine.is_spinning(SPINNER));
        it.machine.disturb(SPINNER);
        assert!(!it.machine.is_spinning(SPINNER));
        it.spins();
    }
}

/// What other threads write to memory of their own is nothing to wait for; what they write elsewhere is.
#[test]
fn private_stores_are_no_news() {
    for private in [true, false] {
        let mut it = Spinner::new();
        it.machine.pending(ThreadId(1), FENCE, Site(9), 0);
        it.about_to_read();
        it.spins();
        it.machine.plain(SPINNER, Site(3), Y.addr, 4, false, &mut it.ram);
        it.about_to_read();
        assert!(matches!(it.machine.next(&mut it.ram), Step::Run { thread: ThreadId(1), .. }));
        it.machine.retired(ThreadId(1), 0, 0).expect("agreed");
        let (other, site, at) = (ThreadId(1), Site(9), Addr(0x900));
        if private {
            it.machine.plain_private(other, site, at, 4, true, &mut it.ram);
        } else {
            it.machine.plain(other, site, at, 4, true, &mut it.ram);
        }
        it.machine.exit(other, site);
        let stuck = it.machine.next(&mut it.ram) == Step::Stuck(Stuck::Livelock);
        assert_eq!(stuck, private);
    }
}

/// A thread that counts its rounds is in another state each time, however many they are.
#[test]
fn counting_is_no_livelock() {
    let mut it = Spinner::new();
    it.machine.exit(ThreadId(1), Site(9));
    for round in 1..=200_001 {
        it.machine.pending(SPINNER, load(X, Order::Acquire), Site(1), round);
        it.spins();
    }
}

/// Woken for nothing, it would go to sleep again.
#[test]
fn a_thread_that_goes_back_to_sleep_is_no_livelock() {
    let mut it = Spinner::new();
    let sleep = |it: &mut Spinner| {
        it.about_to_read();
        it.spins();
        it.machine.pending(SPINNER, Op::Wait { at: X, expected: 0 }, Site(2), 43);
    };
    let sleeps = |it: &mut Spinner| {
        let step = it.machine.next(&mut it.ram);
        assert!(matches!(step, Step::Run { thread: SPINNER, how } if how.sleeps), "{step:?}");
    };
    it.machine.pending(ThreadId(1), Op::Wake { at: X, count: 1 }, Site(9), 0);
    sleep(&mut it);
    sleeps(&mut it);
    assert!(matches!(it.machine.next(&mut it.ram), Step::Run { thread: ThreadId(1), .. }));
    it.machine.retired(ThreadId(1), 0, 0).expect("agreed");
    it.machine.exit(ThreadId(1), Site(9));
    sleep(&mut it);
    sleeps(&mut it);
    assert_eq!(it.machine.next(&mut it.ram), Step::Stuck(Stuck::Deadlock));
}

/// A vector load of an aligned block may reach into freed memory: somebody looks for a byte, and ignores the rest.
#[test]
fn vectors_may_look_beyond_the_end() {
    for kind in [ModelKind::Tso, ModelKind::C11] {
        let mut it = engine(kind, 1);
        it.machine.free(ThreadId(0), Site(1), Addr(0), 96);
        it.machine.alloc(ThreadId(0), Site(2), Addr(0), 40, true);
        it.act(0, load(Place::new(Addr(32), 16), Order::Relaxed), 0);
        it.plain(0, 32, 32, false);
        assert_eq!(it.findings(), [], "blocks");
        let wrong: [(u64, u64, bool); 4] =
            [(32, 16, true), (36, 16, false), (32, 24, false), (48, 16, false)];
        for (at, len, store) in wrong {
            let mut it = engine(kind, 1);
            it.machine.free(ThreadId(0), Site(1), Addr(0), 96);
            it.machine.alloc(ThreadId(0), Site(2), Addr(0), 40, true);
            it.plain(0, at, len, store);
            assert!(!it.findings().is_empty(), "{len} bytes at {at} ({store})");
        }
    }
}
