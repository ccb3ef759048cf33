//! A ring of two, one producer and one consumer.
use ringbuf::{traits::*, HeapRb};

fn main() {
    let (mut producer, mut consumer) = HeapRb::<Box<u32>>::new(2).split();
    let other = std::thread::spawn(move || (1..=3).filter(|i| producer.try_push(Box::new(*i)).is_ok()).sum::<u32>());
    let mut sum = 0;
    for _ in 0..3 {
        sum += consumer.try_pop().map_or(0, |value| *value);
    }
    let sent = other.join().unwrap();
    while let Some(value) = consumer.try_pop() {
        sum += *value;
    }
    assert_eq!(sum, sent);
}
