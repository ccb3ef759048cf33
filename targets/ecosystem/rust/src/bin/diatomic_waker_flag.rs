//! A waker that many may notify and one may wait with.
use diatomic_waker::WakeSink;
use futures_lite::future::block_on;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

fn main() {
    let mut sink = WakeSink::new();
    let count = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (source, count) = (sink.source(), count.clone());
            std::thread::spawn(move || {
                count.fetch_add(1, Ordering::Relaxed);
                source.notify();
            })
        })
        .collect();
    block_on(sink.wait_until(|| (count.load(Ordering::Relaxed) == 2).then_some(())));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
