//! The pattern of its documentation: a flag, listen, look again, wait.
use event_listener::{Event, Listener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

fn main() {
    let shared = Arc::new((AtomicBool::new(false), Event::new()));
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || loop {
                if shared.0.load(Ordering::Relaxed) {
                    break;
                }
                let listener = shared.1.listen();
                if shared.0.load(Ordering::Relaxed) {
                    break;
                }
                listener.wait();
            })
        })
        .collect();
    shared.0.store(true, Ordering::Relaxed);
    shared.1.notify(usize::MAX);
    waiters.into_iter().for_each(|w| w.join().unwrap());
}
