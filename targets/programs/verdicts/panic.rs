// Message passing whose reader panics, and a panic aborts.
// Wrong: the reader does not acquire. Right: it does.
// Flags: -C panic=abort
// Expect: assertion
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static DATA: AtomicU32 = AtomicU32::new(0);
static FLAG: AtomicU32 = AtomicU32::new(0);

const LOAD: Ordering = if cfg!(buggy) { Ordering::Relaxed } else { Ordering::Acquire };

fn main() {
    let writer = thread::spawn(|| {
        DATA.store(1, Ordering::Relaxed);
        FLAG.store(1, Ordering::Release);
    });
    let reader = thread::spawn(|| {
        if FLAG.load(LOAD) == 1 {
            assert_eq!(DATA.load(Ordering::Relaxed), 1, "the flag came before the data");
        }
    });
    writer.join().unwrap();
    reader.join().unwrap();
}
