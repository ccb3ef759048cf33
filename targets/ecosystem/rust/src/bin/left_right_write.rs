//! Two copies: one thread writes and publishes, the other reads.
use left_right::{Absorb, ReadHandleFactory};

struct Set(u32);

#[derive(Default, Clone)]
struct Both(u32, Box<u32>);

impl Absorb<Set> for Both {
    fn absorb_first(&mut self, operation: &mut Set, _: &Self) {
        self.0 = operation.0;
        *self.1 = operation.0;
    }
    fn sync_with(&mut self, first: &Self) {
        *self = first.clone();
    }
}

fn main() {
    let (mut write, read) = left_right::new::<Both, Set>();
    let factory: ReadHandleFactory<Both> = read.factory();
    let reader = std::thread::spawn(move || {
        let read = factory.handle();
        for _ in 0..2 {
            if let Some(both) = read.enter() {
                assert_eq!(both.0, *both.1);
            }
        }
    });
    for i in 1..=2 {
        write.append(Set(i));
        write.publish();
    }
    assert_eq!(read.enter().map(|both| both.0), Some(2));
    reader.join().unwrap();
}
