//! Parts of one buffer in two threads; whoever is last frees it.
use bytes::{Bytes, BytesMut};

fn main() {
    let mut buffer = BytesMut::from(&b"hello world"[..]);
    let mut head = buffer.split_to(5);
    let whole = Bytes::from(vec![1, 2, 3]);
    let copy = whole.clone();
    let other = std::thread::spawn(move || {
        head.extend_from_slice(b"!");
        assert_eq!(&head[..], b"hello!");
        assert_eq!(copy.slice(1..)[..], [2, 3]);
    });
    buffer[0] = b'_';
    assert_eq!(&buffer[..], b"_world");
    drop(buffer.freeze());
    assert_eq!(whole[0], 1);
    drop(whole);
    other.join().unwrap();
}
