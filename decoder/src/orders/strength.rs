//! Functions in which fences may be anywhere: what they do is given to all of the function.
//!
//! On x86-64 an acquire or release fence is no instruction. LLVM from 15 on leaves no trace of one, and what other
//! compilers leave is a row of the line table that only the source text can tell from others. So a function *may* have
//! fences whose place nobody knows:
//! - the text of the function has a fence that was compiled for sure, and no row or entry is left of it;
//! - its compiler leaves nothing, and the text of the function, or of something inlined into it, has a fence or a name
//!   with a fence behind it ([`crate::text`]);
//! - or its text cannot be read.
//!
//! Then the effect of the fences is had everywhere in it: its loads acquire, its stores release, and at its beginning, its
//! calls and its returns the thread has a fence that is no event. A fence makes a thread's views grow and does nothing
//! else, so one too many loses behaviour and invents none. What has become of an order so is *strengthened*.

use super::info::{Meant, OrderInfo, Source};
use super::instance::{is_cpp, is_rust};
use super::{Decode, Orders, stronger};
use crate::debug::{SourceLine, Unit};
use crate::effect::{AccessKind, Arch, Flow};
use crate::text::{Effects, Language, Macros, Names, Place, is_library};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use wmtrace_model::order::Order;

/// The most bytes of one function that are looked at.
const MAX_FUNCTION: u64 = 1 << 20;

/// What is known of functions, by their lowest address.
#[derive(Default)]
pub(super) struct Functions {
    effects: Mutex<HashMap<u64, Effects>>,
    points: Mutex<HashMap<u64, Arc<BTreeSet<u64>>>>,
}

/// A fence that may or may not be there: it is told, and no event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UncertainFence {
    /// What it does at least.
    pub order: Order,
}

impl Orders<'_> {
    /// The source text of the program in one language.
    pub(super) fn names(&self, language: Language) -> &Names {
        let sources = self.kept.0.sources.get_or_init(|| self.debug.sources());
        let mut open = |path: &str| self.whole(path);
        match language {
            Language::C => self.kept.0.names_of_c.get_or_init(|| {
                Names::new(language, &sources.c, &sources.directories, &sources.macros, &mut open)
            }),
            Language::Rust => self.kept.0.names_of_rust.get_or_init(|| {
                Names::new(language, &sources.rust, &BTreeSet::new(), &Macros::default(), &mut open)
            }),
        }
    }

    /// The text of a file.
    pub(super) fn whole(&self, path: &str) -> Option<String> {
        self.kept.0.texts.whole(self.debug.files(), path)
    }

    /// The first source file that was asked for and cannot be read: names that it may define have fences behind them.
    pub fn unread_source(&self) -> Option<&str> {
        let names = [self.kept.0.names_of_c.get(), self.kept.0.names_of_rust.get()];
        names.into_iter().flatten().find_map(Names::missing)
    }

    /// What fences without a place may do in the function that an instruction belongs to.
    pub(super) fn strength(&self, pc: u64) -> Effects {
        if self.image.arch() != Arch::X86_64 {
            return Effects::default();
        }
        let Some((unit, chain)) = self.debug.chain(pc) else {
            return if self.is_linkers(pc) { Effects::default() } else { Effects::BOTH };
        };
        let Some(&root) = chain.last() else { return Effects::BOTH };
        // A function with the same code and other fences may have been folded into it.
        if self.has_lost_twin(&(unit, chain)) {
            return Effects::BOTH;
        }
        let key = unit.nodes[root as usize].ranges.first().map_or(pc, |range| range.0);
        let known = self.kept.0.functions_known.effects.lock();
        if let Some(&known) = known.unwrap_or_else(std::sync::PoisonError::into_inner).get(&key) {
            return known;
        }
        let found = self.strength_of(unit, root);
        let known = self.kept.0.functions_known.effects.lock();
        known.unwrap_or_else(std::sync::PoisonError::into_inner).insert(key, found);
        found
    }

    /// Whether an instruction is none of the program's own: stubs of the linker's, and what compilers link to every program
    /// to start and end it. There are no fences in it.
    pub fn is_linkers(&self, pc: u64) -> bool {
        const SECTIONS: [&str; 5] = [".init", ".fini", ".plt", ".plt.got", ".plt.sec"];
        const FUNCTIONS: [&str; 8] = [
            "_start",
            "_init",
            "_fini",
            "deregister_tm_clones",
            "register_tm_clones",
            "__do_global_dtors_aux",
            "frame_dummy",
            "_dl_relocate_static_pie",
        ];
        let at = self.image.code().iter().find(|code| (code.addr..code.end()).contains(&pc));
        // rustc's stubs of allocation functions: `__rustc::__rust_alloc`.
        let is_known = |name: &str| {
            FUNCTIONS.contains(&name) || name.starts_with("__rust_") || name.contains("___rustc")
        };
        let named = || self.image.symbol_at(pc).is_some_and(|symbol| is_known(&symbol.name));
        at.is_some_and(|code| SECTIONS.contains(&code.name.as_str())) || named()
    }

    fn strength_of(&self, unit: &Unit, root: u32) -> Effects {
        let language = if is_rust(unit) { Language::Rust } else { Language::C };
        let mut sum = Effects::default();
        for node in root..unit.nodes[root as usize].end {
            sum |= self.strength_by_text(unit, root, node, language);
            if sum == Effects::BOTH {
                break;
            }
        }
        sum
    }

    /// What the text of one function, or of one that was inlined, may do.
    fn strength_by_text(&self, unit: &Unit, root: u32, node: u32, language: Language) -> Effects {
        let Some(declared) = self.debug.declared(unit, unit.nodes[node as usize].entry) else {
            return self.strength_by_file(unit, root, node, language);
        };
        if is_library(&declared.file) {
            return Effects::default();
        }
        let names = self.names(language);
        let Some(items) = names.file(&declared.file) else {
            // Beside a fence that has left an entry there may be one that was made one with it.
            let alone = leaves_entries(unit) && self.fence_entries(unit, root).next().is_none();
            return if alone { Effects::default() } else { Effects::BOTH };
        };
        let to = self.last_line(unit, root, node, &declared);
        let range = items.around(declared.line, to);
        // Rows and entries tell, where there are any.
        if unit.rows_for_fences {
            return range.map_or(Effects::default(), |range| {
                self.lost_fences(unit, root, items, (&declared.file, range))
            });
        }
        let Some(range) = range else { return Effects::BOTH };
        names
            .effects_of(&declared.file, language, &Place::Code(range), |name| self.functions().contains(name))
    }

    /// The same where nobody says in which line the function begins: line tables alone (`-g1`), or the compiler made it
    /// up. Everything in the file counts.
    fn strength_by_file(&self, unit: &Unit, root: u32, node: u32, language: Language) -> Effects {
        let ranges = unit.nodes[node as usize].ranges.iter();
        let rows = ranges.flat_map(|&(start, end)| unit.lines().within(start, end));
        let mut own =
            rows.filter(|row| row.line != 0 && unit.chain_in(root, row.addr).first() == Some(&node));
        let path = own.next().and_then(|row| unit.line_file(row.file?));
        let Some(path) = path.filter(|path| !is_library(path)) else { return Effects::default() };
        if leaves_entries(unit) {
            return Effects::default();
        }
        let names = self.names(language);
        let Some(items) = names.file(&path) else { return Effects::BOTH };
        if unit.rows_for_fences {
            return Effects::default();
        }
        let all = Place::Code(0..items.tokens.code.len());
        names.effects_of(&path, language, &all, |name| self.functions().contains(name))
    }

    /// The last line of a lambda or closure that has code; of any other function its first line does.
    fn last_line(&self, unit: &Unit, root: u32, node: u32, declared: &SourceLine) -> u32 {
        let entry = unit.nodes[node as usize].entry;
        let path = self.debug.path(unit, entry).0.unwrap_or_default();
        let nameless = |name: &String| name.contains("closure") || name.starts_with("operator");
        if !path.last().is_some_and(nameless) {
            return declared.line;
        }
        let mut last = declared.line;
        let ranges = unit.nodes[node as usize].ranges.clone();
        for row in ranges.iter().flat_map(|&(start, end)| unit.lines().within(start, end)) {
            let own = || unit.chain_in(root, row.addr).first() == Some(&node);
            let here = || row.file.and_then(|file| unit.line_file(file)).as_ref() == Some(&declared.file);
            if row.line > last && own() && here() {
                last = row.line;
            }
        }
        last
    }

    /// The order of an access with the effects of fences whose place nobody knows.
    pub(super) fn strengthened(&self, pc: u64, kind: AccessKind, info: OrderInfo) -> OrderInfo {
        // A user's word counts; what nobody states is as strong as it can be.
        if matches!(info.from, Source::File | Source::Policy | Source::Isa)
            || self.image.arch() != Arch::X86_64
        {
            return info;
        }
        let lacks = |order: Order| order != Order::SeqCst && order != Order::AcqRel;
        if info.runtime.is_none() && !info.order.is_some_and(lacks) {
            return info;
        }
        let kind = match info.meant {
            Meant::Same | Meant::StoreOrRmw => kind,
            Meant::Store => AccessKind::Store,
            Meant::Rmw => AccessKind::Rmw,
        };
        strengthen(info, kind, self.strength(pc))
    }

    /// The fence that may be before the instruction at `pc`, because the function has some whose place nobody knows: at
    /// the function's beginning, around its calls, and at its ends.
    pub fn uncertain_fence(&self, pc: u64, decode: &Decode<'_>) -> Option<UncertainFence> {
        let order = self.strength(pc).order()?;
        let ranges = match self.debug.chain(pc) {
            Some((unit, chain)) => unit.nodes[*chain.last()? as usize].ranges.clone(),
            None => vec![self.function_at(pc)?],
        };
        let key = ranges.first()?.0;
        let known = self.kept.0.functions_known.points.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner).get(&key).cloned();
        let points = known.unwrap_or_else(|| {
            let points = Arc::new(self.points(&ranges, decode));
            let all = self.kept.0.functions_known.points.lock();
            all.unwrap_or_else(std::sync::PoisonError::into_inner).insert(key, points.clone());
            points
        });
        points.contains(&pc).then_some(UncertainFence { order })
    }

    /// The extent of a function without debug information.
    pub(super) fn function_at(&self, pc: u64) -> Option<(u64, u64)> {
        let extents = self.kept.0.extents.get_or_init(|| {
            self.image.functions().iter().map(|function| (function.start, function.end)).collect()
        });
        let at = extents.partition_point(|&(start, _)| start <= pc).checked_sub(1)?;
        extents.get(at).copied().filter(|&(_, end)| pc < end)
    }

    fn points(&self, ranges: &[(u64, u64)], decode: &Decode<'_>) -> BTreeSet<u64> {
        let mut points: BTreeSet<u64> = ranges.first().iter().map(|range| range.0).collect();
        let inside = |target: u64| ranges.iter().any(|&(start, end)| start <= target && target < end);
        for &(start, end) in ranges {
            let mut pc = start;
            while pc < end.min(start.saturating_add(MAX_FUNCTION)) {
                let Some(effect) = self.image.code_at(pc).and_then(|bytes| decode(pc, bytes)) else { break };
                let Some(next) = pc.checked_add(u64::from(effect.len.max(1))) else { break };
                match effect.flow {
                    Flow::Call { .. } => points.extend([pc, next]),
                    Flow::Return | Flow::IndirectJump => drop(points.insert(pc)),
                    // A call at the end of a function is a jump.
                    Flow::Jump { target, .. } if !inside(target) => drop(points.insert(pc)),
                    Flow::Jump { .. } | Flow::Next | Flow::Syscall | Flow::Trap => {}
                }
                pc = next;
            }
        }
        points
    }
}

/// Whether fences of a unit have entries of their own: `std::atomic_thread_fence` is a function, and its inlined call is
/// kept without code. (A C++ program may use C's builtin instead. Where text can be read, its row tells; where not, such
/// a program uses the builtins for its accesses, too, and their orders are then unknown, and as strong as they can be.)
fn leaves_entries(unit: &Unit) -> bool {
    unit.rows_for_fences && is_cpp(unit)
}

/// An order with the effects of a fence beside it: behind a load, before a store.
pub(super) fn strengthen(mut info: OrderInfo, kind: AccessKind, effects: Effects) -> OrderInfo {
    let more = match kind {
        AccessKind::Load => Effects { release: false, ..effects },
        AccessKind::Store => Effects { acquire: false, ..effects },
        AccessKind::Rmw | AccessKind::LoadStore => effects,
    };
    let Some(more) = more.order() else { return info };
    if info.runtime.is_some() {
        info.strengthened = Some(more);
        return info;
    }
    let (order, failure) = (info.order, info.failure);
    info.order = order.map(|order| stronger(order, more));
    if effects.acquire {
        info.failure = failure.map(|failure| stronger(failure, Order::Acquire));
    }
    if (info.order, info.failure) != (order, failure) {
        info.strengthened = Some(more);
    }
    info
}

#[cfg(test)]
mod tests {
    use super::super::info::Atomic;
    use super::*;

    #[test]
    fn loads_acquire_and_stores_release() {
        use Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        let of = |order, kind, effects| {
            let info = OrderInfo::new(order, Source::Dwarf, Atomic::Yes);
            let info = strengthen(info, kind, effects);
            (info.order, info.strengthened.is_some())
        };
        let acquire = Effects { acquire: true, release: false };
        assert_eq!(of(Relaxed, AccessKind::Load, Effects::BOTH), (Some(Acquire), true));
        assert_eq!(of(Relaxed, AccessKind::Store, Effects::BOTH), (Some(Release), true));
        assert_eq!(of(Relaxed, AccessKind::Store, acquire), (Some(Relaxed), false));
        assert_eq!(of(Release, AccessKind::Rmw, acquire), (Some(AcqRel), true));
        assert_eq!(of(Relaxed, AccessKind::Rmw, acquire), (Some(Acquire), true));
        assert_eq!(of(SeqCst, AccessKind::Load, Effects::BOTH), (Some(SeqCst), false));
        assert_eq!(of(Relaxed, AccessKind::Load, Effects::default()), (Some(Relaxed), false));
    }
}
