//! A sequence lock with data of two words.
use std::sync::Arc;

fn main() {
    let shared = Arc::new(seqlock::SeqLock::new((1u64, 1u64)));
    let theirs = shared.clone();
    let reader = std::thread::spawn(move || {
        for _ in 0..2 {
            let both = theirs.read();
            assert_eq!(both.0, both.1);
        }
    });
    for i in 2..4 {
        *shared.lock_write() = (i, i);
    }
    reader.join().unwrap();
}
