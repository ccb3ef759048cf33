// An order that a `cfg` chooses.
// Wrong: it chooses the weak one.
// Unsettled: yes
// Flags of wrong: --cfg weak
#![allow(static_mut_refs, unexpected_cfgs)]
use std::sync::atomic::{AtomicI32, Ordering};

static mut DATA: i32 = 0;
static FLAG: AtomicI32 = AtomicI32::new(0);

fn main() {
    let writer = std::thread::spawn(|| {
        unsafe { DATA = 1 };
        #[cfg(weak)]
        FLAG.store(1, Ordering::Relaxed);
        #[cfg(not(weak))]
        FLAG.store(1, Ordering::Release);
    });
    let order = if cfg!(weak) { Ordering::Relaxed } else { Ordering::Acquire };
    while FLAG.load(order) == 0 {
        std::thread::yield_now();
    }
    assert!(unsafe { DATA } == 1);
    writer.join().unwrap();
}
