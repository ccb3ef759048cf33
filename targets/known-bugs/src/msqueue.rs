//! crossbeam 0.2.10, fixed in 0.3.0 (RUSTSEC-2022-0029): a popper of an `MsQueue` that waits learns by a relaxed flag
//! that the pusher has given it a value, and so need not see the value. Found: a race on it, model c11.

use crossbeam::sync::MsQueue;
use std::sync::Arc;

fn main() {
    let queue = Arc::new(MsQueue::new());
    let other = Arc::clone(&queue);
    let thread = std::thread::spawn(move || other.pop());
    queue.push(17);
    assert_eq!(thread.join().unwrap(), 17);
}
