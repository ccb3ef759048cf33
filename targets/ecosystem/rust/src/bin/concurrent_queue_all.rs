//! Bounded, unbounded and of one: two threads push, one pops.
use concurrent_queue::ConcurrentQueue;
use std::sync::Arc;

fn main() {
    for queue in [ConcurrentQueue::bounded(2), ConcurrentQueue::bounded(1), ConcurrentQueue::unbounded()] {
        let queue = Arc::new(queue);
        let pushers: Vec<_> = [1, 10]
            .into_iter()
            .map(|value| {
                let queue = queue.clone();
                std::thread::spawn(move || if queue.push(Box::new(value)).is_ok() { value } else { 0 })
            })
            .collect();
        let mut sum = 0;
        for _ in 0..2 {
            sum += queue.pop().map_or(0, |value| *value);
        }
        let pushed: u32 = pushers.into_iter().map(|p| p.join().unwrap()).sum();
        while let Ok(value) = queue.pop() {
            sum += *value;
        }
        assert_eq!(sum, pushed);
    }
}
