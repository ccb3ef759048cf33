//! The injector: one thread pushes boxes, two steal them.
use crossbeam_deque::{Injector, Steal};
use std::sync::Arc;

fn main() {
    let queue = Arc::new(Injector::<Box<u32>>::new());
    let thieves: Vec<_> = (0..2)
        .map(|_| {
            let queue = queue.clone();
            std::thread::spawn(move || {
                let mut sum = 0;
                for _ in 0..3 {
                    if let Steal::Success(value) = queue.steal() {
                        sum += *value;
                    }
                }
                sum
            })
        })
        .collect();
    for i in [1, 10, 100] {
        queue.push(Box::new(i));
    }
    let mut sum: u32 = thieves.into_iter().map(|t| t.join().unwrap()).sum();
    while let Steal::Success(value) = queue.steal() {
        sum += *value;
    }
    assert_eq!(sum, 111);
}
