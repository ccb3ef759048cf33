//! A channel with a buffer of one, and one without.
fn main() {
    let (tx, rx) = flume::bounded::<Box<u32>>(1);
    let (back, answer) = flume::bounded::<u32>(0);
    let other = std::thread::spawn(move || {
        let mut sum = 0;
        for value in rx.iter() {
            sum += *value;
        }
        back.send(sum).unwrap();
    });
    for i in 1..=3 {
        tx.send(Box::new(i)).unwrap();
    }
    drop(tx);
    assert_eq!(answer.recv().unwrap(), 6);
    other.join().unwrap();
}
