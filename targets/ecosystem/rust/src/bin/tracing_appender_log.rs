//! A writer that does not block: another thread writes what it is given.
use std::io::Write;
use std::sync::{Arc, Mutex};

struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn main() {
    let written = Arc::new(Mutex::new(Vec::new()));
    let (writer, guard) = tracing_appender::non_blocking::NonBlockingBuilder::default()
        .buffered_lines_limit(1)
        .lossy(false)
        .finish(Shared(written.clone()));
    let mut theirs = writer.clone();
    let other = std::thread::spawn(move || theirs.write_all(b"ab").unwrap());
    let mut writer = writer;
    writer.write_all(b"ab").unwrap();
    other.join().unwrap();
    drop(guard);
    assert_eq!(*written.lock().unwrap(), b"abab");
}
