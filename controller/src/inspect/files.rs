//! The files that belong to a program, on this machine: separate debug files, split units, source text.
//!
//! Names come from the program, which nobody vouches for: only regular files are opened, and only up to a size.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wmtrace_decoder::debug::{DebugFile, Files};

/// The largest program or debug file that is read.
pub(super) const MAX_BINARY: u64 = 4 << 30;
/// The largest source or orders file that is read.
pub(super) const MAX_TEXT: u64 = 16 << 20;

/// Where distributions keep separate debug files.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// Reads a regular file of at most `max` bytes.
pub(super) fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    // Asked before opening: opening a FIFO would wait for its writer.
    let kind = std::fs::metadata(path)?;
    if kind.is_dir() {
        return Err(io::Error::other("is a directory"));
    }
    if !kind.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let too_large = || io::Error::other(format!("larger than {} MiB", max >> 20));
    if kind.len() > max {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(kind.len()).unwrap_or(0));
    File::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    // It may have grown meanwhile.
    if bytes.len() as u64 > max { Err(too_large()) } else { Ok(bytes) }
}

/// The files of one program.
pub(super) struct ProgramFiles {
    /// The program's path, without symbolic links where that could be found out.
    program: PathBuf,
}

impl ProgramFiles {
    pub(super) fn new(program: &Path) -> ProgramFiles {
        ProgramFiles { program: program.canonicalize().unwrap_or_else(|_| program.to_owned()) }
    }

    fn directory(&self) -> &Path {
        self.program.parent().unwrap_or(Path::new(""))
    }

    /// Where a separate debug file of this name may be, in gdb's order.
    fn linked(&self, name: &str) -> Vec<PathBuf> {
        let directory = self.directory();
        // A link is a file's name: one with directories in it was not made by objcopy.
        if name.is_empty() || name.contains('/') {
            return Vec::new();
        }
        let global = Path::new(DEBUG_ROOT).join(directory.strip_prefix("/").unwrap_or(directory));
        // A program that names itself is not its own debug file.
        let places = [directory.join(name), directory.join(".debug").join(name), global.join(name)];
        places.into_iter().filter(|path| *path != self.program).collect()
    }

    fn split(&self, directory: &str, name: &str) -> Option<Vec<u8>> {
        let said = Path::new(directory).join(name);
        let beside = self.directory().join(Path::new(name).file_name()?);
        [said, beside].iter().find_map(|path| read(path, MAX_BINARY).ok())
    }
}

impl Files for ProgramFiles {
    fn open(&self, file: DebugFile<'_>) -> Option<Arc<[u8]>> {
        let bytes = match file {
            DebugFile::BuildId(id) => read(&build_id_path(id)?, MAX_BINARY).ok(),
            DebugFile::DebugLink { name, crc } => self
                .linked(name)
                .iter()
                .find_map(|path| read(path, MAX_BINARY).ok().filter(|bytes| crc32fast::hash(bytes) == crc)),
            DebugFile::Dwo { directory, name } => self.split(directory, name),
            DebugFile::Dwp => {
                let mut name = self.program.clone().into_os_string();
                name.push(".dwp");
                read(Path::new(&name), MAX_BINARY).ok()
            }
            DebugFile::Source(path) => read(Path::new(path), MAX_TEXT).ok(),
        };
        bytes.map(Arc::from)
    }
}

fn build_id_path(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    Some(
        Path::new(DEBUG_ROOT)
            .join(".build-id")
            .join(format!("{first:02x}"))
            .join(format!("{}.debug", hex(rest))),
    )
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debug_link_is_a_name_and_not_the_program() {
        let files = ProgramFiles { program: "/opt/x/prog".into() };
        let places = ["/opt/x/p.debug", "/opt/x/.debug/p.debug", "/usr/lib/debug/opt/x/p.debug"];
        assert_eq!(files.linked("p.debug"), places.map(PathBuf::from));
        assert_eq!(files.linked("prog").len(), 2);
        assert_eq!(files.linked("../../etc/passwd"), [] as [PathBuf; 0]);
    }

    #[test]
    fn build_ids() {
        let path = build_id_path(&[0xab, 0xcd, 0x01]).unwrap();
        assert_eq!(path, Path::new("/usr/lib/debug/.build-id/ab/cd01.debug"));
        assert_eq!(build_id_path(&[1]), None);
    }

    #[test]
    fn only_regular_files_of_a_sensible_size() {
        assert!(read(Path::new("/dev/zero"), 10).is_err());
        assert!(read(Path::new("/"), 10).is_err());
        let error = read(Path::new("/proc/self/exe"), 10).unwrap_err();
        assert_eq!(error.to_string(), "larger than 0 MiB");
    }
}
