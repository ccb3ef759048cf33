//! System calls that fail only because the files are an execution's own ([`super::private`]). What the program would do then
//! is not what it does among the user's files: the execution cannot go on.

use super::EngineError;
use super::execution::Execution;
use super::futex::error;
use super::thread::Syscall;
use crate::os::memory::ProcessMemory;
use crate::os::{Tid, calls, view};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

pub(super) trait Refusals: Execution {
    /// The system call has returned this.
    fn refuse_failed(&mut self, call: &Syscall, result: u64) -> Result<(), EngineError> {
        if result <= error(4095) {
            return Ok(());
        }
        let it = self.parts();
        let number = call.number as i64;
        let is_ours = it.private.view().is_some();
        match result.wrapping_neg() as i32 {
            libc::ENOSPC if is_ours => {
                let alone = names_file(number) || number == libc::SYS_fallocate;
                if alone || it.private.is_full() { Err(no_room()) } else { Ok(()) }
            }
            libc::EOVERFLOW if is_ours && names_file(number) => Err(EngineError::Os(
                "the program changes a file of another user, of which wmtrace cannot make a private copy; \
                 --shared-files does without"
                    .to_owned(),
            )),
            libc::EXDEV if is_ours => match two_names(call, it.memory, it.process) {
                Some([from, to])
                    if it.private.place(&from).is_some_and(|at| Some(at) == it.private.place(&to)) =>
                {
                    let from = from.display();
                    Err(EngineError::Os(format!(
                        "the program renames the directory {from}, which only root can do to private files; \
                         --shared-files does without"
                    )))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl<E: Execution> Refusals for E {}

pub(super) fn no_room() -> EngineError {
    EngineError::Os(format!(
        "an execution has written more than {} MiB of files, which wmtrace keeps in memory; --shared-files does without",
        view::MOST_WRITTEN
    ))
}

/// The two files of a call that renames one.
fn two_names(call: &Syscall, memory: &ProcessMemory, process: Tid) -> Option<[PathBuf; 2]> {
    const LONGEST: usize = 4096;
    let [a, b, c, d, ..] = call.args;
    let here = libc::AT_FDCWD as u64;
    let names = match call.number as i64 {
        calls::SYS_rename => [(here, a), (here, b)],
        libc::SYS_renameat | libc::SYS_renameat2 => [(a, b), (c, d)],
        _ => return None,
    };
    let path = |(directory, name): (u64, u64)| {
        let base = match directory as i32 {
            libc::AT_FDCWD => format!("/proc/{process}/cwd"),
            descriptor => format!("/proc/{process}/fd/{descriptor}"),
        };
        let name = OsString::from_vec(memory.c_string(name, LONGEST));
        Some(std::fs::read_link(base).ok()?.join(name))
    };
    let [from, to] = names.map(path);
    Some([from?, to?])
}

/// Whether the call makes, opens or changes a file by its name: overlayfs copies it then.
fn names_file(number: i64) -> bool {
    matches!(
        number,
        calls::SYS_open
            | calls::SYS_creat
            | calls::SYS_rename
            | calls::SYS_unlink
            | calls::SYS_rmdir
            | calls::SYS_mkdir
            | calls::SYS_link
            | calls::SYS_symlink
            | calls::SYS_chmod
            | calls::SYS_chown
            | libc::SYS_openat
            | libc::SYS_openat2
            | libc::SYS_truncate
            | libc::SYS_renameat
            | libc::SYS_renameat2
            | libc::SYS_unlinkat
            | libc::SYS_mkdirat
            | libc::SYS_mknodat
            | libc::SYS_linkat
            | libc::SYS_symlinkat
            | libc::SYS_fchmodat
            | libc::SYS_fchownat
            | libc::SYS_utimensat
    )
}
