//! Files that appear under their name whole or not at all, readable by their owner only: recordings hold what the program
//! was given, its environment with it.
//!
//! Where the file system can, the file has no name until it is whole, so that not even SIGKILL leaves a part of one.

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Nobody else's business.
const MODE: u32 = 0o600;

/// Writes the file. One that is there is replaced.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match nameless(directory) {
        Ok(mut file) => {
            file.write_all(bytes)?;
            name(&file, path)
        }
        Err(_) => beside(path, directory, bytes),
    }
}

fn nameless(directory: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).mode(MODE).custom_flags(OFlag::O_TMPFILE.bits()).open(directory)
}

/// Gives a file its name. There is no call that names and replaces at once: an old one goes first.
fn name(file: &File, path: &Path) -> io::Result<()> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = || {
        nix::unistd::linkat(AT_FDCWD, own.as_str(), AT_FDCWD, path, AtFlags::AT_SYMLINK_FOLLOW)
            .map_err(io::Error::from)
    };
    match link() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            link()
        }
        linked => linked,
    }
}

/// The same for file systems without nameless files: another name first.
fn beside(path: &Path, directory: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = directory.join(format!(".{name}.{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(MODE)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // What is half written helps nobody. (If it cannot be removed either, the first error says more.)
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn both_ways_leave_one_private_file() {
        let here = std::env::temp_dir().join(format!("wmtrace-whole-{}", std::process::id()));
        std::fs::create_dir_all(&here).unwrap();
        let path = here.join("file");
        type Way<'a> = &'a dyn Fn(&[u8]) -> io::Result<()>;
        let ways: [Way<'_>; 2] = [&|bytes| write(&path, bytes), &|bytes| beside(&path, &here, bytes)];
        for (way, bytes) in ways.iter().zip([b"first".as_slice(), b"2nd"]) {
            for _ in 0..2 {
                way(bytes).unwrap();
                assert_eq!(std::fs::read(&path).unwrap(), bytes);
                assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
                assert_eq!(std::fs::read_dir(&here).unwrap().count(), 1);
            }
            std::fs::remove_file(&path).unwrap();
        }
        assert!(write(&here.join("no/such/directory"), b"").is_err());
        std::fs::remove_dir_all(&here).unwrap();
    }
}
