//! oneshot 0.1.11, fixed in 0.1.12: the ends of a channel are dropped with relaxed read-modify-writes, so that the last
//! one frees memory that the other was still using. Found: a race with the freeing, model c11.

fn main() {
    let (sender, receiver) = oneshot::channel::<u32>();
    let thread = std::thread::spawn(move || drop(sender));
    drop(receiver);
    thread.join().unwrap();
}
