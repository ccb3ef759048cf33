//! Boxes swapped by two threads: none is lost, none is there twice.
use atomicbox::{AtomicBox, AtomicOptionBox};
use std::sync::atomic::Ordering;
use std::sync::Arc;

fn main() {
    let shared = Arc::new((AtomicBox::new(Box::new(1)), AtomicOptionBox::<u32>::none()));
    let theirs = shared.clone();
    let other = std::thread::spawn(move || {
        let old = theirs.0.swap(Box::new(10), Ordering::AcqRel);
        theirs.1.swap(Some(Box::new(1000)), Ordering::AcqRel);
        *old
    });
    let old = *shared.0.swap(Box::new(100), Ordering::AcqRel);
    let maybe = shared.1.swap(None, Ordering::AcqRel);
    assert!(maybe.is_none_or(|m| *m == 1000));
    let theirs = other.join().unwrap();
    let last = *shared.0.swap(Box::new(0), Ordering::AcqRel);
    assert_eq!(old + theirs + last, 111);
}
