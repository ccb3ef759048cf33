//! What `/proc` tells of a traced process.

use super::Tid;
use super::descriptors::Descriptors;
use super::signals::Signals;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A line of `/proc/PID/maps`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) offset: u64,
    pub(crate) writable: bool,
    pub(crate) executable: bool,
    pub(crate) shared: bool,
    /// The device and number of the file, as the kernel tells them.
    pub(crate) file: (u64, u64),
    /// A path, `[stack]` or the like, or empty.
    pub(crate) name: String,
}

impl Mapping {
    pub(crate) fn contains(&self, addr: u64) -> bool {
        (self.start..self.end).contains(&addr)
    }

    /// Whether it is of a file.
    pub(crate) fn is_file(&self) -> bool {
        self.name.starts_with('/')
    }

    fn parse(line: &str) -> Option<Mapping> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let flags = fields.next()?.as_bytes();
        let offset = fields.next()?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let number = fields.next()?;
        let name = fields.next().unwrap_or("").trim_start();
        let hex = |text| u64::from_str_radix(text, 16).ok();
        Some(Mapping {
            start: hex(start)?,
            end: hex(end)?,
            offset: hex(offset)?,
            writable: flags.get(1) == Some(&b'w'),
            executable: flags.get(2) == Some(&b'x'),
            shared: flags.get(3) == Some(&b's'),
            file: (hex(major)? << 32 | hex(minor)?, number.parse().ok()?),
            name: name.to_owned(),
        })
    }
}

/// The mappings of a process, by address; empty if it is gone.
pub(crate) fn mappings(process: Tid) -> Vec<Mapping> {
    let text = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(Mapping::parse).collect()
}

/// Whether the kernel has put a thread to sleep (and not only off the processor). `None`: it is gone.
pub(crate) fn sleeps(process: Tid, tid: Tid) -> Option<bool> {
    let stat = fs::read(format!("/proc/{process}/task/{tid}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let after = stat.iter().rposition(|&byte| byte == b')')?;
    Some(stat.get(after + 2) == Some(&b'S'))
}

/// The system call that the kernel has put a thread to sleep in: its number, and its first argument.
pub(crate) fn waits_in(process: Tid, tid: Tid) -> Option<(i64, u64)> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{tid}/syscall")).ok()?;
    let mut words = text.split_whitespace();
    let (number, first) = (words.next()?.parse().ok()?, words.next()?.strip_prefix("0x")?);
    Some((number, u64::from_str_radix(first, 16).ok()?))
}

/// Whether a process goes on by itself: it neither sleeps nor has stopped or ended.
pub(crate) fn runs(process: Tid) -> bool {
    let stat = fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
    let after = stat.iter().rposition(|&byte| byte == b')');
    after.and_then(|after| stat.get(after + 2)).is_some_and(|state| matches!(state, b'R' | b'D'))
}

/// How much processor time a thread has used; none if it is gone.
pub(crate) fn used(process: Tid, tid: Tid) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/task/{tid}/stat")).unwrap_or_default();
    // The name, in parentheses, may contain anything. Fields 14 and 15, in hundredths of a second (`proc(5)`, and
    // `USER_HZ` of every architecture that we run on).
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// The signals of a thread; nothing if it is gone.
pub(crate) fn signals(process: Tid, tid: Tid) -> Option<Signals> {
    fs::read_to_string(format!("/proc/{process}/task/{tid}/status")).ok().map(|text| Signals::parse(&text))
}

/// Whether a signal waits for the thread that it does not block, and that does something.
pub(crate) fn has_signal(process: Tid, tid: Tid) -> bool {
    signals(process, tid).is_some_and(|signals| signals.any())
}

/// An open file of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OpenFile {
    pub(crate) fd: i32,
    /// What it is, as `/proc/PID/fd/N` links to.
    pub(crate) target: PathBuf,
    pub(crate) offset: u64,
}

/// The open files of a process.
pub(crate) fn open_files(process: Tid) -> Vec<OpenFile> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    let mut files: Vec<OpenFile> = entries
        .flatten()
        .filter_map(|entry| {
            let fd = entry.file_name().to_str()?.parse().ok()?;
            let target = fs::read_link(entry.path()).ok()?;
            let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{fd}")).ok()?;
            let offset = info.lines().next()?.strip_prefix("pos:")?.trim().parse().ok()?;
            Some(OpenFile { fd, target, offset })
        })
        .collect();
    files.sort_by_key(|file| file.fd);
    files
}

/// What a descriptor of a process leads to, as `/proc/PID/fd/N` links to. Nothing if there is none.
pub(crate) fn descriptor(process: Tid, fd: i32) -> Option<String> {
    let target = fs::read_link(format!("/proc/{process}/fd/{fd}")).ok()?;
    Some(target.to_string_lossy().into_owned())
}

/// What the kernel tells of a descriptor, line by line: a name, and what follows.
pub(crate) fn descriptor_info(process: Tid, fd: i32) -> Vec<(String, String)> {
    let text = fs::read_to_string(format!("/proc/{process}/fdinfo/{fd}")).unwrap_or_default();
    let line =
        |line: &str| line.split_once(':').map(|(name, rest)| (name.to_owned(), rest.trim().to_owned()));
    text.lines().filter_map(line).collect()
}

/// The flags that a descriptor was opened with, and has now (`O_NONBLOCK`, `O_CLOEXEC` …).
pub(crate) fn descriptor_flags(process: Tid, fd: i32) -> i32 {
    let info = descriptor_info(process, fd);
    let flags = info.iter().find(|(name, _)| name == "flags");
    flags.and_then(|(_, flags)| i32::from_str_radix(flags, 8).ok()).unwrap_or(0)
}

/// The open files of a process, with the place in each, as our own: where one of them is then, the process is, too.
pub(crate) fn share_files(process: Tid, files: &[OpenFile]) -> io::Result<Vec<(File, u64)>> {
    let shared = Descriptors::of(process)?;
    files.iter().map(|file| Ok((File::from(shared.copy(file.fd)?), file.offset))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Seek as _;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn lines_of_maps() {
        let line = "7f0000001000-7f0000003000 r-xp 00001000 08:01 1234                       /usr/lib/a b.so";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!(
            (mapping.start, mapping.end, mapping.offset),
            (0x7f00_0000_1000, 0x7f00_0000_3000, 0x1000)
        );
        assert!(mapping.executable && !mapping.writable && !mapping.shared && mapping.is_file());
        assert_eq!(mapping.name, "/usr/lib/a b.so");
        let anonymous = Mapping::parse("1000-2000 rw-s 00000000 00:00 0 ").unwrap();
        assert_eq!((anonymous.name.as_str(), anonymous.shared), ("", true));
        assert_eq!(Mapping::parse("garbage"), None);
    }

    #[test]
    fn our_own_process() {
        let ours = Tid(std::process::id() as i32);
        assert!(mappings(ours).iter().any(|mapping| mapping.executable && mapping.is_file()));
        assert!(open_files(ours).iter().any(|file| file.fd == 1));
        let mut file = File::open("/proc/self/exe").unwrap();
        let own = |it: &OpenFile| it.fd == file.as_raw_fd();
        let files: Vec<OpenFile> = open_files(ours).into_iter().filter(own).collect();
        let [(shared, 0)] = &mut share_files(ours, &files).unwrap()[..] else {
            panic!("one file: {files:?}")
        };
        shared.seek(io::SeekFrom::Start(3)).unwrap();
        assert_eq!(file.stream_position().unwrap(), 3);
        assert!(sleeps(ours, ours).is_some());
        assert_eq!(sleeps(ours, Tid(0)), None);
        assert_eq!(used(ours, Tid(0)), Duration::ZERO);
        let start = std::time::Instant::now();
        let this = Tid(nix::unistd::gettid().as_raw());
        while used(ours, this) < Duration::from_millis(10) {
            assert!(start.elapsed() < Duration::from_secs(60), "a thread that runs uses time");
        }
    }
}
