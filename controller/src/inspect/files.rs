//! The files that belong to a program, on this machine: separate debug files, split units, source text.
//!
//! Names come from the program, which nobody vouches for: only regular files are opened, and only up to a size.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wmtrace_decoder::debug::{DebugFile, Files};

/// The largest program or debug file that is read.
pub(crate) const MAX_BINARY: u64 = 4 << 30;
/// The largest source or orders file that is read.
pub(crate) const MAX_TEXT: u64 = 16 << 20;

/// Where distributions keep separate debug files.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// Opens a regular file of at most `max` bytes; its length.
fn open(path: &Path, max: u64) -> io::Result<(File, u64)> {
    // Asked before opening: opening a FIFO would wait for its writer.
    let kind = std::fs::metadata(path)?;
    if kind.is_dir() {
        return Err(io::Error::other("is a directory"));
    }
    if !kind.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if kind.len() > max {
        return Err(too_large(max));
    }
    Ok((File::open(path)?, kind.len()))
}

fn too_large(max: u64) -> io::Error {
    io::Error::other(format!("larger than {} MiB", max >> 20))
}

/// Reads a regular file of at most `max` bytes.
pub(crate) fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let (file, len) = open(path, max)?;
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    file.take(max + 1).read_to_end(&mut bytes)?;
    // It may have grown meanwhile.
    if bytes.len() as u64 > max { Err(too_large(max)) } else { Ok(bytes) }
}

/// The same into memory that can be shared: large files are not copied once more.
pub(crate) fn read_shared(path: &Path, max: u64) -> io::Result<Arc<[u8]>> {
    let (mut file, len) = open(path, max)?;
    let len = usize::try_from(len).map_err(io::Error::other)?;
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, len).collect();
    file.read_exact(Arc::get_mut(&mut bytes).expect("nobody else has it yet"))?;
    Ok(bytes)
}

/// The files of one program.
pub(crate) struct ProgramFiles {
    /// The program's path, without symbolic links where that could be found out.
    program: PathBuf,
    /// Where separate debug files are kept.
    root: PathBuf,
}

impl ProgramFiles {
    pub(crate) fn new(program: &Path) -> ProgramFiles {
        ProgramFiles::below(program, Path::new(DEBUG_ROOT))
    }

    /// With separate debug files in a directory of the user's.
    pub(super) fn below(program: &Path, root: &Path) -> ProgramFiles {
        let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        ProgramFiles { program, root: root.to_owned() }
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
        let global = self.root.join(directory.strip_prefix("/").unwrap_or(directory));
        // A program that names itself is not its own debug file.
        let places = [directory.join(name), directory.join(".debug").join(name), global.join(name)];
        places.into_iter().filter(|path| *path != self.program).collect()
    }

    fn split(&self, directory: &str, name: &str) -> Option<Arc<[u8]>> {
        let said = Path::new(directory).join(name);
        let beside = self.directory().join(Path::new(name).file_name()?);
        [said, beside].iter().find_map(|path| read_shared(path, MAX_BINARY).ok())
    }
}

impl Files for ProgramFiles {
    fn open(&self, file: DebugFile<'_>) -> Option<Arc<[u8]>> {
        let shared = |path: &Path| read_shared(path, MAX_BINARY).ok();
        match file {
            DebugFile::BuildId(id) => shared(&self.root.join(build_id_path(id)?)),
            DebugFile::DebugLink { name, crc } => self
                .linked(name)
                .iter()
                .find_map(|path| shared(path).filter(|bytes| crc32fast::hash(bytes) == crc)),
            DebugFile::Dwo { directory, name } => self.split(directory, name),
            DebugFile::Dwp => {
                let mut name = self.program.clone().into_os_string();
                name.push(".dwp");
                shared(Path::new(&name))
            }
            DebugFile::Source(path) => read(Path::new(path), MAX_TEXT).ok().map(Arc::from),
        }
    }
}

/// Where the debug file of a build-id is, below the directory for debug files.
fn build_id_path(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    Some(Path::new(".build-id").join(format!("{first:02x}")).join(format!("{}.debug", hex(rest))))
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debug_link_is_a_name_and_not_the_program() {
        let files = ProgramFiles { program: "/opt/x/prog".into(), root: DEBUG_ROOT.into() };
        let places = ["/opt/x/p.debug", "/opt/x/.debug/p.debug", "/usr/lib/debug/opt/x/p.debug"];
        assert_eq!(files.linked("p.debug"), places.map(PathBuf::from));
        assert_eq!(files.linked("prog").len(), 2);
        assert_eq!(files.linked("../../etc/passwd"), [] as [PathBuf; 0]);
    }

    #[test]
    fn build_ids() {
        let path = build_id_path(&[0xab, 0xcd, 0x01]).unwrap();
        assert_eq!(path, Path::new(".build-id/ab/cd01.debug"));
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
