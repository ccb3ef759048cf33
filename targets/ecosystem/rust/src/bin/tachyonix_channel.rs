//! Two senders, one receiver, room for one.
use futures_lite::future::block_on;

fn main() {
    let (tx, mut rx) = tachyonix::channel::<Box<u32>>(1);
    let senders: Vec<_> = [1, 10]
        .into_iter()
        .map(|value| {
            let tx = tx.clone();
            std::thread::spawn(move || block_on(tx.send(Box::new(value))).unwrap())
        })
        .collect();
    drop(tx);
    let mut sum = 0;
    while let Ok(value) = block_on(rx.recv()) {
        sum += *value;
    }
    assert_eq!(sum, 11);
    senders.into_iter().for_each(|s| s.join().unwrap());
}
