//! Treiber's stack with epochs: two threads push and pop.
use crossbeam_epoch::{self as epoch, Atomic, Owned};
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::Arc;

struct Node {
    value: ManuallyDrop<Box<u32>>,
    next: Atomic<Node>,
}

struct Stack(Atomic<Node>);

impl Stack {
    fn push(&self, value: u32) {
        let guard = epoch::pin();
        let mut node = Owned::new(Node { value: ManuallyDrop::new(Box::new(value)), next: Atomic::null() });
        loop {
            let head = self.0.load(Relaxed, &guard);
            node.next.store(head, Relaxed);
            match self.0.compare_exchange(head, node, Release, Relaxed, &guard) {
                Ok(_) => return,
                Err(error) => node = error.new,
            }
        }
    }

    fn pop(&self) -> Option<Box<u32>> {
        let guard = epoch::pin();
        loop {
            let head = self.0.load(Acquire, &guard);
            let node = unsafe { head.as_ref()? };
            let next = node.next.load(Relaxed, &guard);
            if self.0.compare_exchange(head, next, Relaxed, Relaxed, &guard).is_ok() {
                unsafe {
                    guard.defer_destroy(head);
                    return Some(ManuallyDrop::into_inner(std::ptr::read(&node.value)));
                }
            }
        }
    }
}

fn main() {
    let stack = Arc::new(Stack(Atomic::null()));
    let threads: Vec<_> = [1, 10]
        .into_iter()
        .map(|value| {
            let stack = stack.clone();
            std::thread::spawn(move || {
                stack.push(value);
                let popped = stack.pop().map_or(0, |value| *value);
                epoch::pin().flush();
                popped
            })
        })
        .collect();
    let sum: u32 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    assert_eq!(sum, 11);
}
