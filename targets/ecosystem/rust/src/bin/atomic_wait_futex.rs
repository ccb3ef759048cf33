//! Futexes: wait until a value changes.
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

fn main() {
    let shared = Arc::new(AtomicU32::new(0));
    let theirs = shared.clone();
    let other = std::thread::spawn(move || {
        theirs.store(1, Ordering::Release);
        atomic_wait::wake_one(&*theirs);
    });
    while shared.load(Ordering::Acquire) == 0 {
        atomic_wait::wait(&shared, 0);
    }
    other.join().unwrap();
}
