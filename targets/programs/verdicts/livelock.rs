// A thread waits for a flag that nobody raises any more.
// Wrong: the flag is raised and taken down again, and the waiter may miss it. Right: it stays up.
// Expect: livelock
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static FLAG: AtomicBool = AtomicBool::new(false);

fn main() {
    let waiter = thread::spawn(|| {
        while !FLAG.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
    });
    FLAG.store(true, Ordering::Release);
    #[cfg(buggy)]
    FLAG.store(false, Ordering::Release);
    waiter.join().unwrap();
}
