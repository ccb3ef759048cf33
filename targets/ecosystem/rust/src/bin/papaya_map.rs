//! Two threads insert, update and remove.
use papaya::HashMap;
use std::sync::Arc;

fn main() {
    let map = Arc::new(HashMap::<u32, Box<u32>>::new());
    let theirs = map.clone();
    let other = std::thread::spawn(move || {
        let map = theirs.pin();
        map.insert(1, Box::new(10));
        map.insert(2, Box::new(20));
        map.remove(&1);
    });
    {
        let map = map.pin();
        map.insert(3, Box::new(30));
        assert!(map.get(&1).is_none_or(|value| **value == 10));
        map.update(3, |value| Box::new(**value + 1));
    }
    other.join().unwrap();
    assert_eq!(map.pin().get(&3).map(|value| **value), Some(31));
    assert_eq!(map.pin().len(), 2);
}
