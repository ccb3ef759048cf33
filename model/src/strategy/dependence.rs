//! Which pairs of steps may be swapped: what the exhaustive strategy's reduction rests on.
//!
//! Two pending steps of different agents are *independent* if, in every state where both are enabled, neither
//! changes what the other can do (that it is enabled, how many alternatives it has) and both orders, with the
//! same alternatives taken, lead to the same state. "Same" is up to what an
//! [`Execution`](crate::execution::Execution) means: po, rf, mo and the order of SC events, not the order of the
//! list. Saying *dependent* is always right, and only costs time; each *independent* below has its argument.
//!
//! What this needs of the machine:
//! - What a read can choose from are *stores of its place* (TSO too: not positions in the log).
//! - A step of a thread commits held stores (PSO, PSLO) only as the rules of the models say. If a thread's end or
//!   a create commits them as well, it must do so in a step that is not the plain load or store before it.
//! - Threads do not spin (MODELS.md §6): whether a spinning thread is enabled depends on everybody.
//!
//! **Mixed sizes.** Places that overlap and are not equal collapse each other's histories, even two loads:
//! they are dependent in every model. Cells are not known here, so two places that share no byte count as
//! apart although a third, wider access may once have joined them: an exploration is complete only for
//! programs whose places are pairwise equal or disjoint, as those of litmus tests are.

use super::{Choice, conflict};
use crate::op::{Agent, ModelKind, Op};

/// Whether the order of the two steps may matter under the model.
pub fn dependent(model: ModelKind, a: &Choice, b: &Choice) -> bool {
    if a.agent.thread() == b.agent.thread() {
        // A thread's operations are in program order, and what it does depends on its buffers. Two of its
        // buffers are queues that know nothing of each other: their commits write different places, and
        // (PSLO) raise the thread's floor for those only.
        let buffers = matches!((a.agent, b.agent), (Agent::Buffer(..), Agent::Buffer(..)));
        return !buffers || overlap(a, b);
    }
    // Futexes, joins and calls that synchronise put threads to sleep and wake them: rare enough not to look closer.
    if is_blocking(&a.op) || is_blocking(&b.op) {
        return true;
    }
    if overlap(a, b) && a.op.place() != b.op.place() {
        return true;
    }
    match model {
        // Memory is the whole state. Fences do nothing.
        ModelKind::Sc => conflict(a, b),
        ModelKind::Tso => tso(a, b),
        ModelKind::Pso | ModelKind::Pslo => buffered(model, a, b),
        ModelKind::C11 => c11(a, b),
    }
}

/// Whether both touch memory, and share a byte.
fn overlap(a: &Choice, b: &Choice) -> bool {
    matches!((a.op.place(), b.op.place()), (Some(x), Some(y)) if x.overlaps(y))
}

/// Whether the operation can stop threads or set them going.
const fn is_blocking(op: &Op) -> bool {
    match op {
        Op::Wait { .. } | Op::Wake { .. } | Op::Sync { .. } | Op::Join { .. } => true,
        Op::Load { .. }
        | Op::Store { .. }
        | Op::Rmw { .. }
        | Op::Cas { .. }
        | Op::Fence { .. }
        | Op::Yield => false,
    }
}

/// Views: a step reads and writes its thread's own views, the history of its place, and, if it is SC, `sc`.
fn c11(a: &Choice, b: &Choice) -> bool {
    // One appends to a history that the other reads or appends to.
    if conflict(a, b) {
        return true;
    }
    match (is_sc(&a.op), is_sc(&b.op)) {
        // An SC access touches `sc` at its own place only, a fence all of it. Two loads of one place do not
        // commute: each raises what the other may read.
        (true, true) => is_fence(&a.op) || is_fence(&b.op) || overlap(a, b),
        // A step that is not SC never looks at `sc`; loads do not change histories; and fences (SC ones too,
        // against others that are not) work on their own thread's views.
        _ => false,
    }
}

/// Whether the step is an SC event, or may be.
const fn is_sc(op: &Op) -> bool {
    op.order().is_sc() || matches!(op, Op::Cas { failure, .. } if failure.is_sc())
}

/// Whether the step is a fence.
const fn is_fence(op: &Op) -> bool {
    matches!(op, Op::Fence { .. })
}

/// The dual TSO machine: one log of all stores, and each thread's position in it.
fn tso(a: &Choice, b: &Choice) -> bool {
    // Two that append: the order of the log is state, whatever the places. An RMW also moves its thread to the
    // log's end, and so does a compare-and-swap that fails; one that reads and one that appends are seen by
    // `conflict`. A load of another place has the same candidates with or without the new store, and leaves its
    // thread where the store it reads is. Fences move their own thread to its own last store.
    (a.op.writes() && b.op.writes()) || conflict(a, b)
}

/// What a step does to the state of PSO and PSLO.
#[derive(Clone, Copy, PartialEq)]
enum Effect {
    /// Puts a store into its thread's own buffer, and no more.
    Hold,
    /// Reads its place, and (PSLO, if it acquires) forbids its thread all that is older than now, everywhere.
    Load { acquires: bool },
    /// Makes a store to its place visible.
    Commit,
    /// May make any held stores of its thread visible, to places that the step does not tell.
    Flush,
}

impl Effect {
    fn of(choice: &Choice) -> Effect {
        match (choice.agent, choice.op) {
            (Agent::Buffer(..), _) => Effect::Commit,
            (Agent::Thread(_), Op::Store { order, .. }) if !order.releases() => Effect::Hold,
            (Agent::Thread(_), Op::Load { order, .. }) => Effect::Load { acquires: order.acquires() },
            // Only the fences that release flush, but the others reset floors: as good as a flush.
            (Agent::Thread(_), _) => Effect::Flush,
        }
    }
}

/// RELAXER's machines: visible memory, a queue per thread and place, and (PSLO) what each thread may still read.
fn buffered(model: ModelKind, a: &Choice, b: &Choice) -> bool {
    match (Effect::of(a), Effect::of(b)) {
        // Nobody but its thread and its buffer can tell that the store was made.
        (Effect::Hold, _) | (_, Effect::Hold) => false,
        (Effect::Flush, _) | (_, Effect::Flush) => true,
        (Effect::Commit, Effect::Commit) => overlap(a, b),
        (Effect::Commit, Effect::Load { acquires }) | (Effect::Load { acquires }, Effect::Commit) => {
            overlap(a, b) || (model == ModelKind::Pslo && acquires)
        }
        // What a thread may still read is its own.
        (Effect::Load { .. }, Effect::Load { .. }) => false,
    }
}
