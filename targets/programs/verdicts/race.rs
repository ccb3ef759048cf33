// One thread hands plain data to another through a flag.
// Wrong: the flag is relaxed, so the data's write does not happen before its read. Right: release and acquire.
// Expect: race
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

struct Slot(UnsafeCell<u32>);
unsafe impl Sync for Slot {}

static DATA: Slot = Slot(UnsafeCell::new(0));
static READY: AtomicBool = AtomicBool::new(false);

const STORE: Ordering = if cfg!(buggy) { Ordering::Relaxed } else { Ordering::Release };
const LOAD: Ordering = if cfg!(buggy) { Ordering::Relaxed } else { Ordering::Acquire };

fn main() {
    let writer = thread::spawn(|| {
        unsafe { *DATA.0.get() = 42 };
        READY.store(true, STORE);
    });
    let reader = thread::spawn(|| {
        if READY.load(LOAD) {
            let _ = std::hint::black_box(unsafe { *DATA.0.get() });
        }
    });
    writer.join().unwrap();
    reader.join().unwrap();
}
