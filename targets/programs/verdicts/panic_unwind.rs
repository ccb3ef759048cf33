// Store buffering whose main thread panics and unwinds: the process ends with status 101, not by a signal.
// Wrong: relaxed accesses. Right: SeqCst.
// Expect: assertion|exit
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

const ORDER: Ordering = if cfg!(buggy) { Ordering::Relaxed } else { Ordering::SeqCst };

fn main() {
    let first = thread::spawn(|| {
        X.store(1, ORDER);
        Y.load(ORDER)
    });
    let second = thread::spawn(|| {
        Y.store(1, ORDER);
        X.load(ORDER)
    });
    let seen = (first.join().unwrap(), second.join().unwrap());
    assert_ne!(seen, (0, 0), "both threads missed the other's store");
}
