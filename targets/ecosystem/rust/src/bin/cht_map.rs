//! Two threads insert and remove.
use cht::HashMap;
use std::sync::Arc;

fn main() {
    let map = Arc::new(HashMap::with_capacity(4));
    let theirs = map.clone();
    let other = std::thread::spawn(move || {
        theirs.insert(1, 10);
        theirs.insert(2, 20);
        theirs.remove(&1);
    });
    map.insert(3, 30);
    assert!(map.get(&1).is_none_or(|value| value == 10));
    other.join().unwrap();
    assert_eq!((map.get(&2), map.get(&3)), (Some(20), Some(30)));
}
