//! The queue of one producer and one consumer.
use heapless::spsc::Queue;

fn main() {
    let queue: &'static mut Queue<Box<u32>, 3> = Box::leak(Box::new(Queue::new()));
    let (mut producer, mut consumer) = queue.split();
    let other = std::thread::spawn(move || (1..=3).filter(|i| producer.enqueue(Box::new(*i)).is_ok()).sum::<u32>());
    let mut sum = 0;
    for _ in 0..3 {
        sum += consumer.dequeue().map_or(0, |value| *value);
    }
    let sent = other.join().unwrap();
    while let Some(value) = consumer.dequeue() {
        sum += *value;
    }
    assert_eq!(sum, sent);
}
