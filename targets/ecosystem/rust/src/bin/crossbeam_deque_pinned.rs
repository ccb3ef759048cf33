//! As crossbeam_deque_steal, but the thief is pinned: `steal` has a fence of its own then.
use crossbeam_deque::{Steal, Worker};

fn main() {
    let worker = Worker::new_lifo();
    let stealer = worker.stealer();
    let thief = std::thread::spawn(move || {
        let _guard = crossbeam_epoch::pin();
        let mut taken = 0;
        for _ in 0..3 {
            if let Steal::Success(value) = stealer.steal() {
                taken += value;
            }
        }
        taken
    });
    let mut taken = 0;
    for i in [1, 10, 100] {
        worker.push(i);
    }
    while let Some(value) = worker.pop() {
        taken += value;
    }
    let theirs = thief.join().unwrap();
    while let Some(value) = worker.pop() {
        taken += value;
    }
    assert_eq!(taken + theirs, 111);
}
