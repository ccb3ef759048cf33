//! Mutex, condition variable, reader-writer lock and Once.
use std::sync::Arc;
use usync::{Condvar, Mutex, Once, RwLock};

static ONCE: Once = Once::new();
static mut VALUE: u32 = 0;

fn main() {
    let shared = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new((0, 0))));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || {
                ONCE.call_once(|| unsafe { VALUE = 7 });
                assert_eq!(unsafe { VALUE }, 7);
                {
                    let mut both = shared.2.write();
                    both.0 += 1;
                    both.1 += 1;
                }
                let both = *shared.2.read();
                assert_eq!(both.0, both.1);
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
    threads.into_iter().for_each(|t| t.join().unwrap());
}
