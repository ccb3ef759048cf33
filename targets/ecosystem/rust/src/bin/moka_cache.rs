//! A cache of two: two threads insert and look up.
use moka::sync::Cache;

fn main() {
    let cache = Cache::new(2);
    let theirs = cache.clone();
    let other = std::thread::spawn(move || {
        theirs.insert(1, Box::new(10));
        assert_eq!(*theirs.get_with(2, || Box::new(20)), 20);
    });
    cache.insert(3, Box::new(30));
    assert!(cache.get(&1).is_none_or(|value| *value == 10));
    assert_eq!(*cache.get_with(2, || Box::new(20)), 20);
    other.join().unwrap();
}
