//! Builds only if neither `wmtrace-model` nor anything it depends on links the standard library: this crate
//! brings its own panic handler and allocator, as an agent inside another process would, and std has them too.
#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;
use wmtrace_model::machine::{Config, Machine};
use wmtrace_model::op::ModelKind;
use wmtrace_model::strategy::Random;

struct Nothing;

// SAFETY: it never hands out memory.
unsafe impl GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        null_mut()
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Nothing = Nothing;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Uses the model, so that it is linked.
#[unsafe(no_mangle)]
pub extern "C" fn wmtrace_events() -> u64 {
    Machine::new(Config::new(ModelKind::C11), Random::new(1)).counts().0
}
