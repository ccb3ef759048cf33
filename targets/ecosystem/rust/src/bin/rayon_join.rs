//! A pool of two threads: join, and a parallel sum.
use rayon::prelude::*;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let (a, b) = rayon::join(|| Box::new(1), || Box::new(2));
        assert_eq!(*a + *b, 3);
        let sum: u32 = (0..4u32).into_par_iter().map(|i| i * 2).sum();
        assert_eq!(sum, 12);
    });
}
