//! Each thread has a value of its own, or goes on with that of a thread that has ended; at the end all are there.
use std::cell::Cell;
use std::sync::Arc;
use thread_local::ThreadLocal;

fn main() {
    let values = Arc::new(ThreadLocal::<Box<Cell<u32>>>::new());
    let threads: Vec<_> = [1, 10]
        .into_iter()
        .map(|value| {
            let values = values.clone();
            std::thread::spawn(move || {
                let mine = values.get_or(|| Box::new(Cell::new(0)));
                mine.set(mine.get() + value);
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let values = Arc::try_unwrap(values).unwrap();
    assert_eq!(values.into_iter().map(|value| value.get()).sum::<u32>(), 11);
}
