//! Which directories are an execution's own: where it works, its home, and where everybody puts temporary files and
//! shared memory.

use super::Program;
use crate::os::view::Mount;
use nix::unistd::{AccessFlags, Uid, access, geteuid};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// For everybody.
const COMMON: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Variables that name directories for the program to write in.
const VARIABLES: [&str; 2] = ["HOME", "TMPDIR"];

/// File systems that are the kernel's.
const KERNELS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The directories, in order of their paths.
pub(super) fn of(program: &Program, mounted: &[PathBuf]) -> Vec<PathBuf> {
    let user = geteuid();
    let real = |path: &Path| std::fs::canonicalize(path).ok().filter(|path| can_be_private(path));
    let named = program.env.iter().filter(|(name, _)| VARIABLES.iter().any(|it| name == it));
    let named = named.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute());
    let others = named.chain(COMMON.map(PathBuf::from)).filter_map(|path| real(&path));
    let cwd = real(&program.cwd).map(|path| widest(&path, user, mounted));
    let mut places: Vec<PathBuf> = cwd.into_iter().chain(others).collect();
    places.sort();
    places.dedup();
    let mut chosen: Vec<PathBuf> = Vec::new();
    for place in places {
        let outer = chosen.iter().rev().find(|outer| place.starts_with(outer));
        if !outer.is_some_and(|outer| covers(outer, &place, user)) {
            chosen.push(place);
        }
    }
    chosen
}

/// Whether the user may write in a directory that is a place of its own.
fn can_be_private(path: &Path) -> bool {
    let kernels = KERNELS.iter().any(|it| path.starts_with(it)) && path != Path::new("/dev/shm");
    path.is_dir()
        && path.parent().is_some()
        && !kernels
        && access(path, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
}

fn is_own(path: &Path, user: Uid) -> bool {
    user.is_root() || path.metadata().is_ok_and(|data| data.uid() == user.as_raw())
}

/// The widest directory around this one that is the user's and on the same file system: programs write beside their working
/// directory, too. Nothing is mounted below it.
fn widest(path: &Path, user: Uid, mounted: &[PathBuf]) -> PathBuf {
    let device = |path: &Path| path.metadata().ok().map(|data| data.dev());
    let mut widest = path.to_owned();
    for outer in path.ancestors().skip(1) {
        let inside = |mount: &PathBuf| mount.starts_with(outer) && mount != outer;
        let fits = can_be_private(outer) && is_own(outer, user) && device(outer) == device(path);
        if !fits || mounted.iter().any(inside) {
            break;
        }
        widest = outer.to_owned();
    }
    widest
}

/// Whether a directory that is private makes one inside it private, too. To write there overlayfs makes the directories in
/// between again, with their owners: a user namespace knows only the user.
fn covers(outer: &Path, inner: &Path, user: Uid) -> bool {
    inner.ancestors().take_while(|path| *path != outer).all(|path| is_own(path, user))
}

/// Where something is mounted.
pub(super) fn mounted() -> Vec<PathBuf> {
    let text = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut paths: Vec<PathBuf> = text.split(|byte| *byte == b'\n').filter_map(mount_point).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The fifth field of a line, where blanks and the like are written as `\040`.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let field = line.split(|byte| *byte == b' ').nth(4)?;
    let (mut bytes, mut rest) = (Vec::new(), field);
    while let [first, tail @ ..] = rest {
        let digits =
            tail.get(..3).filter(|it| *first == b'\\' && it.iter().all(|it| (b'0'..b'8').contains(it)));
        let code = digits.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// What is to be mounted, in order. What was mounted below a private directory is hidden by it, and comes again, unless it
/// comes with what is around it.
pub(super) fn mounts(places: &[PathBuf], mounted: &[PathBuf]) -> Vec<Mount> {
    let mut all: Vec<(&PathBuf, bool)> = places.iter().map(|place| (place, true)).collect();
    all.extend(mounted.iter().filter(|path| !places.contains(path)).map(|path| (path, false)));
    all.sort_by_key(|(path, _)| path.as_os_str().as_bytes().split(|byte| *byte == b'/').collect::<Vec<_>>());
    let mut mounts: Vec<Mount> = Vec::new();
    for (path, private) in all {
        let around = mounts.iter().rev().find(|mount| {
            let (Mount::Private(outer) | Mount::Again(outer)) = mount;
            path.starts_with(outer)
        });
        match (private, around) {
            (true, _) => mounts.push(Mount::Private(path.clone())),
            (false, Some(Mount::Private(_))) => mounts.push(Mount::Again(path.clone())),
            (false, Some(Mount::Again(_)) | None) => {}
        }
    }
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[&str]) -> Vec<PathBuf> {
        list.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn lines_of_mountinfo() {
        let line = br"36 35 98:0 /mnt1 /mnt/a\040b\134c rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(mount_point(line), Some(PathBuf::from(r"/mnt/a b\c")));
        assert_eq!(mount_point(b""), None);
        assert!(mounted().contains(&PathBuf::from("/proc")));
    }

    #[test]
    fn what_is_mounted_below_comes_again() {
        let mounted = paths(&["/", "/proc", "/tmp", "/tmp/disk", "/tmp/disk/more", "/tmp-not", "/home/u/x"]);
        let private = |path: &str| Mount::Private(path.into());
        let again = |path: &str| Mount::Again(path.into());
        assert_eq!(mounts(&paths(&["/tmp"]), &mounted), [private("/tmp"), again("/tmp/disk")]);
        // A private directory in one that comes again hides what is mounted in it once more.
        assert_eq!(
            mounts(&paths(&["/tmp", "/tmp/disk/more"]), &mounted),
            [private("/tmp"), again("/tmp/disk"), private("/tmp/disk/more")]
        );
        assert_eq!(mounts(&paths(&["/srv"]), &mounted), [private("/srv")]);
    }

    #[test]
    fn places_of_a_program() {
        let inside = std::env::temp_dir().join(format!("wmtrace-places-{}", std::process::id()));
        std::fs::create_dir_all(&inside).unwrap();
        let program = |cwd: &Path| Program {
            path: "/bin/true".into(),
            told: "/bin/true".into(),
            name: "true".into(),
            args: Vec::new(),
            env: vec![("HOME".into(), "relative".into()), ("TMPDIR".into(), "/no/such".into())],
            cwd: cwd.to_owned(),
            stdin: Vec::new(),
            conditions: crate::conditions::Conditions::default(),
        };
        let found = of(&program(&inside), &[]);
        assert!(
            found.iter().any(|place| std::fs::canonicalize(&inside).unwrap().starts_with(place)),
            "{found:?}"
        );
        for cwd in ["/", "/proc", "/sys", "/no/such"] {
            let found = of(&program(Path::new(cwd)), &[]);
            assert!(
                !found.iter().any(|place| place.starts_with("/proc") || place == Path::new("/")),
                "{found:?}"
            );
        }
        std::fs::remove_dir_all(&inside).unwrap();
    }
}
