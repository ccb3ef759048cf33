//! A ring of two: single values, and chunks.
fn main() {
    let (mut producer, mut consumer) = rtrb::RingBuffer::<u32>::new(2);
    let other = std::thread::spawn(move || {
        let mut sent = 0;
        if let Ok(chunk) = producer.write_chunk_uninit(2) {
            sent += 1 + 10;
            chunk.fill_from_iter([1, 10]);
        }
        if producer.push(100).is_ok() {
            sent += 100;
        }
        sent
    });
    let mut sum = consumer.pop().unwrap_or(0);
    if let Ok(chunk) = consumer.read_chunk(1) {
        sum += chunk.into_iter().sum::<u32>();
    }
    let sent: u32 = other.join().unwrap();
    while let Ok(value) = consumer.pop() {
        sum += value;
    }
    assert_eq!(sum, sent);
}
