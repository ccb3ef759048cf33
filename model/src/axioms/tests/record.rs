//! The record itself: mixed sizes, lives of memory, held stores, and everything that makes it malformed.

use super::*;
use ModelKind::{Pso, Tso};

const LOW: Place = Place::new(Addr(0x100), 2);
const HIGH: Place = Place::new(Addr(0x102), 2);

fn load(at: Place, value: Value, rf: Rf) -> Label {
    Label::Load { at, order: Relaxed, value, rf, locked: false }
}

fn halves(low: Source, high: Source) -> [Source; 16] {
    core::array::from_fn(|byte| if byte < 2 { low } else { high })
}

#[test]
fn mixed_sizes_are_judged_by_their_parts() {
    for model in [ModelKind::C11, Tso] {
        let mut run = Run::new(model);
        let low = run.w(0, LOW, Relaxed, 0x2211);
        let word = run.w(0, X, Relaxed, 0x8877_6655);
        let high = run.w(0, HIGH, Relaxed, 0x4433);
        run.execution.bytes.push(halves(Store(word), Store(high)));
        run.execution.bytes.push(halves(Store(low), Store(high)));
        let seen = run.push(1, load(X, 0x4433_6655, Rf::Bytes(0)));
        run.allowed();
        let narrow = run.r(1, HIGH, Relaxed, Store(high));
        run.allowed();
        assert_eq!((seen, narrow), (EventId(3), EventId(4)));
        // The low half goes back to before the word.
        let stale = run.push(1, load(X, 0x4433_2211, Rf::Bytes(1)));
        run.incoherent(Coherence::CoRR, seen, stale);
    }
}

#[test]
fn a_wide_rmw_is_atomic_in_all_its_parts() {
    let rmw = |late: bool| {
        let mut run = Run::c11();
        let low = run.w(0, LOW, Relaxed, 1);
        let high = run.w(0, HIGH, Relaxed, 1);
        run.execution.bytes.push(halves(Store(low), Store(high)));
        if late {
            run.w(1, HIGH, Relaxed, 2);
        }
        let (order, rf, mo) = (Relaxed, Rf::Bytes(0), Mo::Last);
        run.push(1, Label::Rmw { at: X, order, read: 0x1_0001, rf, written: 5, mo });
        run.verdict()
    };
    assert_eq!(rmw(false), Ok(()));
    let between = Violation::Atomicity { rmw: EventId(3), from: Store(EventId(1)), next: Some(EventId(2)) };
    assert_eq!(rmw(true), Err(between));
}

#[test]
fn exact_accesses_cannot_be_torn() {
    let mut run = Run::c11();
    let first = run.w(0, X, Relaxed, 0x1111_1111);
    let second = run.w(0, X, Relaxed, 0x2222_2222);
    run.execution.bytes.push(halves(Store(first), Store(second)));
    let torn = run.push(1, load(X, 0x2222_1111, Rf::Bytes(0)));
    run.malformed(torn, Defect::Torn);
}

#[test]
fn allocation_begins_a_new_life() {
    let life = |label: fn(Addr, u64) -> Label| {
        let mut run = Run::c11();
        let old = run.w(0, X, Relaxed, 1);
        let neighbour = run.w(0, Y, Relaxed, 1);
        run.push(0, label(X.addr, 0x80));
        // A new initial value, though the same thread wrote the bytes before; others keep theirs.
        run.push(0, load(X, 77, Rf::One(Init)));
        run.r(0, Y, Relaxed, Store(neighbour));
        run.allowed();
        let dangling = run.r(0, X, Relaxed, Store(old));
        run.malformed(dangling, Defect::Elsewhere(old));
    };
    life(|at, len| Label::Alloc { at, len });
    life(|at, len| Label::Free { at, len });
    life(|at, len| Label::Foreign { at, len });
}

/// All of memory, up to the last byte that an access can have.
#[test]
fn a_new_life_for_everything() {
    let last = Place::new(Addr(u64::MAX - 4), 4);
    let mut run = Run::c11();
    let (old, other) = (run.w(0, last, Relaxed, 1), run.w(0, X, Relaxed, 1));
    run.push(0, Label::Foreign { at: Addr(0), len: u64::MAX });
    run.push(0, load(last, 77, Rf::One(Init)));
    run.push(0, load(X, 78, Rf::One(Init)));
    run.allowed();
    let mut again = run.clone();
    let dangling = run.r(0, last, Relaxed, Store(old));
    run.malformed(dangling, Defect::Elsewhere(old));
    let dangling = again.r(0, X, Relaxed, Store(other));
    again.malformed(dangling, Defect::Elsewhere(other));
}

#[test]
fn many_lives_overlap() {
    let mut run = Run::c11();
    let place = |index: u64| Place::new(Addr(0x1000 + 4 * index), 4);
    for round in 0..20u64 {
        let (from, to) = (round % 7, 7 + round % 9);
        run.push(0, Label::Alloc { at: place(from).addr, len: 4 * (to - from) });
        for index in 0..16 {
            // Fresh exactly where the allocation was: there, and only there, this initial value is the first.
            if (from..to).contains(&index) {
                run.push(0, load(place(index), Value::from(round), Rf::One(Init)));
            }
        }
    }
    run.allowed();
}

#[test]
fn held_stores_enter_at_their_commit() {
    let mut run = Run::new(Pso);
    let held = run.store(0, X, Relaxed, 1, Mo::Held);
    // Forwarding, before the store is visible.
    run.r(0, X, Relaxed, Store(held));
    let direct = run.w(1, X, Relaxed, 2);
    run.r(2, X, Relaxed, Store(direct));
    run.push(0, Label::Commit { store: held });
    run.r(2, X, Relaxed, Store(held));
    run.allowed();
    // The mo is 2, 1: going back is incoherent.
    run.r(2, X, Relaxed, Store(direct));
    run.incoherent(Coherence::CoRR, EventId(5), EventId(6));
}

#[test]
fn stores_that_never_commit_come_last() {
    let mut run = Run::new(Pso);
    let held = run.store(0, X, Relaxed, 1, Mo::Held);
    run.w(1, X, Relaxed, 2);
    run.r(0, X, Relaxed, Store(held));
    run.allowed();
    let stale = run.r(0, X, Relaxed, Init);
    run.incoherent(Coherence::CoRR, EventId(2), stale);
}

#[test]
fn values_must_be_those_written() {
    let mut run = Run::c11();
    let store = run.w(0, X, Relaxed, 1);
    let read = run.push(1, load(X, 2, Rf::One(Store(store))));
    assert_eq!(run.verdict(), Err(Violation::Value { read, from: Store(store) }));

    let mut run = Run::c11();
    let first = run.push(0, load(X, 5, Rf::One(Init)));
    let second = run.push(1, load(X, 6, Rf::One(Init)));
    assert_eq!(run.verdict(), Err(Violation::Initial { first, second }));

    // Of overlapping bytes only the common ones must agree.
    let mut run = Run::c11();
    run.push(0, load(X, 0x0000_0005, Rf::One(Init)));
    run.push(1, load(LOW, 5, Rf::One(Init)));
    run.allowed();
    let second = run.push(1, load(HIGH, 1, Rf::One(Init)));
    assert_eq!(run.verdict(), Err(Violation::Initial { first: EventId(0), second }));
}

/// After `e0: x := 0`, a fence `e1`, and a held `e2: y := 0` of thread 0, each of these is impossible.
#[test]
fn every_kind_of_malformed_record() {
    const OTHER: Place = Place::new(Addr(0x300), 4);
    let (x, fence, held) = (EventId(0), EventId(1), EventId(2));
    let (itself, nowhere) = (EventId(3), EventId(u32::MAX));
    let reading = |at, from| load(at, 0, Rf::One(from));
    let writing = |at, mo| Label::Store { at, order: Relaxed, value: 0, mo };
    let placed = |addr, width| reading(Place { addr: Addr(addr), width }, Init);
    for (label, why) in [
        (placed(0, 0), Defect::Range),
        (placed(0, 17), Defect::Range),
        (placed(u64::MAX - 3, 4), Defect::Range),
        (Label::Alloc { at: Addr(2), len: u64::MAX }, Defect::Range),
        (Label::Foreign { at: Addr(1), len: u64::MAX }, Defect::Range),
        (load(X, 0, Rf::Bytes(0)), Defect::NoSources),
        (reading(X, Store(itself)), Defect::NotEarlier(itself)),
        (reading(X, Store(nowhere)), Defect::NotEarlier(nowhere)),
        (reading(X, Store(fence)), Defect::NotAStore(fence)),
        (reading(OTHER, Store(x)), Defect::Elsewhere(x)),
        (reading(Place::new(Addr(0x102), 4), Store(x)), Defect::Elsewhere(x)),
        (writing(X, Mo::After(Store(itself))), Defect::NotEarlier(itself)),
        (writing(X, Mo::After(Store(fence))), Defect::NotAStore(fence)),
        (writing(OTHER, Mo::After(Store(x))), Defect::Elsewhere(x)),
        (writing(Y, Mo::After(Store(held))), Defect::AfterHeld(held)),
        (Label::Commit { store: x }, Defect::NotHeld(x)),
        (Label::Commit { store: itself }, Defect::NotHeld(itself)),
        (Label::Commit { store: nowhere }, Defect::NotHeld(nowhere)),
        (Label::Create { child: ThreadId(0) }, Defect::CreatedTwice(ThreadId(0))),
        (Label::Join { child: ThreadId(9) }, Defect::NotEnded(ThreadId(9))),
        (Label::Join { child: ThreadId(0) }, Defect::NotEnded(ThreadId(0))),
    ] {
        for model in ModelKind::ALL {
            let mut run = Run::new(model);
            run.w(0, X, Relaxed, 0);
            run.fence(0, Release);
            run.store(0, Y, Relaxed, 0, Mo::Held);
            run.allowed();
            run.push(0, label);
            run.malformed(itself, why);
        }
    }
}

#[test]
fn commits_are_of_the_own_thread_and_once() {
    let mut run = Run::new(Pso);
    let held = run.store(0, X, Relaxed, 1, Mo::Held);
    let foreign = run.push(1, Label::Commit { store: held });
    run.malformed(foreign, Defect::NotHeld(held));

    let mut run = Run::new(Pso);
    let held = run.store(0, X, Relaxed, 1, Mo::Held);
    run.push(0, Label::Exit);
    run.push(0, Label::Commit { store: held });
    run.allowed();
    let twice = run.push(0, Label::Commit { store: held });
    run.malformed(twice, Defect::NotHeld(held));
}

#[test]
fn threads_are_created_once_and_end_once() {
    let mut run = Run::c11();
    let child = ThreadId(u32::MAX);
    run.push(0, Label::Create { child });
    run.allowed();
    let twice = run.push(0, Label::Create { child });
    run.malformed(twice, Defect::CreatedTwice(child));

    let mut run = Run::c11();
    run.push(0, Label::Exit);
    let late = run.fence(0, SeqCst);
    run.malformed(late, Defect::AfterExit);
}

#[test]
fn violations_read_well() {
    let say = |violation: Violation| alloc::format!("{violation}");
    assert_eq!(
        say(Violation::Coherence { shape: Coherence::CoRR, earlier: EventId(1), later: EventId(2) }),
        "coherence (CoRR): e1 comes before e2, but the second reads an older store than the first"
    );
    assert_eq!(
        say(Violation::Sc(alloc::vec![EventId(1), EventId(4)])),
        "no order of the SC events is possible: e1 → e4 → e1"
    );
    assert_eq!(
        say(Violation::Atomicity { rmw: EventId(3), from: Init, next: Some(EventId(2)) }),
        "atomicity: e3 reads from the initial value, but e2 comes next in modification order"
    );
    assert_eq!(
        say(Violation::Malformed { event: EventId(3), why: Defect::NotEarlier(EventId(5)) }),
        "malformed execution at e3: it refers to e5, which is not an earlier event"
    );
}
