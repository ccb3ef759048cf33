//! Functions that share their code. A linker may keep one of several functions that compile to the same bytes
//! (`--icf`): gold leaves the debug information of all of them at one address, lld that of one. A relaxed load and an
//! acquire load are the same bytes on x86-64, and so is a plain one: the instruction is all of them.

use super::info::{Atomic, InsnOrders, OrderInfo, Source, Warning};
use super::{Chain, Orders, stronger};
use crate::debug::demangle;
use crate::effect::{Access, InsnEffect};
use wmtrace_model::order::Order;

impl Orders<'_> {
    /// Whether a function has been folded with another one whose debug information is gone: then lld linked it, and it
    /// has several names.
    pub(super) fn has_lost_twin(&self, (unit, chain): &Chain<'_>) -> bool {
        let lld = || {
            let comment = self.image.section(".comment");
            comment.is_some_and(|comment| memchr::memmem::find(comment.bytes(), b"LLD").is_some())
        };
        if !*self.kept.0.lld.get_or_init(lld) {
            return false;
        }
        let Some(start) = chain.last().and_then(|&root| unit.nodes[root as usize].entry_pc) else {
            return false;
        };
        let symbols = self.image.symbols();
        let here = symbols[symbols.partition_point(|symbol| symbol.addr < start)..].iter();
        let mut here = here.take_while(|symbol| symbol.addr == start).filter(|symbol| symbol.function);
        let Some(first) = here.next() else { return false };
        // A constructor has two symbols, but one name.
        here.any(|other| other.name != first.name && demangle(&other.name) != demangle(&first.name))
    }

    /// What holds for an instruction whichever of its functions it is executed for. Without others, one is lost.
    pub(super) fn folded(
        &self,
        pc: u64,
        effect: &InsnEffect,
        mut first: InsnOrders,
        mut others: Vec<InsnOrders>,
    ) -> InsnOrders {
        if others.is_empty() {
            let accesses = effect.accesses.iter().map(|access| self.unknown(access)).collect();
            others.push(InsnOrders { accesses, fence: first.fence.clone() });
        }
        for other in others {
            for ((access, info), other) in effect.accesses.iter().zip(&mut first.accesses).zip(other.accesses)
            {
                *info = self.either(pc, access, info, &other);
            }
            first.fence = match (first.fence, other.fence) {
                (Some(a), Some(b)) => Some(strongest(pc, &a, &b)),
                (a, b) => a.or(b),
            };
        }
        first
    }

    fn either(&self, pc: u64, access: &Access, a: &OrderInfo, b: &OrderInfo) -> OrderInfo {
        match (a.atomic, b.atomic) {
            // The line table has the lines of one of them: text is no evidence.
            (Atomic::No, Atomic::No) if a.from == Source::Text || b.from == Source::Text => {
                self.unsure(access)
            }
            (Atomic::No, Atomic::No) => a.clone(),
            (Atomic::Yes, Atomic::Yes) => strongest(pc, a, b),
            (_, _) => {
                let unsure = self.unsure(access);
                let stated = [a, b].into_iter().filter_map(|info| info.order);
                let order = stated.chain(unsure.order).reduce(stronger);
                OrderInfo { order, ..unsure }
            }
        }
    }
}

/// The stronger of two orders for the same instruction, with a warning if they differ.
fn strongest(pc: u64, a: &OrderInfo, b: &OrderInfo) -> OrderInfo {
    if (a.order, a.failure, &a.runtime) == (b.order, b.failure, &b.runtime) {
        return a.clone();
    }
    // An order that only a thread knows may be any.
    let taken = a.order.zip(b.order).map_or(Order::SeqCst, |(a, b)| stronger(a, b));
    let failure = a.failure.into_iter().chain(b.failure).reduce(stronger);
    let from = if b.from == Source::Policy { b.from } else { a.from };
    OrderInfo {
        failure,
        warning: Some(Warning::Contradictory { pc, taken }),
        ..OrderInfo::new(taken, from, Atomic::Yes)
    }
}
