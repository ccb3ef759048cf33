//! A thread of the program as the engine sees it: one thread of qemu's.

use super::block::Block;
use super::code::Insn;
use crate::engine::calls::{Call, Told};
use crate::engine::sites::StackId;
use crate::engine::step::thread::Syscall;
use crate::os::Tid;
use crate::os::ptrace::Stopped;
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

/// Where a thread goes on from a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// Through the gate's instruction.
    Exec,
    /// Behind it.
    Skip,
    /// Through it, to the gate behind it.
    Post,
    /// To the same gate again.
    Retry,
}

/// What a thread that is `Ready` has stopped before.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    /// The next part of the instruction under way.
    Part,
    /// A fence that the code does not have.
    LostFence,
    /// The fence instruction at its gate.
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
    /// What a load has read, or a store will write, once that is known.
    pub(super) value: Option<Value>,
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

pub(super) struct Thread {
    pub(super) tid: Tid,
    pub(super) id: ThreadId,
    /// What the program takes for its number.
    pub(super) virtual_tid: i32,
    /// At a gate, and not on its way.
    pub(super) stopped: Option<Stopped>,
    /// The gate that it is at, or was last at.
    pub(super) gate: usize,
    pub(super) regs: Block,
    /// `regs` have been changed since they were read.
    pub(super) dirty: bool,
    /// The gate has been dealt with: it goes on here.
    pub(super) slot: Option<Slot>,
    /// What is on its stack, from the stack pointer up, as far as it was read.
    pub(super) on_stack: Vec<u8>,
    /// Where the gate is for the program, once somebody has asked.
    pub(super) place: Option<(u64, StackId)>,
    pub(super) mode: Mode,
    pub(super) pending: Option<Pending>,
    pub(super) flight: Option<Flight>,
    /// Accesses that it makes on its way to the next gate.
    pub(super) told: Vec<Told>,
    /// What they overwrite, as far as only this thread may look at it.
    pub(super) before: Vec<(u64, Vec<u8>)>,
    /// How many of the fences before its instruction have happened.
    pub(super) fences: usize,
    /// The mapping that its stack is in, and where it began in it.
    pub(super) stack: Range<u64>,
    pub(super) top: u64,
    /// Library functions under way.
    pub(super) calls: Vec<Call>,
    /// The address that the kernel clears when it ends.
    pub(super) clear_tid: u64,
    /// The system call that it is in.
    pub(super) syscall: Option<Syscall>,
    /// A hash of the memory that it has written, as far as only it may look at it.
    pub(super) written: u64,
    pub(super) fault: Option<u64>,
    /// Of a futex wait: which wakes are meant for it.
    pub(super) waits_for_bits: u32,
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
    /// The kernel has begun to end it.
    pub(super) exiting: bool,
    /// Its instruction accesses memory that it may not: if it gets through, we were wrong.
    pub(super) must_fault: bool,
    /// Gates that it has passed since its last operation.
    pub(super) passed: u32,
}

impl Thread {
    pub(super) fn new(tid: Tid, id: ThreadId, virtual_tid: i32) -> Thread {
        Thread {
            tid,
            id,
            virtual_tid,
            stopped: None,
            gate: 0,
            regs: Block::default(),
            dirty: false,
            slot: None,
            on_stack: Vec::new(),
            place: None,
            mode: Mode::Running,
            pending: None,
            flight: None,
            told: Vec::new(),
            before: Vec::new(),
            fences: 0,
            stack: 0..0,
            top: 0,
            calls: Vec::new(),
            clear_tid: 0,
            syscall: None,
            written: 0,
            fault: None,
            waits_for_bits: u32::MAX,
            requeue: None,
            result: None,
            robust_list: 0,
            joined: false,
            reading: Vec::new(),
            exiting: false,
            must_fault: false,
            passed: 0,
        }
    }

    /// Whether the bytes are on its own stack.
    pub(super) fn owns(&self, addr: u64, len: u64) -> bool {
        self.stack.contains(&addr) && addr.saturating_add(len) <= self.stack.end
    }
}
