//! What runs the program: qemu-user, on a machine of another architecture; or this machine's own processor.
//!
//! Natively the kernel loads the patched copy, and that of the dynamic linker, straight from memory, and the program's
//! addresses are those of its process. Everything else is as in qemu, but for what the copy would show: the file that the
//! program has been started from.

use super::qemu;
use super::run::Run;
use crate::engine::thread::Syscall;
use crate::engine::{Emulator, EngineError, Program};
use crate::os::memory::Window;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use wmtrace_model::strategy::Strategy;

/// What a process of 48-bit addresses has: more is for those who ask for it by name.
const NATIVE: Window = Window { base: 0, len: 1 << 48 };

pub(super) enum Host {
    Qemu { qemu: PathBuf, sysroot: Option<PathBuf> },
    Native,
}

impl Host {
    /// What runs a program here, and where its libraries are.
    pub(super) fn find(program: &Program, emulator: &Emulator) -> Result<Host, EngineError> {
        if cfg!(target_arch = "aarch64") && emulator.qemu.is_none() {
            return match &emulator.sysroot {
                Some(root) => {
                    let what = "this machine runs the program itself (use --qemu, or chroot)";
                    Err(EngineError::Input(format!("--sysroot {}: {what}", root.display())))
                }
                None => Ok(Host::Native),
            };
        }
        let qemu = qemu::find(emulator.qemu.as_deref())?;
        let sysroot = qemu::sysroot(emulator.sysroot.as_deref(), &program.path)?;
        Ok(Host::Qemu { qemu, sysroot })
    }

    /// Where the program's memory is in the process's.
    pub(super) fn window(&self) -> Window {
        match self {
            Host::Qemu { .. } => qemu::WINDOW,
            Host::Native => NATIVE,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Host::Qemu { .. } => "qemu",
            Host::Native => "the kernel",
        }
    }

    pub(super) fn is_native(&self) -> bool {
        matches!(self, Host::Native)
    }
}

impl<S: Strategy> Run<'_, S> {
    /// Whether a path means the file that the program runs from, which natively is a copy of ours.
    pub(super) fn is_own_file(&self, path: &Path) -> bool {
        self.engine.host.is_native()
            && (path == Path::new("/proc/self/exe")
                || path == Path::new(&format!("/proc/{}/exe", self.process)))
    }

    /// Which file it runs from, is answered as if there was no copy. False: something else is asked.
    pub(super) fn reads_link(&mut self, index: usize, call: &Syscall) -> Result<bool, EngineError> {
        let [_, path, to, size, ..] = call.args;
        let path = self.memory.c_string(path, libc::PATH_MAX as usize);
        if !self.is_own_file(Path::new(OsStr::from_bytes(&path))) {
            return Ok(false);
        }
        let target = self.program_of(self.process);
        let target = target.as_os_str().as_bytes();
        let len = target.len().min(usize::try_from(size).unwrap_or(usize::MAX));
        let target = target[..len].to_vec();
        let result = match self.memory.write(to, &target) {
            Ok(()) => len as u64,
            Err(_) => crate::engine::futex::error(libc::EFAULT),
        };
        self.skip(index, result);
        Ok(true)
    }
}
