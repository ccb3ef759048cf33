//! Random small executions must get the same verdict from the certifier and from [`naive`].

use super::*;
use crate::rng::Rng;
use alloc::vec;

/// What an execution is made of.
#[derive(Clone, Copy)]
struct Profile {
    /// The orders of accesses.
    accesses: &'static [Order],
    /// The orders of fences.
    fences: &'static [Order],
    /// The cells, which may share bytes.
    cells: &'static [(u64, u8)],
    /// Labels are drawn from the first so many kinds, of [`Writer::label`].
    kinds: usize,
}

const PROFILES: [Profile; 5] = [
    Profile {
        accesses: &Order::ALL,
        fences: &Order::ALL,
        cells: &[(0, 1), (1, 1), (0, 2), (4, 1)],
        kinds: 20,
    },
    Profile { accesses: &Order::ALL, fences: &Order::ALL, cells: &[(4, 1), (5, 1)], kinds: 20 },
    Profile { accesses: &[Relaxed, SeqCst], fences: &[SeqCst], cells: &[(4, 1), (5, 1), (6, 1)], kinds: 14 },
    Profile {
        accesses: &[Relaxed],
        fences: &[SeqCst, SeqCst, Acquire, Release],
        cells: &[(4, 1), (5, 1), (6, 1)],
        kinds: 16,
    },
    Profile {
        accesses: &[Relaxed, Acquire, Release],
        fences: &[SeqCst],
        cells: &[(4, 1), (5, 1), (6, 1)],
        kinds: 16,
    },
];

/// Writes an execution that is well-formed, but for bytes torn from exact accesses.
#[derive(Clone)]
struct Writer {
    profile: Profile,
    run: Run,
    held: Vec<EventId>,
    /// Threads 0 to 2 are there from the beginning. One may create thread 3, and 2 may end.
    created: bool,
    exited: bool,
}

impl Writer {
    fn step(&mut self, rng: &mut Rng) {
        let threads: &[u32] = match (self.exited, self.created) {
            (false, false) => &[0, 1, 2],
            (false, true) => &[0, 1, 2, 3],
            (true, false) => &[0, 1],
            (true, true) => &[0, 1, 3],
        };
        let mut thread = threads[rng.below(threads.len())];
        let label = self.label(rng);
        match label {
            Label::Exit => (thread, self.exited) = (2, true),
            Label::Create { .. } => self.created = true,
            Label::Commit { store } => thread = self.run.execution.event(store).thread.0,
            _ => {}
        }
        let id = self.run.push(thread, label);
        if label.mo() == Some(Mo::Held) {
            self.held.push(id);
        }
    }

    fn label(&mut self, rng: &mut Rng) -> Label {
        let (addr, width) = self.profile.cells[rng.below(self.profile.cells.len())];
        let at = Place::new(Addr(addr), width);
        let order = self.profile.accesses[rng.below(self.profile.accesses.len())];
        let fence = Label::Fence { order: self.profile.fences[rng.below(self.profile.fences.len())] };
        match rng.below(self.profile.kinds) {
            0..5 => Label::Load { at, order, value: 0, rf: self.rf(rng, at), locked: rng.below(6) == 0 },
            5..9 => Label::Store { at, order, value: 0, mo: self.mo(rng, at) },
            9 => Label::Store { at, order, value: 0, mo: Mo::Held },
            10 => match self.held.is_empty() {
                true => fence,
                false => Label::Commit { store: self.held.remove(rng.below(self.held.len())) },
            },
            11..13 => {
                Label::Rmw { at, order, read: 0, rf: self.rf(rng, at), written: 0, mo: self.mo(rng, at) }
            }
            13..16 => fence,
            16 => Label::Release { object: 1 },
            17 => Label::Acquire { object: 1 },
            18 if self.exited => Label::Join { child: ThreadId(2) },
            18 => Label::Exit,
            _ if self.created => match rng.below(4) {
                0..2 => Label::Alloc { at: Addr(addr), len: 1 },
                2 => Label::Foreign { at: Addr(addr), len: 1 },
                _ => Label::Foreign { at: Addr(0), len: u64::MAX },
            },
            _ => Label::Create { child: ThreadId(3) },
        }
    }

    fn rf(&mut self, rng: &mut Rng, at: Place) -> Rf {
        if at.width == 1 {
            return Rf::One(self.source(rng, at.addr.0, &[]));
        }
        let mut sources = [Init; 16];
        for (byte, source) in (at.addr.0..at.end()).zip(&mut sources) {
            *source = self.source(rng, byte, &[]);
        }
        self.run.execution.bytes.push(sources);
        Rf::Bytes(self.run.execution.bytes.len() as u32 - 1)
    }

    fn mo(&self, rng: &mut Rng, at: Place) -> Mo {
        if at.width > 1 || rng.below(2) == 0 {
            return Mo::Last;
        }
        Mo::After(self.source(rng, at.addr.0, &self.held))
    }

    /// A store to a byte in its present life, or its initial value.
    fn source(&self, rng: &mut Rng, byte: u64, without: &[EventId]) -> Source {
        let mut known = vec![Init];
        for (id, event) in self.run.execution.iter() {
            match event.label {
                Label::Alloc { at, len } | Label::Foreign { at, len }
                    if (at.0..at.0 + len).contains(&byte) =>
                {
                    known = vec![Init];
                }
                Label::Store { at, .. } | Label::Rmw { at, .. } if (at.addr.0..at.end()).contains(&byte) => {
                    known.extend(Some(Store(id)).filter(|_| !without.contains(&id)));
                }
                _ => {}
            }
        }
        // Old ones preferred: weak behaviour is not to see the new.
        let mut draw = || rng.below(known.len());
        known[draw().min(draw()).min(draw())]
    }
}

/// 20,000 executions a model. They grow while the certifier accepts them, and end when it first rejects one for
/// its last axiom, or sometimes for another: whichever verdict is wrong, naive has another.
#[test]
fn the_naive_axioms_agree() {
    for model in ModelKind::ALL {
        let mut rng = Rng::new(3);
        let (mut accepted, mut deep) = (0, 0);
        for round in 0..20_000 {
            let profile = PROFILES[round % PROFILES.len()];
            let run = Run::new(model);
            let mut writer = Writer { profile, run, held: Vec::new(), created: false, exited: false };
            for _ in 0..12 + rng.below(14) {
                let before = writer.clone();
                writer.step(&mut rng);
                match writer.run.verdict() {
                    Ok(()) => {}
                    Err(Violation::Sc(_) | Violation::Global(_)) => break,
                    Err(_) if rng.below(32) == 0 => break,
                    Err(_) => writer = before,
                }
            }
            let execution = &writer.run.execution;
            let verdict = certify(execution);
            if let Err(Violation::Malformed { why, .. }) = &verdict {
                assert_eq!(*why, Defect::Torn, "{execution:#?}");
                continue;
            }
            assert_eq!(verdict.is_ok(), naive::allowed(execution), "{verdict:?}\n{execution:#?}");
            accepted += u32::from(verdict.is_ok());
            deep += u32::from(matches!(verdict, Err(Violation::Sc(_) | Violation::Global(_))));
        }
        // Neither verdict is rare, nor is reaching the last axiom.
        assert!(accepted > 10_000 && deep > 300, "{model}: {accepted} {deep}");
    }
}
