//! Two threads insert and remove, and read what the other has inserted.
use flurry::HashMap;
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
        if let Some(value) = map.get(&1) {
            assert_eq!(**value, 10);
        }
    }
    other.join().unwrap();
    assert_eq!(map.pin().len(), 2);
}
