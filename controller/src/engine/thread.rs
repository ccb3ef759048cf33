//! A thread of the program, as far as it is the same to all engines: what it is about to do, waits for, and holds.
//! Each engine's own threads are one of these, and its registers.

use super::calls::Call;
use crate::os::Tid;
use crate::os::ptrace::Stopped;
use std::ops::Range;
use wmtrace_model::op::ThreadId;

/// What the program takes for its process number. Threads count on from there. It is beyond what the kernel gives
/// to processes (4194304 at most), so that nobody else is meant by accident.
pub(super) const FIRST_TID: i32 = 5_000_000;

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
    /// The fence instruction that it is at.
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

/// A system call under way, by this machine's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Syscall {
    pub(super) number: u64,
    pub(super) args: [u64; 6],
}

pub(super) struct Thread {
    pub(super) tid: Tid,
    pub(super) id: ThreadId,
    /// What the program takes for its number.
    pub(super) virtual_tid: i32,
    pub(super) stopped: Option<Stopped>,
    /// Its registers have been changed since they were read.
    pub(super) dirty: bool,
    pub(super) mode: Mode,
    pub(super) pending: Option<Pending>,
    /// How often in a row it has run for long without an operation.
    pub(super) idle: u32,
    /// How many of the fences before its instruction have happened.
    pub(super) fences: usize,
    /// The memory that its stack is in.
    pub(super) stack: Range<u64>,
    /// Library functions under way.
    pub(super) calls: Vec<Call>,
    /// The address that the kernel clears when it ends.
    pub(super) clear_tid: u64,
    /// The system call that it is in.
    pub(super) syscall: Option<Syscall>,
    /// When that call gives up waiting, if it does.
    pub(super) waits_until: Option<u64>,
    /// A signal has come while it waited for descriptors: the kernel does that call, as soon as the thread goes on.
    pub(super) makes_call: bool,
    /// A hash of the memory that it has written, as far as only it may look at it.
    pub(super) written: u64,
    /// Where the fault was that it was last told of.
    pub(super) fault: Option<super::Fault>,
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
    /// Where its system call has a path that was changed for the kernel, and what it was.
    pub(super) path: Option<(u64, Vec<u8>)>,
}

impl Thread {
    pub(super) fn new(tid: Tid, id: ThreadId, virtual_tid: i32) -> Thread {
        Thread {
            tid,
            id,
            virtual_tid,
            stopped: None,
            dirty: false,
            mode: Mode::Running,
            pending: None,
            idle: 0,
            fences: 0,
            stack: 0..0,
            calls: Vec::new(),
            clear_tid: 0,
            syscall: None,
            waits_until: None,
            makes_call: false,
            written: 0,
            fault: None,
            waits_for_bits: u32::MAX,
            waits_for_lock: None,
            requeue: None,
            result: None,
            robust_list: 0,
            joined: false,
            reading: Vec::new(),
            path: None,
        }
    }

    /// Whether the bytes are on its own stack.
    pub(super) fn owns(&self, addr: u64, len: u64) -> bool {
        self.stack.contains(&addr) && addr.saturating_add(len) <= self.stack.end
    }
}
