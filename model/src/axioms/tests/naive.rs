//! The axioms once more, as the papers write them: relations as sets of pairs, byte by byte, in cubic time.

use super::*;
use alloc::collections::BTreeMap;
use core::ops::BitOr;

/// A relation over the events of an execution: per event, the set of those it leads to.
#[derive(Clone)]
struct Rel(Vec<u32>);

impl Rel {
    fn new(n: usize, holds: impl Fn(usize, usize) -> bool) -> Rel {
        Rel((0..n).map(|a| (0..n).map(|b| u32::from(holds(a, b)) << b).sum()).collect())
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }

    /// `[S]`: the identity on a set.
    fn set(n: usize, contains: impl Fn(usize) -> bool) -> Rel {
        Rel((0..n).map(|a| u32::from(contains(a)) << a).collect())
    }

    /// `self;other`.
    fn then(&self, other: &Rel) -> Rel {
        let n = self.0.len();
        let row = |a| (0..n).filter(|&b| self.has(a, b)).fold(0, |row, b| row | other.0[b]);
        Rel((0..n).map(row).collect())
    }

    /// `self?`.
    fn maybe(&self) -> Rel {
        Rel(self.0.iter().enumerate().map(|(a, row)| row | 1 << a).collect())
    }

    /// `self⁺`.
    fn plus(&self) -> Rel {
        let mut closed = self.clone();
        for _ in 0..self.0.len() {
            closed = closed.clone() | closed.then(self);
        }
        closed
    }

    fn irreflexive(&self) -> bool {
        (0..self.0.len()).all(|a| !self.has(a, a))
    }

    fn acyclic(&self) -> bool {
        self.plus().irreflexive()
    }
}

impl BitOr for Rel {
    type Output = Rel;
    fn bitor(self, other: Rel) -> Rel {
        Rel(self.0.iter().zip(other.0).map(|(a, b)| a | b).collect())
    }
}

/// The relations of one byte in one life.
struct Byte {
    on: Vec<usize>,
    rf: Rel,
    mo: Rel,
    fr: Rel,
}

struct Relations<'a> {
    execution: &'a Execution,
    n: usize,
    po: Rel,
    bytes: Vec<Byte>,
}

/// `(byte, life)`.
type Key = (u64, usize);

impl<'a> Relations<'a> {
    fn of(execution: &'a Execution) -> Relations<'a> {
        let n = execution.events.len();
        let thread = |e: usize| execution.events[e].thread;
        // Where memory was given a new life; it may be everywhere.
        let mut lives: Vec<core::ops::Range<u64>> = Vec::new();
        let mut on: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        let mut order: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        let mut from: BTreeMap<Key, Vec<(usize, Source)>> = BTreeMap::new();
        let mut held: Vec<usize> = Vec::new();
        let mut keys_of: Vec<Vec<Key>> = Vec::new();
        for (e, event) in execution.events.iter().enumerate() {
            let place = event.label.place();
            let bytes = place.map_or(0..0, |at| at.addr.0..at.end());
            let life = |byte: u64| lives.iter().filter(|range| range.contains(&byte)).count();
            let keys: Vec<Key> = bytes.map(|byte| (byte, life(byte))).collect();
            for (offset, &key) in keys.iter().enumerate() {
                on.entry(key).or_default().push(e);
                if let Some(rf) = event.label.rf() {
                    from.entry(key).or_default().push((e, execution.source(rf, offset)));
                }
                let order = order.entry(key).or_default();
                match event.label.mo() {
                    Some(Mo::Last) => order.push(e),
                    Some(Mo::After(Init)) => order.insert(0, e),
                    Some(Mo::After(Store(w))) => {
                        let index = order.iter().position(|&other| other == w.index()).unwrap();
                        order.insert(index + 1, e);
                    }
                    Some(Mo::Held) | None => {}
                }
            }
            keys_of.push(keys);
            match event.label {
                Label::Store { mo: Mo::Held, .. } => held.push(e),
                Label::Commit { store } => {
                    held.retain(|&other| other != store.index());
                    keys_of[store.index()]
                        .iter()
                        .for_each(|key| order.get_mut(key).unwrap().push(store.index()));
                }
                Label::Alloc { at, len } | Label::Foreign { at, len } => lives.push(at.0..at.0 + len),
                _ => {}
            }
        }
        for e in held {
            keys_of[e].iter().for_each(|key| order.get_mut(key).unwrap().push(e));
        }
        let bytes = on.into_iter().map(|(key, on)| {
            let at = |e: usize| order[&key].iter().position(|&other| other == e);
            let from = from.remove(&key).unwrap_or_default();
            let rf = Rel::new(n, |w, r| from.contains(&(r, Store(EventId(w as u32)))));
            let mo = Rel::new(n, |a, b| matches!((at(a), at(b)), (Some(a), Some(b)) if a < b));
            let initial = Rel::new(n, |r, w| from.contains(&(r, Init)) && at(w).is_some());
            let inverse = Rel::new(n, |r, w| rf.has(w, r));
            let fr = inverse.then(&mo) | initial;
            let fr = Rel::new(n, |r, w| r != w && fr.has(r, w));
            Byte { on, rf, mo, fr }
        });
        let bytes = bytes.collect();
        Relations { execution, n, po: Rel::new(n, |a, b| a < b && thread(a) == thread(b)), bytes }
    }

    fn label(&self, e: usize) -> &Label {
        &self.execution.events[e].label
    }

    fn order(&self, e: usize) -> Order {
        self.label(e).order().unwrap_or(Na)
    }

    fn writes(&self, e: usize) -> bool {
        self.label(e).mo().is_some()
    }

    fn reads(&self, e: usize) -> bool {
        self.label(e).rf().is_some()
    }

    fn fence(&self, e: usize) -> bool {
        matches!(self.label(e), Label::Fence { .. })
    }

    fn same_location(&self, a: usize, b: usize) -> bool {
        self.bytes.iter().any(|byte| byte.on.contains(&a) && byte.on.contains(&b))
    }

    fn union(&self, relation: impl Fn(&Byte) -> &Rel) -> Rel {
        self.bytes.iter().fold(Rel::set(self.n, |_| false), |all, byte| all | relation(byte).clone())
    }

    fn set(&self, contains: impl Fn(usize) -> bool) -> Rel {
        Rel::set(self.n, contains)
    }

    /// Create → all of the child, Exit → Join, Release → later Acquire.
    fn asw(&self) -> Rel {
        let thread = |e: usize| self.execution.events[e].thread;
        Rel::new(self.n, |a, b| match (self.label(a), self.label(b)) {
            (Label::Create { child }, _) if thread(b) == *child => true,
            (Label::Exit, Label::Join { child }) => thread(a) == *child,
            (Label::Release { object: a_object }, Label::Acquire { object }) => a < b && a_object == object,
            _ => false,
        })
    }

    fn atomicity(&self) -> bool {
        self.bytes.iter().all(|byte| {
            let rmw = |e: usize| self.reads(e) && self.writes(e);
            let between = byte.fr.then(&byte.mo);
            // And an RMW must not read from a store that mo puts after it.
            (0..self.n).all(|e| !rmw(e) || (!between.has(e, e) && !byte.mo.then(&byte.rf).has(e, e)))
        })
    }

    fn c11(&self) -> bool {
        let n = self.n;
        let (rf, mo, fr) = (self.union(|b| &b.rf), self.union(|b| &b.mo), self.union(|b| &b.fr));
        let release = self.set(|e| self.order(e).releases() && (self.writes(e) || self.fence(e)));
        let acquire = self.set(|e| self.order(e).acquires() && (self.reads(e) || self.fence(e)));
        let fences = self.set(|e| self.fence(e));
        let atomic_write = self.set(|e| self.writes(e) && self.order(e).is_atomic());
        let atomic_read = self.set(|e| self.reads(e) && self.order(e).is_atomic());
        let atomic_rmw = self.set(|e| self.reads(e) && self.writes(e) && self.order(e).is_atomic());
        let sequence = rf.then(&atomic_rmw).plus().maybe();
        let sw = release
            .then(&fences.then(&self.po).maybe())
            .then(&atomic_write)
            .then(&sequence)
            .then(&rf)
            .then(&atomic_read)
            .then(&self.po.then(&fences).maybe())
            .then(&acquire);
        let hb = (self.po.clone() | sw | self.asw()).plus();

        // Location by location: with mixed sizes, what `mo` does in one byte says nothing about another.
        let coherent = self.bytes.iter().all(|b| {
            b.mo.then(&b.rf.maybe()).then(&hb.maybe()).irreflexive()
                && b.fr.then(&b.rf.maybe()).then(&hb).irreflexive()
        });
        let eco = self
            .bytes
            .iter()
            .fold(Rel::set(n, |_| false), |all, b| all | (b.rf.clone() | b.mo.clone() | b.fr.clone()).plus());
        let sc = self.set(|e| self.order(e).is_sc());
        let e_sc = self.set(|e| self.order(e).is_sc() && !self.fence(e));
        let f_sc = self.set(|e| self.order(e).is_sc() && self.fence(e));
        let left = e_sc.clone() | f_sc.then(&hb.maybe());
        let right = e_sc.clone() | hb.maybe().then(&f_sc);
        let psc = sc.then(&hb).then(&sc) | left.then(&eco).then(&right);
        let accepted =
            coherent && self.atomicity() && (self.po.clone() | rf.clone()).acyclic() && psc.acyclic();

        // What sc.rs claims: the strong form implies RC11's psc.
        let other_location = |r: &Rel| Rel::new(n, |a, b| r.has(a, b) && !self.same_location(a, b));
        let hb_location = Rel::new(n, |a, b| hb.has(a, b) && self.same_location(a, b));
        let po_other = other_location(&self.po);
        let scb = self.po.clone() | po_other.then(&hb).then(&po_other) | hb_location | mo | fr;
        let psc_base = left.then(&scb).then(&right);
        let psc_fences = f_sc.then(&(hb.clone() | hb.then(&eco).then(&hb))).then(&f_sc);
        assert!(!accepted || (psc_base | psc_fences).acyclic(), "{:#?}", self.execution);
        accepted
    }

    fn hardware(&self) -> bool {
        let model = self.execution.model;
        let (sc, tso, pslo) = (model == ModelKind::Sc, model == ModelKind::Tso, model == ModelKind::Pslo);
        let per_location = self.bytes.iter().all(|b| {
            let po_loc = Rel::new(self.n, |x, y| self.po.has(x, y) && b.on.contains(&x) && b.on.contains(&y));
            (po_loc | b.rf.clone() | b.mo.clone() | b.fr.clone()).acyclic()
        });
        let locked = |e: usize| matches!(self.label(e), Label::Load { locked: true, .. } | Label::Rmw { .. });
        let rmw = |e: usize| self.reads(e) && self.writes(e);
        let plain_load = |e: usize| matches!(self.label(e), Label::Load { locked: false, .. });
        let sync = |e: usize| {
            use Label::{Create, Exit, Join};
            let label = self.label(e);
            matches!(
                label,
                Create { .. } | Exit | Join { .. } | Label::Release { .. } | Label::Acquire { .. }
            )
        };
        let access = |e: usize| self.label(e).place().is_some();
        // Is there a full barrier, of any kind, between the two (they may be it, where it is an access)?
        let across = |a: usize, b: usize, barrier: &dyn Fn(usize) -> (bool, bool)| {
            (a..=b).any(|e| {
                let own = self.execution.events[e].thread == self.execution.events[a].thread;
                // (before e, after e): where the barrier stands.
                let (before, after) = barrier(e);
                own && ((before && a < e) || (after && e < b))
            })
        };
        let full = |e: usize| {
            let both = self.fence(e) && self.order(e).is_sc()
                || (tso && locked(e))
                || (rmw(e) && self.order(e).is_sc())
                || sync(e);
            let store = self.writes(e) && !rmw(e) && self.order(e).is_sc();
            (both, both || store)
        };
        let stores = |e: usize| {
            let release = self.order(e).releases();
            ((self.writes(e) || self.fence(e)) && release, self.fence(e) && release)
        };
        let loads = |e: usize| {
            let acquire = self.order(e).acquires();
            (self.fence(e) && acquire, (self.reads(e) || self.fence(e)) && acquire)
        };
        let ppo = Rel::new(self.n, |a, b| {
            if !self.po.has(a, b) || !(access(a) || sync(a)) || !(access(b) || sync(b)) {
                return false;
            }
            let same = self.same_location(a, b);
            let load_store = self.reads(a) && self.writes(b);
            let load_load = self.reads(a) && self.reads(b) && (!pslo || same || across(a, b, &loads));
            let store_store = self.writes(a) && self.writes(b) && (tso || same || across(a, b, &stores));
            let store_locked = self.writes(a) && locked(b) && same;
            sc || load_store || load_load || store_store || store_locked || across(a, b, &full)
        });
        let rf = self.union(|b| &b.rf);
        let global_rf = Rel::new(self.n, |w, r| rf.has(w, r) && (sc || !self.po.has(w, r) || !plain_load(r)));
        let global = ppo | global_rf | self.union(|b| &b.mo) | self.union(|b| &b.fr) | self.asw();
        per_location && self.atomicity() && global.acyclic()
    }
}

/// Whether a well-formed execution satisfies the axioms of its model.
pub(super) fn allowed(execution: &Execution) -> bool {
    let relations = Relations::of(execution);
    match execution.model {
        ModelKind::C11 => relations.c11(),
        ModelKind::Sc | ModelKind::Tso | ModelKind::Pso | ModelKind::Pslo => relations.hardware(),
    }
}
