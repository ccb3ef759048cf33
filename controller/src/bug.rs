//! Bugs: what an execution did wrong, with everything a report says about it. Owned data, so that it outlives the
//! engine that knows the sites, and crosses threads.

use crate::campaign::cause::Cause;
use crate::campaign::confirm::Confirmation;
use crate::campaign::owner::Owner;
use crate::engine::evidence::Standing;
use crate::engine::{Location, SiteInfo, ThreadState};
use crate::events::EventLine;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use wmtrace_decoder::orders::{Atomic, Source};
use wmtrace_model::execution::Access;
use wmtrace_model::op::ThreadId;
use wmtrace_model::order::Order;
use wmtrace_model::strategy::StrategyKind;

/// What reports call an access of which nobody knows whether it is a store or a read-modify-write.
pub(crate) const STORE_OR_RMW: &str = "store or rmw";

/// What kind of bug; the names are those of the JSON.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Race,
    Assertion,
    Crash,
    Exit,
    Deadlock,
    Livelock,
    UseAfterFree,
    UninitialisedLoad,
    Timeout,
    LockMisuse,
    JoinMisuse,
    UseAfterReturn,
    AllocationRace,
}

impl Kind {
    /// Every kind.
    pub(crate) const ALL: [Kind; 13] = [
        Kind::Race,
        Kind::Assertion,
        Kind::Crash,
        Kind::Exit,
        Kind::Deadlock,
        Kind::Livelock,
        Kind::UseAfterFree,
        Kind::UninitialisedLoad,
        Kind::Timeout,
        Kind::LockMisuse,
        Kind::JoinMisuse,
        Kind::UseAfterReturn,
        Kind::AllocationRace,
    ];

    /// The name in JSON, and in names of files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Kind::Race => "race",
            Kind::Assertion => "assertion",
            Kind::Crash => "crash",
            Kind::Exit => "exit",
            Kind::Deadlock => "deadlock",
            Kind::Livelock => "livelock",
            Kind::UseAfterFree => "use_after_free",
            Kind::UninitialisedLoad => "uninitialised_load",
            Kind::Timeout => "timeout",
            Kind::LockMisuse => "lock_misuse",
            Kind::JoinMisuse => "join_misuse",
            Kind::UseAfterReturn => "use_after_return",
            Kind::AllocationRace => "allocation_race",
        }
    }

    /// In words.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Kind::Race => "data race",
            Kind::Assertion => "failed assertion",
            Kind::Crash => "crash",
            Kind::Exit => "wrong exit status",
            Kind::Deadlock => "deadlock",
            Kind::Livelock => "livelock",
            Kind::UseAfterFree => "use after free",
            Kind::UninitialisedLoad => "load of uninitialised memory",
            Kind::Timeout => "execution without end",
            Kind::LockMisuse => "misuse of a lock",
            Kind::JoinMisuse => "misuse of a thread's handle",
            Kind::UseAfterReturn => "use after return",
            Kind::AllocationRace => "race with an allocation",
        }
    }

    /// What it means, for who has never seen one.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Kind::Race => {
                "Two threads access the same memory, one of them writes, one access is not atomic, and nothing orders them."
            }
            Kind::Assertion => "The program has found itself in a state that it rules out.",
            Kind::Crash => "A signal has ended the program.",
            Kind::Exit => "The program has ended with an exit status that says that something went wrong.",
            Kind::Deadlock => "Every thread waits for another.",
            Kind::Livelock => {
                "The threads that are left spin, and nothing that they wait for can happen any more."
            }
            Kind::UseAfterFree => "Memory is accessed after it was freed.",
            Kind::UninitialisedLoad => "An atomic load reads memory that was allocated and never written.",
            Kind::Timeout => "An execution had more events, or took more time, than is allowed.",
            Kind::LockMisuse => {
                "A mutex, condition variable, readers-writer lock, barrier or semaphore is used in a way that is not defined."
            }
            Kind::JoinMisuse => "A thread is joined or detached that may not be joined or detached any more.",
            Kind::UseAfterReturn => {
                "A thread accesses another thread's stack where a function has returned, or the thread has ended."
            }
            Kind::AllocationRace => {
                "A thread accesses a block of memory, and nothing orders that after the block's allocation."
            }
        }
    }
}

/// What makes two bugs the same: the kind, the places in the code (unordered), and what the program says about
/// itself, where it says something.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    /// Source lines with their columns, or module and offset where none is known; sorted. Copies of one statement
    /// (unrolled loops, inlined functions) are one place.
    pub(crate) places: Vec<String>,
    pub(crate) text: String,
}

impl Key {
    pub(crate) fn new<'a>(kind: Kind, places: impl IntoIterator<Item = &'a Location>, text: &str) -> Key {
        let mut places: Vec<String> = places
            .into_iter()
            .map(|place| match &place.file {
                Some(file) if place.line > 0 => format!("{file}:{}:{}", place.line, place.column),
                _ => format!("{}+{:#x}", place.module, place.offset),
            })
            .collect();
        places.sort_unstable();
        Key { kind, places, text: text.to_string() }
    }
}

/// One side of a bug: who did what, and where.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Side {
    pub(crate) thread: Option<ThreadId>,
    /// `load`, `store`, `rmw`, `free` …; `None` where a thread merely is.
    pub(crate) op: Option<&'static str>,
    pub(crate) order: Option<Order>,
    /// Who says so.
    pub(crate) order_from: Option<Source>,
    /// How well it is known; `None` where there is no order.
    pub(crate) standing: Option<Standing>,
    /// The memory it touches.
    pub(crate) memory: Option<(u64, u64)>,
    pub(crate) unsure: bool,
    pub(crate) instruction: String,
    /// Innermost first; may be empty.
    pub(crate) stack: Vec<Location>,
    /// The frame that a reader wants to see first.
    pub(crate) blamed: usize,
    /// From where the last jump before that led there, if that is another line: a compiler may have made one call of several.
    pub(crate) came_from: Option<Location>,
    /// Whether the source calls the access volatile.
    pub(crate) volatile: bool,
}

impl Side {
    /// An access that the machine names.
    pub(crate) fn access(access: &Access, site: SiteInfo, blamed: usize) -> Side {
        let named = if access.store { "store" } else { "load" };
        let op = if ["rmw", "cas", "free", STORE_OR_RMW].contains(&site.op) { site.op } else { named };
        let order = if access.atomic { site.order.map(|(order, _)| order) } else { Some(Order::Na) };
        Side {
            thread: Some(access.thread),
            op: Some(op),
            order,
            order_from: site.order.filter(|(stated, _)| Some(*stated) == order).map(|(_, from)| from),
            standing: order.map(|_| site.standing),
            memory: Some((access.addr.0, access.len)),
            unsure: site.atomic == Atomic::Unsure,
            instruction: site.instruction,
            stack: site.stack,
            blamed,
            came_from: None,
            volatile: false,
        }
    }

    /// Where a thread is.
    pub(crate) fn at(thread: Option<ThreadId>, stack: Vec<Location>, blamed: usize) -> Side {
        Side {
            thread,
            op: None,
            order: None,
            order_from: None,
            standing: None,
            memory: None,
            unsure: false,
            instruction: String::new(),
            stack,
            blamed,
            came_from: None,
            volatile: false,
        }
    }

    /// Whether the access is a push onto the stack: a call, or code at the entry of a function, takes memory whose former
    /// use is over.
    pub(crate) fn pushes(&self) -> bool {
        let words = self.instruction.split_whitespace();
        let name = words.into_iter().find(|word| !["bnd", "notrack"].contains(word)).unwrap_or_default();
        self.op == Some("store") && ["push", "call", "enter", "pushfq"].contains(&name)
    }

    /// The frame to show first, if any is known.
    pub(crate) fn place(&self) -> Option<&Location> {
        self.stack.get(self.blamed).or(self.stack.first())
    }

    /// `t1 stores 4 bytes at 0x4040 (na)`
    pub(crate) fn words(&self) -> String {
        let who = self.thread.map_or("a thread".to_string(), |thread| thread.to_string());
        let doing = match self.op {
            Some("load") => "loads",
            Some("store") => "stores",
            Some("rmw") => "reads and writes",
            Some(STORE_OR_RMW) => "writes, and may read,",
            Some("cas") => "compares and swaps",
            Some("free") => "frees",
            Some("malloc" | "realloc") => "allocates",
            Some("lock") => "locks",
            Some("unlock") => "unlocks",
            Some("wait" | "sem_wait" | "barrier") => "waits for",
            Some("signal") => "signals",
            Some("init") => "initialises",
            Some("destroy") => "destroys",
            Some("join") => "joins",
            Some("detach") => "detaches",
            Some(op) => op,
            None => return who,
        };
        if matches!(doing, "joins" | "detaches") {
            return format!("{who} {doing} a thread");
        }
        let memory =
            self.memory.map(|(addr, len)| format!(" {} at {addr:#x}", bytes(len))).unwrap_or_default();
        let order = self.order.map(|order| match (self.order_from, self.standing) {
            (_, Some(Standing::Strengthened)) => format!(" ({order}, strengthened)"),
            (Some(from), _) => format!(" ({order}, from {})", from.name()),
            (None, _) => format!(" ({order})"),
        });
        format!("{who} {doing}{memory}{}", order.unwrap_or_default())
    }
}

/// A number of bytes, in words.
pub(crate) fn bytes(count: u64) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

/// Everything about one occurrence of a bug.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Detail {
    /// One line.
    pub(crate) message: String,
    pub(crate) sides: Vec<Side>,
    /// Threads that were alive at the end, unless the program exited.
    pub(crate) threads: Vec<ThreadState>,
    /// The last events of each thread, in order of events.
    pub(crate) last: Vec<EventLine>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) truncated: bool,
    /// Whether the execution, and the race if it is one, satisfy the model's axioms.
    pub(crate) certified: bool,
    /// Where orders that matter to it are not known well, and so are as strong as they may be ([`Standing`]).
    pub(crate) assumed: Vec<String>,
    pub(crate) cause: Cause,
    pub(crate) owner: Owner,
}

/// Another place where the cause of a bug shows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Further {
    pub(crate) count: u64,
    pub(crate) first_execution: u64,
    pub(crate) message: String,
    pub(crate) sides: Vec<Side>,
}

/// A bug of a campaign: all occurrences with the same cause. What it says is that of the first one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bug {
    pub(crate) key: Key,
    /// Executions that have it, wherever it shows.
    pub(crate) count: u64,
    /// The number of the first of them, from 0.
    pub(crate) first_execution: u64,
    /// The strategy and the depth with which that was run.
    pub(crate) strategy: StrategyKind,
    pub(crate) depth: u32,
    /// Of the first occurrence.
    pub(crate) detail: Detail,
    /// Where the first occurrence is recorded.
    pub(crate) recording: Option<PathBuf>,
    /// Where what it has written to files is kept.
    pub(crate) files: Option<PathBuf>,
    /// Where else the same cause shows.
    pub(crate) places: Vec<Further>,
    pub(crate) confirmation: Confirmation,
    /// Why nobody wants to hear of it, if so.
    pub(crate) suppressed: Option<String>,
}

impl Bug {
    /// Whether it counts.
    pub(crate) fn counts(&self) -> bool {
        self.suppressed.is_none()
    }
}

/// `file:line:column`, or `module+0x…` where no line is known.
pub(crate) struct Where<'a>(pub(crate) &'a Location);

impl fmt::Display for Where<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.0;
        match &place.file {
            Some(file) if place.line > 0 => {
                write!(f, "{}:{}", short(file), place.line)?;
                if place.column > 0 { write!(f, ":{}", place.column) } else { Ok(()) }
            }
            _ if place.module.is_empty() => write!(f, "{:#x}", place.offset),
            _ => write!(f, "{}+{:#x}", place.module, place.offset),
        }
    }
}

/// The file's own name: enough for people, who know their files.
fn short(file: &str) -> &str {
    file.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(offset: u64, line: u32) -> Location {
        Location {
            module: "prog".into(),
            offset,
            function: None,
            file: Some("/src/a.cc".into()),
            line,
            column: 3,
            inlined: false,
        }
    }

    /// A compiler that unrolls a loop makes many instructions of one statement: that is one bug.
    #[test]
    fn copies_of_a_statement_are_one_place() {
        let key = |a: &Location, b: &Location| Key::new(Kind::Race, [a, b], "");
        let (first, copy, other) = (place(0x10, 7), place(0x20, 7), place(0x30, 9));
        assert_eq!(key(&first, &other), key(&other, &copy));
        assert_ne!(key(&first, &other), key(&first, &copy));
        let (stripped, elsewhere) = (place(0x10, 0), place(0x20, 0));
        assert_ne!(key(&stripped, &other), key(&elsewhere, &other), "without lines, instructions tell");
    }
}
