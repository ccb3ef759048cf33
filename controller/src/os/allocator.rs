//! Memory of our own. Where there is no more of it (`ulimit -v`, a container's limit) Rust aborts, which looks like a crash:
//! here it is an error like any other, with its own status. The processes that are traced end with us.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, and an end in order.
pub(crate) struct Bounded;

const MESSAGE: &str = "wmtrace: out of memory: raise the limit (ulimit -v, or the container's), or run fewer executions at a time (-j)\n";

/// The status of errors of the tool (`crate::exit::Exit::Tool`).
const STATUS: i32 = crate::exit::Exit::Tool as i32;

/// Ends wmtrace if there is no memory.
fn checked(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        // SAFETY: two system calls on constant memory; nothing is allocated, and nothing runs afterwards.
        unsafe {
            libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(STATUS);
        }
    }
    memory
}

// SAFETY: what the system's allocator does, with the same arguments.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        checked(unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}
