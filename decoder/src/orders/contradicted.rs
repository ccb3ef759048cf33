//! Orders of the source text that an instruction cannot have.
//!
//! On x86-64 a sequentially consistent store is an XCHG, or a MOV with a barrier behind it (MFENCE, or any locked
//! instruction). A text that claims that order of a bare MOV is not what was compiled there: a macro has another
//! definition, or the instruction is another one of the same line. Then the text says nothing. What x86-64 cannot tell
//! apart (a load of any order, a store that is relaxed or releases) is not contradicted.

use super::Orders;
use super::info::{OrderInfo, Source, Warning};
use crate::effect::{Access, AccessKind, Arch, Flow};
use wmtrace_model::order::Order;

/// The most instructions behind a store that are looked at for its barrier.
const MAX_AHEAD: usize = 64;

impl Orders<'_> {
    /// An order without what the instruction contradicts.
    pub(super) fn uncontradicted(&self, pc: u64, access: &Access, info: OrderInfo) -> OrderInfo {
        let claimed = info.from == Source::Text && info.order == Some(Order::SeqCst);
        let bare = access.kind == AccessKind::Store && !access.atomic && self.image.arch() == Arch::X86_64;
        if !claimed || !bare || !self.lacks_barrier(pc) {
            return info;
        }
        let warning = Some(Warning::NotInCode { pc, stated: Order::SeqCst });
        OrderInfo { meant: info.meant, warning, ..self.unsure(access) }
    }

    /// Whether a store has no barrier behind it for sure: none comes before something that it would have to come before.
    fn lacks_barrier(&self, store: u64) -> bool {
        let decoded = self.decoder();
        let (mut pc, mut is_store) = (store, true);
        for _ in 0..MAX_AHEAD {
            let Some(effect) = decoded(pc) else { return false };
            let locked = effect.accesses.iter().any(|access| access.kind == AccessKind::Rmw);
            if effect.fence.is_some() || locked {
                return false;
            }
            let own = |access: &Access| self.on_stack_top(access);
            let loads = effect.accesses.iter().any(|access| access.kind != AccessKind::Store && !own(access));
            if loads && !is_store {
                return true;
            }
            is_store = false;
            pc = match effect.flow {
                Flow::Next => pc.saturating_add(u64::from(effect.len.max(1))),
                Flow::Jump { target, conditional: false } => target,
                // One of the two ways may have it.
                Flow::Jump { conditional: true, .. } | Flow::IndirectJump | Flow::Trap => return false,
                Flow::Call { .. } | Flow::Return | Flow::Syscall => return true,
            };
        }
        false
    }
}
