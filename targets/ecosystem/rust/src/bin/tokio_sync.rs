//! Mutex, Notify and oneshot across two workers.
use std::sync::Arc;
use tokio::sync::{oneshot, Mutex, Notify};

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let shared = Arc::new((Mutex::new(0), Notify::new()));
        let theirs = shared.clone();
        let (tx, rx) = oneshot::channel();
        let task = tokio::spawn(async move {
            *theirs.0.lock().await += 1;
            theirs.1.notify_one();
            tx.send(Box::new(5)).unwrap();
        });
        shared.1.notified().await;
        assert_eq!(*shared.0.lock().await, 1);
        assert_eq!(*rx.await.unwrap(), 5);
        task.await.unwrap();
    });
}
