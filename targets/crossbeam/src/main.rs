//! Lock-free data structures as people use them: work stealing, epoch-based reclamation, channels; and a few atomics of
//! its own, whose orders the test knows.

use crossbeam_channel::bounded;
use crossbeam_deque::{Injector, Steal, Worker};
use crossbeam_epoch::{self as epoch, Atomic, Owned};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

static READY: AtomicBool = AtomicBool::new(false);
static DONE: AtomicUsize = AtomicUsize::new(0);

/// A release store.
#[inline(never)]
fn announce() {
    READY.store(true, Ordering::Release);
}

/// An acquire load.
#[inline(never)]
fn announced() -> bool {
    READY.load(Ordering::Acquire)
}

/// A relaxed increment.
#[inline(never)]
fn count() -> usize {
    DONE.fetch_add(1, Ordering::Relaxed)
}

fn drain(injector: &Injector<usize>, worker: &Worker<usize>) -> usize {
    let mut sum = 0;
    loop {
        match worker.pop().map(Steal::Success).unwrap_or_else(|| injector.steal_batch_and_pop(worker)) {
            Steal::Success(task) => sum += task,
            Steal::Retry => {}
            Steal::Empty => return sum,
        }
    }
}

fn main() {
    let injector = Injector::new();
    (0..1000).for_each(|task| injector.push(task));
    let shared = Atomic::new(0_usize);
    let (sender, receiver) = bounded(4);
    let total: usize = thread::scope(|scope| {
        for _ in 0..2 {
            let (sender, injector, shared) = (sender.clone(), &injector, &shared);
            scope.spawn(move || {
                while !announced() {
                    std::hint::spin_loop();
                }
                let sum = drain(injector, &Worker::new_fifo());
                let guard = epoch::pin();
                let old = shared.swap(Owned::new(sum), Ordering::AcqRel, &guard);
                // SAFETY: it was unlinked by the swap, and each thread unlinks another one.
                unsafe { guard.defer_destroy(old) };
                count();
                sender.send(sum).expect("the receiver waits");
            });
        }
        announce();
        drop(sender);
        receiver.iter().sum()
    });
    println!("{total}");
}
