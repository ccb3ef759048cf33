// A plain load that the compiler may make before it knows whether the source makes it.
// Wrong: the flag is relaxed. Where the load may be speculated, its race is only possible.
// Unsettled: yes
// Values READ: if ready { DATA.get() } else { 42 } | pick(ready) | [42, DATA.get() * u32::from(ready)][usize::from(ready)]
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

struct Shared(Cell<u32>);
unsafe impl Sync for Shared {}
impl Shared {
    fn get(&self) -> u32 {
        if FLAG.load(Ordering::Acquire) { self.0.get() } else { 0 }
    }
}

static DATA: Shared = Shared(Cell::new(0));
static FLAG: AtomicBool = AtomicBool::new(false);

#[inline(never)]
fn pick(ready: bool) -> u32 {
    let mut value = 42;
    if ready {
        value = DATA.0.get();
    }
    value
}

fn main() {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            DATA.0.set(42);
            FLAG.store(true, Ordering::Release); //= right
            FLAG.store(true, Ordering::Relaxed); //= wrong
        });
        scope.spawn(|| {
            let ready = FLAG.load(Ordering::Acquire);
            let value = READ;
            assert_eq!(value, 42);
        });
    });
    assert_eq!(pick(true), 42);
}
