//! Reference counted strings, dropped by two threads.
use arcstr::ArcStr;

fn main() {
    let mine = ArcStr::from("hello world");
    let theirs = mine.clone();
    let other = std::thread::spawn(move || {
        assert_eq!(theirs.substr(6..), "world");
    });
    assert_eq!(mine.len(), 11);
    drop(mine);
    other.join().unwrap();
}
