//! A cell that is set once, and state of each thread's own.
use state::{InitCell, LocalInitCell};
use std::cell::Cell;

static CELL: InitCell<Box<u32>> = InitCell::new();
static LOCAL: LocalInitCell<Cell<u32>> = LocalInitCell::new();

fn main() {
    LOCAL.set(|| Cell::new(1));
    let threads: Vec<_> = (0..2)
        .map(|i| {
            std::thread::spawn(move || {
                CELL.set(Box::new(i));
                assert!(**CELL.get() < 2);
                LOCAL.get().set(i);
                assert_eq!(LOCAL.get().get(), i);
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}
