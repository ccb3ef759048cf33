// A thread parks until it is told that the data is there.
// Wrong: it is not unparked. Right: it is, after the store.
// Expect: deadlock
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

static DATA: AtomicU32 = AtomicU32::new(0);
static READY: AtomicBool = AtomicBool::new(false);

fn main() {
    let sleeper = thread::spawn(|| {
        while !READY.load(Ordering::Acquire) {
            thread::park();
        }
        DATA.load(Ordering::Relaxed)
    });
    DATA.store(42, Ordering::Relaxed);
    READY.store(true, Ordering::Release);
    #[cfg(not(buggy))]
    sleeper.thread().unpark();
    assert_eq!(sleeper.join().unwrap(), 42);
}
