//! Two threads count in one map.
use dashmap::DashMap;
use std::sync::Arc;

fn main() {
    let map = Arc::new(DashMap::with_shard_amount(2));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let map = map.clone();
            std::thread::spawn(move || {
                for key in 0..2 {
                    **map.entry(key).or_insert_with(|| Box::new(0)) += 1;
                }
            })
        })
        .collect();
    if let Some(value) = map.get(&0) {
        assert!(**value <= 2);
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert!(map.iter().all(|pair| **pair.value() == 2));
}
