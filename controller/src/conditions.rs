//! What an execution depends on beside its program and its options: where it ran, and under whom. Noted when a campaign
//! begins, and written into recordings. A replay makes the same again where it can (limits, processors); what it cannot, it
//! names when it diverges.

use crate::os::{launch, limits};
use nix::sched::CpuSet;
use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A directory with more entries is not looked at.
const MOST_ENTRIES: usize = 4096;

/// In recordings of older versions, nothing is known.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Conditions {
    pub(crate) limits: Vec<limits::Limit>,
    /// Those that the program believes to have.
    processors: Vec<usize>,
    user: Option<u32>,
    kernel: Option<String>,
    directory: Option<Content>,
    /// Whether the dynamic linker's cache has a place of its own in memory, so that libraries lie where they do whatever
    /// its size is.
    pub(crate) cache_apart: bool,
}

/// What is in the working directory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Content {
    /// What does not count: where recordings go.
    without: Vec<u8>,
    /// Of names, and sizes of files.
    digest: u32,
}

impl Conditions {
    /// Those of now, for a program that runs in `cwd`; recordings go to `out`.
    pub(crate) fn now(cwd: &Path, out: &Path) -> Conditions {
        // Only a name in the directory itself can be met there.
        let out =
            cwd.join(out).strip_prefix(cwd).ok().and_then(|below| Some(below.iter().next()?.to_owned()));
        let without = out.unwrap_or_default().as_bytes().to_vec();
        Conditions {
            limits: limits::own(),
            processors: listed(&launch::affinity()),
            user: Some(nix::unistd::geteuid().as_raw()),
            kernel: kernel(),
            directory: digest(cwd, &without).map(|digest| Content { without, digest }),
            cache_apart: true,
        }
    }

    /// The processors that the program believes to have; `own` if nothing is known.
    pub(crate) fn affinity(&self, own: CpuSet) -> CpuSet {
        let mut set = CpuSet::new();
        let known = self.processors.iter().filter(|&&cpu| set.set(cpu).is_ok()).count() > 0;
        if known { set } else { own }
    }

    /// What differs now from what it was, and could not be made the same; one clause each.
    pub(crate) fn differences(&self, cwd: &Path) -> Vec<String> {
        let mut differences = limits::beyond(&self.limits);
        if let Some(content) = &self.directory
            && digest(cwd, &content.without) != Some(content.digest)
        {
            differences.push(format!("the directory {} has other content than it had", cwd.display()));
        }
        let user = nix::unistd::geteuid().as_raw();
        if let Some(then) = self.user.filter(|&then| then != user) {
            differences.push(format!("it was recorded as user {then}, and is replayed as user {user}"));
        }
        if let (Some(then), Some(now)) = (&self.kernel, kernel())
            && *then != now
        {
            differences.push(format!("the kernel was Linux {then}, and is {now}"));
        }
        differences
    }
}

fn listed(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect()
}

fn kernel() -> Option<String> {
    Some(std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?.trim().to_owned())
}

/// Names in a directory, and the sizes of files, in short.
fn digest(directory: &Path, without: &[u8]) -> Option<u32> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(directory).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name();
        if name.as_bytes() == without {
            continue;
        }
        // Not of directories: theirs changes with what is in them.
        let size = entry.metadata().ok().filter(std::fs::Metadata::is_file).map_or(0, |data| data.len());
        entries.push([name.as_bytes(), &[0], &size.to_le_bytes()].concat());
        if entries.len() > MOST_ENTRIES {
            return None;
        }
    }
    entries.sort();
    Some(crc32fast::hash(&entries.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_named() {
        let here = std::env::temp_dir().join(format!("wmtrace-conditions-{}", std::process::id()));
        std::fs::create_dir_all(here.join("out")).unwrap();
        std::fs::write(here.join("a"), "1").unwrap();
        let then = Conditions::now(&here, Path::new("out/deep"));
        std::fs::remove_dir(here.join("out")).unwrap();
        assert_eq!(then.differences(&here), Vec::<String>::new(), "recordings do not count");
        let text = serde_json::to_string(&then).unwrap();
        assert_eq!(serde_json::from_str::<Conditions>(&text).unwrap(), then);
        for (name, content) in [("a", Some("12")), ("b", Some("1")), ("a", None)] {
            let then = Conditions::now(&here, Path::new("/elsewhere"));
            match content {
                Some(content) => std::fs::write(here.join(name), content).unwrap(),
                None => std::fs::remove_file(here.join(name)).unwrap(),
            }
            let differences = then.differences(&here);
            assert!(differences.len() == 1 && differences[0].contains("other content"), "{differences:?}");
        }
        let mut other = Conditions::now(&here, Path::new("out"));
        (other.user, other.kernel) = (Some(4711), Some("2.6.32".to_owned()));
        assert_eq!(other.differences(&here).len(), 2);
        assert_eq!(Conditions::default().differences(&here), Vec::<String>::new(), "nothing is known");
        std::fs::remove_dir_all(&here).unwrap();
    }

    #[test]
    fn processors_are_kept() {
        let recorded = Conditions { processors: vec![3, 5], ..Conditions::default() };
        assert_eq!(listed(&recorded.affinity(launch::affinity())), [3, 5]);
        assert_eq!(Conditions::default().affinity(launch::affinity()), launch::affinity());
    }
}
