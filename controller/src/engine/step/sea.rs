//! The sea: all code under the model is covered with breakpoints.
//!
//! Every byte of managed code is `int3`, in the process's private copy of the pages, so nobody can run a single
//! managed instruction unseen: not a callback, an exception's landing pad, a signal handler, a `longjmp` or a new
//! thread. To run a stretch of instructions its own bytes *surface*; whatever follows it is a breakpoint again, so
//! the thread stops by itself where the stretch ends (which costs a third of a single-step). The bytes go down
//! again at the next stop of the process, whatever its reason. Only one thread runs at a time, so nobody else sees
//! them.
//!
//! The same goes for single breakpoints in code that runs natively: entries of library functions that synchronise,
//! and the places they return to.

use super::modules::Module;
use crate::os::OsError;
use crate::os::memory::ProcessMemory;
use std::collections::BTreeMap;

const INT3: u8 = 0xcc;

/// The most bytes of an instruction.
const LONGEST: usize = 15;

/// Covered code.
#[derive(Clone, Debug)]
struct Water {
    start: u64,
    /// What is there.
    bytes: Vec<u8>,
}

impl Water {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// A breakpoint in native code.
#[derive(Clone, Debug)]
struct Breakpoint {
    /// What is there, and behind it.
    bytes: Vec<u8>,
    /// How many want it.
    users: u32,
}

/// The breakpoints of a process.
#[derive(Clone, Default, Debug)]
pub(super) struct Sea {
    /// By address.
    waters: Vec<Water>,
    breakpoints: BTreeMap<u64, Breakpoint>,
    /// What has surfaced.
    surfaced: Vec<(u64, u64)>,
}

impl Sea {
    /// Covers more code, which is read from memory as it is now.
    pub(super) fn add(&mut self, memory: &ProcessMemory, start: u64, end: u64) -> Result<(), OsError> {
        // What is covered already stays as it is.
        let mut from = start;
        while from < end {
            let at = self.waters.partition_point(|water| water.end() <= from);
            let next = self.waters.get(at);
            let to = next.map_or(end, |water| water.start.clamp(from, end));
            let resume = next.map_or(end, Water::end);
            if from < to {
                let bytes = memory.read_some(from, (to - from) as usize);
                memory.write(from, &vec![INT3; bytes.len()])?;
                if !bytes.is_empty() {
                    self.waters.insert(at, Water { start: from, bytes });
                }
            }
            from = resume.max(to);
        }
        Ok(())
    }

    /// Covers the code of a module.
    pub(super) fn add_module(&mut self, memory: &ProcessMemory, module: &Module) -> Result<(), OsError> {
        for (start, end) in module.code() {
            self.add(memory, start, end)?;
        }
        Ok(())
    }

    /// Forgets the code of a range that is no longer there.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        self.cut(start, end);
        self.breakpoints.retain(|&at, _| at < start || at >= end);
    }

    /// Uncovers a range: its code is the program's own again, and runs unseen. Whether any of it was covered.
    pub(super) fn lift(&mut self, memory: &ProcessMemory, start: u64, end: u64) -> Result<bool, OsError> {
        let lifted = self.cut(start, end);
        for water in &lifted {
            memory.write(water.start, &water.bytes)?;
        }
        for (&at, breakpoint) in self.breakpoints.range(start..end) {
            memory.write(at, &breakpoint.bytes[..1])?;
        }
        self.breakpoints.retain(|&at, _| at < start || at >= end);
        Ok(!lifted.is_empty())
    }

    /// Whether there is a breakpoint in a range.
    pub(super) fn meets(&self, start: u64, end: u64) -> bool {
        self.waters.iter().any(|water| water.start < end && start < water.end())
            || start < end && self.breakpoints.range(start..end).next().is_some()
    }

    /// Takes what lies in a range out.
    fn cut(&mut self, start: u64, end: u64) -> Vec<Water> {
        if !self.waters.iter().any(|water| water.start < end && start < water.end()) {
            return Vec::new();
        }
        let (mut kept, mut taken) = (Vec::new(), Vec::new());
        for water in std::mem::take(&mut self.waters) {
            let bounds =
                [water.start, start.clamp(water.start, water.end()), end.clamp(water.start, water.end())];
            let [first, from, to] = bounds.map(|at| (at - water.start) as usize);
            let part = |range: std::ops::Range<usize>| Water {
                start: water.start + range.start as u64,
                bytes: water.bytes.get(range).unwrap_or_default().to_vec(),
            };
            if from >= to {
                kept.push(water);
                continue;
            }
            taken.push(part(from..to));
            let rest = [part(first..from), part(to..water.bytes.len())];
            kept.extend(rest.into_iter().filter(|water| !water.bytes.is_empty()));
        }
        self.waters = kept;
        taken
    }

    fn water(&self, pc: u64) -> Option<&Water> {
        let at = self.waters.partition_point(|water| water.start <= pc);
        self.waters[..at].last().filter(|water| pc < water.end())
    }

    /// Whether the instruction is managed code.
    pub(super) fn covers(&self, pc: u64) -> bool {
        self.water(pc).is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waters.is_empty()
    }

    /// Whether there is no breakpoint at all.
    pub(super) fn has_none(&self) -> bool {
        self.waters.is_empty() && self.breakpoints.is_empty()
    }

    /// The instruction under a breakpoint in native code, as far as no other breakpoint is in it.
    pub(super) fn under(&self, at: u64) -> Option<&[u8]> {
        self.breakpoints.get(&at).map(|breakpoint| &breakpoint.bytes[..])
    }

    /// The program's own bytes from `pc` on.
    pub(super) fn bytes(&self, pc: u64) -> Option<&[u8]> {
        self.water(pc).map(|water| &water.bytes[(pc - water.start) as usize..])
    }

    /// Lets the bytes from `start` to `end` surface, until [`Sea::submerge`].
    pub(super) fn surface(&mut self, memory: &ProcessMemory, start: u64, end: u64) -> Result<(), OsError> {
        let bytes = self.bytes(start).and_then(|bytes| bytes.get(..(end - start) as usize));
        if let Some(bytes) = bytes {
            memory.write(start, bytes)?;
            self.surfaced.push((start, end));
        }
        Ok(())
    }

    /// Writes the program's own bytes (or, with `covered`, breakpoints) for a range of covered code, for good.
    pub(super) fn expose(
        &self,
        memory: &ProcessMemory,
        start: u64,
        len: usize,
        covered: bool,
    ) -> Result<(), OsError> {
        match self.bytes(start).and_then(|bytes| bytes.get(..len)) {
            Some(_) if covered => memory.write(start, &vec![INT3; len]),
            Some(bytes) => memory.write(start, bytes),
            None => Ok(()),
        }
    }

    /// Lets the instruction at a breakpoint in native code run, until [`Sea::submerge`].
    pub(super) fn surface_breakpoint(&mut self, memory: &ProcessMemory, at: u64) -> Result<(), OsError> {
        if let Some(breakpoint) = self.breakpoints.get(&at) {
            memory.write(at, &breakpoint.bytes[..1])?;
            self.surfaced.push((at, at + 1));
        }
        Ok(())
    }

    /// Covers what has surfaced.
    pub(super) fn submerge(&mut self, memory: &ProcessMemory) -> Result<(), OsError> {
        while let Some((start, end)) = self.surfaced.pop() {
            const ONES: [u8; 256] = [INT3; 256];
            let len = (end - start) as usize;
            match ONES.get(..len) {
                Some(bytes) => memory.write(start, bytes)?,
                None => memory.write(start, &vec![INT3; len])?,
            }
        }
        Ok(())
    }

    /// Stops threads that come to this place in native code.
    pub(super) fn watch(&mut self, memory: &ProcessMemory, at: u64) -> Result<(), OsError> {
        if self.covers(at) {
            return Ok(());
        }
        if let Some(breakpoint) = self.breakpoints.get_mut(&at) {
            breakpoint.users += 1;
            return Ok(());
        }
        let bytes = memory.read_some(at, LONGEST);
        if !bytes.is_empty() {
            memory.write(at, &[INT3])?;
            self.breakpoints.insert(at, Breakpoint { bytes, users: 1 });
        }
        Ok(())
    }

    /// Takes one user of a breakpoint in native code away.
    pub(super) fn unwatch(&mut self, memory: &ProcessMemory, at: u64) -> Result<(), OsError> {
        let Some(breakpoint) = self.breakpoints.get_mut(&at) else { return Ok(()) };
        breakpoint.users -= 1;
        if breakpoint.users == 0 {
            memory.write(at, &breakpoint.bytes[..1])?;
            self.breakpoints.remove(&at);
        }
        Ok(())
    }

    /// Whether there is a breakpoint in native code here.
    pub(super) fn watches(&self, at: u64) -> bool {
        self.breakpoints.contains_key(&at)
    }

    /// Puts every byte back in a process that is to run unwatched.
    pub(super) fn drain(&self, memory: &ProcessMemory) -> Result<(), OsError> {
        for water in &self.waters {
            memory.write(water.start, &water.bytes)?;
        }
        for (&at, breakpoint) in &self.breakpoints {
            memory.write(at, &breakpoint.bytes[..1])?;
        }
        Ok(())
    }

    /// Covers everything again after [`Sea::drain`].
    pub(super) fn flood(&self, memory: &ProcessMemory) -> Result<(), OsError> {
        for water in &self.waters {
            memory.write(water.start, &vec![INT3; water.bytes.len()])?;
        }
        for &at in self.breakpoints.keys() {
            memory.write(at, &[INT3])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_out_of_what_it_meets() {
        let water = |start: u64, bytes: &[u8]| Water { start, bytes: bytes.to_vec() };
        let mut sea = Sea { waters: vec![water(10, &[1, 2, 3, 4]), water(20, &[5, 6])], ..Sea::default() };
        assert!(sea.cut(14, 20).is_empty() && sea.cut(0, 10).is_empty() && sea.cut(12, 12).is_empty());
        let taken = sea.cut(11, 13);
        assert_eq!((taken.len(), taken[0].start, &taken[0].bytes[..]), (1, 11, &[2, 3][..]));
        assert_eq!(sea.bytes(10), Some(&[1][..]));
        assert_eq!(sea.bytes(13), Some(&[4][..]));
        assert!(!sea.covers(11) && !sea.covers(12) && sea.covers(20));
        sea.forget(13, 30);
        assert!(sea.covers(10) && !sea.covers(13) && !sea.covers(21));
    }
}
