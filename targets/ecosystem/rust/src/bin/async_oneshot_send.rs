//! A value sent once; the receiver may wait before or after.
use futures_lite::future::block_on;

fn main() {
    let (mut tx, rx) = async_oneshot::oneshot::<Box<u32>>();
    let sender = std::thread::spawn(move || tx.send(Box::new(5)).unwrap());
    assert_eq!(*block_on(rx).unwrap(), 5);
    sender.join().unwrap();
}
