//! Races of accesses that nobody knows to be atomic or plain: those of site 0. Site 1 is atomic for sure.

use super::*;
use crate::axioms::possible_races;

/// The pairs of events that race. Each race found passes its certificate.
fn found(run: &Run) -> Vec<(u32, bool, u32, bool)> {
    let races = possible_races(&run.execution, &|site| site == Site(0), 10).unwrap();
    races
        .iter()
        .map(|race| {
            assert_eq!(certify_race(&run.execution, race), Ok(()));
            (race.first.thread.0, race.first.store, race.second.thread.0, race.second.store)
        })
        .collect()
}

fn is_sure(run: &mut Run, event: EventId) {
    run.execution.events[event.index()].site = Site(1);
}

#[test]
fn a_store_and_a_load_that_reads_it() {
    let mut run = Run::c11();
    let store = run.w(0, X, Release, 1);
    run.r(1, X, SeqCst, Store(store));
    // The load acquires, but only by itself: as a plain one it would not.
    assert_eq!(found(&run), [(0, true, 1, false)]);
}

#[test]
fn loads_do_not_race() {
    let mut run = Run::c11();
    run.r(0, X, SeqCst, Init);
    run.r(1, X, SeqCst, Init);
    assert_eq!(found(&run), []);
    run.w(0, X, Release, 1);
    assert_eq!(found(&run), [(1, false, 0, true)]);
}

#[test]
fn what_an_unsure_flag_orders_is_ordered() {
    let mut run = Run::c11();
    let data = run.w(0, X, Release, 1);
    let flag = run.w(0, Y, Release, 1);
    run.r(1, Y, SeqCst, Store(flag));
    // One pair of sites, one race: the flag's.
    assert_eq!(found(&run), [(0, true, 1, false)]);
    let [first, second] = [flag.index(), flag.index() + 1];
    for event in [first, second] {
        run.execution.events[event].site = Site(1);
    }
    run.r(1, X, SeqCst, Store(data));
    assert_eq!(found(&run), []);
}

#[test]
fn memory_that_is_atomic_for_sure_somewhere_is_atomic() {
    let mut run = Run::c11();
    let store = run.w(0, X, Release, 1);
    is_sure(&mut run, store);
    run.r(1, X, SeqCst, Store(store));
    assert_eq!(found(&run), []);
    let mut run = Run::c11();
    run.rmw(0, X, SeqCst, Init);
    run.w(1, X, Release, 1);
    assert_eq!(found(&run), [], "a read-modify-write is atomic");
}

#[test]
fn threads_and_locks_order() {
    let mut run = Run::c11();
    run.w(0, X, Release, 1);
    run.push(0, Label::Create { child: ThreadId(1) });
    run.w(1, X, Release, 2);
    run.push(1, Label::Release { object: 7 });
    run.push(0, Label::Acquire { object: 7 });
    run.w(0, X, Release, 3);
    assert_eq!(found(&run), []);
    run.w(1, X, Release, 4);
    assert_eq!(found(&run), [(0, true, 1, true)]);
}

#[test]
fn another_life_of_memory_is_another_variable() {
    for label in [
        Label::Alloc { at: X.addr, len: 4 },
        Label::Free { at: X.addr, len: 4 },
        Label::Foreign { at: Addr(0), len: u64::MAX },
    ] {
        let mut run = Run::c11();
        run.w(0, X, Release, 1);
        run.push(1, label);
        run.w(1, X, Release, 2);
        assert_eq!(found(&run), [], "{label:?}");
    }
}

#[test]
fn bytes_count_and_so_does_the_limit() {
    let mut run = Run::c11();
    run.w(0, X, Release, 1);
    run.w(1, Place::new(Addr(X.addr.0 + 4), 4), Release, 1);
    assert_eq!(found(&run), [], "beside each other");
    run.w(1, Place::new(Addr(X.addr.0 + 3), 1), Release, 1);
    assert_eq!(found(&run).len(), 1);
    assert_eq!(possible_races(&run.execution, &|_| true, 0), Ok(Vec::new()));
}
