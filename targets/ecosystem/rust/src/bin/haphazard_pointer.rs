//! Hazard pointers: one thread replaces and retires what the other reads.
use haphazard::{AtomicPtr, HazardPointer};
use std::sync::Arc;

fn main() {
    let shared = Arc::new(AtomicPtr::from(Box::new((1, 1))));
    let theirs = shared.clone();
    let reader = std::thread::spawn(move || {
        let mut hazard = HazardPointer::new();
        for _ in 0..2 {
            let value = theirs.safe_load(&mut hazard).unwrap();
            assert_eq!(value.0, value.1);
        }
    });
    for i in 2..4 {
        let old = shared.swap(Box::new((i, i))).unwrap();
        unsafe { old.retire() };
    }
    haphazard::Domain::global().eager_reclaim();
    reader.join().unwrap();
    drop(unsafe { shared.load_ptr().as_mut().map(|p| Box::from_raw(p)) });
    std::mem::forget(shared);
}
