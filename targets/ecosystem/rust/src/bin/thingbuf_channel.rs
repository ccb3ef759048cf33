//! A blocking channel whose slots are used again.
fn main() {
    let (tx, rx) = thingbuf::mpsc::blocking::channel::<Vec<u32>>(2);
    let senders: Vec<_> = [1, 10]
        .into_iter()
        .map(|value| {
            let tx = tx.clone();
            std::thread::spawn(move || {
                tx.send(vec![value; 2]).unwrap();
                tx.send_ref().unwrap().push(value);
            })
        })
        .collect();
    drop(tx);
    let mut sum = 0;
    while let Some(value) = rx.recv() {
        sum += value.iter().sum::<u32>();
    }
    assert_eq!(sum, 33);
    senders.into_iter().for_each(|s| s.join().unwrap());
}
