//! Waiting until a predicate holds; two threads notify.
use async_event::Event;
use futures_lite::future::block_on;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

fn main() {
    let shared = Arc::new((Event::new(), AtomicU32::new(0)));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || {
                shared.1.fetch_add(1, Ordering::Relaxed);
                shared.0.notify_one();
            })
        })
        .collect();
    block_on(shared.0.wait_until(|| (shared.1.load(Ordering::Relaxed) == 2).then_some(())));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
