//! A waker from a closure, woken and dropped by another thread.
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

fn main() {
    let count = Arc::new(AtomicU32::new(0));
    let theirs = count.clone();
    let waker = waker_fn::waker_fn(move || {
        theirs.fetch_add(1, Ordering::Relaxed);
    });
    let copy = waker.clone();
    let other = std::thread::spawn(move || copy.wake());
    waker.wake();
    other.join().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 2);
    assert_eq!(Arc::strong_count(&count), 1);
}
