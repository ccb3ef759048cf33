//! What is said about the order of an access, and by whom.

use super::ops::{Scale, failure_of};
use super::stronger;
use crate::debug::{Context, EvalError, Frame, Lookup};
use crate::effect::{AccessKind, Arch};
use std::fmt;
use std::sync::Arc;
use wmtrace_model::order::Order;

/// Where an order came from, the first that knows winning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// The user's orders file.
    File,
    /// Debug information.
    Dwarf,
    /// Debug information, but the value is only known when a thread gets there.
    Runtime,
    /// Source text.
    Text,
    /// The instruction set.
    Isa,
    /// Nobody knows: `--assume` decides.
    Policy,
}

impl Source {
    /// The name in reports and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Source::File => "file",
            Source::Dwarf => "dwarf",
            Source::Runtime => "runtime",
            Source::Text => "source",
            Source::Isa => "isa",
            Source::Policy => "policy",
        }
    }

    /// Whether it knows what was asked for. x86-64's instructions do not tell.
    pub const fn states(self, arch: Arch) -> bool {
        match self {
            Source::File | Source::Dwarf | Source::Runtime | Source::Text => true,
            Source::Isa => matches!(arch, Arch::Aarch64),
            Source::Policy => false,
        }
    }
}

/// Whether an access is atomic at the source level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Atomic {
    /// For sure.
    Yes,
    /// Plain, for sure.
    No,
    /// Could be either.
    Unsure,
}

/// What an access is at the source, where its instruction alone does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash, Debug)]
pub enum Meant {
    /// What its instruction is.
    #[default]
    Same,
    /// A store: x86's sequentially consistent store is an XCHG, whose result nobody looks at.
    Store,
    /// An XCHG of which nobody knows whether it is a store or a read-modify-write. It orders like the latter, and is
    /// accused of nothing that only the latter would do.
    StoreOrRmw,
    /// A read-modify-write that writes what it has read (`fetch_add(0)`): LLVM makes a load of it, mostly with a full
    /// barrier before. It reads the newest store all the same.
    Rmw,
}

/// What unknown loads and stores are taken for (`--assume`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Assume {
    /// What the instruction gives. On x86-64 that is [`Assume::AcqRel`]. On AArch64 a plain store gives nothing: release
    /// stores are other instructions. A plain load does not acquire either, but what depends on it comes after it, and
    /// machine code does not show what does: so it counts as if it did.
    #[default]
    Isa,
    /// Loads acquire, stores release: what x86-TSO gives.
    AcqRel,
    /// Relaxed.
    Relaxed,
    /// Sequentially consistent.
    SeqCst,
}

impl Assume {
    /// The order of an access whose instruction does not tell.
    pub fn order(self, kind: AccessKind) -> Order {
        match (self, kind) {
            (Assume::Relaxed, _) => Order::Relaxed,
            (Assume::SeqCst, _) => Order::SeqCst,
            (Assume::Isa | Assume::AcqRel, AccessKind::Load) => Order::Acquire,
            (Assume::Isa | Assume::AcqRel, AccessKind::Store) => Order::Release,
            (Assume::Isa | Assume::AcqRel, AccessKind::Rmw | AccessKind::LoadStore) => Order::AcqRel,
        }
    }
}

/// An order that lives in a variable: look it up when a thread stops at the access.
#[derive(Clone, PartialEq, Debug)]
pub struct RuntimeOrder {
    pub(crate) scale: Scale,
    pub(crate) cas: bool,
    pub(crate) order: Lookup,
    pub(crate) failure: Option<Lookup>,
    /// The address of the atomic object. Unoptimised code has other accesses beside the operation's own.
    pub(crate) object: Option<Lookup>,
}

impl RuntimeOrder {
    /// Whether an access to `addr` is the operation's own; if not, it is a plain one of the same code.
    pub fn is_own(&self, context: &dyn Context, addr: u64) -> bool {
        // What cannot be looked up may be the object: a wrong "plain" would be a false race.
        self.object.as_ref().and_then(|object| object.value(context).ok()).is_none_or(|object| object == addr)
    }

    /// The order, and that of failure for a compare-and-swap.
    pub fn evaluate(&self, context: &dyn Context) -> Result<(Order, Option<Order>), EvalError> {
        let one = |lookup: &Lookup| {
            let value = lookup.value(context)?;
            self.scale.order(value).ok_or(EvalError::Unsupported("a number that is no memory order"))
        };
        let order = one(&self.order)?;
        let failure = match &self.failure {
            Some(lookup) => Some(failure_of(one(lookup)?)),
            None => self.cas.then(|| failure_of(order)),
        };
        Ok((order, failure))
    }
}

/// Something odd about an access; the order given is the safe one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warning {
    /// Debug information has several orders for one instruction: the stronger was taken.
    Contradictory {
        /// The instruction.
        pc: u64,
        /// What was taken.
        taken: Order,
    },
    /// Debug information says less than the instruction gives, although the compiler had the choice.
    WeakerThanCode {
        /// The instruction.
        pc: u64,
        /// What debug information says.
        stated: Order,
        /// What was taken.
        taken: Order,
    },
    /// The source text has an order that the instruction cannot have: the text does not count.
    NotInCode {
        /// The instruction.
        pc: u64,
        /// What the text says.
        stated: Order,
    },
    /// Debug information says more than the instruction gives, as no compiler does.
    StrongerThanCode {
        /// The instruction.
        pc: u64,
        /// What debug information says.
        stated: Order,
        /// What the instruction gives.
        isa: Order,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Contradictory { pc, taken } => {
                write!(f, "{pc:#x}: debug information has several orders for this access; {taken} was taken")
            }
            Warning::WeakerThanCode { pc, stated, taken } => {
                write!(
                    f,
                    "{pc:#x}: debug information says {stated}, the instruction gives more; {taken} was taken"
                )
            }
            Warning::NotInCode { pc, stated } => {
                write!(
                    f,
                    "{pc:#x}: the source says {stated}, and the code has no barrier for that; the source does not count"
                )
            }
            Warning::StrongerThanCode { pc, stated, isa } => {
                write!(
                    f,
                    "{pc:#x}: debug information says {stated}, the instruction only gives {isa}; {stated} was taken"
                )
            }
        }
    }
}

/// The order of an access or fence.
#[derive(Clone, PartialEq, Debug)]
pub struct OrderInfo {
    /// The order; `None`: see `runtime`.
    pub order: Option<Order>,
    /// Of a compare-and-swap: the order when it fails, if it is known.
    pub failure: Option<Order>,
    /// Where the order is, if only a stopped thread can tell.
    pub runtime: Option<Arc<RuntimeOrder>>,
    /// Who says so.
    pub from: Source,
    /// Whether the access is atomic.
    pub atomic: Atomic,
    /// What it is at the source, whatever the instruction.
    pub meant: Meant,
    /// Locked x86-64 code that is no atomic operation of the source's: inline assembly, or nobody knows what. It was
    /// chosen for what the processor makes of it, which is more than any RMW of a language: a full barrier, too.
    pub barrier: bool,
    /// It has been given more order than perhaps was asked for: at least this, because the place of a fence is not
    /// certain. An order that only a thread can tell is to be made as strong.
    pub strengthened: Option<Order>,
    /// What is odd about it.
    pub warning: Option<Warning>,
}

impl OrderInfo {
    pub(crate) fn new(order: Order, from: Source, atomic: Atomic) -> OrderInfo {
        OrderInfo {
            order: Some(order),
            failure: None,
            runtime: None,
            from,
            atomic,
            meant: Meant::Same,
            barrier: false,
            strengthened: None,
            warning: None,
        }
    }

    /// An order that a thread has told, as strong as it has to be.
    pub fn with_strength(&self, order: Order, failure: Option<Order>) -> (Order, Option<Order>) {
        let Some(more) = self.strengthened else { return (order, failure) };
        let failure =
            failure.map(|failure| if more.acquires() { stronger(failure, Order::Acquire) } else { failure });
        (stronger(order, more), failure)
    }

    /// A plain access, by this evidence.
    pub(crate) fn plain(from: Source) -> OrderInfo {
        OrderInfo::new(Order::Na, from, Atomic::No)
    }
}

/// The orders of one instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct InsnOrders {
    /// Of each access, in the effect's order.
    pub accesses: Vec<OrderInfo>,
    /// Of the fence that the instruction is. `lock or` of the stack's top is one, where the source has a fence.
    pub fence: Option<OrderInfo>,
}

/// A fence of the source that has no instruction of its own, or one whose order only a thread can tell.
#[derive(Clone, PartialEq, Debug)]
pub struct EmptyFence {
    /// It happens before this instruction.
    pub pc: u64,
    /// Its order.
    pub info: OrderInfo,
    /// The functions that it belongs to, innermost first, each with its place in the source: the instruction at `pc`
    /// belongs to what comes after it.
    pub frames: Vec<Frame>,
    /// Its instructions that make the same fence, on some paths or on all: when a thread gets to one of them too, it
    /// is one fence.
    pub instructions: Vec<u64>,
}
