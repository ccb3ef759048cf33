//! Rules that the mutation test weakens on purpose, to show that the certificate would notice.
//!
//! Outside of the crate's own tests no mutant can be chosen, and the checks for one compile to nothing.

/// A rule to break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(test), allow(dead_code, reason = "only the mutation test makes one"))]
pub(crate) enum Mutant {
    /// c11: an acquire load does not join the store's message.
    AcquireJoinsNothing,
    /// c11: a relaxed load keeps nothing for a later acquire fence.
    RelaxedLoadKeepsNothing,
    /// c11: an acquire fence does not join what earlier loads kept.
    AcquireFenceJoinsNothing,
    /// c11: a release fence publishes nothing.
    ReleaseFencePublishesNothing,
    /// c11: a release store publishes nothing.
    ReleaseStorePublishesNothing,
    /// c11: an RMW does not continue the release sequence of the store it read.
    RmwEndsReleaseSequence,
    /// c11: a load may read stores older than what its thread has seen.
    LoadIgnoresView,
    /// c11: a load does not enter its thread's view.
    LoadLeavesNoTrace,
    /// c11: a store does not enter its thread's view.
    StoreLeavesNoTrace,
    /// c11: an SC load ignores the SC view.
    ScLoadIgnoresSc,
    /// c11: an SC access does not enter the SC view.
    ScAccessLeavesNoTrace,
    /// c11: an SC fence does not join the SC view.
    ScFenceJoinsNothing,
    /// c11: an SC fence does not enter the SC view.
    ScFenceLeavesNoTrace,
    /// c11: a child does not start from its parent's view.
    ChildKnowsNothing,
    /// c11: a join learns nothing.
    JoinLearnsNothing,
    /// c11 with insertion: a store may go before what its thread has seen.
    InsertBeforeSeen,
    /// c11 with insertion: a store may go between an RMW and the store it read.
    InsertIntoRmw,
    /// all: an RMW may read a store that is not the newest, and is appended all the same.
    RmwReadsOld,
    /// all: what others have written leaves the histories as they are.
    ForeignForgetsNothing,
    /// tso: a fence does not wait for the thread's own stores.
    TsoFenceDoesNothing,
    /// tso: a load does not move its thread's position.
    TsoLoadStaysBehind,
    /// tso: a load may ignore its thread's own newer store.
    TsoIgnoresOwnStore,
    /// tso: a locked instruction does not move its thread to the end of the log.
    TsoRmwStaysBehind,
    /// pso, pslo: a release does not commit the stores before it.
    ReleaseCommitsNothing,
    /// pso, pslo: a full barrier does not commit the stores before it.
    BarrierCommitsNothing,
    /// pso, pslo: a load does not see its thread's held store.
    NoForwarding,
    /// pso, pslo: a buffer commits its newest store first.
    CommitsNewestFirst,
    /// pso, pslo: a locked instruction does not commit its thread's stores to the same place.
    RmwOvertakesOwnStore,
    /// pslo: an acquire orders no later load.
    AcquireOrdersNothing,
    /// pslo: a load may go back behind an earlier load of the same place.
    PsloForgetsItsReads,
}

/// Whether this mutant is the one that was chosen.
pub(crate) fn is(chosen: Option<Mutant>, mutant: Mutant) -> bool {
    cfg!(test) && chosen == Some(mutant)
}
