//! crossbeam-deque 0.8.0, fixed in 0.8.1 (RUSTSEC-2021-0093): a thief that steals several tasks from a LIFO deque keeps
//! the buffer that it saw first (deque.rs:781). If the owner has another buffer by then, and another task in the second
//! place, the thief takes the old task, which the owner has popped long since, and the new one is lost. Found: an
//! assertion, every model (sc is enough).

use crossbeam_deque::Worker;

fn main() {
    let worker = Worker::new_lifo();
    let stealer = worker.stealer();
    // The buffer has 64 places and grows for the 65th task. Taking tasks from the front does not make it small again,
    // popping one from the back does.
    for task in 0..65 {
        worker.push(task);
    }
    for _ in 0..62 {
        let _ = stealer.steal();
    }

    let thief = std::thread::spawn(move || {
        let mine = Worker::new_lifo();
        let _ = stealer.steal_batch(&mine);
        std::iter::from_fn(|| mine.pop()).collect::<Vec<u32>>()
    });
    let mut tasks: Vec<u32> = vec![];
    tasks.extend(worker.pop());
    tasks.extend(worker.pop());
    worker.push(65);
    tasks.extend(thief.join().unwrap());
    tasks.extend(std::iter::from_fn(|| worker.pop()));
    tasks.sort_unstable();
    assert_eq!(tasks, [62, 63, 64, 65]);
}
