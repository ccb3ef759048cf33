//! The files whose code a program runs, as patched copies in memory. The files on disk stay as they are, and a program
//! that opens its own file gets the original.

use super::asm::Va;
use super::patch::{self, Gate, List, Own};
use super::{elf, qemu, scan};
use crate::engine::modules::{Binary, Library};
use crate::engine::{EngineError, EngineOptions};
use crate::inspect::files::{MAX_BINARY, read_shared};
use crate::os::launch::memory_file;
use crate::os::proc::Mapping;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::Arc;

/// What copies are called in `/proc/PID/maps`, before their number.
const NAME: &str = "wmtrace-gate-";

/// A patched copy.
pub(super) struct Copy {
    copy: File,
    pub(super) path: String,
    pub(super) binary: Arc<Binary>,
    pub(super) flag: Va,
    pub(super) own: Own,
    /// The instructions that are branches to stubs now, by their addresses.
    patched: Vec<Va>,
    /// Whether it is the dynamic linker: what it opens is code.
    pub(super) linker: bool,
}

/// What a copy is for.
enum Purpose {
    /// For the dynamic linker, or qemu, to open.
    Opened,
    /// For the kernel to execute, with the copy of a dynamic linker if it wants one.
    Executed { linker: Option<String> },
    /// For the kernel to execute another one with.
    Linker,
}

impl Copy {
    /// Whether some of these bytes of the file are not what they were.
    pub(super) fn differs(&self, at: Va, len: u64) -> bool {
        let first = self.patched.partition_point(|&patched| patched.saturating_add(4) <= at);
        self.patched.get(first).is_some_and(|&patched| patched < at.saturating_add(len))
    }
}

/// All copies so far, and their gates.
#[derive(Default)]
pub(super) struct Files {
    known: HashMap<String, Option<usize>>,
    pub(super) copies: Vec<Copy>,
    pub(super) gates: Vec<Gate>,
}

impl Files {
    /// Where to open the copy of a file instead of the file; `None` if it is no code for AArch64.
    pub(super) fn copy(
        &mut self,
        path: &str,
        library: &mut Library,
        options: &EngineOptions,
    ) -> Result<Option<String>, EngineError> {
        self.known_or_made(path, &Purpose::Opened, library, options)
    }

    /// The copy of a program for the kernel to execute. It names a copy of its dynamic linker.
    pub(super) fn program(
        &mut self,
        path: &str,
        library: &mut Library,
        options: &EngineOptions,
    ) -> Result<String, EngineError> {
        let linker = match qemu::interpreter(Path::new(path)) {
            Some(linker) => {
                let copy = self.known_or_made(&linker, &Purpose::Linker, library, options)?;
                let missing = || format!("{path}: its dynamic linker {linker} is not here");
                Some(copy.ok_or_else(|| EngineError::Unsupported(missing()))?)
            }
            None => None,
        };
        let copy = self.known_or_made(path, &Purpose::Executed { linker }, library, options)?;
        copy.ok_or_else(|| EngineError::Input(format!("{path}: no program for AArch64")))
    }

    fn known_or_made(
        &mut self,
        path: &str,
        purpose: &Purpose,
        library: &mut Library,
        options: &EngineOptions,
    ) -> Result<Option<String>, EngineError> {
        let number = match self.known.get(path) {
            Some(known) => *known,
            None => {
                let number = self.make(path, purpose, library, options)?;
                self.known.insert(path.to_owned(), number);
                number
            }
        };
        let ours = std::process::id();
        Ok(number.map(|number| format!("/proc/{ours}/fd/{}", self.copies[number].copy.as_raw_fd())))
    }

    fn make(
        &mut self,
        path: &str,
        purpose: &Purpose,
        library: &mut Library,
        options: &EngineOptions,
    ) -> Result<Option<usize>, EngineError> {
        if !is_program(Path::new(path)) {
            return Ok(None);
        }
        let os = |error: std::io::Error| EngineError::io(path, &error);
        let bytes = read_shared(Path::new(path), MAX_BINARY).map_err(os)?;
        let Some(binary) = library.binary(path, options)? else { return Ok(None) };
        let found = scan::scan(&binary);
        let number = self.copies.len();
        let mut patched = patch::patch(path, &bytes, &found, number, &mut List { gates: &mut self.gates })?;
        let fits = match purpose {
            Purpose::Opened | Purpose::Executed { linker: None } => true,
            Purpose::Executed { linker: Some(linker) } => elf::set_interpreter(&mut patched.bytes, linker),
            Purpose::Linker => elf::unfold(&mut patched.bytes),
        };
        if !fits {
            return Err(EngineError::Unsupported(format!("{path}: segments that the kernel would not load")));
        }
        let mut copy = memory_file(&format!("{NAME}{number}")).map_err(|error| {
            EngineError::Os(format!(
                "cannot make files in memory here (memfd_create: {error}), which programs for AArch64 need: does a \
                 container forbid it?"
            ))
        })?;
        copy.write_all(&patched.bytes).map_err(os)?;
        // Nobody executes what somebody may write.
        let copy = File::open(format!("/proc/self/fd/{}", copy.as_raw_fd())).map_err(os)?;
        let patch::Patched { flag, own, .. } = patched;
        let linker = binary.core && binary.name.starts_with("ld");
        let patched = found.iter().map(|found| found.at).collect();
        self.copies.push(Copy { copy, path: path.to_owned(), binary, flag, own, patched, linker });
        Ok(Some(number))
    }

    /// The copy that a mapping is of.
    pub(super) fn mapped(&self, mapping: &Mapping) -> Option<usize> {
        let rest = mapping.name.strip_prefix("/memfd:")?.strip_prefix(NAME)?;
        let number = rest.split(' ').next()?.parse().ok()?;
        (number < self.copies.len()).then_some(number)
    }
}

/// Whether a file is code for AArch64: a program, or a library.
pub(super) fn is_program(path: &Path) -> bool {
    let mut head = [0; 20];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && head.starts_with(b"\x7fELF\x02\x01")
        && matches!(head[16..18], [2 | 3, 0])
        && head[18..20] == [183, 0]
}

/// Whether a descriptor's file, as `/proc/PID/fd` names it, is a patched copy.
pub(super) fn is_copy(name: &str) -> bool {
    name.strip_prefix("/memfd:").is_some_and(|rest| rest.starts_with(NAME))
}
