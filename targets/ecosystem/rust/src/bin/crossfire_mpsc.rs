//! A bounded channel that blocks.
fn main() {
    let (tx, rx) = crossfire::mpsc::bounded_blocking::<Box<u32>>(1);
    let senders: Vec<_> = [1, 10]
        .into_iter()
        .map(|value| {
            let tx = tx.clone();
            std::thread::spawn(move || tx.send(Box::new(value)).unwrap())
        })
        .collect();
    drop(tx);
    let mut sum = 0;
    while let Ok(value) = rx.recv() {
        sum += *value;
    }
    assert_eq!(sum, 11);
    senders.into_iter().for_each(|s| s.join().unwrap());
}
