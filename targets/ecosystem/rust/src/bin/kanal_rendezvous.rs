//! A channel without a buffer: the value is handed over, and what was written before is seen.
fn main() {
    let (tx, rx) = kanal::bounded::<Box<[u64; 4]>>(0);
    let sender = std::thread::spawn(move || {
        for i in 0..3 {
            tx.send(Box::new([i; 4])).unwrap();
        }
    });
    for i in 0..3 {
        assert_eq!(*rx.recv().unwrap(), [i; 4]);
    }
    sender.join().unwrap();
    assert!(rx.recv().is_err());
}
