//! A channel with a buffer of one: two senders, and a receiver that blocks.
fn main() {
    let (tx, rx) = async_channel::bounded::<Box<u32>>(1);
    let senders: Vec<_> = [1, 10]
        .into_iter()
        .map(|value| {
            let tx = tx.clone();
            std::thread::spawn(move || {
                tx.send_blocking(Box::new(value)).unwrap();
                tx.send_blocking(Box::new(value)).unwrap();
            })
        })
        .collect();
    drop(tx);
    let mut sum = 0;
    while let Ok(value) = rx.recv_blocking() {
        sum += *value;
    }
    assert_eq!(sum, 22);
    senders.into_iter().for_each(|s| s.join().unwrap());
}
