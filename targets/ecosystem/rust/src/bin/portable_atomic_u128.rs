//! Atomics of 16 bytes, and of floating point numbers.
use portable_atomic::{AtomicF64, AtomicU128, Ordering};
use std::sync::Arc;

fn main() {
    let shared = Arc::new((AtomicU128::new(0), AtomicF64::new(0.0)));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || {
                shared.0.fetch_add(1 | 1 << 64, Ordering::Relaxed);
                shared.1.fetch_add(1.0, Ordering::Relaxed);
            })
        })
        .collect();
    let value = shared.0.load(Ordering::Acquire);
    assert_eq!(value as u64, (value >> 64) as u64);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(shared.0.load(Ordering::Relaxed), 2 | 2 << 64);
    assert_eq!(shared.1.load(Ordering::Relaxed), 2.0);
}
