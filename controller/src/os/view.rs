//! A view of files that belongs to one execution: a mount namespace in which some directories are covered by overlays. What
//! is written there goes to a file system in memory that nobody else sees, and that is gone with the last process in the
//! view: nothing is left behind, whoever dies first. Names of System V and POSIX queues, semaphores and memory are the
//! view's own, too (an IPC namespace).
//!
//! The view is made by a process of its own, which then ends; programs enter it between `fork` and `execve`. Users other
//! than root make a user namespace first, in which they have the numbers that they have outside.

#![allow(unsafe_code)]

use super::launch::{die_with, pipe};
use super::{Tid, ptrace};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// What the executions of a view may write, in MiB and in files. It is memory.
pub(crate) const MOST_WRITTEN: u64 = 512;
const MOST_FILES: u64 = 1 << 20;

/// One step to the view, in order of paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Mount {
    /// The directory is private.
    Private(PathBuf),
    /// What is mounted here is hidden by a directory that is private, and is mounted again.
    Again(PathBuf),
}

/// A view.
#[derive(Debug)]
pub(crate) struct View {
    user: Option<OwnedFd>,
    mounts: OwnedFd,
    ipc: OwnedFd,
    root: OwnedFd,
    /// What the view covers, as it is below, in order of the mounts.
    below: Vec<OwnedFd>,
    /// Where writes go: `u0`, `u1` … for each private directory.
    pub(crate) layers: File,
    /// Directories that could not be made private, by their numbers among those that were to be.
    pub(crate) refused: Vec<usize>,
    /// Whether the layers are not the first.
    renewed: bool,
}

/// The name of a private directory's layer, and of the one that overlayfs works in.
pub(crate) fn layer(number: usize) -> String {
    format!("u{number}")
}

pub(crate) fn working(number: usize) -> String {
    format!("w{number}")
}

/// Where a directory that is open is found by its path.
pub(crate) fn path_of(directory: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

/// Makes the mark by which overlayfs hides a file below.
pub(crate) fn hide(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a system call on a string of ours.
    match unsafe { libc::mknod(path.as_ptr(), libc::S_IFCHR, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// How much room is left where an open directory is: bytes, and files.
pub(crate) fn room(directory: &File) -> io::Result<(u64, u64)> {
    // SAFETY: plain data that the kernel fills in.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and `found` is ours.
    match unsafe { libc::fstatfs(directory.as_raw_fd(), &raw mut found) } {
        0 => Ok((found.f_bfree * found.f_bsize as u64, found.f_ffree)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A step, as the process that makes the view needs it: no memory is allocated there.
struct Step {
    path: CString,
    /// The descriptor that stands for what is there before anything is mounted: its number, and its path.
    number: i32,
    before: CString,
    /// Of an overlay.
    options: Option<CString>,
}

/// What the process that makes the view has been given.
struct Making<'a> {
    from: From<'a>,
    steps: &'a [Step],
    /// Which step's directory is covered by the file system in memory first, and the number of its descriptor.
    base: usize,
    layers: i32,
    memory: CString,
    told: i32,
    go: i32,
    parent: u32,
}

/// Where the process begins.
enum From<'a> {
    /// Outside. Users other than root have maps of their numbers.
    Outside(Option<[(&'static CString, CString); 3]>),
    /// In a view, which gets new layers on top. `uncover`: those that it got the last time go first.
    View { view: &'a View, uncover: bool },
}

/// What the process that has made a view leaves, besides its namespaces.
struct Made {
    maker: Maker,
    layers: File,
    refused: Vec<usize>,
}

impl View {
    /// Makes a view. `fill` prepares the layers before they are used.
    ///
    /// # Errors
    /// When the kernel refuses (containers forbid it), or `fill` fails.
    pub(crate) fn new(mounts: &[Mount], fill: impl FnOnce(&File) -> io::Result<()>) -> io::Result<View> {
        let root = nix::unistd::geteuid().is_root();
        // Numbers of descriptors that the process can use, and that nobody else has.
        let held: Vec<File> = mounts.iter().map(|_| File::open("/dev/null")).collect::<io::Result<_>>()?;
        let numbers: Vec<i32> = held.iter().map(AsRawFd::as_raw_fd).collect();
        let from = From::Outside(if root { None } else { Some(maps()?) });
        let Made { maker, layers, refused } = made(mounts, &numbers, from, fill)?;
        let pid = maker.0;
        let namespace = |name: &str| File::open(format!("/proc/{pid}/ns/{name}")).map(OwnedFd::from);
        let directory = |path: String| {
            let mut options = std::fs::OpenOptions::new();
            options.read(true).custom_flags(libc::O_PATH).open(path).map(OwnedFd::from)
        };
        Ok(View {
            user: (!root).then(|| namespace("user")).transpose()?,
            mounts: namespace("mnt")?,
            ipc: namespace("ipc")?,
            root: directory(format!("/proc/{pid}/root"))?,
            below: numbers
                .iter()
                .map(|fd| directory(format!("/proc/{pid}/fd/{fd}")))
                .collect::<io::Result<_>>()?,
            layers,
            refused,
            renewed: false,
        })
    }

    /// Whether what was written can be taken away again while processes are in the view.
    pub(crate) fn is_renewable(&self, mounts: &[Mount]) -> bool {
        self.refused.is_empty() && mounts.iter().all(|mount| matches!(mount, Mount::Private(_)))
    }

    /// Puts new layers on top: who opens a file by its name finds nothing of what was written. What is open, and working
    /// directories, stay in the old ones.
    ///
    /// # Errors
    /// When the kernel refuses, or `fill` fails. The view must not be used then.
    pub(crate) fn renew(
        &mut self,
        mounts: &[Mount],
        fill: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let numbers: Vec<i32> = self.below.iter().map(AsRawFd::as_raw_fd).collect();
        let from = From::View { view: self, uncover: self.renewed };
        let Made { layers, refused, .. } = made(mounts, &numbers, from, fill)?;
        (self.layers, self.refused, self.renewed) = (layers, refused, true);
        match self.refused.is_empty() {
            true => Ok(()),
            false => Err(io::Error::other("overlayfs refuses it")),
        }
    }

    /// Takes the calling process into the view. Its working directory is the root then. Whether that was possible.
    ///
    /// # Safety
    /// Only in a process with one thread. It makes system calls, and nothing else.
    pub(super) unsafe fn enter(&self) -> bool {
        // SAFETY: system calls on descriptors that are open.
        unsafe {
            let join = |fd: &OwnedFd, kind| libc::setns(fd.as_raw_fd(), kind) == 0;
            self.user.as_ref().is_none_or(|user| join(user, libc::CLONE_NEWUSER))
                && join(&self.ipc, libc::CLONE_NEWIPC)
                && join(&self.mounts, libc::CLONE_NEWNS)
                && libc::fchdir(self.root.as_raw_fd()) == 0
                && libc::chroot(c".".as_ptr()) == 0
        }
    }
}

/// Has a process make a view, or its layers. `below`: the numbers of descriptors for what is covered.
fn made(
    mounts: &[Mount],
    below: &[i32],
    from: From<'_>,
    fill: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<Made> {
    let held = File::open("/dev/null")?;
    let layers = held.as_raw_fd();
    let in_initial =
        std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| map.contains("4294967295"));
    // Users have no marks for what was moved or linked.
    let kind = match nix::unistd::geteuid().is_root() && in_initial {
        true => "index=on,redirect_dir=on",
        false => "userxattr",
    };
    let string = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from);
    let (mut steps, mut count) = (Vec::new(), 0);
    for (mount, &number) in mounts.iter().zip(below) {
        let before = format!("/proc/self/fd/{number}");
        let (path, options) = match mount {
            Mount::Private(path) => {
                let (upper, work) = (layer(count), working(count));
                count += 1;
                let on = format!("/proc/self/fd/{layers}");
                let options =
                    format!("lowerdir={before},upperdir={on}/{upper},workdir={on}/{work},xino=on,{kind}");
                (path, Some(CString::new(options)?))
            }
            Mount::Again(path) => (path, None),
        };
        steps.push(Step { path: string(path)?, number, before: CString::new(before)?, options });
    }
    // One with nothing mounted below is the least trouble.
    let is_simple = |at: &usize| {
        let Mount::Private(path) = &mounts[*at] else { return false };
        !mounts.iter().any(|other| matches!(other, Mount::Again(it) if it.starts_with(path)))
    };
    let all = (0..mounts.len()).filter(|at| matches!(mounts[*at], Mount::Private(_)));
    let base = all.clone().find(is_simple).or(all.clone().next());
    let base = base.ok_or_else(|| io::Error::other("nothing can be written"))?;
    let (go_read, go_write) = pipe()?;
    let (told_read, told_write) = pipe()?;
    let making = Making {
        from,
        steps: &steps,
        base,
        layers,
        memory: CString::new(format!("size={MOST_WRITTEN}m,nr_inodes={MOST_FILES},mode=700"))?,
        told: told_write.as_raw_fd(),
        go: go_read.as_raw_fd(),
        parent: std::process::id(),
    };
    // SAFETY: the child only makes system calls, on memory made before the fork.
    let maker = unsafe {
        match libc::fork() {
            -1 => return Err(io::Error::last_os_error()),
            0 => make(&making),
            child => Maker(Tid(child)),
        }
    };
    drop(told_write);
    let (mut told, mut go) = (File::from(told_read), File::from(go_write));
    answer(&mut told)?;
    let layers = File::open(format!("/proc/{}/fd/{layers}", maker.0))?;
    fill(&layers)?;
    go.write_all(&[1])?;
    let refused = answer(&mut told)?;
    let refused = (0..count).filter(|number| *number < 64 && refused >> number & 1 != 0).collect();
    Ok(Made { maker, layers, refused })
}

/// Starts a command in a directory of a view (or of our own), as the leader of a process group.
pub(crate) fn start(command: &mut Command, view: Option<&View>, cwd: &Path) -> io::Result<Child> {
    let cwd = CString::new(cwd.as_os_str().as_bytes())?;
    // What the closure borrows must live as long as the command, which is the caller's.
    let copy = |fd: &OwnedFd| fd.try_clone();
    let view = match view {
        Some(view) => Some(View {
            user: view.user.as_ref().map(copy).transpose()?,
            mounts: copy(&view.mounts)?,
            ipc: copy(&view.ipc)?,
            root: copy(&view.root)?,
            below: Vec::new(),
            layers: view.layers.try_clone()?,
            refused: Vec::new(),
            renewed: false,
        }),
        None => None,
    };
    command.process_group(0);
    let parent = std::process::id();
    // SAFETY: system calls only, on memory made before the fork.
    unsafe {
        command.pre_exec(move || {
            let entered = view.as_ref().is_none_or(|view| view.enter());
            if !entered || libc::chdir(cwd.as_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            die_with(parent);
            Ok(())
        });
    }
    command.spawn()
}

/// Ends every process of a group.
pub(crate) fn end_group(leader: u32) {
    let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(leader as i32), nix::sys::signal::SIGKILL);
}

/// The process that makes a view ends when nobody needs it any more.
struct Maker(Tid);

impl Drop for Maker {
    fn drop(&mut self) {
        ptrace::kill(self.0);
        // SAFETY: our own child, which nobody else waits for.
        unsafe { libc::waitpid(self.0.0, std::ptr::null_mut(), libc::__WALL) };
    }
}

/// The user's own numbers, and nobody else's.
fn maps() -> io::Result<[(&'static CString, CString); 3]> {
    static FILES: std::sync::OnceLock<[CString; 3]> = std::sync::OnceLock::new();
    let [groups, users, of_groups] = FILES.get_or_init(|| {
        [c"/proc/self/setgroups", c"/proc/self/uid_map", c"/proc/self/gid_map"].map(CString::from)
    });
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    Ok([
        (groups, CString::new("deny")?),
        (users, CString::new(format!("{user} {user} 1"))?),
        (of_groups, CString::new(format!("{group} {group} 1"))?),
    ])
}

/// What the process tells: a number, or why there is none.
fn answer(told: &mut File) -> io::Result<u64> {
    let mut bytes = [0; 16];
    told.read_exact(&mut bytes)?;
    let (number, error) = bytes.split_at(8);
    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
    match word(error) {
        0 => Ok(word(number)),
        error => Err(io::Error::from_raw_os_error(error as i32)),
    }
}

/// The process that makes a view: system calls only.
unsafe fn make(making: &Making<'_>) -> ! {
    // SAFETY: system calls on memory that the parent prepared; every descriptor is open.
    unsafe {
        let tell = |number: u64, error: i32| {
            let words = [number, error as u64];
            libc::write(making.told, words.as_ptr().cast(), 16);
        };
        let fail = || -> ! {
            tell(0, *libc::__errno_location());
            libc::_exit(1)
        };
        let wait = || {
            let mut byte = 0u8;
            while libc::read(making.go, (&raw mut byte).cast(), 1) < 0
                && *libc::__errno_location() == libc::EINTR
            {}
        };
        die_with(making.parent);
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        let take = |path: *const libc::c_char, flags: i32, number: i32| {
            let fd = libc::open(path, flags | libc::O_CLOEXEC);
            fd >= 0 && libc::dup2(fd, number) >= 0 && libc::close(fd) == 0
        };
        let base = making.steps[making.base].path.as_ptr();
        match &making.from {
            From::Outside(maps) => {
                let user = if maps.is_some() { libc::CLONE_NEWUSER } else { 0 };
                if libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWIPC | user) != 0 {
                    fail();
                }
                for (path, text) in maps.iter().flatten() {
                    let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                    let bytes = text.as_bytes();
                    if fd < 0 || libc::write(fd, bytes.as_ptr().cast(), bytes.len()) < 0 {
                        fail();
                    }
                    libc::close(fd);
                }
                let (none, apart) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
                if libc::mount(none, c"/".as_ptr(), none, apart, none.cast()) != 0 {
                    fail();
                }
                for step in making.steps {
                    // What is not there is not mounted again.
                    if !take(step.path.as_ptr(), libc::O_PATH, step.number) && step.options.is_some() {
                        fail();
                    }
                }
            }
            From::View { view, uncover } => {
                if !view.enter() {
                    fail();
                }
                let away = |path| *uncover && libc::umount2(path, libc::MNT_DETACH) != 0;
                if making.steps.iter().rev().any(|step| away(step.path.as_ptr())) || away(base) {
                    fail();
                }
            }
        }
        // So that our parent may look into it.
        libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
        die_with(making.parent);
        let memory = making.memory.as_ptr().cast();
        if libc::mount(c"wmtrace".as_ptr(), base, c"tmpfs".as_ptr(), libc::MS_NODEV, memory) != 0
            || !take(base, libc::O_RDONLY | libc::O_DIRECTORY, making.layers)
        {
            fail();
        }
        tell(0, 0);
        wait();
        let (mut refused, mut number) = (0u64, 0);
        for (at, step) in making.steps.iter().enumerate() {
            let Some(options) = &step.options else {
                let again = libc::MS_BIND | libc::MS_REC;
                libc::mount(
                    step.before.as_ptr(),
                    step.path.as_ptr(),
                    std::ptr::null(),
                    again,
                    std::ptr::null(),
                );
                continue;
            };
            let kind = c"overlay".as_ptr();
            if libc::mount(c"wmtrace".as_ptr(), step.path.as_ptr(), kind, 0, options.as_ptr().cast()) != 0 {
                if at == making.base {
                    fail();
                }
                refused |= 1u64.checked_shl(number).unwrap_or(0);
            }
            number += 1;
        }
        tell(refused, 0);
        wait();
        libc::_exit(0)
    }
}
