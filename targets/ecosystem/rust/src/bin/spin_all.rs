//! Mutex, ticket lock, RwLock, Once, LazyLock and Barrier.
use spin::{mutex::TicketMutex, Barrier, LazyLock, Mutex, Once, RwLock};
use std::sync::Arc;

static ONCE: Once<Box<u32>> = Once::new();
static LAZY: LazyLock<Box<u32>> = LazyLock::new(|| Box::new(5));

fn main() {
    let shared = Arc::new((Mutex::new(0), TicketMutex::<_>::new(0), RwLock::new((0, 0)), Barrier::new(2)));
    let work = |shared: Arc<(Mutex<u32>, TicketMutex<u32>, RwLock<(u32, u32)>, Barrier)>| {
        *shared.0.lock() += 1;
        *shared.1.lock() += 1;
        {
            let mut both = shared.2.write();
            both.0 += 1;
            both.1 += 1;
        }
        assert_eq!(**ONCE.call_once(|| Box::new(7)), 7);
        assert_eq!(**LAZY, 5);
        shared.3.wait();
        assert_eq!(*shared.2.read(), (2, 2));
    };
    let theirs = shared.clone();
    let other = std::thread::spawn(move || work(theirs));
    work(shared.clone());
    other.join().unwrap();
    assert_eq!((*shared.0.lock(), *shared.1.lock()), (2, 2));
}
