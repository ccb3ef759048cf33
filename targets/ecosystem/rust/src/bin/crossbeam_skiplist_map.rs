//! Two threads insert, look up and remove.
use crossbeam_skiplist::SkipMap;
use std::sync::Arc;

fn main() {
    let map = Arc::new(SkipMap::new());
    let theirs = map.clone();
    let other = std::thread::spawn(move || {
        theirs.insert(1, Box::new(10));
        theirs.insert(2, Box::new(20));
        theirs.remove(&1);
    });
    map.insert(3, Box::new(30));
    if let Some(entry) = map.get(&1) {
        assert_eq!(**entry.value(), 10);
    }
    assert!(map.iter().all(|e| **e.value() == e.key() * 10));
    other.join().unwrap();
    assert_eq!(map.iter().map(|e| *e.key()).collect::<Vec<_>>(), [2, 3]);
}
