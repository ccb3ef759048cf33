//! Values dropped in one thread are freed by the collector of another.
use basedrop::{Collector, Owned, Shared};

fn main() {
    let mut collector = Collector::new();
    let handle = collector.handle();
    let shared = Shared::new(&handle, (1, 2));
    let owned = Owned::new(&handle, 3);
    let copy = shared.clone();
    let other = std::thread::spawn(move || {
        assert_eq!(copy.0 + copy.1 + *owned, 6);
    });
    assert_eq!(shared.0, 1);
    drop(shared);
    collector.collect();
    other.join().unwrap();
    collector.collect();
    drop(handle);
    assert!(collector.try_cleanup().is_ok());
}
