//! One sender, two readers, room for two.
fn main() {
    let mut bus = bus::Bus::new(2);
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let mut reader = bus.add_rx();
            std::thread::spawn(move || {
                for i in 0..3 {
                    assert_eq!(reader.recv(), Ok(i));
                }
            })
        })
        .collect();
    for i in 0..3 {
        bus.broadcast(i);
    }
    readers.into_iter().for_each(|r| r.join().unwrap());
}
