// Names for orders, in Rust.
// Wrong: the names stand for weaker ones.
// Unsettled: yes
#![allow(dead_code, static_mut_refs)]
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed as Rlx};

const PUBLISHING: Ordering = Ordering::Release; //= right
const PUBLISHING: Ordering = Rlx; //= wrong

static mut DATA: i32 = 0;
static FLAG: AtomicI32 = AtomicI32::new(0);
static COUNT: AtomicI32 = AtomicI32::new(0);

fn main() {
    let writer = std::thread::spawn(|| {
        COUNT.fetch_add(1, Rlx);
        unsafe { DATA = 1 };
        FLAG.store(1, PUBLISHING);
    });
    COUNT.fetch_add(1, Rlx);
    while FLAG.load(Acquire) == 0 {
        std::thread::yield_now();
    }
    assert!(unsafe { DATA } == 1);
    writer.join().unwrap();
}
