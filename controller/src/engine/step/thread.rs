//! A thread of the program as the engine sees it.

pub(super) use super::calls::Told;
use super::code::Insn;
use super::sites::StackId;
use super::stacks::Frames;
pub(super) use crate::engine::flight::{Part, PartKind};
pub(super) use crate::engine::thread::{FIRST_TID, Mode, Pending, Syscall};
use crate::engine::time::mix;
use crate::engine::{flight, thread as common};
use crate::os::Tid;
use crate::os::ptrace::Regs;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use wmtrace_model::op::ThreadId;

/// An instruction under way.
pub(super) type Flight = flight::Flight<Insn>;

/// A call that has not returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Where the return address is.
    pub(super) sp: u64,
    /// The stack before the call.
    pub(super) before: StackId,
    /// The caller's last jumps.
    pub(super) jumps: Jumps,
}

/// The last two jumps of a function that were taken, the newest first: where from, and where to. What a compiler has merged is
/// told apart by them.
pub(super) type Jumps = [Option<(u64, u64)>; 2];

/// A jump that may be a call, and the stack pointer there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    pub(super) pc: u64,
    pub(super) sp: u64,
}

pub(super) struct Thread {
    common: common::Thread,
    pub(super) regs: Regs,
    /// A signal may be waiting for it to go on: somebody has sent one, or it has just let some in.
    pub(super) may_be_hit: bool,
    /// It has stopped before a system call of which nobody needs to know the result, and which is made when it goes on.
    pub(super) leaves_kernel: bool,
    /// How many steps there were when it last ran by itself.
    pub(super) ran_at: u64,
    /// To be delivered when it goes on.
    pub(super) signal: i32,
    /// What is to be said of it, if that is another stop's.
    pub(super) signal_info: Option<libc::siginfo_t>,
    /// To be delivered after that: they came while an instruction was under way.
    pub(super) kept_signals: VecDeque<(i32, Option<libc::siginfo_t>)>,
    pub(super) flight: Option<Flight>,
    /// It has run a PAUSE since its last operation.
    pub(super) paused: bool,
    /// Parts of its own stack that it has read since then, as far as they are few.
    pub(super) looked: Vec<u64>,
    /// The breakpoint at its program counter has been dealt with.
    pub(super) passed: Option<u64>,
    pub(super) frames: Vec<Frame>,
    pub(super) stack_use: Frames,
    pub(super) calls_made: StackId,
    /// The last managed instruction that it ran: what a library does is done for it.
    pub(super) last_pc: u64,
    /// The jump by which it left managed code, if it was one: the last call of a function is often a jump.
    pub(super) tail: Option<Tail>,
    /// The last jumps of the function that it is in.
    pub(super) jumps: Jumps,
    /// The stack pointer and the return address of the function that it left by that jump for.
    pub(super) jumped_to: Option<(u64, u64)>,
    /// It is asked for the size of a block that it is about to free, and has these registers afterwards.
    pub(super) asked: Option<Regs>,
    /// Native code goes through a stub of the linker's in the program's file: what it calls is its own affair.
    pub(super) passes: bool,
    /// What it wants of the thread that it is making, if the kernel was asked for something else.
    pub(super) clone_flags: Option<u64>,
    /// A hash of its vector registers.
    pub(super) vectors: u64,
    /// They have changed since.
    pub(super) new_vectors: bool,
}

impl Deref for Thread {
    type Target = common::Thread;

    fn deref(&self) -> &common::Thread {
        &self.common
    }
}

impl DerefMut for Thread {
    fn deref_mut(&mut self) -> &mut common::Thread {
        &mut self.common
    }
}

impl Thread {
    pub(super) fn new(tid: Tid, id: ThreadId, virtual_tid: i32, regs: Regs) -> Thread {
        Thread {
            common: common::Thread::new(tid, id, virtual_tid),
            regs,
            may_be_hit: false,
            leaves_kernel: false,
            ran_at: 0,
            signal: 0,
            signal_info: None,
            kept_signals: VecDeque::new(),
            flight: None,
            paused: false,
            looked: Vec::new(),
            passed: None,
            frames: Vec::new(),
            stack_use: Frames::default(),
            calls_made: StackId::default(),
            last_pc: 0,
            tail: None,
            jumps: Jumps::default(),
            jumped_to: None,
            asked: None,
            passes: false,
            clone_flags: None,
            vectors: 0,
            new_vectors: true,
        }
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

    /// It calls a function of managed code, or one of native code from there.
    pub(super) fn calls(&mut self, sp: u64, after: StackId) {
        let jumps = std::mem::take(&mut self.jumps);
        self.frames.push(Frame { sp, before: self.calls_made, jumps });
        self.calls_made = after;
    }

    /// It has followed an instruction that is a jump, or (`None`) a call or return, to here.
    pub(super) fn follows(&mut self, jump: Option<Tail>, to: u64, taken: bool) {
        self.tail = jump;
        if let Some(jump) = jump.filter(|_| taken) {
            self.jumps = [Some((jump.pc, to)), self.jumps[0]];
        }
    }

    /// Calls that have been left, by a return, an exception or a `longjmp`, are over.
    pub(super) fn unwind(&mut self) {
        while let Some(frame) = self.frames.last()
            && frame.sp < self.regs.rsp
        {
            (self.calls_made, self.jumps) = (frame.before, frame.jumps);
            self.frames.pop();
        }
    }
}
