//! The program under test as a file: found as a shell finds it, looked at before anything is started, and named by
//! its build-id, so that a recording knows its program again.

use crate::cli::Arch;
use crate::inspect::files::{self, MAX_BINARY, ProgramFiles, hex};
use nix::unistd::{AccessFlags, access};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wmtrace_decoder::debug::Debug;
use wmtrace_decoder::image::Image;

/// A program that can be tested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// Absolute.
    pub(crate) path: PathBuf,
    pub(crate) arch: &'static str,
    /// The build-id in hexadecimal digits, or a checksum.
    pub(crate) build_id: String,
}

/// Why there is nothing to test.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum TargetError {
    /// The user's mistake.
    #[error("{0}")]
    Input(String),
}

/// The file that a shell would run for `name`.
pub(crate) fn find(name: &OsStr, search: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, TargetError> {
    let given = Path::new(name);
    if name.as_bytes().contains(&b'/') {
        // `./program` and `program` in the same directory are one name; `..` may lead through a link, and stays.
        return Ok(cwd.join(given).components().collect());
    }
    let mut refused = None;
    for directory in search.map(std::env::split_paths).into_iter().flatten() {
        // An empty element is the working directory.
        let path = cwd.join(directory).join(given);
        if path.is_file() {
            if access(&path, AccessFlags::X_OK).is_ok() {
                return Ok(path);
            }
            refused.get_or_insert(path);
        }
    }
    let shown = given.display();
    Err(TargetError::Input(match refused {
        Some(path) => format!("{}: not executable", path.display()),
        None if cwd.join(given).is_file() => format!("{shown}: not found in PATH (did you mean ./{shown}?)"),
        None => format!("{shown}: not found in PATH, and no command of wmtrace"),
    }))
}

/// Whether `/proc/PID/maps` tells the name of the file as it is. Otherwise its code could not be told from that of libraries
/// that run natively, and nothing would be tested.
fn is_followed(path: &Path) -> bool {
    let real = std::fs::canonicalize(path);
    real.is_ok_and(|real| real.to_str().is_some_and(|name| !name.contains('\n')))
}

/// Looks at the file.
pub(crate) fn examine(path: &Path, wanted: Arch) -> Result<Target, TargetError> {
    let shown = path.display();
    let input = |what: &dyn std::fmt::Display| Err(TargetError::Input(format!("{shown}: {what}")));
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return input(&"No such file"),
        Err(error) => return input(&error),
        Ok(kind) if kind.is_dir() => return input(&"is a directory"),
        Ok(kind) if !kind.is_file() => return input(&"not a regular file"),
        Ok(_) if access(path, AccessFlags::X_OK).is_err() => {
            return input(&"not executable (permission denied)");
        }
        Ok(_) => {}
    }
    if !is_followed(path) {
        return input(
            &"wmtrace cannot follow a program whose path is not UTF-8 or has a line break: copy it elsewhere",
        );
    }
    let bytes: Arc<[u8]> = match files::read(path, MAX_BINARY) {
        Ok(bytes) => Arc::from(bytes),
        Err(error) => return input(&format!("cannot be read: {error}")),
    };
    if bytes.starts_with(b"#!") {
        return input(&"a script, not a program: give its interpreter, and the script as an argument");
    }
    let image = match Image::parse(Arc::clone(&bytes)) {
        Ok(image) => image,
        Err(error) => return input(&error),
    };
    // ET_EXEC and ET_DYN; object files and core dumps are ELF files too.
    if !matches!(bytes.get(16..18), Some([2 | 3, 0])) {
        return input(&"an ELF file, but not a program");
    }
    // Nothing begins there: whoever ran it would see it crash, and take that for a bug.
    if matches!(bytes.get(24..32), Some([0, 0, 0, 0, 0, 0, 0, 0])) {
        return input(&"a library, not a program (it has no entry point)");
    }
    let (arch, fits) = match image.arch() {
        wmtrace_decoder::effect::Arch::X86_64 => ("x86_64", wanted != Arch::Aarch64),
        wmtrace_decoder::effect::Arch::Aarch64 => ("aarch64", wanted != Arch::X86_64),
    };
    if !fits {
        return input(&format!("a program for {arch}, which is not what --arch or --engine says"));
    }
    let build_id = match image.build_id() {
        Some(id) => hex(id),
        None => format!("crc32-{:08x}-{}", crc32fast::hash(&bytes), bytes.len()),
    };
    Ok(Target { path: path.to_owned(), arch, build_id })
}

/// Whether the program, or a separate file that belongs to it, says which source its code comes from.
pub(crate) fn has_debug_information(path: &Path) -> bool {
    let Ok(bytes) = files::read(path, MAX_BINARY) else { return false };
    let Ok(image) = Image::parse(Arc::from(bytes)) else { return false };
    Debug::new(&image, Arc::new(ProgramFiles::new(path))).units().0 > 0
}

/// Whether a file that can be read is an ELF file for AArch64.
pub(crate) fn is_aarch64(path: &Path) -> bool {
    let mut head = [0; 20];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
    read.is_ok() && head.starts_with(b"\x7fELF") && head[18..20] == [183, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_of(name: &str) -> Result<PathBuf, TargetError> {
        find(OsStr::new(name), Some(OsStr::new("/nowhere:/etc:/bin:/usr/bin")), Path::new("/etc"))
    }

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert_eq!(path_of("sh"), Ok(PathBuf::from("/bin/sh")));
        assert_eq!(path_of("./sh"), Ok(PathBuf::from("/etc/sh")), "a path is not looked up");
        assert_eq!(path_of("../x/sh"), Ok(PathBuf::from("/etc/../x/sh")));
        let message = |name| path_of(name).unwrap_err().to_string();
        let expected = "no-such-program: not found in PATH, and no command of wmtrace";
        assert_eq!(message("no-such-program"), expected);
        let beside = find(OsStr::new("passwd"), Some(OsStr::new("/nowhere")), Path::new("/etc"));
        let expected = "passwd: not found in PATH (did you mean ./passwd?)";
        assert_eq!(beside.unwrap_err().to_string(), expected);
        let refused = find(OsStr::new("passwd"), Some(OsStr::new("/etc")), Path::new("/"));
        assert_eq!(refused.unwrap_err().to_string(), "/etc/passwd: not executable");
    }

    #[test]
    fn a_program_is_named_by_its_build() {
        let path = std::env::current_exe().unwrap();
        let target = examine(&path, Arch::Auto);
        if cfg!(target_arch = "x86_64") {
            let target = target.unwrap();
            assert_eq!((target.arch, target.path), ("x86_64", path.clone()));
            assert!(target.build_id.len() >= 16, "{}", target.build_id);
            let other = examine(&path, Arch::Aarch64).unwrap_err().to_string();
            assert!(
                other.ends_with("a program for x86_64, which is not what --arch or --engine says"),
                "{other}"
            );
        }
    }

    #[test]
    fn what_is_no_program_is_refused_in_one_line() {
        let directory = std::env::temp_dir().join(format!("wmtrace-target-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let file = |name: &[u8], bytes: &[u8]| {
            use std::os::unix::fs::PermissionsExt as _;
            let path = directory.join(OsStr::from_bytes(name));
            std::fs::write(&path, bytes).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let mut header = [0u8; 64];
        header[..20].copy_from_slice(b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0");
        let mut library = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        library[24..32].fill(0);
        let cases = [
            (file(b"library", &library), "a library, not a program"),
            (file(b"script", b"#!/bin/sh\n"), "a script, not a program"),
            (file(b"text", b"hello"), "not an ELF file"),
            (file(b"empty", b""), "not an ELF file"),
            (file(b"cut", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0"), "ELF file"),
            (file(b"32", &header), "32-bit"),
            (file(b"new\nline", b"\x7fELF"), "copy it elsewhere"),
            (file(b"latin-1 \xe9", b"\x7fELF"), "copy it elsewhere"),
            (PathBuf::from("/"), "is a directory"),
            (PathBuf::from("/dev/null"), "not a regular file"),
            (PathBuf::from("/no/such"), "No such file"),
            (PathBuf::from("/etc/passwd"), "not executable"),
            (PathBuf::from("/etc/passwd/x"), "Not a directory"),
        ];
        for (path, message) in cases {
            let error = examine(&path, Arch::Auto).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
            // A name may have a line break; what is printed has none.
            assert!(!crate::text::Printable(&error.to_string()).to_string().contains('\n'));
            assert!(matches!(error, TargetError::Input(_)), "{error}");
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
