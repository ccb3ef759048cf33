//! A runtime of two workers: tasks, a channel between them, and their results.
fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let sum = runtime.block_on(async {
        let (tx, mut rx) = tokio::sync::mpsc::channel::<Box<u32>>(1);
        let sender = tokio::spawn(async move {
            for i in 1..=3 {
                tx.send(Box::new(i)).await.unwrap();
            }
        });
        let mut sum = 0;
        while let Some(value) = rx.recv().await {
            sum += *value;
        }
        sender.await.unwrap();
        sum
    });
    assert_eq!(sum, 6);
}
