//! A value is retired while another thread reads it.
use seize::{reclaim, Collector, Guard};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Arc;

fn main() {
    let shared = Arc::new((Collector::new(), AtomicPtr::new(Box::into_raw(Box::new((1, 1))))));
    let theirs = shared.clone();
    let reader = std::thread::spawn(move || {
        for _ in 0..2 {
            let guard = theirs.0.enter();
            let value = unsafe { &*guard.protect(&theirs.1, Ordering::Acquire) };
            assert_eq!(value.0, value.1);
        }
    });
    for i in 2..4 {
        let guard = shared.0.enter();
        let old = shared.1.swap(Box::into_raw(Box::new((i, i))), Ordering::AcqRel);
        unsafe { guard.defer_retire(old, reclaim::boxed) };
    }
    reader.join().unwrap();
    drop(unsafe { Box::from_raw(shared.1.load(Ordering::Relaxed)) });
}
