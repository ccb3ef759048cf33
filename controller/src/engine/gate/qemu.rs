//! The emulator and the program's libraries: where they are, and how qemu is started.

use crate::engine::moved::padded;
use crate::engine::{EngineError, Program};
use crate::os::memory::Window;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Where the program's memory is in qemu's: far from everything that qemu and the kernel put anywhere.
pub(super) const WINDOW: Window = Window { base: 0x2000_0000_0000, len: 0x80_0000_0000 };

const NAMES: [&str; 2] = ["qemu-aarch64", "qemu-aarch64-static"];

/// Where Debian's cross packages put libraries.
const CROSS: &str = "/usr/aarch64-linux-gnu";

/// The emulator: the one that the user wants, or the first one in PATH.
pub(super) fn find(wanted: Option<&Path>) -> Result<PathBuf, EngineError> {
    if let Some(path) = wanted {
        return match path.is_file() {
            true => Ok(path.to_owned()),
            false => Err(EngineError::Input(format!("--qemu {}: no such file", path.display()))),
        };
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let found = NAMES.iter().find_map(|name| {
        std::env::split_paths(&search).map(|directory| directory.join(name)).find(|path| path.is_file())
    });
    found.ok_or_else(|| {
        let what =
            "no qemu-aarch64 in PATH: install Debian's qemu-user (or qemu-user-static), or use --qemu PATH";
        EngineError::Unsupported(what.to_owned())
    })
}

/// The directory that holds the program's dynamic linker and libraries; `None`: they are where they would be on an
/// AArch64 machine, or it needs none.
pub(super) fn sysroot(wanted: Option<&Path>, program: &Path) -> Result<Option<PathBuf>, EngineError> {
    let Some(interpreter) = interpreter(program) else { return Ok(None) };
    let inside = |root: &Path| root.join(interpreter.trim_start_matches('/')).is_file();
    if let Some(root) = wanted {
        return match inside(root) {
            true => Ok(Some(root.to_owned())),
            false => {
                let what = format!("--sysroot {}: no {interpreter} in it", root.display());
                Err(EngineError::Input(what))
            }
        };
    }
    if Path::new(&interpreter).is_file() {
        return Ok(None);
    }
    if inside(Path::new(CROSS)) {
        return Ok(Some(CROSS.into()));
    }
    Err(EngineError::Unsupported(format!(
        "{}: its dynamic linker {interpreter} is not here: install libc6-arm64-cross, or use --sysroot DIR",
        program.display()
    )))
}

/// The dynamic linker that a program asks for (PT_INTERP).
pub(super) fn interpreter(program: &Path) -> Option<String> {
    let bytes = std::fs::read(program).ok()?;
    let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?));
    let (table, count) = (u64_at(32)? as usize, u64_at(56)? as u16);
    for index in 0..usize::from(count) {
        let header = table.checked_add(index * 56)?;
        if u64_at(header)? as u32 == 3 {
            let (offset, size) = (u64_at(header + 8)? as usize, u64_at(header + 32)? as usize);
            let text = bytes.get(offset..offset.checked_add(size)?)?;
            let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
            return String::from_utf8(text[..end].to_vec()).ok();
        }
    }
    None
}

/// What is to run: a program, the name that it is called by, its arguments and environment.
pub(super) struct Command {
    pub(super) path: Vec<u8>,
    /// Its name first.
    pub(super) args: Vec<Vec<u8>>,
    /// `NAME=VALUE`
    pub(super) env: Vec<Vec<u8>>,
}

impl Command {
    pub(super) fn new(program: &Program) -> Command {
        // qemu would have to inherit what a shorter path goes through.
        let path = program.path.as_os_str().as_bytes();
        let path = padded(path, program.told.as_os_str().len()).unwrap_or_else(|| path.to_vec());
        let args = program.args.iter().map(|arg| arg.as_bytes().to_vec());
        let env = program.env.iter();
        Command {
            args: std::iter::once(program.name.as_bytes().to_vec()).chain(args).collect(),
            env: env.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat()).collect(),
            path,
        }
    }

    /// How the kernel starts it, without qemu: its arguments, and its environment.
    pub(super) fn of_program(self) -> Result<(Vec<CString>, Vec<CString>), EngineError> {
        Ok((c_strings(self.args)?, c_strings(self.env)?))
    }

    /// How qemu is started for that: its arguments, and its environment.
    pub(super) fn of_qemu(
        self,
        qemu: &Path,
        sysroot: Option<&Path>,
        entropy: u64,
    ) -> Result<(Vec<CString>, Vec<CString>), EngineError> {
        let mut args: Vec<Vec<u8>> = vec![qemu.as_os_str().as_bytes().to_vec()];
        let mut option = |name: &str, value: &[u8]| args.extend([name.into(), value.to_vec()]);
        option("-B", format!("{:#x}", WINDOW.base).as_bytes());
        option("-R", format!("{:#x}", WINDOW.len).as_bytes());
        // Keys of pointer authentication, and what the kernel would give the program as random bytes.
        option("-seed", (entropy as u32).to_string().as_bytes());
        if let Some(root) = sysroot {
            option("-L", root.as_os_str().as_bytes());
        }
        let mut given = self.args.into_iter();
        if let Some(name) = given.next().filter(|name| *name != self.path) {
            option("-0", &name);
        }
        let mut env = Vec::new();
        for text in self.env {
            // What is meant for a dynamic linker is meant for the program's; what is meant for qemu, for nobody here.
            if text.starts_with(b"LD_") {
                option("-E", &text);
            } else if !text.starts_with(b"QEMU_") {
                env.push(text);
            }
        }
        args.push(self.path);
        args.extend(given);
        Ok((c_strings(args)?, c_strings(env)?))
    }
}

fn c_strings(all: Vec<Vec<u8>>) -> Result<Vec<CString>, EngineError> {
    let all: Result<Vec<CString>, _> = all.into_iter().map(CString::new).collect();
    all.map_err(|_| EngineError::Input("an argument contains a zero byte".to_owned()))
}
