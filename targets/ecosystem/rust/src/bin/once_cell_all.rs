//! OnceCell, Lazy and race::OnceBox.
use once_cell::race::OnceBox;
use once_cell::sync::{Lazy, OnceCell};

static CELL: OnceCell<Box<u32>> = OnceCell::new();
static LAZY: Lazy<Box<u32>> = Lazy::new(|| Box::new(5));
static RACE: OnceBox<u32> = OnceBox::new();

fn main() {
    let threads: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                assert_eq!(**CELL.get_or_init(|| Box::new(7)), 7);
                assert_eq!(**LAZY, 5);
                assert_eq!(*RACE.get_or_init(|| Box::new(3)), 3);
            })
        })
        .collect();
    assert!(CELL.get().is_none_or(|value| **value == 7));
    threads.into_iter().for_each(|t| t.join().unwrap());
}
