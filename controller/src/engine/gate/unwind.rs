//! The calls that led to where a thread is, by unwind information.

use super::block::Block;
use crate::engine::modules::Module;
use crate::engine::unwind;
use crate::os::memory::Window;
use framehop::aarch64::{CacheAarch64, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64};
use framehop::{FrameAddress, Unwinder as _};

/// The most frames of a stack that are looked at.
const DEEPEST: usize = 64;

/// Unwinds stacks of programs with these modules.
pub(super) struct Unwind {
    layout: Vec<(String, u64)>,
    unwinder: UnwinderAarch64<Vec<u8>>,
    cache: CacheAarch64,
}

impl Default for Unwind {
    fn default() -> Unwind {
        Unwind { layout: Vec::new(), unwinder: UnwinderAarch64::new(), cache: CacheAarch64::new() }
    }
}

impl Unwind {
    /// From now on these are the modules.
    pub(super) fn set_modules(&mut self, modules: &[Module]) {
        let layout: Vec<_> = modules.iter().map(|module| (module.binary.path.clone(), module.bias)).collect();
        if layout == self.layout {
            return;
        }
        *self = Unwind { layout, ..Unwind::default() };
        for module in modules {
            self.unwinder.add_module(unwind::module(module));
        }
    }

    /// Where the calls under way return to, innermost first. All addresses are in the window; `returns` tells what a
    /// return address of ours stands for.
    pub(super) fn callers(
        &mut self,
        regs: &Block,
        window: Window,
        mut read: impl FnMut(u64) -> Option<u64>,
        mut returns: impl FnMut(u64) -> Option<u64>,
    ) -> Vec<u64> {
        let mask = PtrAuthMask::from_max_known_address(window.len);
        let mut at = UnwindRegsAarch64::new_with_ptr_auth_mask(mask, regs.x(30), regs.sp(), regs.x(29));
        let mut address = FrameAddress::from_instruction_pointer(regs.pc);
        let mut read = |addr: u64| read(addr).ok_or(());
        let mut found = Vec::new();
        while found.len() < DEEPEST {
            let Ok(Some(ret)) = self.unwinder.unwind_frame(address, &mut at, &mut self.cache, &mut read)
            else {
                break;
            };
            let ret = returns(ret).unwrap_or(ret);
            let Some(next) = FrameAddress::from_return_address(ret) else { break };
            found.push(ret);
            address = next;
        }
        found
    }
}
