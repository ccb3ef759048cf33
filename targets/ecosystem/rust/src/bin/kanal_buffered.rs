//! A channel with a buffer of one, two senders.
fn main() {
    let (tx, rx) = kanal::bounded::<Box<u64>>(1);
    let senders: Vec<_> = (0..2)
        .map(|_| {
            let tx = tx.clone();
            std::thread::spawn(move || {
                for i in 1..=2 {
                    tx.send(Box::new(i)).unwrap();
                }
            })
        })
        .collect();
    drop(tx);
    let mut sum = 0;
    while let Ok(value) = rx.recv() {
        sum += *value;
    }
    assert_eq!(sum, 6);
    senders.into_iter().for_each(|s| s.join().unwrap());
}
