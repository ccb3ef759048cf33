// Several statements on a line, in Rust.
// Wrong: the flag is relaxed.
#![allow(static_mut_refs)]
use std::sync::atomic::{AtomicI32, Ordering};

static mut DATA: i32 = 0;
static FLAG: AtomicI32 = AtomicI32::new(0);
static COUNT: AtomicI32 = AtomicI32::new(0);

fn main() {
    let writer = std::thread::spawn(|| {
        COUNT.fetch_add(1, Ordering::Relaxed); unsafe { DATA = 1 }; FLAG.store(1, Ordering::Release); //= right
        COUNT.fetch_add(1, Ordering::Relaxed); unsafe { DATA = 1 }; FLAG.store(1, Ordering::Relaxed); //= wrong
    });
    COUNT.fetch_add(1, Ordering::Relaxed); while FLAG.load(Ordering::Acquire) == 0 { std::thread::yield_now(); } assert!(unsafe { DATA } == 1);
    writer.join().unwrap();
}
