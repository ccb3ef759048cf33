//! Numbers of signals. qemu needs some of the real-time signals for itself, and has others in their places; which, differs
//! from version to version. It tells what a small program sees that waits for one of them.

use super::host::Host;
use super::run::Run;
use crate::os::memory::ProcessMemory;
use crate::os::{Tid, descriptors, launch, proc};
use std::collections::HashMap;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wmtrace_model::strategy::Strategy;

/// The first one whose number is not the same everywhere.
const FIRST: i32 = 32;

/// How long qemu may take to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// The kernel's numbers of signals, by the program's; nothing if there is none.
pub(super) type Numbers = HashMap<i32, Option<i32>>;

impl<S: Strategy> Run<'_, S> {
    /// The number that the kernel has for a signal of the program's; nothing if it is not known.
    pub(super) fn real_signal(&mut self, signal: i32) -> Option<i32> {
        let Host::Qemu { qemu, .. } = &self.engine.host else { return Some(signal) };
        if signal < FIRST {
            return Some(signal);
        }
        *self.engine.signals.entry(signal).or_insert_with(|| ask(qemu, signal))
    }

    /// The program's number of a signal that has arrived.
    pub(super) fn shown_signal(&self, real: i32) -> i32 {
        let known = self.engine.signals.iter().find(|&(_, &number)| number == Some(real));
        known.map_or(real, |(&signal, _)| signal)
    }
}

/// A program for AArch64 that waits for a signal, and does nothing else.
fn waits_for(signal: i32) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    const CODE: [u32; 8] = [
        0x1000_0100, // adr x0, the set
        0xd280_0001, // mov x1, #0
        0xd280_0002, // mov x2, #0
        0xd280_0103, // mov x3, #8
        0xd280_1128, // mov x8, #137: rt_sigtimedwait
        0xd400_0001, // svc #0
        0x1400_0000, // b .
        0xd503_201f, // nop
    ];
    let size = HEADERS + 4 * CODE.len() as u64 + 8;
    let halves = |values: &[u16]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    let words = |values: &[u32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    let longs = |values: &[u64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    [
        // An ELF file of 64 bits, little-endian, executable, with one program header.
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec(),
        halves(&[2, 183]),
        words(&[1]),
        longs(&[BASE + HEADERS, 64, 0]),
        words(&[0]),
        halves(&[64, 56, 1, 64, 0, 0]),
        // Loaded as a whole, to be read and executed.
        words(&[1, 5]),
        longs(&[0, BASE, BASE, size, size, 0x1000]),
        words(&CODE),
        longs(&[1 << (signal - 1)]),
    ]
    .concat()
}

/// What qemu makes of a signal.
fn ask(qemu: &Path, signal: i32) -> Option<i32> {
    let mut file = launch::memory_file("wmtrace-asks").ok()?;
    file.write_all(&waits_for(signal)).ok()?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let mut command = Command::new(qemu);
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    launch::dies_with_us(&mut command);
    let only = descriptors::none_copied();
    let mut child = command.spawn().ok()?;
    drop(only);
    let tid = Tid(i32::try_from(child.id()).ok()?);
    let until = Instant::now() + PATIENCE;
    let mut set = None;
    while set.is_none() && Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(1));
        set = proc::waits_in(tid, tid)
            .filter(|call| call.0 == libc::SYS_rt_sigtimedwait)
            .and_then(|call| ProcessMemory::open(tid).ok()?.read_u64(call.1));
    }
    let _ = child.kill();
    let _ = child.wait();
    set.filter(|set| set.is_power_of_two()).map(|set| set.trailing_zeros() as i32 + 1)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Two different signals have two different numbers, and none is one that the host's C library needs.
    #[test]
    fn qemu_tells() {
        let qemu = super::super::qemu::find(None).expect("see scripts/setup tests");
        let numbers = [32, 39].map(|signal| ask(&qemu, signal).expect("a number"));
        assert!(numbers[0] >= libc::SIGRTMIN() && numbers[1] == numbers[0] + 7, "{numbers:?}");
        assert_eq!(ask(&qemu, libc::SIGUSR1), Some(libc::SIGUSR1));
        assert_eq!(ask(Path::new("/bin/true"), 32), None);
    }
}
