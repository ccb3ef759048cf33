//! The calls that led to where a thread is, when the engine has not watched it so far: by unwind information.

use super::modules::Module;
use crate::engine::unwind;
use crate::os::memory::ProcessMemory;
use crate::os::ptrace::Regs;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{FrameAddress, Unwinder as _};

/// The most frames of a stack that are looked at.
const DEEPEST: usize = 128;

/// A call: where it returns to, and where on the stack that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Caller {
    pub(super) ret: u64,
    pub(super) slot: u64,
}

/// The calls under way, innermost first; as far as unwind information tells.
pub(super) fn callers(regs: &Regs, modules: &[Module], memory: &ProcessMemory) -> Vec<Caller> {
    let mut unwinder = UnwinderX86_64::new();
    for module in modules {
        unwinder.add_module(unwind::module(module));
    }
    let mut cache = CacheX86_64::new();
    let mut at = UnwindRegsX86_64::new(regs.rip, regs.rsp, regs.rbp);
    let mut address = FrameAddress::from_instruction_pointer(regs.rip);
    let mut read = |addr: u64| memory.read_u64(addr).ok_or(());
    let mut found = Vec::new();
    while found.len() < DEEPEST {
        let Ok(Some(ret)) = unwinder.unwind_frame(address, &mut at, &mut cache, &mut read) else { break };
        let Some(next) = FrameAddress::from_return_address(ret) else { break };
        found.push(Caller { ret, slot: at.sp().wrapping_sub(8) });
        address = next;
    }
    found
}
