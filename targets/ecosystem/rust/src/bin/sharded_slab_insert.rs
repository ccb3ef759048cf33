//! Values inserted by one thread are read and removed by the other.
use sharded_slab::Slab;
use std::sync::Arc;

fn main() {
    let slab = Arc::new(Slab::new());
    let mine = slab.insert(Box::new(1)).unwrap();
    let theirs = slab.clone();
    let other = std::thread::spawn(move || {
        let key = theirs.insert(Box::new(10)).unwrap();
        if let Some(value) = theirs.get(mine) {
            assert_eq!(**value, 1);
        }
        theirs.take(mine);
        key
    });
    if let Some(value) = slab.get(mine) {
        assert_eq!(**value, 1);
    }
    slab.insert(Box::new(2)).unwrap();
    let key = other.join().unwrap();
    assert_eq!(slab.take(key).map(|value| *value), Some(10));
    assert!(slab.get(mine).is_none());
}
