//! Bag, Queue, Stack, HashIndex and TreeIndex.
use scc::{Bag, Guard, HashIndex, Queue, Stack, TreeIndex};
use std::sync::Arc;

fn main() {
    let shared = Arc::new((Bag::<u32>::new(), Queue::default(), Stack::default(), HashIndex::new(), TreeIndex::new()));
    let theirs = shared.clone();
    let other = std::thread::spawn(move || {
        theirs.0.push(1);
        theirs.1.push(1);
        theirs.2.push(1);
        theirs.3.insert_sync(1, 10).unwrap();
        theirs.4.insert_sync(1, 10).unwrap();
    });
    shared.0.push(2);
    assert!(shared.1.pop().is_none_or(|entry| **entry == 1));
    assert!(shared.2.pop().is_none_or(|entry| **entry == 1));
    assert!(shared.3.peek_with(&1, |_, value| *value).is_none_or(|value| value == 10));
    assert!(shared.4.peek(&1, &Guard::new()).is_none_or(|value| *value == 10));
    other.join().unwrap();
    assert_eq!(shared.0.len(), 2);
    assert_eq!(shared.4.peek_with(&1, |_, value| *value), Some(10));
}
