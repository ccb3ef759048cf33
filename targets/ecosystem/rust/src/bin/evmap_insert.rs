//! Readers see what was published.
fn main() {
    let (mut write, read) = evmap::new::<u32, u32>();
    let theirs = read.clone();
    let reader = std::thread::spawn(move || {
        if let Some(value) = theirs.get_one(&1) {
            assert!(*value == 10 || *value == 20);
        };
    });
    write.insert(1, 10);
    write.publish();
    write.update(1, 20);
    write.publish();
    assert_eq!(read.get_one(&1).map(|v| *v), Some(20));
    reader.join().unwrap();
}
