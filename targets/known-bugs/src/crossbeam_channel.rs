//! crossbeam-channel 0.5.14, fixed in 0.5.15 (RUSTSEC-2025-0024): when the last receiver goes while one sender is about
//! to install a channel's first block and another has already put a message into it, the block is freed twice (list.rs:614
//! and :700). Found: glibc's "double free", every model, `--strategy pos` or `pct`: one thread must stop between a
//! read-modify-write and a release store, where pctwm never changes threads.

fn main() {
    let (sender, receiver) = crossbeam_channel::unbounded::<u32>();
    let other = sender.clone();
    let thread = std::thread::spawn(move || other.send(1).is_ok());
    let _ = sender.send(2);
    drop(receiver);
    let _ = thread.join().unwrap();
}
