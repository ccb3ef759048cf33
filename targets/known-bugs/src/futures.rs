//! futures 0.1.3, fixed in 0.1.4: the lock of a oneshot is given back by a release store (lock.rs:87), after which the
//! receiver looks whether the sender is done. The load may overtake the store, and the sender may find the lock still
//! taken: nobody wakes the receiver (store buffering). Found: a deadlock, model tso. c11 has it too, with a modification
//! order that is not the order of execution (`swap` reads a store that was already replaced).

use futures::Future;

fn main() {
    let (sender, receiver) = futures::oneshot::<u32>();
    let thread = std::thread::spawn(move || sender.complete(17));
    assert_eq!(receiver.wait().unwrap(), 17);
    thread.join().unwrap();
}
