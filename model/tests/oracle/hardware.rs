//! The axioms of SC and of the hardware models, over [`Candidate`]s that are SC per location and atomic:
//! `ppo ∪ barriers ∪ rfe ∪ mo ∪ fr` is acyclic, where `ppo` is what the model preserves of program order.
//!
//! An access means what a compiler for such a machine emits. An SC store is followed by a full barrier and an
//! SC fence is one. Under TSO every locked instruction (an RMW, a compare-and-swap that fails too) is a full
//! barrier. Under PSO and PSLO an RMW is one when it is SC; a release is preceded by a store-store barrier, and
//! under PSLO an acquire followed by a load-load barrier. TSO: Owens, Sarkar, Sewell, TPHOLs 2009; PSO and
//! PSLO: Burnim, Sen, Stergiou, ISSTA 2011 (RELAXER), whose machines are stronger here and there.

use super::candidate::Candidate;
use super::relation::{Relation, Set};
use super::walk::{Event, Kind};

/// Events by what they do; fences are in none but their own.
struct Kinds {
    /// Reads, RMWs among them.
    reads: Set,
    /// Writes, RMWs among them.
    writes: Set,
    /// Reads and writes.
    accesses: Set,
    /// RMWs and failed compare-and-swaps.
    locked: Set,
}

impl Kinds {
    fn of(c: &Candidate) -> Kinds {
        let reads = c.set(Event::reads);
        let writes = c.set(Event::writes);
        let locked = c.set(|e| matches!(e.kind, Kind::Rmw | Kind::Read { locked: true }));
        Kinds { reads, writes, accesses: reads | writes, locked }
    }
}

pub(crate) fn allows_sc(c: &Candidate) -> bool {
    (c.po | c.rf | c.mo | c.fr()).is_acyclic()
}

pub(crate) fn allows_tso(c: &Candidate) -> bool {
    let kinds = Kinds::of(c);
    let write_to_read = (kinds.writes - kinds.locked).times(kinds.reads - kinds.locked);
    let ppo = c.po & (kinds.accesses.times(kinds.accesses) - write_to_read);
    globally_ordered(c, &(ppo | full_barriers(c, &kinds)))
}

pub(crate) fn allows_pso(c: &Candidate) -> bool {
    let kinds = Kinds::of(c);
    let loads_first = c.po & kinds.reads.times(kinds.accesses);
    globally_ordered(c, &(loads_first | pso_stores(c, &kinds)))
}

pub(crate) fn allows_pslo(c: &Candidate) -> bool {
    let kinds = Kinds::of(c);
    let read_to_write = c.po & kinds.reads.times(kinds.writes);
    let read_to_read = c.po & kinds.reads.times(kinds.reads);
    let acquire_fence = c.set(|e| e.kind == Kind::Fence && e.order.acquires()).identity();
    let acquire_read = c.set(|e| e.reads() && e.order.acquires()).identity();
    let load_load_barrier =
        c.po.then(&acquire_fence).then(&c.po) | c.po.or_same().then(&acquire_read).then(&c.po);
    let loads_first = read_to_write | (read_to_read & (c.same_location() | load_load_barrier));
    globally_ordered(c, &(loads_first | pso_stores(c, &kinds)))
}

/// What PSO and PSLO preserve of the order between a store and what comes after it. A store and a later load of
/// the same location are not among it: the load may read the store before anybody else can.
fn pso_stores(c: &Candidate, kinds: &Kinds) -> Relation {
    let po_here = c.po & c.same_location();
    let same_location = po_here & kinds.writes.times(kinds.writes | kinds.locked);
    let release_fence = c.set(|e| e.kind == Kind::Fence && e.order.releases()).identity();
    let release_write = c.set(|e| e.writes() && e.order.releases()).identity();
    let store_store_barrier =
        c.po.then(&release_fence).then(&c.po) | c.po.then(&release_write).then(&c.po.or_same());
    let store_store = store_store_barrier & kinds.writes.times(kinds.writes);
    let sc_rmw = c.set(|e| e.kind == Kind::Rmw && e.order.is_sc());
    let locked_barrier = c.po & (kinds.accesses.times(sc_rmw) | sc_rmw.times(kinds.accesses));
    same_location | store_store | locked_barrier | full_barriers(c, kinds)
}

/// Full barriers: at an SC fence, and right after an SC store.
fn full_barriers(c: &Candidate, kinds: &Kinds) -> Relation {
    let fence = c.set(|e| e.kind == Kind::Fence && e.order.is_sc()).identity();
    let store = c.set(|e| e.kind == Kind::Write && e.order.is_sc()).identity();
    let across = c.po.then(&fence).then(&c.po) | c.po.or_same().then(&store).then(&c.po);
    across & kinds.accesses.times(kinds.accesses)
}

fn globally_ordered(c: &Candidate, preserved: &Relation) -> bool {
    let external = c.pairs(|a, b| a.thread != b.thread);
    (*preserved | (c.rf & external) | c.mo | c.fr()).is_acyclic()
}
