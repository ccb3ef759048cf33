// Atomic operations in the body of a macro, in Rust.
// Wrong: a weaker order there.
// Unsettled: yes
#![allow(static_mut_refs)]
use std::sync::atomic::{AtomicI32, Ordering};

macro_rules! publish {
    ($what:expr, $value:expr) => {{
        COUNT.fetch_add(1, Ordering::Relaxed);
        $what.store($value, Ordering::Release); //= right
        $what.store($value, Ordering::Relaxed); //= wrong
    }};
}

static mut DATA: i32 = 0;
static FLAG: AtomicI32 = AtomicI32::new(0);
static COUNT: AtomicI32 = AtomicI32::new(0);

fn main() {
    let writer = std::thread::spawn(|| {
        unsafe { DATA = 1 };
        publish!(FLAG, 1);
    });
    while FLAG.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    assert!(unsafe { DATA } == 1);
    COUNT.fetch_add(1, Ordering::Relaxed);
    writer.join().unwrap();
}
