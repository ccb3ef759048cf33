//! FastTrack (Flanagan and Freund 2009) for non-atomic accesses, at byte granularity with a fast path for
//! granules of eight bytes that are always accessed alike.
//!
//! A granule remembers its last non-atomic write and its reads since. As long as every access has the same
//! byte mask one state serves the whole granule; the first other mask splits it into eight, one a byte.
//! Atomic accesses are checked against this state but kept elsewhere (with their cell), because they are not
//! totally ordered when there is no race.

use super::clock::Slot;
use crate::op::Site;
use alloc::vec::Vec;

/// An access as happens-before sees it: the epoch of a slot, and where in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct When {
    pub(crate) slot: Slot,
    pub(crate) epoch: u32,
    pub(crate) site: Site,
}

/// Epochs start at 1.
const NEVER: When = When { slot: 0, epoch: 0, site: Site(0) };

/// In `Uniform::read`, a slot that means: `epoch` is an index into [`Shadows::shared`].
const SHARED: Slot = Slot::MAX;

/// What an accessing thread knows.
#[derive(Clone, Copy)]
pub(crate) struct Knower<'a> {
    pub(crate) slot: Slot,
    pub(crate) hb: &'a [u32],
}

impl Knower<'_> {
    /// Whether the access happens before what this thread does now.
    pub(crate) fn knows(&self, when: When) -> bool {
        when.slot == self.slot || when.epoch <= self.hb[usize::from(when.slot)]
    }
}

/// The last write, and the reads since, of bytes that were always accessed together.
#[derive(Clone, Copy, Debug)]
struct Uniform {
    write: When,
    read: When,
}

const UNTOUCHED: Uniform = Uniform { write: NEVER, read: NEVER };

/// The state of a granule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shadow {
    /// Which bytes `all` speaks about; 0: no non-atomic access yet.
    mask: u8,
    /// The granule is split: `all.write.epoch` is an index into [`Shadows::split`].
    is_split: bool,
    all: Uniform,
}

impl Shadow {
    pub(crate) const EMPTY: Shadow = Shadow { mask: 0, is_split: false, all: UNTOUCHED };
}

/// The earlier access of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Conflict {
    pub(crate) earlier: When,
    pub(crate) store: bool,
}

/// The parts of shadows that do not fit a granule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadows {
    shared: Vec<Vec<When>>,
    free_shared: Vec<u32>,
    split: Vec<[Uniform; 8]>,
    free_split: Vec<u32>,
}

impl Shadows {
    pub(crate) fn clear(&mut self) {
        self.shared.clear();
        self.free_shared.clear();
        self.split.clear();
        self.free_split.clear();
    }

    /// A non-atomic access to the bytes in `mask`: what it races with, and it is remembered.
    pub(crate) fn access(
        &mut self,
        shadow: &mut Shadow,
        mask: u8,
        now: When,
        store: bool,
        knower: Knower<'_>,
    ) -> Option<Conflict> {
        if !shadow.is_split {
            if shadow.mask == mask || shadow.mask == 0 {
                shadow.mask = mask;
                return self.uniform(&mut shadow.all, now, store, knower);
            }
            self.divide(shadow);
        }
        let index = shadow.all.write.epoch as usize;
        let mut found = None;
        for byte in (0..8).filter(|byte| mask & (1 << byte) != 0) {
            let mut state = self.split[index][byte];
            found = found.or(self.uniform(&mut state, now, store, knower));
            self.split[index][byte] = state;
        }
        found
    }

    /// An atomic access to the bytes in `mask`: what it races with. It is not remembered here.
    pub(crate) fn check(
        &self,
        shadow: &Shadow,
        mask: u8,
        store: bool,
        knower: Knower<'_>,
    ) -> Option<Conflict> {
        if !shadow.is_split {
            return if shadow.mask & mask == 0 { None } else { self.conflict(&shadow.all, store, knower) };
        }
        let states = &self.split[shadow.all.write.epoch as usize];
        (0..8)
            .filter(|byte| mask & (1 << byte) != 0)
            .find_map(|byte| self.conflict(&states[byte], store, knower))
    }

    /// Gives up what a granule holds outside itself.
    pub(crate) fn drop_shadow(&mut self, shadow: &mut Shadow) {
        let mut drop_shared = |read: When| {
            if read.slot == SHARED {
                self.shared[read.epoch as usize].clear();
                self.free_shared.push(read.epoch);
            }
        };
        if shadow.is_split {
            let index = shadow.all.write.epoch;
            self.split[index as usize].iter().for_each(|state| drop_shared(state.read));
            self.free_split.push(index);
        } else {
            drop_shared(shadow.all.read);
        }
        *shadow = Shadow::EMPTY;
    }

    fn divide(&mut self, shadow: &mut Shadow) {
        let mut states = [UNTOUCHED; 8];
        let mut first = true;
        for (byte, state) in states.iter_mut().enumerate() {
            if shadow.mask & (1 << byte) != 0 {
                *state = shadow.all;
                if shadow.all.read.slot == SHARED && !first {
                    state.read.epoch = self.copy_shared(shadow.all.read.epoch);
                }
                first = false;
            }
        }
        let index = match self.free_split.pop() {
            Some(index) => {
                self.split[index as usize] = states;
                index
            }
            None => {
                self.split.push(states);
                self.split.len() as u32 - 1
            }
        };
        *shadow = Shadow {
            mask: u8::MAX,
            is_split: true,
            all: Uniform { write: When { epoch: index, ..NEVER }, read: NEVER },
        };
    }

    fn new_shared(&mut self) -> u32 {
        self.free_shared.pop().unwrap_or_else(|| {
            self.shared.push(Vec::new());
            self.shared.len() as u32 - 1
        })
    }

    fn copy_shared(&mut self, from: u32) -> u32 {
        let to = self.new_shared();
        let readers = core::mem::take(&mut self.shared[from as usize]);
        self.shared[to as usize].extend_from_slice(&readers);
        self.shared[from as usize] = readers;
        to
    }

    /// What an access races with, if anything.
    fn conflict(&self, state: &Uniform, store: bool, knower: Knower<'_>) -> Option<Conflict> {
        if !knower.knows(state.write) {
            return Some(Conflict { earlier: state.write, store: true });
        }
        if !store {
            return None;
        }
        let read = if state.read.slot == SHARED {
            self.shared[state.read.epoch as usize].iter().copied().find(|&read| !knower.knows(read))
        } else {
            Some(state.read).filter(|&read| !knower.knows(read))
        };
        read.map(|earlier| Conflict { earlier, store: false })
    }

    fn uniform(
        &mut self,
        state: &mut Uniform,
        now: When,
        store: bool,
        knower: Knower<'_>,
    ) -> Option<Conflict> {
        // The same thread in the same epoch again: nothing can be new.
        let last = if store { state.write } else { state.read };
        if last.slot == now.slot && last.epoch == now.epoch && (!store || state.read == NEVER) {
            return None;
        }
        let found = self.conflict(state, store, knower);
        if store {
            self.forget_reads(state);
            state.write = now;
        } else if state.read.slot == SHARED {
            let readers = &mut self.shared[state.read.epoch as usize];
            match readers.iter_mut().find(|read| read.slot == now.slot) {
                Some(read) => *read = now,
                None => readers.push(now),
            }
        } else if knower.knows(state.read) {
            state.read = now;
        } else {
            let index = self.new_shared();
            self.shared[index as usize].extend_from_slice(&[state.read, now]);
            state.read = When { slot: SHARED, epoch: index, site: Site(0) };
        }
        found
    }

    fn forget_reads(&mut self, state: &mut Uniform) {
        if state.read.slot == SHARED {
            self.shared[state.read.epoch as usize].clear();
            self.free_shared.push(state.read.epoch);
        }
        state.read = NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Slot = 1;
    const B: Slot = 2;
    const C: Slot = 3;

    fn at(slot: Slot, epoch: u32) -> When {
        When { slot, epoch, site: Site(u32::from(slot)) }
    }

    fn nobody(slot: Slot) -> Knower<'static> {
        Knower { slot, hb: &[0; 8] }
    }

    #[test]
    fn write_write_and_write_read_race_unless_ordered() {
        let (mut shadows, mut shadow) = (Shadows::default(), Shadow::EMPTY);
        assert_eq!(shadows.access(&mut shadow, 0xff, at(A, 1), true, nobody(A)), None);
        let found = shadows.access(&mut shadow, 0xff, at(B, 1), false, nobody(B));
        assert_eq!(found, Some(Conflict { earlier: at(A, 1), store: true }));
        let informed = Knower { slot: C, hb: &[0, 1, 1, 0, 0, 0, 0, 0] };
        assert_eq!(shadows.access(&mut shadow, 0xff, at(C, 1), true, informed), None);
    }

    #[test]
    fn two_readers_and_a_writer_that_knows_one() {
        let (mut shadows, mut shadow) = (Shadows::default(), Shadow::EMPTY);
        assert_eq!(shadows.access(&mut shadow, 0xff, at(A, 1), false, nobody(A)), None);
        assert_eq!(shadows.access(&mut shadow, 0xff, at(B, 1), false, nobody(B)), None);
        let knows_a = Knower { slot: C, hb: &[0, 1, 0, 0, 0, 0, 0, 0] };
        let found = shadows.access(&mut shadow, 0xff, at(C, 1), true, knows_a);
        assert_eq!(found, Some(Conflict { earlier: at(B, 1), store: false }));
    }

    #[test]
    fn different_bytes_do_not_race() {
        let (mut shadows, mut shadow) = (Shadows::default(), Shadow::EMPTY);
        assert_eq!(shadows.access(&mut shadow, 0x0f, at(A, 1), true, nobody(A)), None);
        assert_eq!(shadows.access(&mut shadow, 0xf0, at(B, 1), true, nobody(B)), None);
        let found = shadows.access(&mut shadow, 0x18, at(C, 1), false, nobody(C));
        assert_eq!(found.map(|conflict| conflict.earlier), Some(at(A, 1)));
        assert_eq!(shadows.check(&shadow, 0x01, false, nobody(B)).map(|c| c.earlier), Some(at(A, 1)));
        shadows.drop_shadow(&mut shadow);
        assert_eq!(shadows.check(&shadow, 0xff, true, nobody(C)), None);
    }

    #[test]
    fn atomic_loads_do_not_race_with_reads() {
        let (mut shadows, mut shadow) = (Shadows::default(), Shadow::EMPTY);
        shadows.access(&mut shadow, 0xff, at(A, 1), false, nobody(A));
        assert_eq!(shadows.check(&shadow, 0xff, false, nobody(B)), None);
        assert!(shadows.check(&shadow, 0xff, true, nobody(B)).is_some());
    }
}
