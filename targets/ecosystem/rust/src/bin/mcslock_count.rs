//! An MCS lock whose nodes are on the stack.
use mcslock::raw::{spins::Mutex, MutexNode};
use std::sync::Arc;

fn main() {
    let shared = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || {
                let mut node = MutexNode::new();
                shared.lock_with_then(&mut node, |value| *value += 1);
                shared.lock_then(|value| *value += 1);
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(shared.lock_then(|value| *value), 4);
}
