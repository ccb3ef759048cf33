//! Races, ordered and not. Non-atomic accesses are not in the list, unless a test says so.

use super::*;
use crate::axioms::is_ordered_by_longer_sequences;
use crate::execution::{Access, Race};

fn access(thread: u32, epoch: u32, store: bool) -> Access {
    let len = u64::from(X.width);
    Access { thread: ThreadId(thread), site: Site(0), epoch, addr: X.addr, len, store, atomic: false }
}

fn verdict(run: &Run, first: Access, second: Access) -> Result<(), Violation> {
    certify_race(&run.execution, &Race { first, second, events: run.execution.events.len() as u32 })
}

fn ordered(before: u32, by: EventId, after: u32) -> Result<(), Violation> {
    Err(Violation::Ordered { before: ThreadId(before), by, after: ThreadId(after) })
}

#[test]
fn the_accesses_must_conflict() {
    let run = Run::c11();
    let (store, load) = (access(0, 0, true), access(1, 0, false));
    assert_eq!(verdict(&run, store, load), Ok(()));
    let refused =
        |first, second, why| assert_eq!(verdict(&run, first, second), Err(Violation::NoConflict(why)));
    refused(store, Access { thread: ThreadId(0), ..load }, NoConflict::SameThread);
    refused(store, Access { addr: Addr(X.addr.0 + 4), ..load }, NoConflict::Disjoint);
    refused(Access { addr: Addr(X.addr.0 - 4), ..store }, load, NoConflict::Disjoint);
    refused(Access { store: false, ..store }, load, NoConflict::NoStore);
    refused(Access { atomic: true, ..store }, Access { atomic: true, ..load }, NoConflict::BothAtomic);
    refused(Access { len: 0, ..store }, load, NoConflict::Range);
    refused(store, Access { len: u64::MAX, ..load }, NoConflict::Range);
    assert_eq!(verdict(&run, store, Access { addr: Addr(X.addr.0 + 3), atomic: true, ..load }), Ok(()));
}

#[test]
fn release_and_acquire_order_accesses() {
    for model in ModelKind::ALL {
        let mut run = Run::new(model);
        let flag = run.w(0, Y, Release, 1);
        run.r(1, Y, Acquire, Store(flag));
        run.fence(1, Release);
        // Before the release store, after the acquire load.
        assert_eq!(verdict(&run, access(0, 0, true), access(1, 1, false)), ordered(0, flag, 1));
        // After the release store.
        assert_eq!(verdict(&run, access(0, 1, true), access(1, 1, false)), Ok(()));
        // Found before the acquire load, in the same epoch.
        let (first, second) = (access(0, 0, true), access(1, 0, false));
        assert_eq!(certify_race(&run.execution, &Race { first, second, events: 1 }), Ok(()));
        assert_eq!(
            certify_race(&run.execution, &Race { first, second, events: 9 }),
            Err(Violation::Unplaced { events: 9 })
        );
    }
}

#[test]
fn relaxed_accesses_order_nothing() {
    let mut run = Run::c11();
    let flag = run.w(0, Y, Relaxed, 1);
    run.r(1, Y, Acquire, Store(flag));
    assert_eq!(verdict(&run, access(0, 0, true), access(1, 0, false)), Ok(()));
}

/// A relaxed store behind a release store of the same thread to the same place: C++20's race, and none of C11.
#[test]
fn older_standards_have_longer_release_sequences() {
    let longer = |place, thread, head| {
        let mut run = Run::c11();
        run.w(0, place, head, 1);
        let last = run.w(thread, Y, Relaxed, 2);
        run.r(1, Y, Acquire, Store(last));
        let (first, second) = (access(0, 0, true), access(1, 0, false));
        assert_eq!(verdict(&run, first, second), Ok(()), "by C++20's rules");
        let events = run.execution.events.len() as u32;
        is_ordered_by_longer_sequences(&run.execution, &Race { first, second, events })
    };
    assert!(longer(Y, 0, Release));
    assert!(!longer(Y, 0, Relaxed), "nothing is released");
    assert!(!longer(Y, 2, Release), "a store of another thread ends it");
    assert!(!longer(X, 0, Release), "another place");
}

#[test]
fn threads_order_accesses() {
    let mut run = Run::c11();
    // The child has no event at all: it knows what its creator knew.
    let create = run.push(0, Label::Create { child: ThreadId(1) });
    assert_eq!(verdict(&run, access(0, 0, true), access(1, 0, false)), ordered(0, create, 1));
    assert_eq!(verdict(&run, access(0, 1, true), access(1, 0, false)), Ok(()));
    let exit = run.push(1, Label::Exit);
    run.push(0, Label::Join { child: ThreadId(1) });
    run.fence(0, Release);
    assert_eq!(verdict(&run, access(1, 0, true), access(0, 2, false)), ordered(1, exit, 0));
}

#[test]
fn epochs_must_advance() {
    let mut run = Run::c11();
    run.w(0, Y, Release, 1);
    let fence = run.fence(0, Release);
    run.execution.events[fence.index()].epoch = 0;
    assert_eq!(
        verdict(&run, access(0, 0, true), access(1, 0, false)),
        Err(Violation::Malformed { event: fence, why: Defect::Epoch })
    );
}
