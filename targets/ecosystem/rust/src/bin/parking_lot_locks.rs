//! Mutex, condition variable, reader-writer lock and Once.
use parking_lot::{Condvar, Mutex, Once, RwLock};
use std::sync::Arc;

static ONCE: Once = Once::new();
static mut VALUE: u32 = 0;

fn value() -> u32 {
    ONCE.call_once(|| unsafe { VALUE = 7 });
    unsafe { VALUE }
}

fn main() {
    let shared = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new((0, 0))));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || {
                assert_eq!(value(), 7);
                let both = *shared.2.read();
                assert_eq!(both.0, both.1);
                {
                    let mut both = shared.2.write();
                    both.0 += 1;
                    both.1 += 1;
                }
                *shared.0.lock() += 1;
                shared.1.notify_one();
            })
        })
        .collect();
    let mut count = shared.0.lock();
    while *count < 2 {
        shared.1.wait(&mut count);
    }
    drop(count);
    assert_eq!(*shared.2.read(), (2, 2));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
