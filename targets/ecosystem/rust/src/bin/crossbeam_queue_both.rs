//! ArrayQueue and SegQueue.
use crossbeam_queue::{ArrayQueue, SegQueue};
use std::sync::Arc;

fn main() {
    let queues = Arc::new((ArrayQueue::new(2), SegQueue::new()));
    let pushers: Vec<_> = [1, 10]
        .into_iter()
        .map(|value| {
            let queues = queues.clone();
            std::thread::spawn(move || {
                queues.0.push(Box::new(value)).unwrap();
                queues.1.push(Box::new(value));
            })
        })
        .collect();
    let mut sum = queues.0.pop().map_or(0, |v| *v) + queues.1.pop().map_or(0, |v| *v);
    pushers.into_iter().for_each(|p| p.join().unwrap());
    while let Some(value) = queues.0.pop().or_else(|| queues.1.pop()) {
        sum += *value;
    }
    assert_eq!(sum, 22);
}
