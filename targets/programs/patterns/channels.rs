// Two producers and a bounded and an unbounded channel between threads.
// Wrong: the reply channel has no room and nobody reads it until the worker has ended. Right: it has room.
// Expect: deadlock
use std::sync::mpsc;
use std::thread;

const ROOM: usize = if cfg!(buggy) { 0 } else { 2 };

fn main() {
    let (requests, inbox) = mpsc::channel::<u32>();
    let (replies, results) = mpsc::sync_channel::<u32>(ROOM);
    let producers: Vec<_> = (1..=2)
        .map(|number| {
            let requests = requests.clone();
            thread::spawn(move || requests.send(number).unwrap())
        })
        .collect();
    drop(requests);
    let worker = thread::spawn(move || inbox.iter().for_each(|number| replies.send(number * 10).unwrap()));
    producers.into_iter().for_each(|producer| producer.join().unwrap());
    worker.join().unwrap();
    assert_eq!(results.iter().sum::<u32>(), 30);
}
