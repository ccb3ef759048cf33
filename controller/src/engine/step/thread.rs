//! A thread of the program as the engine sees it.

use super::calls::Call;
pub(super) use super::calls::Told;
use super::code::Insn;
use super::sites::StackId;
use super::time::mix;
use crate::os::Tid;
use crate::os::ptrace::{Regs, Stopped};
use std::ops::Range;
use std::rc::Rc;
use wmtrace_model::op::{Op, Place, Site, ThreadId, Value};
use wmtrace_model::order::Order;

/// What a thread is doing, as the machine sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// It goes on until its next operation.
    Running,
    /// It has stopped before an operation.
    Ready,
    /// It sleeps: in an emulated system call.
    Asleep,
    /// It is in the kernel for real.
    Away,
    Ended,
}

/// What a thread that is `Ready` has stopped before.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    /// The next part of the instruction under way.
    Part,
    /// A fence that the code does not have.
    LostFence,
    /// The fence instruction at its program counter.
    Fence,
    /// A library function that synchronises.
    Call,
    /// It returns from joining another thread.
    Join { child: ThreadId },
    /// A futex wait, until a time (nanoseconds) if one is given.
    Wait { deadline: Option<u64> },
    /// A futex wake; `then` is done after it.
    Wake { then: AfterWake },
    /// It ends: the kernel clears its thread id.
    Clear { at: u64 },
    /// It has run for long without any operation.
    Quantum,
}

/// What follows a wake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AfterWake {
    /// The system call returns how many were woken, and this many more.
    Return { more: u32 },
    /// A second wake, of another word (FUTEX_WAKE_OP).
    Wake { at: u64, count: u32 },
    /// The thread ends.
    End,
}

/// One access, or sixteen bytes of it, that the model decides on.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) at: Place,
    pub(super) order: Order,
    pub(super) failure: Order,
    pub(super) site: Site,
    /// It is a full barrier, too.
    pub(super) barrier: bool,
    /// What a load has read, or a store will write, once that is known.
    pub(super) value: Option<Value>,
    /// The load's value is not what memory holds.
    pub(super) redirected: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PartKind {
    Load,
    Store,
    Rmw,
    Cas { expected: Value },
}

impl Part {
    pub(super) fn op(&self) -> Op {
        let Part { at, order, failure, .. } = *self;
        match self.kind {
            PartKind::Load => Op::Load { at, order },
            PartKind::Store => Op::Store { at, order },
            PartKind::Rmw => Op::Rmw { at, order },
            PartKind::Cas { expected } => Op::Cas { at, order, failure, expected, weak: false },
        }
    }
}

/// An instruction under way, of which the model decides some accesses.
pub(super) struct Flight {
    pub(super) insn: Rc<Insn>,
    pub(super) parts: Vec<Part>,
    pub(super) told: Vec<Told>,
    pub(super) next: usize,
    pub(super) executed: bool,
    /// What its read-modify-write has written.
    pub(super) updated: Option<Value>,
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Where the return address is.
    pub(super) sp: u64,
    /// The stack before the call.
    pub(super) before: StackId,
}

pub(super) struct Thread {
    pub(super) tid: Tid,
    pub(super) id: ThreadId,
    /// What the program takes for its number.
    pub(super) virtual_tid: i32,
    pub(super) stopped: Option<Stopped>,
    pub(super) regs: Regs,
    /// `regs` have been changed since they were read.
    pub(super) dirty: bool,
    /// To be delivered when it goes on.
    pub(super) signal: i32,
    /// What is to be said of it, if that is another stop's.
    pub(super) signal_info: Option<libc::siginfo_t>,
    pub(super) mode: Mode,
    pub(super) pending: Option<Pending>,
    pub(super) flight: Option<Flight>,
    /// How many of the fences before the instruction at its program counter have happened.
    pub(super) fences: usize,
    /// It has run a PAUSE since its last operation.
    pub(super) paused: bool,
    /// Parts of its own stack that it has read since then, as far as they are few.
    pub(super) looked: Vec<u64>,
    /// The breakpoint at its program counter has been dealt with.
    pub(super) passed: Option<u64>,
    pub(super) stack: Range<u64>,
    pub(super) frames: Vec<Frame>,
    pub(super) calls_made: StackId,
    /// Library functions under way.
    pub(super) calls: Vec<Call>,
    /// The last managed instruction that it ran: what a library does is done for it.
    pub(super) last_pc: u64,
    /// What it wants of the thread that it is making, if the kernel was asked for something else.
    pub(super) clone_flags: Option<u64>,
    /// The address that the kernel clears when it ends.
    pub(super) clear_tid: u64,
    /// The system call that it is in.
    pub(super) syscall: Option<Syscall>,
    /// A hash of the memory that it has written, as far as only it may look at it.
    pub(super) written: u64,
    /// A hash of its vector registers.
    pub(super) vectors: u64,
    /// They have changed since.
    pub(super) new_vectors: bool,
    pub(super) fault: Option<u64>,
    /// Of a futex wait: which wakes are meant for it.
    pub(super) waits_for_bits: u32,
    /// The futex word of a lock with priority inheritance that it waits for.
    pub(super) waits_for_lock: Option<u64>,
    /// Where a futex wake moves sleepers that it does not wake, and how many.
    pub(super) requeue: Option<(u64, u32)>,
    /// What its emulated system call returns when it goes on.
    pub(super) result: Option<u64>,
    /// The list of the locks that it holds, as it has told the kernel.
    pub(super) robust_list: u64,
    /// Another thread has waited for its end.
    pub(super) joined: bool,
    /// The readers-writer locks that it holds for reading.
    pub(super) reading: Vec<u64>,
}

/// A system call under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) struct Syscall {
    pub(in crate::engine) number: u64,
    pub(in crate::engine) args: [u64; 6],
}

impl Thread {
    pub(super) fn new(tid: Tid, id: ThreadId, virtual_tid: i32, regs: Regs) -> Thread {
        Thread {
            tid,
            id,
            virtual_tid,
            stopped: None,
            regs,
            dirty: false,
            signal: 0,
            signal_info: None,
            mode: Mode::Running,
            pending: None,
            flight: None,
            fences: 0,
            paused: false,
            looked: Vec::new(),
            passed: None,
            stack: 0..0,
            frames: Vec::new(),
            calls_made: StackId::default(),
            calls: Vec::new(),
            last_pc: 0,
            clone_flags: None,
            clear_tid: 0,
            syscall: None,
            written: 0,
            vectors: 0,
            new_vectors: true,
            fault: None,
            waits_for_bits: u32::MAX,
            waits_for_lock: None,
            requeue: None,
            result: None,
            robust_list: 0,
            joined: false,
            reading: Vec::new(),
        }
    }

    /// Whether the bytes are on its own stack.
    pub(super) fn owns(&self, addr: u64, len: u64) -> bool {
        self.stack.contains(&addr) && addr.saturating_add(len) <= self.stack.end
    }

    /// It has written over memory that only it may look at.
    pub(super) fn rewrites(&mut self, addr: u64, old: &[u8], new: &[u8]) {
        let hash = |bytes: &[u8]| bytes.iter().fold(mix(addr, 1), |hash, &byte| mix(hash, u64::from(byte)));
        if old != new {
            self.written ^= hash(old) ^ hash(new);
        }
    }

    /// Goes to another instruction.
    pub(super) fn jump(&mut self, pc: u64) {
        self.regs.rip = pc;
        self.dirty = true;
        self.fences = 0;
        self.passed = None;
    }

    /// Calls that have been left, by a return, an exception or a `longjmp`, are over.
    pub(super) fn unwind(&mut self) {
        while let Some(frame) = self.frames.last()
            && frame.sp < self.regs.rsp
        {
            self.calls_made = frame.before;
            self.frames.pop();
        }
    }
}
