//! spmc 0.2.2: a sender publishes a node (`next`, release) and writes the node's value only then, so that a receiver may
//! take the node before it has its value. 0.2.3 made orders stronger elsewhere and kept this; 0.3.0 writes the value
//! first. Found: a race on the value (or a message that is lost), model c11.
//!
//! `send` also looks for sleepers (`num_sleeping`) after a release store: store buffering loses the wake-up. Found: a
//! deadlock, model tso. 0.3.0 made both seq_cst.

#[allow(unused_mut)] // 0.3.0's sender must be mutable
fn main() {
    let (mut sender, receiver) = spmc::channel::<Box<u32>>();
    let thread = std::thread::spawn(move || receiver.recv().map(|message| *message));
    sender.send(Box::new(17)).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(17));
    drop(sender);
}
