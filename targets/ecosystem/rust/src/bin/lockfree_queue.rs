//! A queue, a stack and a map.
use lockfree::prelude::{Map, Queue, Stack};
use std::sync::Arc;

fn main() {
    let shared = Arc::new((Queue::new(), Stack::new(), Map::new()));
    let theirs = shared.clone();
    let other = std::thread::spawn(move || {
        theirs.0.push(1);
        theirs.1.push(10);
        theirs.2.insert(1, 100);
    });
    let mut sum = shared.0.pop().unwrap_or(0) + shared.1.pop().unwrap_or(0);
    if let Some(pair) = shared.2.get(&1) {
        assert_eq!(*pair.val(), 100);
    }
    other.join().unwrap();
    sum += shared.0.pop().unwrap_or(0) + shared.1.pop().unwrap_or(0);
    assert_eq!(sum, 11);
}
