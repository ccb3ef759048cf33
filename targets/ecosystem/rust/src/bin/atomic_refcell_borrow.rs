//! Borrows that are tried by two threads: whoever gets one has it alone, or shares it with readers.
use atomic_refcell::AtomicRefCell;
use std::sync::Arc;

fn main() {
    let shared = Arc::new(AtomicRefCell::new((0, 0)));
    let theirs = shared.clone();
    let writer = std::thread::spawn(move || {
        for _ in 0..2 {
            if let Ok(mut both) = theirs.try_borrow_mut() {
                both.0 += 1;
                both.1 += 1;
            }
        }
    });
    for _ in 0..2 {
        if let Ok(both) = shared.try_borrow() {
            assert_eq!(both.0, both.1);
        }
    }
    if let Ok(mut both) = shared.try_borrow_mut() {
        *both = (5, 5);
    }
    writer.join().unwrap();
}
