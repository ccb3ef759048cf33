//! A cell and a lazy static that three threads want.
use conquer_once::{Lazy, OnceCell};

static CELL: OnceCell<Box<u32>> = OnceCell::uninit();
static LAZY: Lazy<Box<u32>> = Lazy::new(|| Box::new(5));

fn main() {
    let threads: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                assert_eq!(**CELL.get_or_init(|| Box::new(7)), 7);
                assert_eq!(**LAZY, 5);
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}
