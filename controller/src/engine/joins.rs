//! Threads that are joined or detached: each once, and only one of the two.
//!
//! A handle (`pthread_t`) that the C library gives to a new thread again names the new one: the engines ask for the thread
//! that a handle names now. So a thread that was joined is meant only as long as no other thread has its handle.

use super::calls::{Call, Kind};
use super::execution::Execution;
use super::misuse::{Deed, Misusing as _, Sort};
use super::thread::{Mode, Pending};
use std::collections::HashMap;
use wmtrace_model::op::{Site, ThreadId};

/// Who has joined or detached a thread.
#[derive(Default)]
pub(super) struct Lives {
    joined: HashMap<ThreadId, Deed>,
    detached: HashMap<ThreadId, Deed>,
}

pub(super) trait Joins: Execution {
    /// A call that is under way joins or detaches a thread: whether it may.
    fn check_join(&mut self, index: usize, site: Site) {
        let it = self.parts();
        let own = it.threads[index].id;
        let Some(&Call { kind, child: Some(child), .. }) = it.threads[index].calls.last() else { return };
        let what = match kind {
            Kind::Join | Kind::TryJoin => ["joins itself", "joins a thread twice", "joins a detached thread"],
            Kind::Detach => ["", "detaches a thread that was joined", "detaches a thread twice"],
            _ => return,
        };
        let Lives { joined, detached } = &it.course.lives;
        let (joined, detached) = (joined.get(&child).copied(), detached.get(&child).copied());
        let (what, since) = match (joined, detached) {
            _ if child == own && kind != Kind::Detach => (what[0], None),
            (Some(deed), _) => (what[1], Some(("joined", deed))),
            (None, Some(deed)) => (what[2], Some(("detached", deed))),
            // The C library does not always notice, and waits for ever.
            (None, None) if kind == Kind::Join && self.is_joined_by_others(index, child) => {
                ("joins a thread that another thread joins", None)
            }
            (None, None) => return,
        };
        self.misuses(index, site, (Sort::Join, what), since, None);
    }

    /// A call that joins or detaches a thread has returned.
    fn join_returned(&mut self, index: usize, call: &Call, status: u32) {
        let site = call.site;
        const INVALID: u32 = libc::EINVAL as u32;
        const DEADLOCK: u32 = libc::EDEADLK as u32;
        let it = self.parts();
        let deed = Deed { thread: it.threads[index].id, site };
        let lives = &mut it.course.lives;
        match (call.kind, call.child, status) {
            (Kind::Join | Kind::TryJoin, Some(child), 0) => {
                lives.joined.entry(child).or_insert(deed);
            }
            (Kind::Detach, Some(child), 0) => {
                lives.detached.entry(child).or_insert(deed);
            }
            // The C library has found it out itself. It says so for detached threads, and for those that another thread is
            // waiting for. What is known of the thread has been said at the entry of the function.
            (Kind::Join | Kind::Detach, Some(child), INVALID) if call.glibc && child != deed.thread => {
                let known = lives.joined.contains_key(&child) || lives.detached.contains_key(&child);
                if known || self.is_joined_by_others(index, child) {
                    return;
                }
                let detaches = call.kind == Kind::Detach;
                let what = if detaches { "detaches a detached thread" } else { "joins a detached thread" };
                self.misuses(index, site, (Sort::Join, what), None, None);
            }
            (Kind::Join, child, DEADLOCK) if call.glibc && child != Some(deed.thread) => {
                let what = if child.is_some() { "joins a thread that joins it" } else { "joins itself" };
                self.misuses(index, site, (Sort::Join, what), None, None);
            }
            _ => {}
        }
    }

    /// Whether another thread is waiting for this one's end.
    fn is_joined_by_others(&mut self, index: usize, child: ThreadId) -> bool {
        let joins = |call: &Call| call.kind == Kind::Join && call.child == Some(child);
        let threads = self.parts().threads;
        threads.iter().enumerate().any(|(other, thread)| {
            // One that is about to call it has not called it.
            let begun = !matches!(thread.mode, Mode::Ended) && !matches!(thread.pending, Some(Pending::Call));
            other != index && begun && thread.calls.iter().any(joins)
        })
    }
}

impl<E: Execution> Joins for E {}
