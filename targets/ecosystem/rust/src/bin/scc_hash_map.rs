//! Two threads insert, update and remove in a hash map.
use scc::HashMap;
use std::sync::Arc;

fn main() {
    let map = Arc::new(HashMap::<u32, Box<u32>>::new());
    let theirs = map.clone();
    let other = std::thread::spawn(move || {
        theirs.insert_sync(1, Box::new(10)).unwrap();
        theirs.insert_sync(2, Box::new(20)).unwrap();
        theirs.remove_sync(&1);
    });
    map.insert_sync(3, Box::new(30)).unwrap();
    map.read_sync(&1, |_, value| assert_eq!(**value, 10));
    map.update_sync(&3, |_, value| **value += 1);
    other.join().unwrap();
    assert_eq!(map.read_sync(&3, |_, value| **value), Some(31));
    assert_eq!(map.len(), 2);
}
