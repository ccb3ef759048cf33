//! An engine that performs single operations in the order a test asks for.

use std::collections::BTreeMap;
use wmtrace_model::axioms::{certify, certify_race};
use wmtrace_model::machine::{Config, Finding, Machine, Memory};
use wmtrace_model::op::{Addr, Op, Place, Site, Step, ThreadId, Value};
use wmtrace_model::strategy::{Choice, Pick, ReadChoice, Strategy};

/// Reads the newest store, or the oldest.
#[derive(Clone, Copy)]
pub(crate) enum Reads {
    Newest,
    Oldest,
}

impl Strategy for Reads {
    fn name(&self) -> &'static str {
        "scripted"
    }
    fn pick(&mut self, _: &[Choice]) -> Pick {
        Pick::Take(0)
    }
    fn read(&mut self, read: &ReadChoice) -> usize {
        match self {
            Reads::Newest => read.count - 1,
            Reads::Oldest => 0,
        }
    }
    fn place(&mut self, _: &Choice, count: usize) -> usize {
        count - 1
    }
    fn wake(&mut self, _: usize) -> usize {
        0
    }
}

/// Memory as bytes; what nobody wrote is 0.
#[derive(Default)]
pub(crate) struct Ram(BTreeMap<u64, u8>);

impl Memory for Ram {
    fn read(&mut self, at: Place) -> Value {
        let bytes = (at.addr.0..at.end()).rev().map(|byte| self.0.get(&byte).copied().unwrap_or(0));
        bytes.fold(0, |value, byte| value << 8 | Value::from(byte))
    }
}

impl Ram {
    pub(crate) fn write(&mut self, at: Place, value: Value) {
        for (index, byte) in (at.addr.0..at.end()).enumerate() {
            self.0.insert(byte, (value >> (8 * index)) as u8);
        }
    }
}

/// The engine: threads are away except while they do what the test says.
pub(crate) struct Conductor {
    pub(crate) machine: Machine<Reads>,
    pub(crate) ram: Ram,
    step: u32,
}

impl Conductor {
    /// `threads` threads that know nothing of each other.
    pub(crate) fn new(config: Config, reads: Reads, threads: u32) -> Conductor {
        let mut machine = Machine::new(config, reads);
        for _ in 0..threads {
            let thread = machine.spawn(None, Site(0)).expect("room for a few threads");
            machine.away(thread);
        }
        Conductor { machine, ram: Ram::default(), step: 0 }
    }

    /// A new child of a thread.
    pub(crate) fn spawn(&mut self, parent: u32) -> u32 {
        let child = self.machine.spawn(Some(ThreadId(parent)), Site(0)).expect("room for a few threads");
        self.machine.away(child);
        child.0
    }

    /// The thread performs the operation, writing `value` if it writes. What it read.
    pub(crate) fn act(&mut self, thread: u32, op: Op, value: Value) -> Value {
        let thread = ThreadId(thread);
        self.step += 1;
        self.machine.back(thread);
        self.machine.pending(thread, op, Site(self.step), 0);
        let read = loop {
            match self.machine.next(&mut self.ram) {
                Step::Run { thread: runs, how } => {
                    assert_eq!(runs, thread);
                    let mut read = 0;
                    if let Some(at) = op.place() {
                        if op.reads() {
                            read = how.read.unwrap_or_else(|| self.ram.read(at));
                        }
                        let writes = op.writes() && (how.succeeds || !matches!(op, Op::Cas { .. }));
                        if writes && !how.hold {
                            self.ram.write(at, value);
                        }
                    }
                    break read;
                }
                Step::Commit { at, value, .. } => self.ram.write(at, value),
                other => panic!("{other:?}"),
            }
        };
        self.machine.retired(thread, read, value).expect("the machine and this engine agree");
        self.machine.away(thread);
        read
    }

    /// The thread makes a non-atomic access that is not scheduled.
    pub(crate) fn plain(&mut self, thread: u32, addr: u64, len: u64, store: bool) {
        self.step += 1;
        self.machine.plain(ThreadId(thread), Site(self.step), Addr(addr), len, store, &mut self.ram);
    }

    /// What was found, after the execution and every race have been certified.
    pub(crate) fn findings(&self) -> &[Finding] {
        if let Err(violation) = certify(self.machine.execution()) {
            panic!("{violation}\n{:#?}", self.machine.execution());
        }
        for finding in self.machine.findings() {
            if let Finding::Race(race) = finding
                && let Err(violation) = certify_race(self.machine.execution(), race)
            {
                panic!("{violation}\n{race:#?}\n{:#?}", self.machine.execution());
            }
        }
        self.machine.findings()
    }
}
