//! Epochs: a pointer is replaced while another thread reads it.
use sdd::{AtomicOwned, Guard, Owned, Tag};
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::Arc;

fn main() {
    let shared = Arc::new(AtomicOwned::new((1, 1)));
    let theirs = shared.clone();
    let reader = std::thread::spawn(move || {
        for _ in 0..2 {
            let guard = Guard::new();
            let value = theirs.load(Acquire, &guard);
            let value = value.as_ref().unwrap();
            assert_eq!(value.0, value.1);
        }
    });
    for i in 2..4 {
        drop(shared.swap((Some(Owned::new((i, i))), Tag::None), AcqRel));
    }
    Guard::new().accelerate();
    reader.join().unwrap();
}
