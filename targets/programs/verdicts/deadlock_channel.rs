// A receiver takes messages until all senders are gone.
// Wrong: the main thread keeps a sender while it waits for the receiver. Right: it drops it first.
// Expect: deadlock
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel::<u32>();
    let worker = {
        let sender = sender.clone();
        thread::spawn(move || sender.send(7).unwrap())
    };
    let sum = thread::spawn(move || receiver.iter().sum::<u32>());
    #[cfg(not(buggy))]
    drop(sender);
    worker.join().unwrap();
    assert_eq!(sum.join().unwrap(), 7);
    #[cfg(buggy)]
    drop(sender);
}
