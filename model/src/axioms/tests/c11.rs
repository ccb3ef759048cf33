//! Litmus tests under C11.

use super::*;

/// `x := 1; y := 1 ∥ r1 := y; r2 := x` with r1 = 1 and r2 = 0, given the orders and fences on the way.
fn mp(store: Order, release: Option<Order>, load: Order, acquire: Option<Order>) -> (Run, EventId, EventId) {
    let mut run = Run::c11();
    let data = run.w(0, X, Relaxed, 1);
    release.map(|order| run.fence(0, order));
    let flag = run.w(0, Y, store, 1);
    run.r(1, Y, load, Store(flag));
    acquire.map(|order| run.fence(1, order));
    let stale = run.r(1, X, Relaxed, Init);
    (run, data, stale)
}

#[test]
fn message_passing_needs_release_and_acquire() {
    for (store, release, load, acquire, forbidden) in [
        (Relaxed, None, Relaxed, None, false),
        (Release, None, Relaxed, None, false),
        (Relaxed, None, Acquire, None, false),
        (Release, None, Acquire, None, true),
        (SeqCst, None, SeqCst, None, true),
        (Relaxed, Some(Release), Relaxed, Some(Acquire), true),
        (Relaxed, Some(Release), Acquire, None, true),
        (Release, None, Relaxed, Some(Acquire), true),
        (Relaxed, Some(AcqRel), Relaxed, Some(SeqCst), true),
        (Relaxed, Some(Acquire), Relaxed, Some(Acquire), false),
        (Relaxed, Some(Release), Relaxed, Some(Release), false),
        (Relaxed, Some(Release), Relaxed, None, false),
        (Na, Some(Release), Relaxed, Some(Acquire), false),
        (Relaxed, Some(Release), Na, Some(Acquire), false),
    ] {
        let (run, data, stale) = mp(store, release, load, acquire);
        if forbidden {
            run.incoherent(Coherence::CoWR, data, stale);
        } else {
            run.allowed();
        }
    }
}

#[test]
fn an_acquire_fence_serves_all_loads_before_it() {
    let mut run = Run::c11();
    let data = run.w(0, X, Relaxed, 1);
    let flag = run.w(0, Y, Release, 1);
    let z = Place::new(Addr(0x300), 4);
    let other = run.w(2, z, Release, 1);
    run.r(1, z, Relaxed, Store(other));
    run.r(1, Y, Relaxed, Store(flag));
    run.fence(1, Acquire);
    let stale = run.r(1, X, Relaxed, Init);
    run.incoherent(Coherence::CoWR, data, stale);
}

/// A release sequence: `y`'s release store, then what comes between, then the acquire load of that.
fn release_sequence(between: impl FnOnce(&mut Run, EventId) -> EventId) -> Result<(), Violation> {
    let mut run = Run::c11();
    run.w(0, X, Relaxed, 1);
    let head = run.w(0, Y, Release, 1);
    let last = between(&mut run, head);
    run.r(1, Y, Acquire, Store(last));
    run.r(1, X, Relaxed, Init);
    run.verdict()
}

#[test]
fn release_sequences_go_on_through_rmws_only() {
    let broken = Err(Violation::Coherence { shape: Coherence::CoWR, earlier: EventId(0), later: EventId(4) });
    assert_eq!(release_sequence(|run, head| run.rmw(2, Y, Relaxed, Store(head))), broken);
    let two = release_sequence(|run, head| {
        let middle = run.rmw(2, Y, Relaxed, Store(head));
        run.rmw(3, Y, Relaxed, Store(middle))
    });
    assert!(matches!(two, Err(Violation::Coherence { shape: Coherence::CoWR, .. })));
    // C++20: not even a store of the same thread continues it, nor a non-atomic "RMW".
    assert_eq!(release_sequence(|run, _| run.w(0, Y, Relaxed, 2)), Ok(()));
    assert_eq!(release_sequence(|run, head| run.rmw(2, Y, Na, Store(head))), Ok(()));
}

#[test]
fn store_buffering() {
    let sb = |order: Order, fence: Option<Order>| {
        let mut run = Run::c11();
        run.w(0, X, order, 1);
        fence.map(|fence| run.fence(0, fence));
        run.r(0, Y, order, Init);
        run.w(1, Y, order, 1);
        fence.map(|fence| run.fence(1, fence));
        run.r(1, X, order, Init);
        run
    };
    sb(Relaxed, None).allowed();
    sb(Relaxed, Some(AcqRel)).allowed();
    sb(SeqCst, None).not_sc();
    sb(Relaxed, Some(SeqCst)).not_sc();
}

#[test]
fn coherence_in_its_four_shapes() {
    let mut run = Run::c11();
    let first = run.w(0, X, Relaxed, 1);
    let second = run.store(0, X, Relaxed, 2, Mo::After(Init));
    run.incoherent(Coherence::CoWW, first, second);

    let mut run = Run::c11();
    let other = run.w(1, X, Relaxed, 1);
    let read = run.r(0, X, Relaxed, Store(other));
    let write = run.store(0, X, Relaxed, 2, Mo::After(Init));
    run.incoherent(Coherence::CoRW, read, write);

    let mut run = Run::c11();
    let write = run.w(0, X, Relaxed, 1);
    let read = run.r(0, X, Relaxed, Init);
    run.incoherent(Coherence::CoWR, write, read);

    let mut run = Run::c11();
    let other = run.w(1, X, Relaxed, 1);
    let new = run.r(0, X, Relaxed, Store(other));
    let old = run.r(0, X, Relaxed, Init);
    run.incoherent(Coherence::CoRR, new, old);

    // Non-atomic accesses are under coherence too.
    let mut run = Run::c11();
    let write = run.w(0, X, Na, 1);
    let read = run.r(0, X, Na, Init);
    run.incoherent(Coherence::CoWR, write, read);
}

#[test]
fn rmws_are_atomic() {
    let mut run = Run::c11();
    run.rmw(0, X, Relaxed, Init);
    run.allowed();
    let rmw = run.rmw(1, X, SeqCst, Init);
    let violation = Violation::Atomicity { rmw, from: Init, next: Some(EventId(0)) };
    assert_eq!(run.verdict(), Err(violation));

    // A store inserted later between an RMW and its source.
    let mut run = Run::c11();
    let source = run.w(0, X, Relaxed, 1);
    let rmw = run.rmw(1, X, Relaxed, Store(source));
    let between = run.store(2, X, Relaxed, 3, Mo::After(Store(source)));
    assert_eq!(run.verdict(), Err(Violation::Atomicity { rmw, from: Store(source), next: Some(between) }));

    // An RMW that takes its place after an older store, which no other RMW has read.
    let mut run = Run::c11();
    run.w(0, X, Relaxed, 1);
    run.rmw_at(1, X, Relaxed, Init, Mo::After(Init));
    run.allowed();
}

#[test]
fn two_plus_two_w_needs_insertion() {
    let run = |order: Order| {
        let mut run = Run::c11();
        run.w(0, X, order, 1);
        let y2 = run.w(0, Y, order, 2);
        run.w(1, Y, order, 1);
        let x2 = run.store(1, X, order, 2, Mo::After(Init));
        // Both end with the 2 that their program overwrites: x: 2, 1 and y: 2, 1.
        run.r(2, X, Relaxed, Store(x2));
        run.r(2, Y, Relaxed, Store(y2));
        run
    };
    run(Relaxed).allowed();
    run(Release).allowed();
    run(SeqCst).not_sc();
}

#[test]
fn independent_reads_of_independent_writes() {
    let iriw = |order: Order, fence: Option<Order>| {
        let mut run = Run::c11();
        let x = run.w(0, X, order, 1);
        let y = run.w(1, Y, order, 1);
        run.r(2, X, order, Store(x));
        fence.map(|fence| run.fence(2, fence));
        run.r(2, Y, order, Init);
        run.r(3, Y, order, Store(y));
        fence.map(|fence| run.fence(3, fence));
        run.r(3, X, order, Init);
        run
    };
    iriw(Relaxed, None).allowed();
    iriw(Relaxed, Some(AcqRel)).allowed();
    iriw(Relaxed, Some(SeqCst)).not_sc();
    iriw(SeqCst, None).not_sc();
}

/// `fr;rf` between SC loads through a relaxed store: C++20 orders them (coherence-ordered-before), RC11's
/// `scb` does not.
#[test]
fn sc_loads_are_ordered_through_relaxed_stores() {
    let mut run = Run::c11();
    let x1 = run.w(0, X, Relaxed, 1);
    let x2 = run.w(0, X, Relaxed, 2);
    let a = run.r(1, X, SeqCst, Store(x2));
    let b = run.r(1, Y, SeqCst, Init);
    let c = run.w(2, Y, SeqCst, 1);
    let d = run.r(2, X, SeqCst, Store(x1));
    let Err(Violation::Sc(mut cycle)) = run.verdict() else { panic!("{:?}", run.verdict()) };
    cycle.sort_unstable();
    assert_eq!(cycle, [a, b, c, d]);
}

/// Fences order by hb on both sides of eco: SB whose fences are in other threads than the accesses.
#[test]
fn sc_fences_reach_over_happens_before() {
    let run = |order: Order| {
        let mut run = Run::c11();
        let z = Place::new(Addr(0x300), 1);
        run.w(0, X, Relaxed, 1);
        let flag = run.w(0, z, Release, 1);
        run.r(1, z, Acquire, Store(flag));
        run.fence(1, order);
        run.r(1, Y, Relaxed, Init);
        run.w(2, Y, Relaxed, 1);
        run.fence(2, order);
        run.r(2, X, Relaxed, Init);
        run
    };
    run(AcqRel).allowed();
    run(SeqCst).not_sc();
}

#[test]
fn threads_and_objects_synchronise() {
    let stale_after = |by: fn(&mut Run)| {
        let mut run = Run::c11();
        run.w(0, X, Relaxed, 1);
        by(&mut run);
        run.r(1, X, Relaxed, Init);
        run.verdict()
    };
    let forbidden = |verdict| matches!(verdict, Err(Violation::Coherence { shape: Coherence::CoWR, .. }));
    assert!(forbidden(stale_after(|run| {
        run.push(0, Label::Create { child: ThreadId(1) });
    })));
    assert!(forbidden(stale_after(|run| {
        run.push(0, Label::Exit);
        run.push(1, Label::Join { child: ThreadId(0) });
    })));
    // Every earlier release of the object counts, not only the last.
    assert!(forbidden(stale_after(|run| {
        run.push(0, Label::Release { object: 7 });
        run.push(2, Label::Release { object: 7 });
        run.push(1, Label::Acquire { object: 7 });
    })));
    assert_eq!(
        stale_after(|run| {
            run.push(1, Label::Acquire { object: 7 });
            run.push(0, Label::Release { object: 7 });
            run.push(1, Label::Acquire { object: 8 });
        }),
        Ok(())
    );
}
