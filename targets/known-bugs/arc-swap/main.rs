//! arc-swap 1.5.0, fixed in 1.5.1: orders too weak in the protocol by which a writer helps readers. Model c11.

use arc_swap::ArcSwap;
use std::sync::Arc;

fn main() {
    let shared = Arc::new(ArcSwap::from_pointee(1));
    let other = Arc::clone(&shared);
    let thread = std::thread::spawn(move || **other.load() + *other.load_full());
    shared.store(Arc::new(2));
    let seen = thread.join().unwrap();
    assert!((2..=4).contains(&seen));
}
