//! The pattern of its documentation: register, then look at the flag; set the flag, then wake.
use atomic_waker::AtomicWaker;
use futures_lite::future::{block_on, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::Poll;

fn main() {
    let shared = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
    let theirs = shared.clone();
    let other = std::thread::spawn(move || {
        theirs.1.store(true, Ordering::Relaxed);
        theirs.0.wake();
    });
    block_on(poll_fn(|context| {
        shared.0.register(context.waker());
        if shared.1.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    }));
    other.join().unwrap();
}
