//! An executor that two threads run: a task spawned by one may end in the other.
use async_executor::Executor;
use futures_lite::future::block_on;
use std::sync::Arc;

fn main() {
    let executor = Arc::new(Executor::new());
    let (stop, stopped) = async_channel::bounded::<()>(1);
    let theirs = executor.clone();
    let helper = std::thread::spawn(move || {
        let _ = block_on(theirs.run(stopped.recv()));
    });
    let tasks: Vec<_> = (1..=2).map(|i| executor.spawn(async move { Box::new(i) })).collect();
    let sum = block_on(executor.run(async {
        let mut sum = 0;
        for task in tasks {
            sum += *task.await;
        }
        sum
    }));
    assert_eq!(sum, 3);
    drop(stop);
    helper.join().unwrap();
}
