//! An event, a mutex and a channel.
use futures_intrusive::channel::shared::channel;
use futures_intrusive::sync::{ManualResetEvent, Mutex};
use futures_lite::future::block_on;
use std::sync::Arc;

fn main() {
    let shared = Arc::new((ManualResetEvent::new(false), Mutex::new(0, true)));
    let (tx, rx) = channel::<Box<u32>>(1);
    let theirs = shared.clone();
    let other = std::thread::spawn(move || {
        block_on(async {
            *theirs.1.lock().await += 1;
            theirs.0.set();
            tx.send(Box::new(1)).await.unwrap();
            tx.send(Box::new(2)).await.unwrap();
        })
    });
    block_on(async {
        shared.0.wait().await;
        assert_eq!(*shared.1.lock().await, 1);
        assert_eq!(rx.receive().await.map(|b| *b), Some(1));
        assert_eq!(rx.receive().await.map(|b| *b), Some(2));
    });
    other.join().unwrap();
}
