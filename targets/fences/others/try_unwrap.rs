// Rust's library takes the last reference by a relaxed compare-and-swap and an acquire fence, which leaves no trace.
// Wrong: whether it was the last one does not matter.
// Values TAKE: std::sync::Arc::try_unwrap(shared).ok().map(drop) | std::sync::Arc::into_inner(shared).map(drop)
use std::cell::Cell;
use std::sync::Arc;

struct Shared(Cell<u32>);
unsafe impl Sync for Shared {}
static DATA: Shared = Shared(Cell::new(0));

fn main() {
    let shared = Arc::new(0u8);
    let other = Arc::clone(&shared);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            DATA.0.set(1);
            drop(other);
        });
        scope.spawn(move || {
            let last = TAKE;
            if last.is_some() { //= right
            if last.is_some() || true { //= wrong
                DATA.0.set(2);
            }
        });
    });
    assert!(DATA.0.get() > 0);
}
