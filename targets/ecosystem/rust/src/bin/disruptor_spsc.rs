//! One producer, one consumer, a ring of two.
use disruptor::{build_single_producer, BusySpin, Producer, Sequence};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

fn main() {
    let sum = Arc::new(AtomicU32::new(0));
    let theirs = sum.clone();
    let consume = move |event: &u32, _: Sequence, _: bool| {
        theirs.fetch_add(*event, Ordering::Relaxed);
    };
    let mut producer = build_single_producer(2, || 0u32, BusySpin).handle_events_with(consume).build();
    for i in 1..=3 {
        producer.publish(|event| *event = i);
    }
    drop(producer);
    assert_eq!(sum.load(Ordering::Relaxed), 6);
}
