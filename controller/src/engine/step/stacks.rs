//! Stacks that other threads look at: whether the function whose variable it is has returned, the thread has ended, or
//! nobody has written the variable yet.
//!
//! What lies below a thread's stack pointer (and its red zone) belongs to no function. That is certain only as long as the
//! thread uses one stack, from its top downwards. A thread that has jumped upwards by other means than a return (an
//! exception, `longjmp`, a switch to another context), or has loaded its stack pointer from somewhere, is trusted no more.
//! And a function must have had a variable there: somebody has written it. (Under the hardware models the machine is told of
//! such stores only where a stack is shared already.)
//! Stacks that the program has made itself are its own affair: only those are looked at that the C library has made, with
//! a guard below them, and the first thread's.

use super::calls::Told;
use super::run::Run;
use super::thread::{Mode, Thread};
use crate::bug::STORE_OR_RMW;
use crate::engine::execution::Execution as _;
use crate::engine::misuse::{Misusing as _, Sort};
use std::ops::Range;
use wmtrace_decoder::orders::Atomic;
use wmtrace_model::op::{Addr, Place, Site};
use wmtrace_model::strategy::Strategy;

/// What a function may use below its stack pointer (System V ABI, 3.2.2).
const RED_ZONE: u64 = 128;

/// The bytes of a new function's frame of which it is remembered that nobody has written them.
const FRAME: u64 = 512;

/// The same of a new thread.
const FIRST_FRAMES: u64 = 4096;

const RETURNED: &str = "on another thread's stack, of a function that has returned";
const ENDED: &str = "on the stack of a thread that has ended";
const UNWRITTEN: &str =
    "on another thread's stack, which nobody has written since the function there was called";

/// Where a thread's stack is, and whether it is used as such.
#[derive(Clone, Default, Debug)]
pub(super) struct Frames {
    /// From its lowest byte to where the thread began. Empty if it is not known for sure.
    range: Range<u64>,
    /// Where return addresses of native code that is under way are.
    calls: Vec<u64>,
    /// It has been left in a way that nobody can follow.
    lost: bool,
}

impl Thread {
    /// Native code is called; its return address is here.
    pub(super) fn calls_native(&mut self) {
        let sp = self.regs.rsp;
        while self.stack_use.calls.last().is_some_and(|&call| call <= sp) {
            self.stack_use.calls.pop();
        }
        self.stack_use.calls.push(sp);
    }

    /// The thread is back in managed code: by a return, or called back, or else it is lost.
    pub(super) fn is_back(&mut self) {
        let sp = self.regs.rsp;
        let mut last = None;
        while let Some(&call) = self.stack_use.calls.last()
            && call < sp
        {
            last = self.stack_use.calls.pop();
        }
        // A function that the dynamic linker has not found yet is called with two words more, which the linker takes away.
        if last.is_some_and(|call| ![call + 8, call + 24].contains(&sp)) {
            self.stack_use.lost = true;
        }
    }

    /// The thread loads its stack pointer from somewhere.
    pub(super) fn switches_stack(&mut self) {
        self.stack_use.lost = true;
    }
}

impl<S: Strategy> Run<'_, S> {
    /// A new thread's stack: where it begins, if the C library has made it. `low` is what the kernel was told.
    pub(super) fn frames_of(&mut self, low: u64, sp: u64) -> Frames {
        let mappings = self.mappings();
        let guard = mappings.iter().find(|mapping| mapping.contains(low));
        let is_guard = guard.is_some_and(|it| !it.writable && !it.executable && it.name.is_empty());
        let range = if low != 0 && is_guard { low..sp } else { 0..0 };
        // What threads write before the function of `--from` is entered, nobody sees.
        if self.engine.options.is_c11() && !range.is_empty() && !self.course.prelude {
            self.machine.mark(Addr(sp.saturating_sub(FIRST_FRAMES)), FIRST_FRAMES.min(sp));
        }
        Frames { range, ..Frames::default() }
    }

    /// The first thread's.
    pub(super) fn first_frames(stack: &Range<u64>) -> Frames {
        Frames { range: stack.clone(), ..Frames::default() }
    }

    /// A function is called: nobody has written its variables.
    pub(super) fn enters_frame(&mut self, index: usize) {
        let sp = self.threads[index].regs.rsp;
        if self.engine.options.is_c11() && self.threads[index].owns(sp, 8) {
            self.machine.mark(Addr(sp.saturating_sub(FRAME)), FRAME.min(sp));
        }
    }

    /// Memory is no longer what it was: if it was the stack of a thread that has ended, it is no more.
    pub(super) fn forget_stacks(&mut self, start: u64, end: u64) {
        for thread in self.threads.iter_mut().filter(|thread| thread.mode == Mode::Ended) {
            let range = &mut thread.stack_use.range;
            if range.start < end && start < range.end {
                *range = 0..0;
            }
        }
    }

    /// Accesses that a thread has made: whether they were to what is gone.
    pub(super) fn check_stacks(&mut self, index: usize, told: &[Told]) {
        for it in told.iter().filter(|it| !it.private) {
            self.check_stack(index, it.addr, it.len, it.site);
        }
    }

    /// An access that the model has decided on, and that is about to be made.
    pub(super) fn check_part(&mut self, index: usize, at: Place, site: Site, reads: bool) {
        let (addr, len) = (at.addr.0, u64::from(at.width));
        if self.check_stack(index, addr, len, site) || !reads || !self.engine.options.is_c11() {
            return;
        }
        let mut others = self.threads.iter().enumerate().filter(|&(other, _)| other != index);
        let is_others = others.any(|(_, other)| other.mode != Mode::Ended && other.owns(addr, len));
        // What may be a store need not have read.
        let sites = &self.engine.sites;
        let sure = sites.atomic(site) == Atomic::Yes && sites.info(site).op != STORE_OR_RMW;
        if is_others && !self.threads[index].owns(addr, len) && sure && self.machine.is_marked(at.addr, len) {
            self.misuses(index, site, (Sort::UnwrittenStack, UNWRITTEN), None, Some((addr, len)));
        }
    }

    /// Whether the bytes are of a function that has returned, or of a thread that has ended.
    fn check_stack(&mut self, index: usize, addr: u64, len: u64, site: Site) -> bool {
        let holds = |thread: &Thread| thread.stack.contains(&addr);
        if !self.threads.iter().any(holds) || holds(&self.threads[index]) {
            return false;
        }
        let end = addr.saturating_add(len);
        let mut living = self.threads.iter().filter(|thread| thread.mode != Mode::Ended && holds(thread));
        let what = match (living.next(), living.next()) {
            (Some(owner), None) => {
                let Frames { range, lost, .. } = &owner.stack_use;
                let sp = owner.regs.rsp;
                // The first thread's variables outlive its `pthread_exit` in many programs, and nobody else is there.
                let known =
                    owner.id.index() != 0 || self.sea.covers(owner.regs.rip) || !owner.calls.is_empty();
                let gone = range.contains(&addr) && range.contains(&sp) && end <= sp.saturating_sub(RED_ZONE);
                (gone && known && !lost).then_some(RETURNED)
            }
            (Some(_), Some(_)) => None,
            (None, _) => {
                let of_ended = |thread: &Thread| {
                    let range = &thread.stack_use.range;
                    thread.id.index() != 0 && range.contains(&addr) && end <= range.end
                };
                self.threads.iter().any(of_ended).then_some(ENDED)
            }
        };
        // Where no variable was ever written, the thread looks around on the stack: that is wrong in another way.
        let what = what.filter(|&what| what == ENDED || self.machine.is_stored(Addr(addr), len));
        if let Some(what) = what {
            self.misuses(index, site, (Sort::Stack, what), None, Some((addr, len)));
        }
        what.is_some()
    }
}

/// Whether an instruction loads the stack pointer from somewhere, where most of them only move it, or put it back where
/// their function began. `text` is what it does, in Intel's words.
pub(super) fn switches(text: &str, writes_sp: bool) -> bool {
    let mut words = text.split_whitespace();
    let (name, operands) = (words.next().unwrap_or_default(), words.collect::<Vec<_>>().join(" "));
    let usual = match name {
        "pop" => operands != "rsp",
        "push" | "pushfq" | "popfq" | "call" | "ret" | "leave" | "enter" | "sub" | "add" | "and" | "inc"
        | "dec" => true,
        "lea" => operands.starts_with("rsp, [rsp") || operands.starts_with("rsp, [rbp"),
        "mov" => operands == "rsp, rbp",
        // What has a prefix is a call or a return.
        "bnd" | "notrack" | "repz" | "rep" | "syscall" | "sysenter" => true,
        _ => false,
    };
    writes_sp && !usual
}

#[cfg(test)]
mod tests {
    use super::switches;

    #[test]
    fn stack_pointers_that_come_from_somewhere() {
        for text in
            ["mov rsp, rdi", "pop rsp", "xchg rsp, rax", "lea rsp, [r10 - 8]", "mov rsp, qword ptr [rdi]"]
        {
            assert!(switches(text, true), "{text}");
        }
        for text in [
            "push rbp",
            "pop rbp",
            "leave ",
            "sub rsp, 0x18",
            "lea rsp, [rbp - 0x28]",
            "mov rsp, rbp",
            "ret ",
        ] {
            assert!(!switches(text, true), "{text}");
        }
        assert!(!switches("mov rax, rdi", false));
    }
}
