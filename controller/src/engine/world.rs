//! What every engine gives its programs: standard streams in memory, and one processor.

use crate::os::launch;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most output of an execution that is kept.
pub(super) const MAX_OUTPUT: u64 = 16 << 20;

/// The program's standard streams, in memory.
pub(super) struct Streams {
    pub(super) stdin: File,
    pub(super) stdout: File,
    pub(super) stderr: File,
}

impl Streams {
    pub(super) fn new(input: &[u8]) -> std::io::Result<Streams> {
        let mut stdin = launch::stream_file("stdin")?;
        stdin.write_all(input)?;
        let append = |file: File| -> std::io::Result<File> {
            nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_APPEND))?;
            Ok(file)
        };
        Ok(Streams {
            stdin,
            stdout: append(launch::stream_file("stdout")?)?,
            stderr: append(launch::stream_file("stderr")?)?,
        })
    }

    pub(super) fn rewind(&mut self) -> std::io::Result<()> {
        self.stdin.seek(SeekFrom::Start(0))?;
        self.stdout.set_len(0)?;
        self.stderr.set_len(0)
    }

    /// What was written, and whether some was left out.
    pub(super) fn collect(&mut self) -> (Vec<u8>, Vec<u8>, bool) {
        let take = |file: &mut File| {
            let mut bytes = Vec::new();
            // A file in memory: reading it does not fail.
            let _ =
                file.seek(SeekFrom::Start(0)).and_then(|_| (&*file).take(MAX_OUTPUT).read_to_end(&mut bytes));
            let cut = file.metadata().is_ok_and(|data| data.len() > bytes.len() as u64);
            (bytes, cut)
        };
        let (stdout, cut_out) = take(&mut self.stdout);
        let (stderr, cut_err) = take(&mut self.stderr);
        (stdout, stderr, cut_out || cut_err)
    }
}

/// Binds this thread, and all processes that it starts, to one of the processors that it has.
pub(super) fn pin(affinity: &nix::sched::CpuSet) {
    // Each engine has a processor of its own, as long as there are some; its processes inherit it. The first one
    // stays where the scheduler has put it: other wmtraces are somewhere else, then.
    let cpus: Vec<usize> =
        (0..nix::sched::CpuSet::count()).filter(|&cpu| affinity.is_set(cpu).unwrap_or(false)).collect();
    if !cpus.is_empty() {
        static ENGINES: AtomicUsize = AtomicUsize::new(0);
        static FIRST: OnceLock<Option<usize>> = OnceLock::new();
        // The first one stays where the kernel has put us: other wmtraces may run here, too.
        let here = *FIRST.get_or_init(launch::processor);
        let first = cpus.iter().position(|&cpu| Some(cpu) == here).unwrap_or(0);
        launch::pin(cpus[(first + ENGINES.fetch_add(1, Ordering::Relaxed)) % cpus.len()]);
    }
}
