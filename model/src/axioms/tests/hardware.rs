//! Litmus tests under the hardware models. Under PSO and PSLO, delayed stores are held and committed.

use super::*;
use ModelKind::{Pslo, Pso, Sc, Tso};

/// Store buffering with something between the store and the load of each thread.
fn sb<T>(model: ModelKind, order: Order, between: impl Fn(&mut Run, u32, EventId) -> T) -> Run {
    let mut run = Run::new(model);
    let x = run.w(0, X, order, 1);
    between(&mut run, 0, x);
    run.r(0, Y, Relaxed, Init);
    let y = run.w(1, Y, order, 1);
    between(&mut run, 1, y);
    run.r(1, X, Relaxed, Init);
    run
}

#[test]
fn store_buffering() {
    let own = |thread| if thread == 0 { X } else { Y };
    let z = Place::new(Addr(0x300), 4);
    sb(Sc, Relaxed, |_, _, _| {}).not_global();
    for model in [Tso, Pso, Pslo] {
        sb(model, Relaxed, |_, _, _| {}).allowed();
        sb(model, Release, |_, _, _| {}).allowed();
        sb(model, SeqCst, |_, _, _| {}).not_global();
        sb(model, Relaxed, |run, thread, _| run.fence(thread, SeqCst)).not_global();
        sb(model, Relaxed, |run, thread, _| run.fence(thread, AcqRel)).allowed();
        // Store forwarding does not make the store visible.
        sb(model, Relaxed, |run, thread, w| run.r(thread, own(thread), Relaxed, Store(w))).allowed();
        // Failed compare-and-swaps of the own cell do.
        sb(model, Relaxed, |run, thread, w| run.locked(thread, own(thread), Acquire, Store(w))).not_global();
    }
    // RMWs of another cell: barriers on TSO; on PSO they flush their own cell only, unless they
    // release; on PSLO the load moves up before the RMW even then, unless it acquires.
    let rmw = |order: Order| {
        move |run: &mut Run, thread: u32, _| {
            let at = Place::new(Addr(z.addr.0 + 8 * u64::from(thread)), 4);
            run.rmw(thread, at, order, Init)
        }
    };
    sb(Tso, Relaxed, rmw(Relaxed)).not_global();
    sb(Pso, Relaxed, rmw(Acquire)).allowed();
    sb(Pso, Relaxed, rmw(Release)).not_global();
    sb(Pslo, Relaxed, rmw(Release)).allowed();
    sb(Pso, Relaxed, rmw(SeqCst)).not_global();
    sb(Pslo, Relaxed, rmw(AcqRel)).not_global();
    sb(Pslo, Relaxed, rmw(SeqCst)).not_global();
    sb(Tso, Relaxed, |run, thread, _| run.locked(thread, z, Relaxed, Init)).not_global();
    sb(Pso, Relaxed, |run, thread, _| run.locked(thread, z, Relaxed, Init)).allowed();
}

/// Message passing with the data's store held back.
fn mp(
    model: ModelKind,
    store: Order,
    between_stores: Option<Order>,
    load: Order,
    between_loads: Option<Order>,
) -> Run {
    let mut run = Run::new(model);
    let data = run.store(0, X, Relaxed, 1, Mo::Held);
    between_stores.map(|order| run.fence(0, order));
    let flag = run.w(0, Y, store, 1);
    run.r(1, Y, load, Store(flag));
    between_loads.map(|order| run.fence(1, order));
    run.r(1, X, Relaxed, Init);
    run.push(0, Label::Commit { store: data });
    run
}

#[test]
fn message_passing() {
    mp(Sc, Relaxed, None, Relaxed, None).not_global();
    mp(Tso, Relaxed, None, Relaxed, None).not_global();
    mp(Pso, Relaxed, None, Relaxed, None).allowed();
    mp(Pso, Relaxed, Some(Acquire), Relaxed, None).allowed();
    mp(Pso, Relaxed, Some(Release), Relaxed, None).not_global();
    mp(Pso, Release, None, Relaxed, None).not_global();
    // On PSLO either side alone can reorder.
    mp(Pslo, Release, None, Relaxed, None).allowed();
    mp(Pslo, Relaxed, None, Acquire, None).allowed();
    mp(Pslo, Release, None, Acquire, None).not_global();
    mp(Pslo, Relaxed, Some(Release), Relaxed, Some(Acquire)).not_global();
    mp(Pslo, Relaxed, Some(Release), Relaxed, Some(Release)).allowed();
    // Barriers carry on what barriers before them ordered.
    let mut run = Run::new(Pslo);
    run.w(0, X, Relaxed, 1);
    let flag = run.w(0, Y, Release, 1);
    run.r(1, Y, Relaxed, Store(flag));
    run.fence(1, Acquire);
    run.fence(1, Acquire);
    run.r(1, X, Relaxed, Init);
    run.not_global();
}

/// A release waits for all earlier stores, and later stores wait for it: not only the releasing store itself.
#[test]
fn a_release_store_is_a_barrier_for_later_stores() {
    let z = Place::new(Addr(0x300), 4);
    let run = |order: Order| {
        let mut run = Run::new(Pso);
        run.store(0, X, Relaxed, 1, Mo::Held);
        run.store(0, z, order, 1, Mo::Held);
        let flag = run.w(0, Y, Relaxed, 1);
        run.r(1, Y, Relaxed, Store(flag));
        run.r(1, X, Relaxed, Init);
        run
    };
    run(Relaxed).allowed();
    run(Release).not_global();
}

/// Load buffering is out of reach by the list's order alone; its cousin `S` shows load → store order.
#[test]
fn stores_do_not_move_before_loads() {
    for model in [Tso, Pso, Pslo] {
        let mut run = Run::new(model);
        run.w(0, X, Relaxed, 2);
        run.fence(0, Release);
        let y = run.w(0, Y, Relaxed, 1);
        run.r(1, Y, Relaxed, Store(y));
        run.store(1, X, Relaxed, 1, Mo::After(Init));
        run.not_global();
    }
}

#[test]
fn per_location() {
    for model in [Sc, Tso, Pso, Pslo] {
        let mut run = Run::new(model);
        let write = run.w(0, X, Relaxed, 1);
        let read = run.r(0, X, Relaxed, Init);
        run.incoherent(Coherence::CoWR, write, read);

        // Commits of one cell out of order.
        let mut run = Run::new(model);
        let first = run.store(0, X, Relaxed, 1, Mo::Held);
        let second = run.store(0, X, Relaxed, 2, Mo::Held);
        run.push(0, Label::Commit { store: second });
        run.push(0, Label::Commit { store: first });
        run.incoherent(Coherence::CoWW, first, second);
    }
}

#[test]
fn threads_and_objects_are_barriers() {
    for model in [Sc, Tso, Pso, Pslo] {
        let ordered = |by: fn(&mut Run) -> EventId| {
            let mut run = Run::new(model);
            run.w(0, X, Relaxed, 1);
            by(&mut run);
            // The first event is not the one ordered: all of the thread's are.
            run.r(1, Y, Relaxed, Init);
            run.r(1, X, Relaxed, Init);
            run
        };
        ordered(|run| run.push(0, Label::Create { child: ThreadId(1) })).not_global();
        ordered(|run| {
            run.push(0, Label::Exit);
            run.push(1, Label::Join { child: ThreadId(0) })
        })
        .not_global();
        ordered(|run| {
            run.push(0, Label::Release { object: 7 });
            run.push(1, Label::Acquire { object: 7 })
        })
        .not_global();
        if model != Sc {
            ordered(|run| run.push(1, Label::Acquire { object: 7 })).allowed();
        }
    }
}

#[test]
fn a_childs_stores_come_after_its_creation() {
    for model in [Sc, Tso, Pso, Pslo] {
        let mut run = Run::new(model);
        run.w(0, X, Relaxed, 1);
        run.push(0, Label::Create { child: ThreadId(1) });
        run.w(1, Y, Relaxed, 1);
        run.allowed();
        run.store(1, X, Relaxed, 2, Mo::After(Init));
        run.not_global();
    }
}

#[test]
fn independent_reads_of_independent_writes() {
    for (model, allowed) in [(Sc, false), (Tso, false), (Pso, false), (Pslo, true)] {
        let mut run = Run::new(model);
        let x = run.w(0, X, Relaxed, 1);
        let y = run.w(1, Y, Relaxed, 1);
        run.r(2, X, Relaxed, Store(x));
        run.r(2, Y, Relaxed, Init);
        run.r(3, Y, Relaxed, Store(y));
        run.r(3, X, Relaxed, Init);
        if allowed { run.allowed() } else { run.not_global() }
    }
}
