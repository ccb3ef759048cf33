//! thread_local 1.1.3, fixed in 1.1.4 (RUSTSEC-2022-0006): iterating loads the pointer to a bucket relaxed (lib.rs:381),
//! so that the bucket that another thread is just adding is followed before its contents are visible. Found: a race on the
//! bucket's memory, model c11.

use std::sync::Arc;
use thread_local::ThreadLocal;

fn main() {
    // Without a bucket: the usual capacity of 2 would have the first two threads' buckets from the beginning.
    let values = Arc::new(ThreadLocal::with_capacity(0));
    let others = Arc::clone(&values);
    let thread = std::thread::spawn(move || *others.get_or(|| 17));
    let sum: u32 = values.iter().sum();
    assert!(sum == 0 || sum == 17);
    assert_eq!(thread.join().unwrap(), 17);
}
