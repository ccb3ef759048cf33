//! Where threads meet: the places that one thread loads and another stores to. What an execution shows of that tells later
//! ones of the same campaign where to aim.
//!
//! A thread *meets* others at a place if it loads it, and another thread has stored to it since the thread began (what was
//! there before is known to it). It has *heard* of them there if a load read a store that it might have overlooked. Where
//! threads meet and nothing was heard yet, something new can happen, for which the one load at the right moment is enough.
//! A read-modify-write overlooks nothing, whenever it comes: who makes one at a place counts as having heard there.
//! Where all has been heard of by synchronisation, nothing is asked of a strategy, and nothing counts as heard.
//!
//! Places are addresses: a campaign runs one program, in the same memory. They are compared, and numbered as they come; so
//! where they lie decides nothing.

use super::{Choice, Pick, ReadChoice, Strategy};
use crate::op::{Addr, Agent, Op, ThreadId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The most places of an execution that are looked at, and meetings that are told: the first ones.
const MOST: usize = 4096;

/// A thread and a place where it meets others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meeting {
    /// Who loads.
    pub thread: ThreadId,
    /// What.
    pub addr: Addr,
    /// Whether a load of its does not acquire: what it reads there may be all that it hears.
    pub relaxed: bool,
    /// Whether it has read what it might have overlooked, or was not free to overlook anything.
    pub heard: bool,
}

/// What a thread has loaded at a place.
#[derive(Clone, Copy, Debug)]
struct Load {
    thread: ThreadId,
    relaxed: bool,
    heard: bool,
}

/// What threads do at a place.
#[derive(Clone, Default, Debug)]
struct Here {
    loads: Vec<Load>,
    /// Threads that have stored, and when they last did.
    stores: Vec<(ThreadId, u64)>,
}

/// Forwards every question to a strategy, and notes where threads meet.
#[derive(Clone, Debug)]
pub struct Meet<S> {
    inner: S,
    /// By address: the number of its place.
    numbers: BTreeMap<Addr, usize>,
    places: Vec<(Addr, Here)>,
    /// When each thread began, in steps.
    began: Vec<u64>,
    now: u64,
}

impl<S: Strategy> Meet<S> {
    /// Watches what `inner` chooses.
    pub const fn new(inner: S) -> Meet<S> {
        Meet { inner, numbers: BTreeMap::new(), places: Vec::new(), began: Vec::new(), now: 0 }
    }

    /// Where threads have met so far, in the order in which the places were first accessed.
    pub fn meetings(&self) -> Vec<Meeting> {
        let meets = |load: &Load, here: &Here| {
            let began = self.began.get(load.thread.index()).copied().unwrap_or(0);
            here.stores.iter().any(|&(other, when)| other != load.thread && when > began)
        };
        let loads =
            self.places.iter().flat_map(|(addr, here)| here.loads.iter().map(move |load| (addr, here, load)));
        let meetings = loads.filter(|(_, here, load)| meets(load, here));
        let told = meetings.map(|(&addr, _, &Load { thread, relaxed, heard })| Meeting {
            thread,
            addr,
            relaxed,
            heard,
        });
        told.take(MOST).collect()
    }

    /// What is known of a place, unless there are too many.
    fn here(&mut self, addr: Addr) -> Option<&mut Here> {
        let next = self.places.len();
        if next >= MOST && !self.numbers.contains_key(&addr) {
            return None;
        }
        let number = *self.numbers.entry(addr).or_insert(next);
        if number == next {
            self.places.push((addr, Here::default()));
        }
        self.places.get_mut(number).map(|(_, here)| here)
    }

    /// What the thread has loaded where this step loads.
    fn load(&mut self, choice: &Choice) -> Option<&mut Load> {
        let here = choice.op.place().and_then(|at| self.here(at.addr))?;
        let thread = choice.agent.thread();
        let known = here.loads.iter().position(|load| load.thread == thread);
        let index = known.unwrap_or(here.loads.len());
        if known.is_none() {
            here.loads.push(Load { thread, relaxed: false, heard: false });
        }
        here.loads.get_mut(index)
    }

    fn heard(&mut self, choice: &Choice) {
        // Plain loads, which the hardware's models ask about too, are no communication.
        if choice.op.communicates()
            && let Some(load) = self.load(choice)
        {
            load.heard = true;
        }
    }
}

impl<S: Strategy> Strategy for Meet<S> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn started(&mut self, thread: ThreadId) {
        self.began.push(self.now);
        self.inner.started(thread);
    }

    fn pick(&mut self, enabled: &[Choice]) -> Pick {
        self.inner.pick(enabled)
    }

    fn read(&mut self, read: &ReadChoice) -> usize {
        let chosen = self.inner.read(read);
        if chosen > 0 {
            self.heard(&read.choice);
        }
        chosen
    }

    fn place(&mut self, choice: &Choice, count: usize) -> usize {
        self.inner.place(choice, count)
    }

    fn wake(&mut self, count: usize) -> usize {
        self.inner.wake(count)
    }

    fn spurious(&mut self, choice: &Choice) -> bool {
        self.inner.spurious(choice)
    }

    fn taken(&mut self, choice: &Choice, enabled: &[Choice]) {
        self.inner.taken(choice, enabled);
        self.now += 1;
        let now = self.now;
        // A lone thread meets nobody; and what it does is most of what many programs do.
        if self.began.len() < 2 {
            return;
        }
        let (Agent::Thread(thread), Some(at)) = (choice.agent, choice.op.place()) else { return };
        let sync = matches!(choice.op, Op::Sync { .. });
        if choice.op.communicates() && (choice.op.reads() || sync) {
            let relaxed = !sync && !choice.op.order().acquires();
            if let Some(load) = self.load(choice) {
                load.relaxed |= relaxed;
                load.heard |= matches!(choice.op, Op::Rmw { .. } | Op::Cas { .. });
            }
        }
        if (choice.op.writes() || sync)
            && let Some(here) = self.here(at.addr)
        {
            match here.stores.iter_mut().find(|(other, _)| *other == thread) {
                Some((_, when)) => *when = now,
                None => here.stores.push((thread, now)),
            }
        }
    }

    fn yields(&mut self, thread: ThreadId) {
        self.inner.yields(thread);
    }

    fn forced(&mut self, choice: &Choice) {
        self.heard(choice);
        self.inner.forced(choice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::ModelKind;
    use crate::order::Order;
    use crate::strategy::Random;
    use crate::strategy::toy::{Toy, at, load, store, weak_cas};

    /// Each of two threads meets the other where it loads what the other stores; nobody does where nobody else stores.
    /// A load that reads a store of the other has heard of it: without synchronisation it could always overlook it. Both
    /// answers come up in 200 runs (each is missed with probability below (3/4)^200).
    #[test]
    fn threads_meet_where_one_loads_what_another_stores() {
        let toy = Toy::new(
            ModelKind::C11,
            &[&[store(0), load(1), load(2)], &[load(0), store(1), store(3), load(3), load(2)]],
        );
        let mut answers = [0; 2];
        for seed in 0..200 {
            let mut meet = Meet::new(Random::new(seed));
            let ran = toy.run(&mut meet);
            let mut meetings = meet.meetings();
            meetings.sort_by_key(|it| it.thread);
            let heard = |thread, serial| ran.outcome.rf[&(thread, serial)].is_some();
            let at = |thread, location, heard| {
                let (thread, addr) = (ThreadId(thread), at(location).addr);
                Meeting { thread, addr, relaxed: true, heard }
            };
            assert_eq!(meetings, [at(0, 1, heard(0, 1)), at(1, 0, heard(1, 0))], "{seed}");
            answers[usize::from(heard(1, 0))] += 1;
        }
        assert!(answers.iter().all(|&count| count > 0), "{answers:?}");
    }

    /// Watching changes nothing.
    #[test]
    fn the_strategy_chooses_as_it_would() {
        let toy = Toy::new(ModelKind::C11, &[&[store(0), load(1)], &[store(1), load(0), load(0)]]);
        for seed in 0..50 {
            assert_eq!(toy.run(&mut Meet::new(Random::new(seed))), toy.run(&mut Random::new(seed)));
        }
    }

    /// What was stored before a thread began, it knows. What a thread alone does is not looked at.
    #[test]
    fn what_came_before_a_thread_is_no_meeting() {
        let choice = |thread, op, serial| Choice { agent: Agent::Thread(ThreadId(thread)), op, serial };
        let mut meet = Meet::new(Random::new(1));
        meet.started(ThreadId(0));
        meet.taken(&choice(0, store(0), 0), &[]);
        meet.started(ThreadId(1));
        meet.taken(&choice(0, store(1), 1), &[]);
        meet.started(ThreadId(2));
        for thread in [1, 2] {
            meet.taken(&choice(thread, load(0), 0), &[]);
            meet.taken(&choice(thread, load(1), 1), &[]);
        }
        let expected = Meeting { thread: ThreadId(1), addr: at(1).addr, relaxed: true, heard: false };
        assert_eq!(meet.meetings(), [expected], "the third began after both stores, the second after one");
        meet.forced(&choice(1, load(1), 1));
        assert_eq!(meet.meetings(), [Meeting { heard: true, ..expected }]);
    }

    /// One load that does not acquire is enough; a call that synchronises is none.
    #[test]
    fn loads_may_acquire() {
        let at = at(0);
        let of = |order| Op::Load { at, order };
        let relaxed = |ops: &[Op]| {
            let mut meet = Meet::new(Random::new(1));
            (0..2).for_each(|thread| meet.started(ThreadId(thread)));
            let all = ops.iter().map(|&op| (1, op)).chain([(0, store(0))]);
            for (thread, op) in all {
                meet.taken(&Choice { agent: Agent::Thread(ThreadId(thread)), op, serial: 0 }, &[]);
            }
            meet.meetings()[0].relaxed
        };
        assert!(relaxed(&[of(Order::Relaxed)]) && relaxed(&[of(Order::Acquire), of(Order::Relaxed)]));
        assert!(!relaxed(&[of(Order::Acquire)]) && !relaxed(&[of(Order::SeqCst)]));
        assert!(!relaxed(&[Op::Sync { at }]));
    }

    /// A lock's word is heard of by all that take the lock.
    #[test]
    fn a_read_modify_write_hears() {
        let at = at(0);
        let order = Order::Relaxed;
        let heard = |op: Op| {
            let mut meet = Meet::new(Random::new(1));
            (0..2).for_each(|thread| meet.started(ThreadId(thread)));
            for (thread, op) in [(1, op), (0, store(0)), (1, Op::Load { at, order })] {
                meet.taken(&Choice { agent: Agent::Thread(ThreadId(thread)), op, serial: 0 }, &[]);
            }
            meet.meetings()[0].heard
        };
        assert!(heard(Op::Rmw { at, order }) && heard(weak_cas(0)) && !heard(Op::Load { at, order }));
    }

    #[test]
    fn places_are_bounded() {
        let at = |place| crate::op::Place::new(Addr(8 * place), 8);
        let order = Order::Relaxed;
        let mut meet = Meet::new(Random::new(1));
        (0..2).for_each(|thread| meet.started(ThreadId(thread)));
        for place in 0..2 * MOST as u64 {
            for (thread, op) in
                [(0, Op::Store { at: at(place), order }), (1, Op::Load { at: at(place), order })]
            {
                meet.taken(&Choice { agent: Agent::Thread(ThreadId(thread)), op, serial: 0 }, &[]);
            }
        }
        let meetings = meet.meetings();
        assert_eq!((meetings.len(), meetings[MOST - 1].addr), (MOST, at(MOST as u64 - 1).addr));
    }
}
