//! Two threads try; whoever gets the lock has it alone.
use std::sync::Arc;
use try_lock::TryLock;

fn main() {
    let shared = Arc::new(TryLock::new((0, 0)));
    let work = |shared: &TryLock<(u32, u32)>| {
        for _ in 0..2 {
            if let Some(mut both) = shared.try_lock() {
                assert_eq!(both.0, both.1);
                both.0 += 1;
                both.1 += 1;
            }
        }
    };
    let theirs = shared.clone();
    let other = std::thread::spawn(move || work(&theirs));
    work(&shared);
    other.join().unwrap();
}
