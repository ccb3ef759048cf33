//! Parker, WaitGroup, ShardedLock and AtomicCell (of a type that needs its seqlocks).
use crossbeam_utils::atomic::AtomicCell;
use crossbeam_utils::sync::{Parker, ShardedLock, WaitGroup};
use std::sync::Arc;

fn main() {
    let shared = Arc::new((AtomicCell::new([1u64; 3]), ShardedLock::new((0, 0))));
    let parker = Parker::new();
    let group = WaitGroup::new();
    let (theirs, unparker, member) = (shared.clone(), parker.unparker().clone(), group.clone());
    let other = std::thread::spawn(move || {
        theirs.0.store([2; 3]);
        {
            let mut both = theirs.1.write().unwrap();
            both.0 += 1;
            both.1 += 1;
        }
        unparker.unpark();
        drop(member);
    });
    let cell = shared.0.load();
    assert!(cell == [1; 3] || cell == [2; 3]);
    let both = *shared.1.read().unwrap();
    assert_eq!(both.0, both.1);
    parker.park();
    group.wait();
    assert_eq!(shared.0.swap([3; 3]), [2; 3]);
    other.join().unwrap();
}
