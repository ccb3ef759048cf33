//! What the one that unparks has written before is seen.
use std::cell::UnsafeCell;
use std::sync::Arc;

struct Data(UnsafeCell<u32>);
unsafe impl Sync for Data {}

fn main() {
    let data = Arc::new(Data(UnsafeCell::new(0)));
    let (parker, unparker) = parking::pair();
    let theirs = data.clone();
    let other = std::thread::spawn(move || {
        unsafe { *theirs.0.get() = 1 };
        unparker.unpark();
    });
    parker.park();
    assert_eq!(unsafe { *data.0.get() }, 1);
    other.join().unwrap();
}
