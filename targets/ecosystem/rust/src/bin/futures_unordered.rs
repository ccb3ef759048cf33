//! FuturesUnordered, whose tasks another thread wakes, and a shared future.
use futures::channel::oneshot;
use futures::executor::block_on;
use futures::future::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};

fn main() {
    let (tx1, rx1) = oneshot::channel();
    let (tx2, rx2) = oneshot::channel();
    let other = std::thread::spawn(move || {
        tx1.send(1).unwrap();
        tx2.send(10).unwrap();
    });
    let shared = rx1.shared();
    let copy = shared.clone();
    let both: FuturesUnordered<_> = [copy.boxed(), rx2.boxed()].into_iter().collect();
    let sum: u32 = block_on(both.map(|r| r.unwrap()).collect::<Vec<_>>()).into_iter().sum();
    assert_eq!(sum, 11);
    assert_eq!(block_on(shared), Ok(1));
    other.join().unwrap();
}
