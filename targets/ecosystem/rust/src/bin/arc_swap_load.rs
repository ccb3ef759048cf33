//! One thread replaces the value, two load it: each sees a whole one.
use arc_swap::ArcSwap;
use std::sync::Arc;

fn main() {
    let shared = Arc::new(ArcSwap::from_pointee((1, 1)));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || {
                let guard = shared.load();
                assert_eq!(guard.0, guard.1);
                drop(guard);
                let full = shared.load_full();
                assert_eq!(full.0, full.1);
            })
        })
        .collect();
    shared.store(Arc::new((2, 2)));
    assert_eq!(*shared.swap(Arc::new((3, 3))), (2, 2));
    readers.into_iter().for_each(|r| r.join().unwrap());
}
