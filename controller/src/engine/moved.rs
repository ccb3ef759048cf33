//! A program that is not where it was recorded. The path that it was executed by lies at the top of its stack, so that
//! everything else on the stack lies elsewhere when that path has another length. So it is executed by a path that leads
//! to its new place and is as long as the recorded one.

use super::Program;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;

/// How a program is executed.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "it is about the step engine's programs"))]
pub(super) struct ExecutedBy {
    pub(super) path: Vec<u8>,
    /// A directory that the path goes through, open until it was executed.
    pub(super) through: Option<File>,
}

/// The path, with more slashes, so that it is this long. `None` if it is longer, or does not begin with one.
pub(super) fn padded(path: &[u8], len: usize) -> Option<Vec<u8>> {
    let more = len.checked_sub(path.len())?;
    path.starts_with(b"/").then(|| [&vec![b'/'; more], path].concat())
}

#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "it is about the step engine's programs"))]
impl Program {
    /// Whether it is elsewhere than it is told.
    pub(super) fn is_moved(&self) -> bool {
        self.path != self.told
    }

    /// The path to execute it by: as long as what it is told, if there is one that is.
    pub(super) fn executed_by(&self) -> ExecutedBy {
        let path = self.path.as_os_str().as_bytes();
        let len = self.told.as_os_str().len();
        if let Some(path) = padded(path, len) {
            return ExecutedBy { path, through: None };
        }
        let directory = self.path.parent().and_then(|directory| File::open(directory).ok());
        if let (Some(directory), Some(name)) = (directory, self.path.file_name()) {
            let number = directory.as_raw_fd();
            for root in ["/proc/self/fd", "/dev/fd"] {
                let short = [format!("{root}/{number}/").as_bytes(), name.as_bytes()].concat();
                if let Some(path) = padded(&short, len) {
                    return ExecutedBy { path, through: Some(directory) };
                }
            }
        }
        ExecutedBy { path: path.to_vec(), through: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake_programs::setup;
    use wmtrace_model::op::ModelKind;

    #[test]
    fn paths_are_as_long_as_the_recorded_ones() {
        let mut program = setup(ModelKind::C11).program;
        program.path = std::env::current_exe().unwrap();
        let own = program.path.as_os_str().len();
        let name = program.path.file_name().unwrap().to_owned();
        let file = std::fs::canonicalize(&program.path).unwrap();
        for len in name.len() + 20..own + 10 {
            program.told = "x".repeat(len).into();
            let by = program.executed_by();
            assert_eq!(by.path.len(), len);
            let path = std::path::Path::new(std::ffi::OsStr::from_bytes(&by.path));
            assert_eq!(std::fs::canonicalize(path).unwrap(), file);
        }
        program.told = "/x".into();
        assert_eq!(program.executed_by().path, program.path.as_os_str().as_bytes(), "there is none");
        program.told.clone_from(&program.path);
        assert!(!program.is_moved() && program.executed_by().through.is_none());
    }
}
