//! Messages go to a thread of the logger's.
use slog::{info, o, Drain, Never, OwnedKVList, Record};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

struct Count(Arc<AtomicU32>);

impl Drain for Count {
    type Ok = ();
    type Err = Never;
    fn log(&self, _: &Record, _: &OwnedKVList) -> Result<(), Never> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn main() {
    let count = Arc::new(AtomicU32::new(0));
    let (drain, guard) = slog_async::Async::new(Count(count.clone()))
        .chan_size(1)
        .overflow_strategy(slog_async::OverflowStrategy::Block)
        .build_with_guard();
    let logger = slog::Logger::root(drain.fuse(), o!());
    let theirs = logger.clone();
    let other = std::thread::spawn(move || info!(theirs, "one"));
    info!(logger, "two");
    other.join().unwrap();
    drop(logger);
    drop(guard);
    assert_eq!(count.load(Ordering::Relaxed), 2);
}
