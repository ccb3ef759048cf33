//! The reader always sees a whole value, and newer ones later.
fn main() {
    let (mut input, mut output) = triple_buffer::triple_buffer(&(0, 0));
    let writer = std::thread::spawn(move || {
        for i in 1..=3 {
            input.write((i, i));
        }
    });
    let mut last = 0;
    for _ in 0..3 {
        let both = *output.read();
        assert_eq!(both.0, both.1);
        assert!(both.0 >= last);
        last = both.0;
    }
    writer.join().unwrap();
    assert_eq!(*output.read(), (3, 3));
}
