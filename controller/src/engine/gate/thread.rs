//! A thread of the program as the engine sees it: one thread of qemu's.

use super::block::Block;
use super::code::Insn;
use crate::engine::calls::Told;
use crate::engine::sites::StackId;
pub(super) use crate::engine::thread::{Mode, Pending, Syscall};
use crate::engine::{flight, thread as common};
use crate::os::Tid;
use std::ops::{Deref, DerefMut};
use wmtrace_model::op::ThreadId;

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

/// A system call under way: where it was made, and with which stack pointer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) call: Syscall,
    pub(super) gate: usize,
    pub(super) sp: u64,
    /// The thread that it has made.
    pub(super) child: Option<usize>,
}

/// An instruction under way.
pub(super) type Flight = flight::Flight<Insn>;

pub(super) struct Thread {
    common: common::Thread,
    /// The gate that it is at, or was last at.
    pub(super) gate: usize,
    pub(super) regs: Block,
    /// The gate has been dealt with: it goes on here.
    pub(super) slot: Option<Slot>,
    /// System calls under way, innermost last: handlers of signals make theirs inside of another.
    pub(super) asked: Vec<Asked>,
    /// Its instruction runs, with memory as that is to find it: signals wait until it has run.
    pub(super) executing: bool,
    /// Those that do.
    pub(super) held: Vec<(i32, libc::siginfo_t)>,
    /// What is on its stack, from the stack pointer up, as far as it was read.
    pub(super) on_stack: Vec<u8>,
    /// Where the gate is for the program, once somebody has asked.
    pub(super) place: Option<(u64, StackId)>,
    pub(super) flight: Option<Flight>,
    /// Accesses that it makes on its way to the next gate.
    pub(super) told: Vec<Told>,
    /// What they overwrite, as far as only this thread may look at it.
    pub(super) before: Vec<(u64, Vec<u8>)>,
    /// Where its stack began.
    pub(super) top: u64,
    /// The kernel has begun to end it.
    pub(super) exiting: bool,
    /// It has gone through its last system call, which the model may have to hear of yet.
    pub(super) gone: bool,
    /// Its instruction accesses memory that it may not: if it gets through, we were wrong.
    pub(super) must_fault: bool,
    /// A handler came when this gate had been dealt with, at this stack pointer: it comes there again.
    pub(super) decided: Option<(usize, u64)>,
    /// The handler of a signal that it is about to set.
    pub(super) handler: Option<u64>,
    /// It is in a system call that does not sleep: signals wait until that is over.
    pub(super) passing: bool,
    /// Gates that it has passed since its last operation.
    pub(super) passed: u32,
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
    /// It makes a system call. Others that it has left, by a `longjmp` out of a handler, are over.
    pub(super) fn asks(&mut self, call: Syscall) {
        let (gate, sp) = (self.gate, self.regs.sp());
        self.asked.retain(|outer| outer.sp > sp);
        self.asked.push(Asked { call, gate, sp, child: None });
        self.syscall = Some(call);
    }

    /// System calls from this one on are over.
    pub(super) fn has_asked(&mut self, from: usize) {
        self.asked.truncate(from);
        self.syscall = self.asked.last().map(|outer| outer.call);
    }

    pub(super) fn new(tid: Tid, id: ThreadId, virtual_tid: i32) -> Thread {
        Thread {
            common: common::Thread::new(tid, id, virtual_tid),
            gate: 0,
            regs: Block::default(),
            slot: None,
            asked: Vec::new(),
            executing: false,
            held: Vec::new(),
            on_stack: Vec::new(),
            place: None,
            flight: None,
            told: Vec::new(),
            before: Vec::new(),
            top: 0,
            exiting: false,
            gone: false,
            must_fault: false,
            decided: None,
            handler: None,
            passing: false,
            passed: 0,
        }
    }
}
