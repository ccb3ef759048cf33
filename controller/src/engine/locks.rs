//! The life of mutexes, condition variables, readers-writer locks, barriers and semaphores, and who may do what with them.
//!
//! Nothing is said that is not certain:
//! - The C library's own words in the object say whether a mutex is locked, by whom, and that it was destroyed. Its layout
//!   is part of its ABI (`bits/struct_mutex.h`, `bits/struct_rwlock.h`); of other C libraries nothing is read.
//! - What was destroyed may be made anew without a call, by an initialiser that the program copies there. So a destroyed
//!   object is one only as long as nobody has written, allocated or freed its bytes ([`Machine::is_marked`]).
//! - What nobody has initialised is known of blocks that the program has allocated itself, and has not written since.
//!
//! Calls are judged when they begin. A thread may still be on its way out of an object that another one destroys, where the
//! C library waits for that.
//!
//! [`Machine::is_marked`]: wmtrace_model::machine::Machine::is_marked

use super::calls::{Call, Kind, Object};
use super::execution::Execution;
use super::misuse::{Deed, Misusing as _, Sort};
use super::thread::{Mode, Pending};
use std::collections::HashMap;
use wmtrace_model::op::{Addr, Site};

/// What is known of an object, as long as its bytes are marked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    object: Object,
    /// Who has destroyed it.
    destroyed: Option<Deed>,
}

/// The objects that calls were made with.
#[derive(Default)]
pub(super) struct Locks {
    known: HashMap<u64, Known>,
    /// Mutexes that were destroyed: whether they still are, their own words tell.
    destroyed: HashMap<u64, Deed>,
    /// Who has locked what last. Whether that is still so, its own words tell.
    holders: HashMap<u64, Deed>,
}

impl Locks {
    /// Nobody watches the program any more.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }
}

impl Object {
    /// The bytes that all of glibc's (and musl's) have, on both architectures.
    pub(super) const fn len(self) -> u64 {
        match self {
            Object::Mutex => 40,
            Object::RwLock => 56,
            Object::Condition => 48,
            Object::Barrier | Object::Semaphore => 32,
        }
    }
}

/// A mutex of glibc's (`struct __pthread_mutex_s`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mutex {
    /// 0: not locked.
    lock: u32,
    /// The number of the thread that has locked it.
    owner: u32,
    kind: u32,
}

impl Mutex {
    /// What glibc leaves in the place of the kind.
    const DESTROYED: u32 = u32::MAX;

    /// Whether it is a normal or an adaptive one: locked and unlocked without any check. (512: the kind has been looked at.)
    fn is_normal(self) -> bool {
        matches!(self.kind & !512, 0 | 3)
    }

    /// Whether its words say who has it: also recursive and error-checking ones. Others (robust, with priorities, shared
    /// with other processes) do more than this.
    fn is_usual(self) -> bool {
        self.kind & !512 <= 3
    }
}

/// What a call does with which object: its first argument.
fn used(kind: Kind) -> Option<Object> {
    Some(match kind {
        Kind::Lock | Kind::Unlock => Object::Mutex,
        Kind::ReadLock | Kind::WriteLock | Kind::RwUnlock => Object::RwLock,
        Kind::CondWait | Kind::Signal => Object::Condition,
        Kind::Barrier => Object::Barrier,
        Kind::SemWait | Kind::Post => Object::Semaphore,
        Kind::Init(object) | Kind::Destroy(object) => object,
        _ => return None,
    })
}

/// In words, for each kind of object.
fn words(object: Object, each: [&'static str; 5]) -> &'static str {
    each[match object {
        Object::Mutex => 0,
        Object::RwLock => 1,
        Object::Condition => 2,
        Object::Barrier => 3,
        Object::Semaphore => 4,
    }]
}

const USES_DESTROYED: [&str; 5] = [
    "uses a destroyed mutex",
    "uses a destroyed readers-writer lock",
    "uses a destroyed condition variable",
    "uses a destroyed barrier",
    "uses a destroyed semaphore",
];
const DESTROYS_TWICE: [&str; 5] = [
    "destroys a mutex twice",
    "destroys a readers-writer lock twice",
    "destroys a condition variable twice",
    "destroys a barrier twice",
    "destroys a semaphore twice",
];
const USES_UNINITIALISED: [&str; 5] = [
    "uses a mutex that nobody has initialised",
    "uses a readers-writer lock that nobody has initialised",
    "uses a condition variable that nobody has initialised",
    "uses a barrier that nobody has initialised",
    "uses a semaphore that nobody has initialised",
];
const DESTROYS_USED: [&str; 5] = [
    "destroys a locked mutex",
    "destroys a locked readers-writer lock",
    "destroys a condition variable that a thread waits for",
    "destroys a barrier that a thread waits at",
    "destroys a semaphore that a thread waits for",
];
const INITIALISES_USED: [&str; 5] = [
    "initialises a locked mutex",
    "initialises a locked readers-writer lock",
    "initialises a condition variable that a thread waits for",
    "initialises a barrier that a thread waits at",
    "initialises a semaphore that a thread waits for",
];

pub(super) trait LockChecks: Execution {
    /// A call is about to do something with an object: whether it may.
    fn check_lock(&mut self, index: usize, site: Site) {
        let Some(call) = self.parts().threads[index].calls.last() else { return };
        let (kind, [at, second, _], glibc, direct) = (call.kind, call.args, call.glibc, call.direct);
        let Some(object) = used(kind) else { return };
        let wrong = self.wrong_with(index, (kind, object, at), glibc, direct);
        let wrong = wrong.map(|wrong| (wrong, (at, object.len())));
        // A thread that waits for a condition gives a mutex back.
        let wrong = wrong.or_else(|| {
            let wrong = if kind == Kind::CondWait && glibc { self.not_owned(index, second) } else { None };
            let (_, since) = wrong?;
            Some((("waits with a mutex that it has not locked", since), (second, Object::Mutex.len())))
        });
        if let Some(((what, since), memory)) = wrong {
            self.misuses(index, site, (Sort::Lock, what), since, Some(memory));
            // What follows from that is no other bug.
            self.is_ready(object, at);
            self.parts().course.locks.destroyed.remove(&at);
        }
    }

    fn wrong_with(
        &mut self,
        index: usize,
        (kind, object, at): (Kind, Object, u64),
        glibc: bool,
        direct: bool,
    ) -> Option<(&'static str, Option<(&'static str, Deed)>)> {
        let known = self.known(object, at);
        let initialises = matches!(kind, Kind::Init(_));
        if !initialises && let Some(deed) = self.destroyed(known, object, at, glibc) {
            let twice = matches!(kind, Kind::Destroy(_));
            let what = words(object, if twice { DESTROYS_TWICE } else { USES_DESTROYED });
            return Some((what, Some(("destroyed", deed))));
        }
        if initialises || matches!(kind, Kind::Destroy(_)) {
            let since = self.holder(index, object, at, glibc)?;
            // The bytes of an object whose life is over may look like anything: of a new object they say nothing.
            if initialises
                && (known.is_none() || self.is_on_stack(at))
                && matches!(object, Object::Mutex | Object::RwLock)
            {
                return None;
            }
            return Some((words(object, if initialises { INITIALISES_USED } else { DESTROYS_USED }), since));
        }
        if known.is_none() && direct && self.is_uninitialised(object, at) {
            return Some((words(object, USES_UNINITIALISED), None));
        }
        match kind {
            Kind::Unlock if glibc => self.not_owned(index, at),
            Kind::RwUnlock if glibc => self.not_held(index, at),
            _ => None,
        }
    }

    /// What is known of an object, if nothing else is in its place since.
    fn known(&mut self, object: Object, at: u64) -> Option<Known> {
        let it = self.parts();
        let known = *it.course.locks.known.get(&at)?;
        (known.object == object && it.machine.is_marked(Addr(at), object.len())).then_some(known)
    }

    /// Who has destroyed the object, if it is destroyed.
    fn destroyed(&mut self, known: Option<Known>, object: Object, at: u64, glibc: bool) -> Option<Deed> {
        if object == Object::Mutex && glibc {
            let deed = self.parts().course.locks.destroyed.get(&at).copied();
            return deed.filter(|_| self.mutex(at).is_some_and(|mutex| mutex.kind == Mutex::DESTROYED));
        }
        // Under the hardware models what a thread writes to its own stack is nobody's business.
        let told = self.parts().options.is_c11() || !self.is_on_stack(at);
        known?.destroyed.filter(|_| told)
    }

    /// The last thread is about to destroy a mutex, and nobody will see whether it does: the mutex's own words will tell.
    fn destroys_alone(&mut self, index: usize, at: u64, site: Site) {
        let it = self.parts();
        it.course.locks.destroyed.insert(at, Deed { thread: it.threads[index].id, site });
    }

    /// Whether nobody has written the object since its memory was allocated.
    fn is_uninitialised(&mut self, object: Object, at: u64) -> bool {
        let it = self.parts();
        if !it.options.is_c11() || !it.machine.is_fresh(Addr(at), object.len()) {
            return false;
        }
        // The constructor of `std::condition_variable` runs natively, and so unseen. It writes zeroes.
        let zeroes = |bytes: Vec<u8>| bytes.iter().all(|&byte| byte == 0);
        object != Object::Condition || !zeroes(it.memory.read_some(at, object.len() as usize))
    }

    /// From now on it is an object that may be used.
    fn is_ready(&mut self, object: Object, at: u64) {
        let it = self.parts();
        it.course.locks.known.insert(at, Known { object, destroyed: None });
        it.machine.mark(Addr(at), object.len());
    }

    /// What the return of a call means for its object.
    fn lock_returned(&mut self, index: usize, call: &Call, status: u32) {
        let Some(object) = used(call.kind) else { return };
        let at = call.args[0];
        let deed = Deed { thread: self.parts().threads[index].id, site: call.site };
        match call.kind {
            Kind::Init(_) if status == 0 => self.is_ready(object, at),
            Kind::Destroy(_) if status == 0 => {
                self.is_ready(object, at);
                let locks = &mut self.parts().course.locks;
                locks.known.insert(at, Known { object, destroyed: Some(deed) });
                if object == Object::Mutex {
                    locks.destroyed.insert(at, deed);
                }
            }
            Kind::Lock | Kind::WriteLock | Kind::ReadLock if status == 0 => {
                self.parts().course.locks.holders.insert(at, deed);
                if self.known(object, at).is_none() {
                    self.is_ready(object, at);
                }
            }
            Kind::CondWait => {
                self.parts().course.locks.holders.insert(call.args[1], deed);
            }
            _ => {}
        }
    }

    /// Whether somebody has an object, or waits for it, so that it must stay as it is: `Some`, with who has locked it if
    /// that is known.
    #[allow(clippy::option_option)]
    fn holder(
        &mut self,
        index: usize,
        object: Object,
        at: u64,
        glibc: bool,
    ) -> Option<Option<(&'static str, Deed)>> {
        let locked = match object {
            Object::Mutex if glibc => {
                let mutex = self.mutex(at)?;
                let locked = mutex.is_usual() && mutex.lock != 0 && self.is_thread(mutex.owner);
                return locked.then(|| self.owner(at, mutex.owner));
            }
            Object::RwLock if glibc => {
                let (readers, writes, _) = self.rwlock(at)?;
                readers > 0 || writes
            }
            Object::Mutex | Object::RwLock => false,
            Object::Condition | Object::Barrier | Object::Semaphore => {
                return self.is_waited_for(index, object, at).then_some(None);
            }
        };
        locked.then_some(None)
    }

    /// Where the thread with this number has locked something, if it was seen.
    fn owner(&mut self, at: u64, number: u32) -> Option<(&'static str, Deed)> {
        let it = self.parts();
        let deed = *it.course.locks.holders.get(&at)?;
        let is_it = it.threads[deed.thread.index()].virtual_tid as u32 == number;
        is_it.then_some(("locked", deed))
    }

    /// Whether another thread sleeps in the object, and nobody is about to wake it.
    fn is_waited_for(&mut self, index: usize, object: Object, at: u64) -> bool {
        let it = self.parts();
        let of_object = |call: &Call| call.args[0] == at && used(call.kind) == Some(object);
        let mut waits = false;
        for (_, thread) in it.threads.iter().enumerate().filter(|&(other, _)| other != index) {
            let Some(call) = thread.calls.last().filter(|call| of_object(call)) else { continue };
            let word = thread.syscall.map_or(0, |call| call.args[0]);
            if thread.mode == Mode::Asleep && (at..at + object.len()).contains(&word) {
                waits = true;
            } else if matches!(call.kind, Kind::Signal | Kind::Post | Kind::Barrier)
                && !matches!(thread.pending, Some(Pending::Call))
            {
                return false;
            }
        }
        waits
    }

    /// What is wrong if the thread unlocks a mutex now.
    fn not_owned(&mut self, index: usize, at: u64) -> Option<(&'static str, Option<(&'static str, Deed)>)> {
        let mutex = self.mutex(at).filter(|mutex| mutex.is_normal())?;
        let own = self.parts().threads[index].virtual_tid as u32;
        if mutex.lock == 0 && mutex.owner == 0 {
            return Some(("unlocks a mutex that is not locked", None));
        }
        let others = mutex.lock != 0 && mutex.owner != own && self.is_thread(mutex.owner);
        others.then(|| ("unlocks a mutex that another thread has locked", self.owner(at, mutex.owner)))
    }

    /// The same of a readers-writer lock.
    fn not_held(&mut self, index: usize, at: u64) -> Option<(&'static str, Option<(&'static str, Deed)>)> {
        let (readers, writes, writer) = self.rwlock(at)?;
        let own = self.parts().threads[index].virtual_tid as u32;
        if readers > 0 || writer == own {
            return None;
        }
        if !writes {
            return Some(("unlocks a readers-writer lock that is not locked", None));
        }
        let wrong = "unlocks a readers-writer lock that another thread has locked";
        self.is_thread(writer).then(|| (wrong, self.owner(at, writer)))
    }

    fn mutex(&mut self, at: u64) -> Option<Mutex> {
        let memory = self.parts().memory;
        let word = |offset: u64| memory.read_u32(at.checked_add(offset)?);
        Some(Mutex { lock: word(0)?, owner: word(8)?, kind: word(16)? })
    }

    /// A readers-writer lock of glibc's (`struct __pthread_rwlock_arch_t`): how many read, whether one writes, and who.
    /// Those that are shared with other processes are left alone.
    fn rwlock(&mut self, at: u64) -> Option<(u32, bool, u32)> {
        const WRITE_LOCKED: u32 = 2;
        const READERS: u32 = 3;
        let memory = self.parts().memory;
        let word = |offset: u64| memory.read_u32(at.checked_add(offset)?);
        let (state, writer, shared) = (word(0)?, word(24)?, word(28)?);
        (shared == 0).then_some((state >> READERS, state & WRITE_LOCKED != 0, writer))
    }

    /// Whether it is the number of one of the program's threads.
    fn is_thread(&mut self, number: u32) -> bool {
        self.parts().threads.iter().any(|thread| thread.virtual_tid as u32 == number)
    }

    fn is_on_stack(&mut self, at: u64) -> bool {
        self.parts().threads.iter().any(|thread| thread.stack.contains(&at))
    }
}

impl<E: Execution> LockChecks for E {}
