//! What executions write, as files of ours: layers before they are used, and what is kept of them.
//!
//! A layer holds what differs from the user's directory that it lies on. A file that was deleted is a mark there.

use crate::os::view::{hide, layer, path_of, working};
use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};

/// Where layers are put aside, with their names.
const ASIDE: &str = "aside";

/// What an execution has written. It is there as long as this is.
#[derive(Debug)]
pub(crate) struct Written {
    layers: File,
    places: Vec<PathBuf>,
    aside: bool,
}

impl Written {
    pub(super) fn new(layers: &File, places: &[PathBuf], aside: bool) -> io::Result<Written> {
        Ok(Written { layers: layers.try_clone()?, places: places.to_vec(), aside })
    }

    /// Copies it to a new directory, each file under its whole path. If there is nothing, there is no directory.
    ///
    /// # Errors
    /// When something of it cannot be read or written; the rest is kept.
    pub(crate) fn keep(&self, directory: &Path) -> io::Result<()> {
        let mut root = path_of(&self.layers);
        if self.aside {
            root.push(ASIDE);
        }
        let mut failed = None;
        for (number, place) in self.places.iter().enumerate() {
            let to = directory.join(place.strip_prefix("/").unwrap_or(place));
            failed = failed.or(copy(&root.join(layer(number)), &to).err());
        }
        failed.map_or(Ok(()), Err)
    }
}

/// Puts what was written aside, before somebody changes it.
pub(super) fn put_aside(layers: &File, count: usize) -> io::Result<()> {
    let root = path_of(layers);
    fs::create_dir(root.join(ASIDE))?;
    for number in 0..count {
        let aside = root.join(ASIDE).join(layer(number));
        fs::create_dir(&aside)?;
        copy(&root.join(layer(number)), &aside)?;
    }
    Ok(())
}

/// Copies files, and the directories that they are in. What cannot be copied is left out, and the first such thing is the
/// error.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut failed = None;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
        let copied = if kind.is_dir() {
            copy(&source, &target)
        } else if kind.is_file() || kind.is_symlink() {
            fs::create_dir_all(to).and_then(|()| match kind.is_file() {
                true => fs::copy(&source, &target).map(drop),
                false => std::os::unix::fs::symlink(fs::read_link(&source)?, &target),
            })
        } else {
            // Marks of deleted files, sockets, pipes.
            Ok(())
        };
        failed = failed.or(copied.err());
    }
    failed.map_or(Ok(()), Err)
}

/// Makes the layers of these directories, empty but for a file that is hidden.
pub(super) fn prepare(layers: &File, places: &[PathBuf], hidden: Option<&Path>) -> io::Result<()> {
    let root = path_of(layers);
    for (number, place) in places.iter().enumerate() {
        fs::create_dir(root.join(working(number)))?;
        alike(place, &root.join(layer(number)))?;
    }
    let inside =
        |place: &&PathBuf| hidden.is_some_and(|hidden| hidden.starts_with(place) && hidden != **place);
    let Some((place, hidden)) = places.iter().rfind(inside).zip(hidden) else { return Ok(()) };
    let number = places.iter().position(|it| it == place).unwrap_or(0);
    let (mut real, mut own) = (place.clone(), root.join(layer(number)));
    let mut names = hidden.strip_prefix(place).unwrap_or(hidden).iter().peekable();
    while let Some(name) = names.next() {
        (real, own) = (real.join(name), own.join(name));
        match names.peek() {
            Some(_) => alike(&real, &own)?,
            None => hide(&own)?,
        }
    }
    // What was made inside has changed their times.
    for path in hidden.ancestors().skip(1).take_while(|path| path.starts_with(place)) {
        let own = root.join(layer(number)).join(path.strip_prefix(place).unwrap_or(path));
        take_times(path, &own)?;
    }
    Ok(())
}

/// Makes a directory with the owner, mode and times of another.
fn alike(like: &Path, path: &Path) -> io::Result<()> {
    let data = fs::metadata(like)?;
    fs::create_dir(path)?;
    // Of users other than root everything is their own.
    let _ = chown(path, Some(data.uid()), Some(data.gid()));
    fs::set_permissions(path, data.permissions())?;
    take_times(like, path)
}

fn take_times(like: &Path, path: &Path) -> io::Result<()> {
    let data = fs::metadata(like)?;
    let accessed = TimeSpec::new(data.atime(), data.atime_nsec());
    let modified = TimeSpec::new(data.mtime(), data.mtime_nsec());
    Ok(utimensat(AT_FDCWD, path, &accessed, &modified, UtimensatFlags::FollowSymlink)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileTypeExt as _;

    #[test]
    fn layers_are_prepared_and_kept() {
        let here = std::env::temp_dir().join(format!("wmtrace-kept-{}", std::process::id()));
        let (place, layers, kept) = (here.join("place"), here.join("layers"), here.join("kept"));
        fs::create_dir_all(place.join("deep")).unwrap();
        fs::create_dir(&layers).unwrap();
        let open = File::open(&layers).unwrap();
        let places = [here.join("place")];
        prepare(&open, &places, Some(&place.join("deep/out"))).unwrap();
        let hidden = fs::symlink_metadata(layers.join("u0/deep/out")).unwrap();
        assert!(hidden.file_type().is_char_device() && hidden.rdev() == 0);
        let times = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        assert_eq!(times(&layers.join("u0/deep")), times(&place.join("deep")));
        // Nothing was written: nothing is kept.
        Written::new(&open, &places, false).unwrap().keep(&kept).unwrap();
        assert!(!kept.exists());
        fs::write(layers.join("u0/deep/file"), "text").unwrap();
        std::os::unix::fs::symlink("file", layers.join("u0/deep/link")).unwrap();
        put_aside(&open, 1).unwrap();
        fs::remove_file(layers.join("u0/deep/file")).unwrap();
        Written::new(&open, &places, true).unwrap().keep(&kept).unwrap();
        let inside = kept.join(place.strip_prefix("/").unwrap()).join("deep");
        assert_eq!(fs::read_to_string(inside.join("link")).unwrap(), "text");
        assert!(fs::symlink_metadata(inside.join("out")).is_err());
        fs::remove_dir_all(&here).unwrap();
    }
}
