//! Sites: places in the code together with the calls that led there, numbered as they come up.

use super::evidence::Standing;
use super::modules::{Binary, Module};
use crate::engine::{Location, SiteInfo};
use std::collections::HashMap;
use std::sync::Arc;
use wmtrace_decoder::debug::Frame;
use wmtrace_decoder::effect::Arch;
use wmtrace_decoder::orders::{Atomic, OrderInfo, Source};
use wmtrace_model::op::Site;
use wmtrace_model::order::Order;

/// The most calls of a stack that are told apart, and of all stacks, sites and their variants together: recursion
/// without end must not fill the memory.
const DEEPEST: u32 = 512;
const MOST: usize = 1 << 20;

/// A call stack, as a number; 0 is the empty one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct StackId(u32);

/// An instruction, by the file that it is in.
#[derive(Clone)]
pub(super) struct Place {
    binary: Option<Arc<Binary>>,
    offset: u64,
}

impl Place {
    pub(super) fn new(pc: u64, modules: &[Module]) -> Place {
        match modules.iter().find(|module| module.contains(pc)) {
            Some(module) => Place { offset: module.offset(pc), binary: Some(module.binary.clone()) },
            None => Place { binary: None, offset: pc },
        }
    }

    /// The functions that the instruction belongs to. Of a call, what is known is where it returns to.
    fn locations(&self, is_call: bool, into: &mut Vec<Location>) {
        let at = self.offset.saturating_sub(u64::from(is_call));
        self.located(|binary| binary.debug.frames(at), into);
    }

    /// The functions that a fence without an instruction belongs to: of those before the instruction, the one with this
    /// number.
    fn fence_locations(&self, number: usize, into: &mut Vec<Location>) {
        let fence =
            |binary: &Binary| binary.fences.get(&self.offset)?.get(number).map(|it| it.frames.clone());
        self.located(|binary| fence(binary).unwrap_or_else(|| binary.debug.frames(self.offset)), into);
    }

    fn located(&self, frames: impl FnOnce(&Binary) -> Vec<Frame>, into: &mut Vec<Location>) {
        let Some(binary) = &self.binary else {
            into.push(Location {
                module: String::new(),
                offset: self.offset,
                function: None,
                file: None,
                line: 0,
                column: 0,
                inlined: false,
            });
            return;
        };
        let location = |function: Option<String>| Location {
            module: binary.name.clone(),
            offset: self.offset,
            function,
            file: None,
            line: 0,
            column: 0,
            inlined: false,
        };
        let frames = frames(binary);
        if frames.is_empty() {
            into.push(location(None));
        }
        for frame in frames {
            let mut location = location(Some(frame.function));
            location.inlined = frame.inlined;
            if let Some(line) = frame.line {
                (location.file, location.line, location.column) = (Some(line.file), line.line, line.column);
            }
            into.push(location);
        }
    }
}

/// What a site is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct What {
    pub(super) op: &'static str,
    pub(super) order: Option<(Order, Source)>,
    pub(super) atomic: Atomic,
    pub(super) standing: Standing,
    /// A fence without an instruction: which of those before the instruction it is.
    pub(super) fence: Option<usize>,
}

impl What {
    /// Something that is no access.
    pub(super) const fn call(op: &'static str) -> What {
        What { op, order: None, atomic: Atomic::Yes, standing: Standing::Known, fence: None }
    }

    /// An access.
    pub(super) const fn access(
        op: &'static str,
        order: (Order, Source),
        atomic: Atomic,
        standing: Standing,
    ) -> What {
        What { op, order: Some(order), atomic, standing, fence: None }
    }

    /// A plain access, of which only the function that makes it is known.
    pub(super) const fn plain(op: &'static str) -> What {
        What::access(op, (Order::Na, Source::Isa), Atomic::No, Standing::Known)
    }

    /// A fence that is an instruction.
    pub(super) fn fence(order: Order, info: Option<&OrderInfo>, arch: Arch) -> What {
        let from = info.map_or(Source::Isa, |info| info.from);
        // A barrier instruction is what it is, whoever asked for it.
        let stated = info.filter(|_| from != Source::Isa);
        let standing = stated.map_or(Standing::Known, |info| Standing::of(info, arch));
        What::access("fence", (order, from), Atomic::Yes, standing)
    }

    /// A fence without an instruction, one of those that are before an instruction.
    pub(super) fn empty_fence(order: Order, info: &OrderInfo, number: usize) -> What {
        let standing = Standing::of_fence(info);
        What { fence: Some(number), ..What::access("fence", (order, info.from), Atomic::Yes, standing) }
    }

    /// A fence that may be anywhere, and is assumed here.
    pub(super) const fn assumed_fence(order: Order) -> What {
        What::access("fence", (order, Source::Policy), Atomic::Yes, Standing::Strengthened)
    }
}

struct Entry {
    place: Place,
    stack: StackId,
    what: What,
    instruction: String,
}

/// All sites and stacks so far.
#[derive(Default)]
pub(super) struct SiteTable {
    sites: Vec<Entry>,
    known: HashMap<(u64, StackId, What), Site>,
    /// Of each stack after the empty one: the rest of it, where the last call returns to, and how many there are.
    stacks: Vec<(StackId, u64, Place, u32)>,
    known_stacks: HashMap<(StackId, u64), StackId>,
    /// The files in memory, as they were when the newest site came up.
    modules: Vec<Module>,
}

impl SiteTable {
    /// The stack after a call that returns to `to`. Beyond what is told apart it is the stack before it.
    pub(super) fn called(&mut self, stack: StackId, to: u64, modules: &[Module]) -> StackId {
        if let Some(known) = self.known_stacks.get(&(stack, to)) {
            return *known;
        }
        let depth = 1 + (stack.0 as usize).checked_sub(1).map_or(0, |at| self.stacks[at].3);
        if depth > DEEPEST || self.stacks.len() >= MOST {
            return stack;
        }
        self.stacks.push((stack, to, Place::new(to, modules), depth));
        let new = StackId(self.stacks.len() as u32);
        self.known_stacks.insert((stack, to), new);
        new
    }

    /// The last call of a stack, as a place in the code, and the stack before it.
    pub(super) fn last_call(&self, stack: StackId) -> Option<(u64, StackId)> {
        let (rest, to, ..) = (stack.0 as usize).checked_sub(1).and_then(|at| self.stacks.get(at))?;
        Some((to.wrapping_sub(1), *rest))
    }

    /// The site of something that happens at `pc`. When there are too many, stacks do not count any more.
    pub(super) fn site(
        &mut self,
        pc: u64,
        stack: StackId,
        what: What,
        modules: &[Module],
        instruction: impl FnOnce() -> String,
    ) -> Site {
        let stack = if self.sites.len() < MOST { stack } else { StackId::default() };
        if self.modules.len() != modules.len() {
            self.modules = modules.to_vec();
        }
        *self.known.entry((pc, stack, what)).or_insert_with(|| {
            self.sites.push(Entry {
                place: Place::new(pc, modules),
                stack,
                what,
                instruction: instruction(),
            });
            Site(self.sites.len() as u32 - 1)
        })
    }

    /// Whether the access at a site is atomic.
    pub(super) fn atomic(&self, site: Site) -> Atomic {
        self.sites.get(site.0 as usize).map_or(Atomic::Unsure, |entry| entry.what.atomic)
    }

    /// Whether the compiler may have made the load at a site, or the part of it that the access at the other site
    /// touches, where the source has none: it loads early, or more than it needs.
    pub(super) fn may_be_compilers(&self, site: Site, other: Site) -> bool {
        let Some((binary, offset, load)) = self.access(site) else { return false };
        let around = || {
            let others = self.access(other).is_some_and(|(it, offset, _)| it.orders.may_read_around(offset));
            binary.orders.may_read_around(offset) && !others
        };
        let more = || {
            let same = self.access(other).filter(|(it, ..)| std::ptr::eq(*it, binary));
            same.is_some_and(|(_, other, _)| binary.orders.may_read_more(offset, other))
        };
        load && (binary.orders.may_be_speculative(offset) || around() || more())
    }

    /// Whether the source calls the access at a site volatile, which is to this address.
    pub(super) fn is_volatile(&self, site: Site, addr: u64) -> bool {
        let Some((binary, offset, _)) = self.access(site) else { return false };
        let module = self.modules.iter().find(|it| it.contains(addr) && std::ptr::eq(&*it.binary, binary));
        binary.orders.is_volatile(offset, module.map(|module| module.offset(addr)))
    }

    /// The instruction at a site, if it is a plain access; whether it is a load.
    fn access(&self, site: Site) -> Option<(&Binary, u64, bool)> {
        let entry = self.sites.get(site.0 as usize)?;
        let load = match entry.what.op {
            "load" => true,
            "store" => false,
            _ => return None,
        };
        // A function of the C library makes its accesses for whoever calls it.
        let binary = entry.place.binary.as_deref().filter(|_| !entry.instruction.is_empty())?;
        Some((binary, entry.place.offset, load))
    }

    /// The global variable at an address.
    pub(super) fn global(&self, addr: u64) -> Option<String> {
        let module = self.modules.iter().find(|module| module.contains(addr))?;
        let symbol = module.binary.image.symbol_at(module.offset(addr)).filter(|symbol| !symbol.function)?;
        Some(wmtrace_decoder::debug::demangle(&symbol.name))
    }

    /// Everything that is known of a site.
    pub(super) fn info(&self, site: Site) -> SiteInfo {
        let Some(entry) = self.sites.get(site.0 as usize) else {
            let stack = vec![Location {
                module: String::new(),
                offset: 0,
                function: None,
                file: None,
                line: 0,
                column: 0,
                inlined: false,
            }];
            return SiteInfo {
                stack,
                instruction: String::new(),
                order: None,
                atomic: Atomic::Unsure,
                standing: Standing::Known,
                op: "start",
            };
        };
        let mut stack = Vec::new();
        match entry.what.fence {
            Some(number) => entry.place.fence_locations(number, &mut stack),
            None => entry.place.locations(false, &mut stack),
        }
        self.locations(entry.stack, &mut stack);
        SiteInfo {
            stack,
            instruction: entry.instruction.clone(),
            order: entry.what.order,
            atomic: entry.what.atomic,
            standing: entry.what.standing,
            op: entry.what.op,
        }
    }

    /// The frames of a call stack, innermost first.
    fn locations(&self, mut stack: StackId, into: &mut Vec<Location>) {
        while let Some((rest, _, place, _)) =
            (stack.0 as usize).checked_sub(1).and_then(|at| self.stacks.get(at))
        {
            place.locations(true, into);
            stack = *rest;
        }
    }

    /// The stack of a thread that is at `pc` now.
    pub(super) fn stack_of(&self, pc: u64, stack: StackId, modules: &[Module]) -> Vec<Location> {
        let mut locations = Vec::new();
        Place::new(pc, modules).locations(false, &mut locations);
        self.locations(stack, &mut locations);
        locations
    }
}
