//! Two threads push; what has been pushed can be read while the other pushes.
use std::sync::Arc;

fn main() {
    let vec = Arc::new(boxcar::Vec::new());
    let theirs = vec.clone();
    let other = std::thread::spawn(move || {
        let at = theirs.push(Box::new(10));
        assert_eq!(**theirs.get(at).unwrap(), 10);
    });
    let at = vec.push(Box::new(1));
    assert_eq!(*vec[at], 1);
    assert!(vec.iter().all(|(_, value)| **value == 1 || **value == 10));
    other.join().unwrap();
    assert_eq!(vec.count(), 2);
}
