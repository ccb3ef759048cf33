//! The giver waits until the taker wants.
use futures_lite::future::{block_on, poll_fn};

fn main() {
    let (mut giver, mut taker) = want::new();
    let other = std::thread::spawn(move || {
        taker.want();
        taker
    });
    block_on(poll_fn(|context| giver.poll_want(context))).unwrap();
    assert!(giver.give());
    drop(other.join().unwrap());
    assert!(giver.is_canceled());
}
