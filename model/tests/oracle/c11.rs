//! The axioms of C11 in several readings, over [`Candidate`]s.
//!
//! * RC11: Lahav, Vafeiadis, Kang, Hur, Dreyer, "Repairing sequential consistency in C/C++11", PLDI 2017, with
//!   the release sequences of C++20 (RMWs only).
//! * C++20: the working draft N4861, [intro.races] and [atomics.order], as it is written. It differs from RC11
//!   in SC: *coherence-ordered before* includes what passes through a read (RC11: only `mo` and `fr` order SC
//!   events), and *strongly happens before* has no `≠loc`. It does not forbid `po ∪ rf` cycles either; the
//!   oracle can ask for C++20 with and without them.
//! * What a machine can produce that executes each thread in `po` and each read after its source, with its SC
//!   events ordered by their execution: the same relations, but acyclic *together*.
//!
//! An RMW is one event here, two in the RC11 paper. Nothing changes: whatever its read part is related to, its
//! write part is too, except for the part itself. Non-atomic accesses are like relaxed ones, but synchronise
//! with nothing; that a race on them is undefined is not this file's business.

use super::candidate::Candidate;
use super::relation::{Relation, Set};
use super::walk::Kind;

/// How SC events are ordered, and what must agree with the order of execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    Rc11,
    /// RC11, and `po ∪ rf ∪ psc` is acyclic.
    Rc11Exec,
    Cxx20,
    /// C++20 with `po ∪ rf` cycles: load buffering.
    Cxx20Cyclic,
    /// What `wmtrace_model::axioms` documents that it checks: besides RC11 and C++20, the SC order agrees with
    /// all of happens-before.
    Strong,
    /// The machine with `--mo-insertion` as MODELS.md means it: C++20, SC in execution order, and a plain access
    /// reads or follows the store that is mo-last when it executes.
    Inserting,
    /// The machine without: besides, `mo` is the order in which stores execute.
    Appending,
}

/// Whether the candidate, which is known to be coherent location by location, satisfies the axioms.
pub(crate) fn allows(candidate: &Candidate, reading: Reading) -> bool {
    let c = candidate;
    let fences = c.set(|e| e.kind == Kind::Fence);
    let sc = c.set(|e| e.order.is_sc());
    let sw = synchronizes_with(c, fences);
    let initial = c.set(|e| e.thread.is_none());
    let rest = c.set(|e| e.thread.is_some());
    let hb = (c.po | sw | initial.times(rest)).plus();
    let eco = (c.rf | c.mo | c.fr()).plus();
    if !hb.is_irreflexive() || !hb.then(&eco).is_irreflexive() {
        return false;
    }

    let execution = c.po | c.rf;
    let psc = || psc(c, &hb, &eco, sc, fences);
    let sc_hb = || hb & sc.times(sc);
    let single_order = || single_order(c, &hb, &eco, &sw, sc, fences);
    let plain = || {
        let reads = c.set(|e| e.reads() && !e.order.is_atomic()).identity();
        let writes = c.set(|e| e.writes() && !e.order.is_atomic()).identity();
        reads.then(&c.fr()) | writes.then(&c.mo)
    };
    match reading {
        Reading::Rc11 => execution.is_acyclic() && psc().is_acyclic(),
        Reading::Rc11Exec => (execution | psc()).is_acyclic(),
        Reading::Cxx20 => execution.is_acyclic() && single_order().is_acyclic(),
        Reading::Cxx20Cyclic => single_order().is_acyclic(),
        Reading::Strong => execution.is_acyclic() && (single_order() | psc() | sc_hb()).is_acyclic(),
        Reading::Inserting => (execution | single_order() | plain()).is_acyclic(),
        Reading::Appending => (execution | single_order() | plain() | c.mo).is_acyclic(),
    }
}

/// `sw = [E⊒REL] ; ([F] ; po)? ; [W⊒RLX] ; (rf ; rmw)* ; rf ; [R⊒RLX] ; (po ; [F])? ; [E⊒ACQ]`
fn synchronizes_with(c: &Candidate, fences: Set) -> Relation {
    let releases = c.set(|e| e.order.releases()).identity();
    let acquires = c.set(|e| e.order.acquires()).identity();
    let atomic_writes = c.set(|e| e.writes() && e.order.is_atomic()).identity();
    let atomic_reads = c.set(|e| e.reads() && e.order.is_atomic()).identity();
    let rmws = c.set(|e| e.kind == Kind::Rmw).identity();
    let fence_before = fences.identity().then(&c.po).or_same();
    let fence_after = c.po.then(&fences.identity()).or_same();
    let release_sequence = atomic_writes.then(&c.rf.then(&rmws).star());
    releases
        .then(&fence_before)
        .then(&release_sequence)
        .then(&c.rf)
        .then(&atomic_reads)
        .then(&fence_after)
        .then(&acquires)
}

/// RC11's partial SC order, `psc_base ∪ psc_F`.
fn psc(c: &Candidate, hb: &Relation, eco: &Relation, sc: Set, fences: Set) -> Relation {
    let same = c.same_location();
    let po_elsewhere = c.po - same;
    let scb = c.po | po_elsewhere.then(hb).then(&po_elsewhere) | (*hb & same) | c.mo | c.fr();
    let sc_fence = (sc & fences).identity();
    let from = sc.identity() | sc_fence.then(&hb.or_same());
    let to = sc.identity() | hb.or_same().then(&sc_fence);
    let psc_base = from.then(&scb).then(&to);
    let psc_f = sc_fence.then(&(*hb | hb.then(eco).then(hb))).then(&sc_fence);
    psc_base | psc_f
}

/// What C++20's single total order S must agree with: *strongly happens before* [intro.races]/12, and
/// *coherence-ordered before* between SC operations and around SC fences [atomics.order]/4.
fn single_order(
    c: &Candidate,
    hb: &Relation,
    eco: &Relation,
    sw: &Relation,
    sc: Set,
    fences: Set,
) -> Relation {
    let strongly = (c.po | (*sw & sc.times(sc)) | c.po.then(hb).then(&c.po)).plus() & sc.times(sc);
    let sc_fence = (sc & fences).identity();
    let from = (sc - fences).identity() | sc_fence.then(hb);
    let to = (sc - fences).identity() | hb.then(&sc_fence);
    strongly | from.then(eco).then(&to)
}
