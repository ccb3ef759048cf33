//! Paths in `/proc` that name the program's processes and threads by the numbers that it knows: the kernel is told its own. The
//! name stays where it is in the program's memory, and as long as it is (slashes may be doubled), until the call is over.

use super::execution::Execution;
use super::thread::{FIRST_TID, Mode, Syscall};
use crate::os::calls;

/// The longest path that is looked at.
const LONGEST: usize = 128;

/// Which argument of a system call is a path.
fn path_argument(number: i64) -> Option<usize> {
    match number {
        calls::SYS_open | calls::SYS_stat | calls::SYS_lstat | calls::SYS_access => Some(0),
        calls::SYS_readlink | libc::SYS_chdir | libc::SYS_statfs => Some(0),
        libc::SYS_openat | libc::SYS_openat2 | libc::SYS_newfstatat | libc::SYS_statx => Some(1),
        libc::SYS_readlinkat | libc::SYS_faccessat | libc::SYS_faccessat2 => Some(1),
        _ => None,
    }
}

/// The path with the kernel's numbers instead of the program's, as long as it was; `None` if it has none of these.
fn translated(path: &[u8], real: impl Fn(i32) -> Option<i32>) -> Option<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = path.split(|&byte| byte == b'/').map(<[u8]>::to_vec).collect();
    let is_proc =
        parts.first().is_some_and(Vec::is_empty) && parts.get(1).is_some_and(|part| part == b"proc");
    let mut changed = false;
    // `/proc/5000000/maps`, `/proc/self/task/5000001/stat`
    for part in parts.iter_mut().skip(2).filter(|_| is_proc) {
        let number = std::str::from_utf8(part).ok().and_then(|text| text.parse().ok());
        if let Some(real) = number.filter(|&number| number >= FIRST_TID).and_then(&real) {
            let mut name = real.to_string().into_bytes();
            if name.len() <= part.len() {
                name.resize(part.len(), b'/');
                (*part, changed) = (name, true);
            }
        }
    }
    changed.then(|| parts.join(&b'/'))
}

pub(super) trait OwnPaths: Execution {
    /// The thread is about to make a system call, which the kernel does.
    fn path_for_kernel(&mut self, index: usize, call: &Syscall) {
        let Some(argument) = path_argument(call.number as i64) else { return };
        let it = self.parts();
        let at = call.args[argument];
        let path = it.memory.c_string(at, LONGEST);
        let real = |number: i32| match number {
            FIRST_TID => Some(it.process.0),
            _ => {
                let mut alive = it.threads.iter().filter(|thread| thread.mode != Mode::Ended);
                alive.find(|thread| thread.virtual_tid == number).map(|thread| thread.tid.0)
            }
        };
        if let Some(name) = translated(&path, real)
            && it.memory.write(at, &name).is_ok()
        {
            it.threads[index].path = Some((at, path));
        }
    }

    /// The system call is over.
    fn path_for_program(&mut self, index: usize) {
        let it = self.parts();
        if let Some((at, path)) = it.threads[index].path.take() {
            // Memory that is gone needs nothing put back.
            let _ = it.memory.write(at, &path);
        }
    }
}

impl<E: Execution> OwnPaths for E {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_program_are_the_kernels() {
        let real = |number| (number < FIRST_TID + 2).then_some(number - FIRST_TID + 41);
        let shown = |path: &str| {
            let name = translated(path.as_bytes(), real)?;
            assert_eq!(name.len(), path.len());
            Some(String::from_utf8(name).unwrap())
        };
        assert_eq!(shown("/proc/5000000/maps").as_deref(), Some("/proc/41//////maps"));
        assert_eq!(shown("/proc/self/task/5000001/stat").as_deref(), Some("/proc/self/task/42//////stat"));
        assert_eq!(shown("/proc/5000000").as_deref(), Some("/proc/41/////"));
        for other in
            ["/proc/1/maps", "/proc/self/maps", "/proc/5000009/maps", "/tmp/5000000", "5000000", "", "/"]
        {
            assert_eq!(shown(other), None, "{other}");
        }
    }
}
