// Treiber's stack, pushed by two threads and emptied by a third at once, so that no node is popped twice.
// Wrong: the push publishes its node relaxed. Right: release.
// Expect: race
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

struct Node {
    value: u32,
    next: *mut Node,
}

static TOP: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

const PUBLISH: Ordering = if cfg!(buggy) { Ordering::Relaxed } else { Ordering::Release };

fn push(value: u32) {
    let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
    let mut top = TOP.load(Ordering::Relaxed);
    loop {
        unsafe { (*node).next = top };
        match TOP.compare_exchange_weak(top, node, PUBLISH, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => top = now,
        }
    }
}

fn sum() -> u32 {
    let mut sum = 0;
    let mut next = TOP.swap(ptr::null_mut(), Ordering::Acquire);
    while !next.is_null() {
        let node = unsafe { Box::from_raw(next) };
        sum += node.value;
        next = node.next;
    }
    sum
}

fn main() {
    let pushers: Vec<_> = (1..=2).map(|value| thread::spawn(move || push(value))).collect();
    let early = thread::spawn(sum);
    pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
    assert_eq!(early.join().unwrap() + sum(), 3);
}
