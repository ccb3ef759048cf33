//! mpsc and oneshot channels, and AtomicWaker below them.
use futures::channel::{mpsc, oneshot};
use futures::executor::block_on;
use futures::{SinkExt, StreamExt};

fn main() {
    let (mut tx, mut rx) = mpsc::channel::<Box<u32>>(0);
    let (back, answer) = oneshot::channel();
    let other = std::thread::spawn(move || {
        let mut sum = 0;
        while let Some(value) = block_on(rx.next()) {
            sum += *value;
        }
        back.send(Box::new(sum)).unwrap();
    });
    for i in 1..=2 {
        block_on(tx.send(Box::new(i))).unwrap();
    }
    drop(tx);
    assert_eq!(*block_on(answer).unwrap(), 3);
    other.join().unwrap();
}
