//! crossbeam-deque 0.8.0, fixed in 0.8.1 (RUSTSEC-2021-0093): a thief that steals several tasks from a LIFO deque keeps
//! the buffer that it saw first. If the owner has another buffer by then, and another task in the second place, the thief
//! takes the old task, which the owner has popped long since, and the new one is lost. Found: a use after free (the task
//! is dropped twice), models sc and tso, `--races off`: the deque reads tasks that another thread may be writing, and
//! forgets what it has read if so. That is a data race, and a known one (the source says so), in 0.8.1 too.

use crossbeam_deque::Worker;

fn main() {
    let worker = Worker::new_lifo();
    let stealer = worker.stealer();
    // The buffer has 64 places and grows for the 65th task. Taking tasks from the front does not make it small again,
    // popping one from the back does.
    for task in 0..65 {
        worker.push(Box::new(task));
    }
    for _ in 0..62 {
        let _ = stealer.steal();
    }

    let thief = std::thread::spawn(move || {
        let mine = Worker::new_lifo();
        let _ = stealer.steal_batch(&mine);
        std::iter::from_fn(|| mine.pop()).collect::<Vec<Box<u32>>>()
    });
    let mut tasks: Vec<Box<u32>> = vec![];
    tasks.extend(worker.pop());
    tasks.extend(worker.pop());
    worker.push(Box::new(65));
    tasks.extend(thief.join().unwrap());
    tasks.extend(std::iter::from_fn(|| worker.pop()));

    let mut numbers: Vec<u32> = tasks.iter().map(|task| **task).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [62, 63, 64, 65]);
}
