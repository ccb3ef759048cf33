//! Memory orders: what the programmer asked for.
//!
//! For each access the first of these that knows wins: the user's orders file, debug information, source text,
//! the instruction set, policy. The ideas are one a file: `ops` knows which functions are atomic operations,
//! `instance` reads an operation's order argument, `source` reads source text,
//! `classify` tells atomic from plain, `contradicted` drops orders that an instruction cannot have, `folded` copes with functions that share their code, `merged` with operations that do, `slots` knows the frame of an operation, `idle` read-modify-writes that became loads and stores that became exchanges, `calls` those that are calls, `speculative` loads that the source does not have, `fences` finds fences without code, [`mod@file`] parses the user's file.
//!
//! Invariants: an order is never weaker than what the source asked for (a wrong weaker order is a false alarm);
//! "plain" is only said on evidence (a wrong "plain" is a false race); what is lost is said to be lost.

mod calls;
mod classify;
mod contradicted;
mod fences;
pub mod file;
mod folded;
mod idle;
mod info;
mod instance;
mod merged;
mod ops;
mod registers;
mod slots;
mod source;
mod speculative;
mod strength;
mod volatile;
mod wide;

pub use calls::AtomicCall;
pub use info::{Assume, Atomic, EmptyFence, InsnOrders, Meant, OrderInfo, RuntimeOrder, Source, Warning};
pub use ops::OpKind;
pub use registers::{Thread, dwarf_register};
pub use strength::UncertainFence;

use crate::debug::{Debug, Sources, Unit, demangle};
use crate::effect::{Access, AccessKind, Arch, InsnEffect};
use crate::image::Image;
use crate::machine::Decoder;
use crate::text::{Effects, Names, is_library};
use file::OrdersFile;
use instance::{Argument, Instance, operation};
use ops::{Op, failure_of};
use source::Texts;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use wmtrace_model::order::Order;

/// The least order that is at least as strong as both.
pub(crate) fn stronger(a: Order, b: Order) -> Order {
    match a.partial_cmp(&b) {
        Some(std::cmp::Ordering::Less) => b,
        Some(_) => a,
        None => Order::AcqRel,
    }
}

/// What the user chose.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// What unknown accesses are taken for.
    pub assume: Assume,
    /// The user's orders file.
    pub file: Option<Arc<OrdersFile>>,
    /// The name by which the orders file calls this image.
    pub module: String,
}

/// Tells the effect of the instruction at an address, whose bytes (and more) are given.
pub type Decode<'a> = dyn Fn(u64, &[u8]) -> Option<InsnEffect> + 'a;

/// The orders of one image.
pub struct Orders<'a> {
    image: &'a Image,
    debug: &'a Debug,
    options: Options,
    kept: Kept,
}

/// What need not be found out again for another [`Orders`] of the same image: source text, the names of functions.
#[derive(Clone, Default)]
pub struct Kept(Arc<Knowledge>);

#[derive(Default)]
struct Knowledge {
    texts: Texts,
    functions: OnceLock<HashSet<String>>,
    /// Whether lld linked the image.
    lld: OnceLock<bool>,
    sources: OnceLock<Sources>,
    names_of_c: OnceLock<Names>,
    names_of_rust: OnceLock<Names>,
    functions_known: strength::Functions,
    /// The extents of all functions.
    extents: OnceLock<Vec<(u64, u64)>>,
}

/// The functions that an instruction belongs to, innermost first, in their unit.
type Chain<'a> = (&'a Unit, Vec<u32>);

/// An access inside an atomic operation.
struct Inside<'a> {
    unit: &'a Unit,
    /// The operations around the instruction, innermost first, as far as they are one and the same.
    ops: Vec<(u32, Op)>,
    /// The instruction is in another function, which was inlined into the innermost operation.
    nested: bool,
}

impl<'a> Orders<'a> {
    /// Prepares to answer for an image. Nothing is read yet.
    pub fn new(image: &'a Image, debug: &'a Debug, options: Options) -> Orders<'a> {
        Orders::with(image, debug, options, Kept::default())
    }

    /// The same with what another one for this image has found out.
    pub fn with(image: &'a Image, debug: &'a Debug, options: Options, kept: Kept) -> Orders<'a> {
        Orders { image, debug, options, kept }
    }

    /// The orders of the instruction at `pc`, whose effect is known.
    pub fn at(&self, pc: u64, effect: &InsnEffect) -> InsnOrders {
        let places = self.debug.chains(pc);
        let first = self.at_place(pc, effect, places.first());
        if places.len() > 1 || places.first().is_some_and(|place| self.has_lost_twin(place)) {
            let others = places.iter().skip(1).map(|place| self.at_place(pc, effect, Some(place)));
            return self.folded(pc, effect, first, others.collect());
        }
        first
    }

    /// The orders of an instruction as a part of one function.
    fn at_place(&self, pc: u64, effect: &InsnEffect, place: Option<&Chain<'a>>) -> InsnOrders {
        let inside = place.and_then(|place| self.inside_of(pc, place));
        let stack_fence = inside.as_ref().is_some_and(|inside| {
            effect.accesses.iter().any(|access| match inside.ops[0].1.kind {
                OpKind::Fence => access.kind == AccessKind::Rmw && self.on_stack_top(access),
                OpKind::Rmw => self.is_idle_barrier(pc, access, inside),
                OpKind::Load | OpKind::Store | OpKind::Cas => false,
            })
        });
        let fence = (effect.fence.is_some() || stack_fence).then(|| self.fence(pc, effect, inside.as_ref()));
        let accesses = effect
            .accesses
            .iter()
            .map(|access| self.access(pc, access, effect, place, inside.as_ref()))
            .collect();
        InsnOrders { accesses, fence }
    }

    fn fence(&self, pc: u64, effect: &InsnEffect, inside: Option<&Inside<'_>>) -> OrderInfo {
        let isa = effect.fence.map_or(Order::SeqCst, |fence| fence.order);
        if let Some(info) = self.by_file(pc) {
            return info;
        }
        if let Some(inside) = inside.filter(|inside| inside.ops[0].1.kind == OpKind::Fence)
            && let Some(info) = self.stated(pc, inside).or_else(|| self.told_by_text(inside))
        {
            return info;
        }
        // A part of a read-modify-write that is modelled as such, and no fence of its own.
        if inside.is_some_and(|inside| self.idle(inside).loads) {
            return OrderInfo::new(Order::Relaxed, Source::Dwarf, Atomic::Yes);
        }
        OrderInfo::new(isa, Source::Isa, Atomic::Yes)
    }

    fn access(
        &self,
        pc: u64,
        access: &Access,
        effect: &InsnEffect,
        place: Option<&Chain<'a>>,
        inside: Option<&Inside<'_>>,
    ) -> OrderInfo {
        if let Some(info) = self.by_file(pc) {
            return info;
        }
        if self.pushes(access, effect) {
            return OrderInfo::plain(Source::Isa);
        }
        if let Some(inside) = inside {
            match self.role(pc, access, inside) {
                role @ (Role::Itself | Role::Maybe) => {
                    let found = self.stated(pc, inside).or_else(|| self.told_by_text(inside));
                    let found = found.map(|info| self.with_lost_fence(access, inside, info));
                    let found = found.map(|info| self.uncontradicted(pc, access, info));
                    let info = self.checked(pc, access, found.unwrap_or_else(|| self.lost(access)));
                    let atomic = if role == Role::Maybe { Atomic::Unsure } else { info.atomic };
                    let meant = match (inside.ops[0].1.kind, access.kind) {
                        (OpKind::Store, _) => Meant::Store,
                        (OpKind::Rmw, AccessKind::Load) => Meant::Rmw,
                        (OpKind::Load | OpKind::Rmw | OpKind::Cas | OpKind::Fence, _) => Meant::Same,
                    };
                    // An order that nobody states is that of the operation, not of the load that it became.
                    let order = match (meant, info.from) {
                        (Meant::Rmw, Source::Policy | Source::Isa) => Some(Order::SeqCst),
                        _ => info.order,
                    };
                    let info = OrderInfo { atomic, meant, order, ..info };
                    // A load and a store in one: debug information has the order of one of them.
                    if access.kind == AccessKind::LoadStore {
                        return strength::strengthen(info, access.kind, Effects::BOTH);
                    }
                    let info = self.with_merged(pc, access.kind, place, info);
                    return self.strengthened(pc, access.kind, info);
                }
                Role::Fence => return OrderInfo::new(Order::SeqCst, Source::Isa, Atomic::Yes),
                Role::Beside => return OrderInfo::plain(Source::Dwarf),
                Role::Another => {}
                Role::Unsure => {
                    // Where a thread can tell, it can also tell whether the object is accessed at all.
                    let told = self.stated(pc, inside).filter(|info| info.runtime.is_some());
                    let told = told.map(|info| OrderInfo { atomic: Atomic::Unsure, ..info });
                    return told.unwrap_or_else(|| self.unsure(access));
                }
            }
        }
        let mut info = self.uncontradicted(pc, access, self.outside(pc, access, place));
        if info.meant == Meant::Same && self.may_be_store(pc, access, effect, &info) {
            info.meant = Meant::StoreOrRmw;
        }
        if info.atomic != Atomic::No {
            info = self.with_merged(pc, access.kind, place, info);
            info = self.strengthened(pc, access.kind, info);
        }
        let locked = access.atomic && access.kind == AccessKind::Rmw && self.image.arch() == Arch::X86_64;
        info.barrier = locked && info.from == Source::Isa;
        info
    }

    /// Rust's library counts references down by a release RMW, with an acquire fence after the last one (`Arc`), and takes
    /// the last one by a relaxed compare-and-swap with such a fence (`Arc::try_unwrap`). LLVM keeps no trace of a fence
    /// without code, and the library's source is not there to ask: the RMW takes its part.
    fn with_lost_fence(&self, access: &Access, inside: &Inside<'_>, info: OrderInfo) -> OrderInfo {
        let has_fence = match inside.ops[0].1.kind {
            OpKind::Rmw => info.order == Some(Order::Release),
            OpKind::Cas => !info.order.is_some_and(Order::acquires),
            OpKind::Load | OpKind::Store | OpKind::Fence => false,
        };
        if !has_fence
            || access.kind != AccessKind::Rmw
            || self.image.arch() != Arch::X86_64
            || !instance::is_rust(inside.unit)
        {
            return info;
        }
        let caller = inside.ops.last().map(|&(node, _)| inside.unit.nodes[node as usize].call);
        let caller = caller.and_then(|call| self.debug.call_line(inside.unit, call));
        match caller.is_some_and(|line| is_library(&line.file)) {
            true => strength::strengthen(info, access.kind, Effects::BOTH),
            false => info,
        }
    }

    /// An atomic access whose order nobody states.
    fn lost(&self, access: &Access) -> OrderInfo {
        if access.atomic {
            return OrderInfo::new(access.order, Source::Isa, Atomic::Yes);
        }
        self.by_policy(access, Atomic::Yes)
    }

    fn unsure(&self, access: &Access) -> OrderInfo {
        self.by_policy(access, Atomic::Unsure)
    }

    /// The order of an instruction that is not atomic by itself, of which nobody else tells anything.
    fn by_policy(&self, access: &Access, atomic: Atomic) -> OrderInfo {
        match (self.options.assume, self.image.arch(), access.kind) {
            (Assume::Isa, Arch::Aarch64, AccessKind::Store) => {
                OrderInfo::new(access.order, Source::Isa, atomic)
            }
            (assume, _, kind) => OrderInfo::new(assume.order(kind), Source::Policy, atomic),
        }
    }

    /// An access of which only the instruction is known.
    fn unknown(&self, access: &Access) -> OrderInfo {
        if access.atomic { self.lost(access) } else { self.unsure(access) }
    }

    /// AArch64's instructions state orders, so a compiler that knows an order makes just that one: if debug
    /// information claims another, one of the two is wrong, and the stronger is taken.
    fn checked(&self, pc: u64, access: &Access, mut info: OrderInfo) -> OrderInfo {
        let (Arch::Aarch64, Source::Dwarf, Some(stated)) = (self.image.arch(), info.from, info.order) else {
            return info;
        };
        // A compare-and-swap is one instruction for both of its orders, and g++ does not combine them with care.
        let combined = info.failure.is_some_and(|failure| stronger(stated, failure) != stated);
        if access.atomic && !combined && stronger(stated, access.order) != stated {
            let taken = stronger(stated, access.order);
            info.order = Some(taken);
            info.warning.get_or_insert(Warning::WeakerThanCode { pc, stated, taken });
        } else if !access.atomic && stated > access.order && access.order == Order::Relaxed {
            info.warning.get_or_insert(Warning::StrongerThanCode { pc, stated, isa: access.order });
        }
        info
    }

    /// The atomic operation that an instruction belongs to.
    fn inside(&self, pc: u64) -> Option<Inside<'a>> {
        self.inside_of(pc, &self.debug.chain(pc)?)
    }

    fn inside_of(&self, pc: u64, (unit, chain): &Chain<'a>) -> Option<Inside<'a>> {
        let mut ops: Vec<(u32, Op)> = Vec::new();
        let mut inner = None;
        for &node in chain {
            // The source of a function is where its innermost instruction, or the call inlined into it, is.
            let file = || match inner {
                None => self.debug.line(pc).map(|line| line.file),
                Some(call) => self.debug.call_line(unit, call).map(|line| line.file),
            };
            let op = operation(self.debug, unit, node, file);
            inner = Some(unit.nodes[node as usize].call);
            match (op, ops.last()) {
                (Some(op), None) => ops.push((node, op)),
                // `operator++` → `fetch_add` → …: one operation in several layers.
                (Some(op), Some((_, inner))) if op.kind == inner.kind => ops.push((node, op)),
                (None, None) => {}
                (_, Some(_)) => break,
            }
        }
        let nested = ops.first().is_some_and(|&(node, _)| chain.first() != Some(&node));
        (!ops.is_empty()).then_some(Inside { unit, ops, nested })
    }

    /// What debug information states: the innermost layer that states an order wins.
    fn stated(&self, pc: u64, inside: &Inside<'_>) -> Option<OrderInfo> {
        let cfa = self.debug.cfa(pc);
        for &(node, op) in &inside.ops {
            let instance = Instance { debug: self.debug, unit: inside.unit, node, op, pc, cfa };
            let argument = instance.order();
            let cas = op.kind == OpKind::Cas;
            if let Some((order, several)) = argument.order(op.scale).or(op.fixed.map(|order| (order, false)))
            {
                let mut info = OrderInfo::new(order, Source::Dwarf, Atomic::Yes);
                if cas {
                    // libc++ passes its one order on as both, and means what may fail of it.
                    info.failure = instance.failure().order(op.scale).map(|(order, _)| failure_of(order));
                    info.failure =
                        info.failure.or_else(|| single(inside, self.debug).then(|| failure_of(order)));
                }
                info.warning = several.then_some(Warning::Contradictory { pc, taken: order });
                return Some(info);
            }
            if let Argument::Runtime(order) = argument {
                let failure = match instance.failure() {
                    Argument::Runtime(lookup) if cas => Some(lookup),
                    _ => None,
                };
                let object = inside.ops.iter().find_map(|&(node, op)| {
                    match (Instance { debug: self.debug, unit: inside.unit, node, op, pc, cfa }).object() {
                        Argument::Runtime(lookup) => Some(lookup),
                        Argument::Known(_) | Argument::Contradictory(_) | Argument::Lost => None,
                    }
                });
                let runtime = RuntimeOrder { scale: op.scale, cas, order, failure, object };
                return Some(OrderInfo {
                    order: None,
                    failure: None,
                    runtime: Some(Arc::new(runtime)),
                    from: Source::Runtime,
                    atomic: Atomic::Yes,
                    meant: Meant::Same,
                    barrier: false,
                    strengthened: None,
                    warning: None,
                });
            }
        }
        None
    }

    /// What the source text says where the outermost layer is called.
    fn told_by_text(&self, inside: &Inside<'_>) -> Option<OrderInfo> {
        let &(node, op) = inside.ops.last()?;
        let node = &inside.unit.nodes[node as usize];
        if !node.inlined() {
            return None;
        }
        let call = self.debug.call_line(inside.unit, node.call)?;
        let (order, failure) = self.kept.0.texts.call(self.debug.files(), &call, op)?;
        Some(OrderInfo { failure, ..OrderInfo::new(order, Source::Text, Atomic::Yes) })
    }

    /// The names of all functions that symbols know: those of C as they are, of others the parts of their names.
    fn functions(&self) -> &HashSet<String> {
        self.kept.0.functions.get_or_init(|| {
            let defined = self.image.symbols().iter().filter(|symbol| symbol.function);
            let names = defined.map(|symbol| &symbol.name).chain(self.image.imports().values());
            let mut found = HashSet::new();
            for name in names {
                let whole = demangle(name);
                let word = |c: char| c.is_alphanumeric() || c == '_';
                found.extend(whole.split(|c| !word(c)).filter(|part| !part.is_empty()).map(str::to_owned));
            }
            found
        })
    }

    /// Tells the effect of the instruction at an address, if there is one and it is known.
    fn decoder(&self) -> impl Fn(u64) -> Option<InsnEffect> {
        let decoder = Decoder::shared(self.image.arch());
        move |pc| decoder.decode(pc, self.image.code_at(pc)?).ok()
    }

    fn by_file(&self, pc: u64) -> Option<OrderInfo> {
        let file = self.options.file.as_ref()?;
        let order = file.find(&self.options.module, pc, &self.debug.frames(pc))?;
        let atomic = if order.is_atomic() { Atomic::Yes } else { Atomic::No };
        Some(OrderInfo::new(order, Source::File, atomic))
    }
}

/// What an access inside an atomic operation's code is to the operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// The operation's own access.
    Itself,
    /// The access of a locked instruction that only serves as a fence.
    Fence,
    /// Another access of the same code: the expected value of a compare-and-swap, a spilled register.
    Beside,
    /// That of another function, which was inlined there.
    Another,
    /// The operation's own access or a spilled register: if it is atomic, then with the operation's order.
    Maybe,
    /// Either.
    Unsure,
}

/// Whether the operation takes one order only, so that the order of failure follows from it.
fn single(inside: &Inside<'_>, debug: &Debug) -> bool {
    inside.ops.iter().any(|&(node, op)| {
        op.kind == OpKind::Cas && {
            let names = op.scale.failure_names();
            !inside.unit.variables(node).any(|entry| {
                instance::variable_name(debug, inside.unit, entry)
                    .is_some_and(|name| names.contains(&name.as_str()))
            })
        }
    })
}
