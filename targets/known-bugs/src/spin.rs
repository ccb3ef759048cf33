//! spin 0.5.1, fixed in 0.5.2 (RUSTSEC-2019-0013): `RwLock` gives its write lock back with a relaxed store, so that
//! the next owner does not see what was written under it. Found: a race on the value, model c11.

use std::sync::Arc;

fn main() {
    let lock = Arc::new(spin::RwLock::new(0));
    let other = Arc::clone(&lock);
    let thread = std::thread::spawn(move || *other.write() += 1);
    *lock.write() += 1;
    thread.join().unwrap();
    assert_eq!(*lock.read(), 2);
}
