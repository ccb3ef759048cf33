//! A tick: waiting for a traced thread is interrupted a few times a second, so that deadlines and Ctrl-C are
//! noticed although `waitpid` knows no time.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::sync::Once;

/// The signal of the tick: real-time signals are nobody else's here.
fn signal() -> i32 {
    libc::SIGRTMIN() + 3
}

extern "C" fn nothing(_: libc::c_int) {}

/// Interrupts the system calls of the thread that made it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Tick {
    timer: libc::timer_t,
}

/// How often.
const PERIOD_NS: i64 = 20_000_000;

/// The same.
pub(crate) const PERIOD: std::time::Duration = std::time::Duration::from_nanos(PERIOD_NS as u64);

impl Tick {
    /// For the calling thread.
    pub(crate) fn start() -> io::Result<Tick> {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(|| {
            // SAFETY: the handler does nothing. No SA_RESTART: interrupting is the purpose.
            unsafe {
                let mut action: libc::sigaction = zeroed();
                action.sa_sigaction = nothing as *const () as usize;
                libc::sigaction(signal(), &raw const action, std::ptr::null_mut());
            }
        });
        // SAFETY: plain data for the kernel, all of it initialised; the timer is deleted in `drop`.
        unsafe {
            let mut event: libc::sigevent = zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal();
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = MaybeUninit::uninit();
            if libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, timer.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let timer = timer.assume_init();
            let period = libc::timespec { tv_sec: 0, tv_nsec: PERIOD_NS };
            let value = libc::itimerspec { it_interval: period, it_value: period };
            if libc::timer_settime(timer, 0, &raw const value, std::ptr::null_mut()) != 0 {
                let error = io::Error::last_os_error();
                libc::timer_delete(timer);
                return Err(error);
            }
            Ok(Tick { timer })
        }
    }
}

impl Drop for Tick {
    fn drop(&mut self) {
        // SAFETY: made by `timer_create`, deleted once.
        unsafe { libc::timer_delete(self.timer) };
    }
}
