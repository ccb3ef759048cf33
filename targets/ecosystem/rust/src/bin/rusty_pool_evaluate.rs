//! A pool of threads with join handles.
fn main() {
    let pool = rusty_pool::ThreadPool::new(1, 2, std::time::Duration::from_secs(1));
    let one = pool.evaluate(|| Box::new(1));
    let two = pool.evaluate(|| Box::new(10));
    assert_eq!(*one.await_complete() + *two.await_complete(), 11);
    pool.shutdown_join();
}
