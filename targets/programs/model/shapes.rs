// The shapes of the C++ files beside this one: --cfg shape="sb", "mp", "iriw", "2+2w" or "r".
// Orders: --cfg order="relaxed", "rel-acq" or "sc". Prints the outcome; status 42 for the weak one.
// Expected: ../../litmus/expected.txt
#![allow(unexpected_cfgs, dead_code)]
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

const STORE: Ordering = if cfg!(order = "sc") {
    Ordering::SeqCst
} else if cfg!(order = "rel-acq") {
    Ordering::Release
} else {
    Ordering::Relaxed
};
const LOAD: Ordering = if cfg!(order = "sc") {
    Ordering::SeqCst
} else if cfg!(order = "rel-acq") {
    Ordering::Acquire
} else {
    Ordering::Relaxed
};

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

#[cfg(shape = "sb")]
fn weak() -> bool {
    let first = thread::spawn(|| {
        X.store(1, STORE);
        Y.load(LOAD)
    });
    let second = thread::spawn(|| {
        Y.store(1, STORE);
        X.load(LOAD)
    });
    let (r1, r2) = (first.join().unwrap(), second.join().unwrap());
    println!("r1={r1} r2={r2}");
    (r1, r2) == (0, 0)
}

#[cfg(shape = "mp")]
fn weak() -> bool {
    let writer = thread::spawn(|| {
        X.store(1, Ordering::Relaxed);
        Y.store(1, STORE);
    });
    let reader = thread::spawn(|| {
        let flag = Y.load(LOAD);
        (flag, X.load(Ordering::Relaxed))
    });
    writer.join().unwrap();
    let (r1, r2) = reader.join().unwrap();
    println!("r1={r1} r2={r2}");
    (r1, r2) == (1, 0)
}

#[cfg(shape = "iriw")]
fn weak() -> bool {
    let writers = [&X, &Y].map(|location| thread::spawn(|| location.store(1, STORE)));
    let readers = [(&X, &Y), (&Y, &X)].map(|(first, second)| {
        thread::spawn(|| {
            let seen = first.load(LOAD);
            (seen, second.load(LOAD))
        })
    });
    writers.map(|writer| writer.join().unwrap());
    let [(r1, r2), (r3, r4)] = readers.map(|reader| reader.join().unwrap());
    println!("r1={r1} r2={r2} r3={r3} r4={r4}");
    (r1, r2, r3, r4) == (1, 0, 1, 0)
}

#[cfg(shape = "2+2w")]
fn weak() -> bool {
    let threads = [(&X, &Y), (&Y, &X)].map(|(first, second)| {
        thread::spawn(|| {
            first.store(1, STORE);
            second.store(2, STORE);
        })
    });
    threads.map(|thread| thread.join().unwrap());
    let (x, y) = (X.load(LOAD), Y.load(LOAD));
    println!("x={x} y={y}");
    (x, y) == (1, 1)
}

#[cfg(shape = "r")]
fn weak() -> bool {
    let first = thread::spawn(|| {
        X.store(1, STORE);
        Y.store(1, STORE);
    });
    let second = thread::spawn(|| {
        Y.store(2, STORE);
        X.load(LOAD)
    });
    first.join().unwrap();
    let r1 = second.join().unwrap();
    let y = Y.load(LOAD);
    println!("y={y} r1={r1}");
    (y, r1) == (2, 0)
}

fn main() {
    if weak() {
        std::process::exit(42);
    }
}
