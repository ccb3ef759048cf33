//! Sent once, received or dropped.
fn main() {
    let (tx, rx) = oneshot::channel::<Box<u32>>();
    let (tx2, rx2) = oneshot::channel::<Box<u32>>();
    let (tx3, rx3) = oneshot::channel::<Box<u32>>();
    let other = std::thread::spawn(move || {
        tx.send(Box::new(5)).unwrap();
        drop(tx2);
        let _ = tx3.send(Box::new(6));
    });
    assert_eq!(*rx.recv().unwrap(), 5);
    assert!(rx2.recv().is_err());
    drop(rx3);
    other.join().unwrap();
}
