//! A bounded channel.
fn main() {
    let (tx, rx) = loole::bounded::<Box<u32>>(1);
    let sender = std::thread::spawn(move || {
        for i in 1..=3 {
            tx.send(Box::new(i)).unwrap();
        }
    });
    let mut sum = 0;
    while let Ok(value) = rx.recv() {
        sum += *value;
    }
    assert_eq!(sum, 6);
    sender.join().unwrap();
}
