//! The memory of a traced process.

use super::pages::Pages;
use super::{OsError, Tid};
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::unix::fs::FileExt as _;
use wmtrace_model::machine::Memory;
use wmtrace_model::op::{Place, Value};

/// Memory of one process, through the kernel: writing goes through protections, and makes private copies. A window's
/// protections are heeded: behind them lies what an emulator has reserved.
#[derive(Debug)]
pub(crate) struct ProcessMemory {
    file: File,
    /// A thread of the process that has not ended.
    process: Cell<Tid>,
    window: Window,
    /// Of a process whose memory is not a window.
    pages: RefCell<Pages>,
}

/// The part of a process's addresses that is somebody's whole memory: that of a program inside an emulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub(crate) base: u64,
    pub(crate) len: u64,
}

impl Window {
    /// All addresses.
    const WHOLE: Window = Window { base: 0, len: u64::MAX };

    /// Where `len` bytes at an address of the window are in the process.
    fn place(self, addr: u64, len: usize) -> Option<u64> {
        let end = addr.checked_add(len as u64)?;
        (end <= self.len).then(|| self.base + addr)
    }
}

impl ProcessMemory {
    pub(crate) fn open(process: Tid) -> Result<ProcessMemory, OsError> {
        ProcessMemory::open_window(process, Window::WHOLE)
    }

    /// The memory that a window shows: addresses are the window's.
    pub(crate) fn open_window(process: Tid, window: Window) -> Result<ProcessMemory, OsError> {
        let path = format!("/proc/{process}/mem");
        let file = File::options().read(true).write(true).open(path);
        let file = file.map_err(|error| OsError::new("opening the memory", process, error))?;
        Ok(ProcessMemory { file, process: Cell::new(process), window, pages: RefCell::default() })
    }

    /// The thread through which the memory is looked at.
    pub(crate) fn thread(&self) -> Tid {
        self.process.get()
    }

    /// From now on the memory is looked at through this thread of the process: the first one may end before others.
    pub(crate) fn look_through(&self, thread: Tid) {
        self.process.set(thread);
    }

    /// The process has run, or is about to.
    pub(crate) fn changes(&self) {
        self.pages.borrow_mut().forget();
    }

    /// Fills the buffer as the program itself could; false if it may not read some of it.
    pub(crate) fn load(&self, addr: u64, buffer: &mut [u8]) -> bool {
        let whole = self.window == Window::WHOLE;
        let ask = |page: u64, bytes: &mut [u8]| self.look(page, bytes);
        whole && self.pages.borrow_mut().read(addr, buffer, ask) || self.look(addr, buffer)
    }

    fn look(&self, addr: u64, buffer: &mut [u8]) -> bool {
        let Some(at) = self.window.place(addr, buffer.len()) else { return false };
        let len = buffer.len();
        let remote = [RemoteIoVec { base: at as usize, len }];
        process_vm_readv(self.process.get().pid(), &mut [IoSliceMut::new(buffer)], &remote) == Ok(len)
    }

    /// Writes as the program itself could; false if it may not.
    pub(crate) fn store(&self, addr: u64, bytes: &[u8]) -> bool {
        let Some(at) = self.window.place(addr, bytes.len()) else { return false };
        let remote = [RemoteIoVec { base: at as usize, len: bytes.len() }];
        let done = process_vm_writev(self.process.get().pid(), &[IoSlice::new(bytes)], &remote);
        let done = done == Ok(bytes.len());
        if done {
            self.pages.borrow_mut().written(addr, bytes, true);
        }
        done
    }

    /// Whether the program itself could write there. `bytes` are what is there.
    pub(crate) fn may_store(&self, addr: u64, bytes: &[u8]) -> bool {
        self.pages.borrow_mut().is_writable(addr, bytes.len()) || self.store(addr, bytes)
    }

    /// Fills the buffer; false if some of it is not mapped (or, in a window, may not be read).
    pub(crate) fn read(&self, addr: u64, buffer: &mut [u8]) -> bool {
        self.load(addr, buffer)
            || self.window == Window::WHOLE && self.file.read_exact_at(buffer, addr).is_ok()
    }

    /// Whether the program may write there. (It writes what is there.)
    pub(crate) fn may_write(&self, addr: u64) -> bool {
        let mut byte = [0];
        self.read(addr, &mut byte) && self.write(addr, &byte).is_ok()
    }

    /// Writes although the program may not.
    pub(crate) fn force(&self, addr: u64, bytes: &[u8]) -> Result<(), OsError> {
        let done = match self.window.place(addr, bytes.len()) {
            Some(at) => {
                let done = self.file.write_all_at(bytes, at);
                self.pages.borrow_mut().written(addr, bytes, false);
                done
            }
            None => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        };
        done.map_err(|error: io::Error| OsError::new("writing memory", self.process.get(), error))
    }

    /// As much as can be read, up to `len` bytes.
    pub(crate) fn read_some(&self, addr: u64, len: usize) -> Vec<u8> {
        let mut buffer = vec![0; len.min(self.window.len.saturating_sub(addr) as usize)];
        let mut done = 0;
        while done < buffer.len() {
            let at = self.window.base.saturating_add(addr).saturating_add(done as u64);
            let read = if self.window == Window::WHOLE {
                self.file.read_at(&mut buffer[done..], at)
            } else {
                let left = len.min(buffer.len()) - done;
                let remote = [RemoteIoVec { base: at as usize, len: left }];
                let local = &mut [IoSliceMut::new(&mut buffer[done..])];
                process_vm_readv(self.process.get().pid(), local, &remote).map_err(io::Error::from)
            };
            match read {
                Ok(0) | Err(_) => break,
                Ok(n) => done += n,
            }
        }
        buffer.truncate(done);
        buffer
    }

    pub(crate) fn read_u64(&self, addr: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(addr, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    pub(crate) fn read_u32(&self, addr: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.read(addr, &mut bytes).then(|| u32::from_le_bytes(bytes))
    }

    pub(crate) fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), OsError> {
        if self.window == Window::WHOLE {
            return self.force(addr, bytes);
        }
        if self.store(addr, bytes) {
            return Ok(());
        }
        let refused = io::Error::from_raw_os_error(libc::EFAULT);
        Err(OsError::new("writing memory", self.process.get(), refused))
    }

    /// The bytes of a place; 0 where nothing is mapped.
    pub(crate) fn value(&self, at: Place) -> Value {
        let mut bytes = [0; 16];
        self.read(at.addr.0, &mut bytes[..usize::from(at.width)]);
        Value::from_le_bytes(bytes)
    }

    pub(crate) fn set_value(&self, at: Place, value: Value) -> Result<(), OsError> {
        self.write(at.addr.0, &value.to_le_bytes()[..usize::from(at.width)])
    }

    /// The bytes up to a zero byte, at most `max`.
    pub(crate) fn c_string(&self, addr: u64, max: usize) -> Vec<u8> {
        let mut found = Vec::new();
        while found.len() < max {
            // Not beyond the end of a page, where the mapping may end.
            let at = addr.wrapping_add(found.len() as u64);
            let room = (4096 - (at % 4096) as usize).min(max - found.len());
            let bytes = self.read_some(at, room);
            let end = bytes.iter().position(|&byte| byte == 0);
            found.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if end.is_some() || bytes.len() < room {
                break;
            }
        }
        found
    }
}

/// The machine reads memory as it is.
impl Memory for &ProcessMemory {
    fn read(&mut self, at: Place) -> Value {
        self.value(at)
    }
}
