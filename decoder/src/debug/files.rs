//! The files that belong to an image but are not in it. The decoder names them; whoever owns the file system
//! opens them.

use std::sync::Arc;

/// A file that the decoder would like to read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DebugFile<'a> {
    /// The separate debug file with this build-id (`/usr/lib/debug/.build-id/ab/cdef….debug`).
    BuildId(&'a [u8]),
    /// The separate debug file of this name, beside the program, in `.debug/`, or under `/usr/lib/debug`.
    DebugLink {
        /// Its name.
        name: &'a str,
        /// The CRC-32 of its contents.
        crc: u32,
    },
    /// A split unit (`-gsplit-dwarf`).
    Dwo {
        /// Where the compiler ran: relative names start here.
        directory: &'a str,
        /// The file's name.
        name: &'a str,
    },
    /// All split units in one file: the program's name with `.dwp`.
    Dwp,
    /// Source text, by the path that the compiler saw.
    Source(&'a str),
}

/// Opens what the decoder asks for.
pub trait Files: Send + Sync {
    /// The contents of a file, if there is one.
    fn open(&self, file: DebugFile<'_>) -> Option<Arc<[u8]>>;
}

/// No file but the image itself.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn open(&self, _: DebugFile<'_>) -> Option<Arc<[u8]>> {
        None
    }
}
