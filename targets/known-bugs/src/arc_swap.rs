//! arc-swap 1.5.0: a reader notes in a slot of its own which value it is using, and checks that the value is still the
//! current one; a writer replaces the value, then looks into the slots. That is store buffering, and acquire and release
//! do not forbid it: the writer may free what the reader is using. 1.5.1, 1.6.0, 1.8.1 and 1.9.0 each made some orders
//! stronger; wmtrace finds it in all of these, and no more in 1.9.1 ("One more SeqCst"). Found: uses after free and races
//! with the freeing, model c11.

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
