//! Copy on write: readers keep what they have begun with.
use concread::cowcell::CowCell;
use std::sync::Arc;

fn main() {
    let cell = Arc::new(CowCell::new((1, 1)));
    let theirs = cell.clone();
    let reader = std::thread::spawn(move || {
        let first = theirs.read();
        assert_eq!(first.0, first.1);
        let second = theirs.read();
        assert!(second.0 >= first.0);
    });
    let mut write = cell.write();
    *write.get_mut() = (2, 2);
    write.commit();
    assert_eq!(cell.read().0, 2);
    reader.join().unwrap();
}
