//! A worker pushes and pops, a thief steals.
use st3::fifo::Worker;

fn main() {
    let worker = Worker::<Box<u32>>::new(4);
    let stealer = worker.stealer();
    let thief = std::thread::spawn(move || {
        let mine = Worker::new(4);
        let mut sum = 0;
        if let Ok((value, _)) = stealer.steal_and_pop(&mine, |n| n - n / 2) {
            sum += *value;
        }
        while let Some(value) = mine.pop() {
            sum += *value;
        }
        sum
    });
    for i in [1, 10, 100] {
        worker.push(Box::new(i)).unwrap();
    }
    let mut sum = worker.pop().map_or(0, |value| *value);
    sum += thief.join().unwrap();
    while let Some(value) = worker.pop() {
        sum += *value;
    }
    assert_eq!(sum, 111);
}
