// As stack.cc, in Rust, with a scoped thread.
// Values BEFORE: | before: u64, | before: [u8; 4000],
// Values VALUE: | before: 0, | before: [0; 4000],
#![allow(dead_code)]
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicI32, Ordering};

#[repr(C)]
struct Shared {
    BEFORE
    flag: AtomicI32,
    count: AtomicI32,
    data: UnsafeCell<i32>,
}

unsafe impl Sync for Shared {}

impl Shared {
    fn data(&self) -> *mut i32 {
        self.data.get()
    }
}

fn main() {
    let shared = Shared { VALUE flag: AtomicI32::new(0), count: AtomicI32::new(0), data: UnsafeCell::new(0) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            shared.count.fetch_add(1, Ordering::Relaxed);
            unsafe { *shared.data() = 1 };
            shared.flag.store(1, Ordering::Release); //= right
            shared.flag.store(1, Ordering::Relaxed); //= wrong
        });
        let before = shared.count.load(Ordering::Relaxed);
        shared.count.store(before + 1, Ordering::Relaxed);
        while shared.flag.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        assert!(unsafe { *shared.data() } == 1);
    });
}
