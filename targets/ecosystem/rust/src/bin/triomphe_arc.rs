//! Reference counts: whoever is last frees, and may change when alone.
use triomphe::Arc;

fn main() {
    let mut mine = Arc::new((1, Box::new(2)));
    let theirs = mine.clone();
    let other = std::thread::spawn(move || {
        assert_eq!(theirs.0 + *theirs.1, 3);
    });
    if let Some(value) = Arc::get_mut(&mut mine) {
        value.0 = 5;
    }
    *Arc::make_mut(&mut mine).1 = 7;
    assert_eq!(*mine.1, 7);
    drop(mine);
    other.join().unwrap();
}
