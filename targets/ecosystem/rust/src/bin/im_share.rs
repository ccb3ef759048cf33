//! Copies of one persistent vector and map, changed by two threads.
use im::{HashMap, Vector};

fn main() {
    let vector: Vector<u32> = (0..70).collect();
    let map: HashMap<u32, u32> = (0..4).map(|i| (i, i)).collect();
    let (mut vector2, map2) = (vector.clone(), map.clone());
    let other = std::thread::spawn(move || {
        vector2.push_back(70);
        vector2[0] = 1;
        assert_eq!((vector2[0], vector2.len()), (1, 71));
        assert_eq!(map2.update(9, 9).len(), 5);
    });
    assert_eq!(vector[0], 0);
    drop(vector);
    let mut map = map;
    map.insert(0, 7);
    assert_eq!(map[&0], 7);
    drop(map);
    other.join().unwrap();
}
