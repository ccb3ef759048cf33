//! A value made by the first thread that wants it.
lazy_static::lazy_static! {
    static ref VALUE: Vec<u32> = vec![1, 2, 3];
}

fn main() {
    let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(|| assert_eq!(VALUE[2], 3))).collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}
