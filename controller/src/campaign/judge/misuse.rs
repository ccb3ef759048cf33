//! What engines have found: misuses of the C library's objects, of threads' handles, and of stacks.

use super::{Defect, Judge, at, in_place, who};
use crate::bug::{Kind, Side};
use crate::engine::misuse::{Deed, Misuse, Sort};
use wmtrace_model::axioms::certify_race;
use wmtrace_model::execution::{Access, Race};
use wmtrace_model::machine::Finding;
use wmtrace_model::op::Addr;

impl Judge<'_> {
    pub(super) fn misuse(&mut self, misuse: &Misuse) {
        let mut sides = vec![self.deed(&misuse.by, misuse.memory)];
        let place = in_place(&sides[0]);
        let mut message = match misuse.sort {
            Sort::Lock | Sort::Join => format!("{} {}{place}", who(&sides[0]), misuse.what),
            Sort::Stack | Sort::UnwrittenStack => format!("{}, {}", at(&sides[0]), misuse.what),
        };
        if let Some((words, deed)) = &misuse.since {
            let side = self.deed(deed, misuse.memory);
            message += &format!("; {} {words} it{}", who(&side), in_place(&side));
            sides.push(side);
        }
        let kind = match misuse.sort {
            Sort::Lock => Kind::LockMisuse,
            Sort::Join => Kind::JoinMisuse,
            Sort::Stack => Kind::UseAfterReturn,
            Sort::UnwrittenStack => Kind::UninitialisedLoad,
        };
        self.until = Some(misuse.events);
        self.add(kind, false, sides, misuse.what, message, None);
        self.until = None;
    }

    /// Whether an access of a race is to a stack that is gone: that is the bug, and the race only follows from it.
    pub(super) fn is_on_gone_stack(&self, race: &Race) -> bool {
        let is_it = |misuse: &Misuse, access: &Access| {
            let (addr, len) = misuse.memory.unwrap_or((Addr(0), 0));
            let meets = access.addr.0 < addr.0 + len && addr.0 < access.addr.0.saturating_add(access.len);
            meets && misuse.by == Deed { thread: access.thread, site: access.site }
        };
        let gone = self.ended.outcome.misuses.iter().filter(|misuse| misuse.sort == Sort::Stack);
        gone.into_iter().any(|misuse| is_it(misuse, &race.first) || is_it(misuse, &race.second))
    }

    /// Accesses that do not happen after their block's allocation. Everything else that the execution shows says more: a race
    /// of the block's content or of the pointer to it, or what has come of it.
    pub(super) fn allocation_races(&mut self) -> Result<(), Defect> {
        let findings = self.ended.findings;
        let races = findings.iter().any(|finding| matches!(finding, Finding::Race(_)));
        if races || self.found.iter().any(|it| !it.possible) {
            return Ok(());
        }
        for finding in findings {
            if let Finding::AllocationRace(race) = finding {
                self.allocation_race(race)?;
            }
        }
        Ok(())
    }

    fn allocation_race(&mut self, race: &Race) -> Result<(), Defect> {
        let mut sides = [self.side(&race.first), self.side(&race.second)];
        if sides[1].unsure || self.is_doubtful(&race.second, &race.first) {
            return Ok(());
        }
        let op = self.sites.site(race.first.site).op;
        sides[0].op = Some(op);
        (sides[0].order, sides[0].order_from, sides[0].standing) = (None, None, None);
        let message =
            format!("{}, and nothing orders that after the allocation: {}", at(&sides[1]), at(&sides[0]));
        if self.add(Kind::AllocationRace, false, sides.into(), "", message, Some(race)) {
            certify_race(self.ended.execution, race).map_err(Defect::Certificate)?;
        }
        Ok(())
    }

    fn deed(&self, deed: &Deed, memory: Option<(Addr, u64)>) -> Side {
        let (addr, len) = memory.unwrap_or((Addr(0), 0));
        let info = self.sites.site(deed.site);
        let (op, store) = (info.op, info.op != "load");
        // A call has no order; what an access has is in its site.
        let atomic = info.order.is_none_or(|(order, _)| order.is_atomic());
        let access = Access { thread: deed.thread, site: deed.site, epoch: 0, addr, len, store, atomic };
        let mut side = self.side(&access);
        if !["load", "store"].contains(&op) {
            side.op = Some(op);
        }
        side.memory = side.memory.filter(|_| memory.is_some());
        side
    }
}
