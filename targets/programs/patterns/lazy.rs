// A table that the first of two threads makes.
// Wrong: a flag of our own, relaxed. Right: std's OnceLock.
// Expect: race
use std::thread;

#[cfg(not(buggy))]
fn table() -> &'static [u32; 4] {
    use std::sync::OnceLock;
    static TABLE: OnceLock<[u32; 4]> = OnceLock::new();
    TABLE.get_or_init(|| [1, 2, 3, 4])
}

#[cfg(buggy)]
fn table() -> &'static [u32; 4] {
    use std::sync::atomic::{AtomicU32, Ordering};
    static STATE: AtomicU32 = AtomicU32::new(0);
    static mut TABLE: [u32; 4] = [0; 4];
    if STATE.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        unsafe { TABLE = [1, 2, 3, 4] };
        STATE.store(2, Ordering::Relaxed);
    }
    while STATE.load(Ordering::Relaxed) != 2 {
        std::hint::spin_loop();
    }
    unsafe { &*std::ptr::addr_of!(TABLE) }
}

fn main() {
    let threads: Vec<_> = (0..2).map(|_| thread::spawn(|| table().iter().sum::<u32>())).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 10);
    }
}
