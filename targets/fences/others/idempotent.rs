// As idempotent.cc, in Rust.
// Values OP: fetch_add(0, Ordering::SeqCst) | fetch_or(0, Ordering::AcqRel) | fetch_and(-1, Ordering::Release) | fetch_sub(0, Ordering::AcqRel)
use std::sync::atomic::{AtomicI32, Ordering};

static WORK: AtomicI32 = AtomicI32::new(0);
static AWAKE: AtomicI32 = AtomicI32::new(1);

fn main() {
    let worker = std::thread::spawn(|| {
        AWAKE.fetch_sub(1, Ordering::AcqRel);
        WORK.load(Ordering::Relaxed)
    });
    WORK.store(1, Ordering::Relaxed);
    let other = AWAKE.OP; //= right
    let other = AWAKE.load(Ordering::SeqCst); //= wrong
    let seen = worker.join().unwrap();
    assert!(other == 0 || seen == 1);
}
