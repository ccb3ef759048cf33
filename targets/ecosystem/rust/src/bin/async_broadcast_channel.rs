//! One sender, two receivers: both see every value.
use futures_lite::future::block_on;

fn main() {
    let (tx, rx) = async_broadcast::broadcast::<Box<u32>>(1);
    let receivers: Vec<_> = [rx.clone(), rx]
        .into_iter()
        .map(|mut rx| {
            std::thread::spawn(move || {
                let mut sum = 0;
                while let Ok(value) = block_on(rx.recv()) {
                    sum += *value;
                }
                sum
            })
        })
        .collect();
    for i in 1..=2 {
        block_on(tx.broadcast(Box::new(i))).unwrap();
    }
    drop(tx);
    receivers.into_iter().for_each(|r| assert_eq!(r.join().unwrap(), 3));
}
