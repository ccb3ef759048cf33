//! What a program does with the C library, or with memory, that nobody may do, and that an engine sees where the machine
//! does not: the machine knows accesses, not mutexes, threads' handles or stacks.

use super::execution::Execution;
use wmtrace_model::op::{Addr, Site, ThreadId};

/// The most of one execution: a program must not fill the memory with them.
const MOST: usize = 64;

/// What kind of misuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    /// Of a mutex, condition variable, readers-writer lock, barrier or semaphore.
    Lock,
    /// Of a thread that is joined or detached.
    Join,
    /// Of the stack of a function that has returned, or of a thread that has ended.
    Stack,
    /// Of a variable on another thread's stack that nobody has written.
    UnwrittenStack,
}

/// Somebody did something somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Deed {
    pub(crate) thread: ThreadId,
    pub(crate) site: Site,
}

/// One misuse.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Misuse {
    pub(crate) sort: Sort,
    pub(crate) by: Deed,
    /// What it does, in words: `locks a mutex that was destroyed`.
    pub(crate) what: &'static str,
    /// What makes that wrong, if somebody did it: in words (`destroyed`), and who.
    pub(crate) since: Option<(&'static str, Deed)>,
    /// What it is about: the object, the memory. Nothing for a thread.
    pub(crate) memory: Option<(Addr, u64)>,
    /// How many events there were.
    pub(crate) events: usize,
}

/// Those of an execution.
#[derive(Default)]
pub(super) struct Misuses {
    pub(super) found: Vec<Misuse>,
}

impl Misuses {
    /// Each is kept once: a loop that goes on with a destroyed mutex is one bug.
    pub(super) fn add(&mut self, misuse: Misuse) {
        let same = |other: &Misuse| {
            (other.sort, other.what, other.by, other.since)
                == (misuse.sort, misuse.what, misuse.by, misuse.since)
        };
        if self.found.len() < MOST && !self.found.iter().any(same) {
            self.found.push(misuse);
        }
    }
}

pub(super) trait Misusing: Execution {
    /// The thread does what nobody may do.
    fn misuses(
        &mut self,
        index: usize,
        site: Site,
        (sort, what): (Sort, &'static str),
        since: Option<(&'static str, Deed)>,
        memory: Option<(u64, u64)>,
    ) {
        let it = self.parts();
        let by = Deed { thread: it.threads[index].id, site };
        let memory = memory.map(|(addr, len)| (Addr(addr), len));
        let events = it.machine.events() as usize;
        it.course.misuses.add(Misuse { sort, by, what, since, memory, events });
    }
}

impl<E: Execution> Misusing for E {}
