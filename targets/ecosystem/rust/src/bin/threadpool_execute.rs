//! A pool of two.
use std::sync::mpsc::channel;

fn main() {
    let pool = threadpool::ThreadPool::new(2);
    let (tx, rx) = channel();
    for i in [1, 10] {
        let tx = tx.clone();
        pool.execute(move || tx.send(Box::new(i)).unwrap());
    }
    drop(tx);
    assert_eq!(rx.iter().map(|value| *value).sum::<u32>(), 11);
    pool.join();
    assert_eq!(pool.active_count(), 0);
}
