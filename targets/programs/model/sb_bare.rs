// Store buffering, as in shapes.rs, but with the threads of the system. Those of std take and release a lock when they
// start and when they end: one that starts after the end of another happens after all that it did.
// Orders: --cfg order="relaxed" or "sc". Prints what both threads read; status 42 for the weak outcome r1=0 r2=0.
#![allow(unexpected_cfgs)]
use std::ffi::{c_int, c_ulong, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

type Body = extern "C" fn(*mut c_void) -> *mut c_void;

unsafe extern "C" {
    fn pthread_create(thread: *mut c_ulong, attr: *const c_void, body: Body, arg: *mut c_void) -> c_int;
    fn pthread_join(thread: c_ulong, result: *mut *mut c_void) -> c_int;
}

const ORDER: Ordering = if cfg!(order = "sc") { Ordering::SeqCst } else { Ordering::Relaxed };

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

/// What the thread has read is its result.
extern "C" fn first(_: *mut c_void) -> *mut c_void {
    X.store(1, ORDER);
    Y.load(ORDER) as usize as *mut c_void
}

extern "C" fn second(_: *mut c_void) -> *mut c_void {
    Y.store(1, ORDER);
    X.load(ORDER) as usize as *mut c_void
}

fn main() {
    let (mut threads, mut read) = ([0, 0], [null_mut(), null_mut()]);
    // SAFETY: the bodies touch nothing but atomics, and both threads are waited for.
    unsafe {
        assert_eq!(pthread_create(&mut threads[0], null(), first, null_mut()), 0);
        assert_eq!(pthread_create(&mut threads[1], null(), second, null_mut()), 0);
        assert_eq!(pthread_join(threads[0], &mut read[0]), 0);
        assert_eq!(pthread_join(threads[1], &mut read[1]), 0);
    }
    let [r1, r2] = read.map(|value| value as usize);
    println!("r1={r1} r2={r2}");
    if (r1, r2) == (0, 0) {
        std::process::exit(42);
    }
}
