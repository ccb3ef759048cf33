//! Bounded, unbounded and rendezvous channels, and a selection.
use crossbeam_channel::{bounded, select, unbounded};

fn main() {
    let (tx, rx) = bounded::<Box<u32>>(1);
    let (tx0, rx0) = bounded::<Box<u32>>(0);
    let (back, answer) = unbounded();
    let other = std::thread::spawn(move || {
        let mut sum = 0;
        for _ in 0..3 {
            select! {
                recv(rx) -> value => sum += *value.unwrap(),
                recv(rx0) -> value => sum += *value.unwrap(),
            }
        }
        back.send(Box::new(sum)).unwrap();
    });
    tx.send(Box::new(1)).unwrap();
    tx0.send(Box::new(10)).unwrap();
    tx.send(Box::new(100)).unwrap();
    assert_eq!(*answer.recv().unwrap(), 111);
    other.join().unwrap();
}
