//! Two threads push, and read what is there.
use append_only_vec::AppendOnlyVec;
use std::sync::Arc;

fn main() {
    let vec = Arc::new(AppendOnlyVec::new());
    let theirs = vec.clone();
    let other = std::thread::spawn(move || {
        let at = theirs.push(Box::new(10));
        assert_eq!(*theirs[at], 10);
    });
    let at = vec.push(Box::new(1));
    assert_eq!(*vec[at], 1);
    assert!(vec.iter().all(|value| **value == 1 || **value == 10));
    other.join().unwrap();
    assert_eq!(vec.len(), 2);
}
