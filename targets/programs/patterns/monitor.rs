// std's Mutex, Condvar, RwLock and Barrier together.
// Wrong: the condition is waited for without a loop around it, and its notification can come before. Right: wait_while.
// Expect: deadlock
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;

#[derive(Default)]
struct Monitor {
    ready: Mutex<bool>,
    changed: Condvar,
    table: RwLock<Vec<u32>>,
}

impl Monitor {
    fn wait(&self) {
        let ready = self.ready.lock().unwrap();
        #[cfg(not(buggy))]
        drop(self.changed.wait_while(ready, |ready| !*ready).unwrap());
        #[cfg(buggy)]
        drop(self.changed.wait(ready).unwrap());
    }
}

fn main() {
    let monitor = Arc::new(Monitor::default());
    let barrier = Arc::new(Barrier::new(2));
    let reader = {
        let (monitor, barrier) = (monitor.clone(), barrier.clone());
        thread::spawn(move || {
            monitor.wait();
            barrier.wait();
            monitor.table.read().unwrap().iter().sum::<u32>()
        })
    };
    monitor.table.write().unwrap().push(42);
    *monitor.ready.lock().unwrap() = true;
    monitor.changed.notify_one();
    barrier.wait();
    assert_eq!(reader.join().unwrap(), 42);
}
