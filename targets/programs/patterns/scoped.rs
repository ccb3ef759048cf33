// Scoped threads share a local variable; one hands plain data to the other.
// Wrong: the hand-over is relaxed. Right: release and acquire.
// Expect: race
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

struct Handover {
    turn: AtomicUsize,
    data: UnsafeCell<usize>,
}
unsafe impl Sync for Handover {}

const STORE: Ordering = if cfg!(buggy) { Ordering::Relaxed } else { Ordering::Release };

fn main() {
    let shared = Handover { turn: AtomicUsize::new(0), data: UnsafeCell::new(0) };
    let shared = &shared;
    thread::scope(|scope| {
        for me in 0..3 {
            scope.spawn(move || {
                while shared.turn.load(Ordering::Acquire) != me {
                    std::hint::spin_loop();
                }
                unsafe { *shared.data.get() += me };
                shared.turn.store(me + 1, STORE);
            });
        }
    });
    assert_eq!(unsafe { *shared.data.get() }, 3);
}
