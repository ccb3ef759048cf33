//! Shared pointers by a kind that the user chooses.
use archery::{ArcK, SharedPointer};

fn main() {
    let mut mine: SharedPointer<(u32, Box<u32>), ArcK> = SharedPointer::new((1, Box::new(2)));
    let theirs = mine.clone();
    let other = std::thread::spawn(move || assert_eq!(theirs.0 + *theirs.1, 3));
    SharedPointer::make_mut(&mut mine).0 = 5;
    assert_eq!(mine.0, 5);
    drop(mine);
    other.join().unwrap();
}
