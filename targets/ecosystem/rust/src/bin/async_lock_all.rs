//! Mutex, RwLock, Semaphore and OnceCell, by threads that block.
use async_lock::{Mutex, OnceCell, RwLock, Semaphore};
use futures_lite::future::block_on;
use std::sync::Arc;

fn main() {
    let shared = Arc::new((Mutex::new(0), RwLock::new((0, 0)), Semaphore::new(1), OnceCell::new()));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || {
                block_on(async {
                    *shared.0.lock().await += 1;
                    {
                        let mut both = shared.1.write().await;
                        both.0 += 1;
                        both.1 += 1;
                    }
                    let both = *shared.1.read().await;
                    assert_eq!(both.0, both.1);
                    let _permit = shared.2.acquire().await;
                    assert_eq!(**shared.3.get_or_init(|| async { Box::new(7) }).await, 7);
                })
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(*shared.0.lock_blocking(), 2);
}
