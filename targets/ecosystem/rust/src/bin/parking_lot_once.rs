//! Once alone: three threads want it.
use parking_lot::Once;

static ONCE: Once = Once::new();
static mut VALUE: u32 = 0;

fn main() {
    let threads: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                ONCE.call_once(|| unsafe { VALUE = 7 });
                assert_eq!(unsafe { VALUE }, 7);
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}
