//! Signals that end programs, explained.

use crate::engine::Fault;
use nix::sys::signal::Signal;

/// `SIGSEGV`
pub(crate) fn name(signal: i32) -> String {
    match Signal::try_from(signal) {
        Ok(signal) => signal.as_str().to_string(),
        Err(_) => format!("signal {signal}"),
    }
}

/// The signal, and what is known of its cause.
pub(crate) fn explain(signal: i32, fault: Option<Fault>) -> String {
    let name = name(signal);
    match fault.and_then(|fault| cause(signal, fault)) {
        Some(cause) => format!("{name}: {cause}"),
        None => match meaning(signal) {
            "" => name,
            meaning => format!("{name}: {meaning}"),
        },
    }
}

/// What a signal means as such.
fn meaning(signal: i32) -> &'static str {
    match Signal::try_from(signal) {
        Ok(Signal::SIGSEGV) => "an access to memory that is not there, or not allowed",
        Ok(Signal::SIGBUS) => "an access to memory that has nothing behind it, or is misaligned",
        Ok(Signal::SIGILL) => "an instruction that does not exist (or a trap that the compiler put there)",
        Ok(Signal::SIGFPE) => "a division by zero, or one whose result does not fit",
        Ok(Signal::SIGTRAP) => "a trap instruction",
        Ok(Signal::SIGSYS) => "a forbidden system call",
        Ok(Signal::SIGPIPE) => "a write to a pipe that nobody reads",
        Ok(Signal::SIGKILL) => "it was killed, perhaps for want of memory",
        _ => "",
    }
}

/// What the kernel says of a fault: `si_code`, as in `sigaction(2)`. The C library's headers have these numbers, the crate has
/// some of them.
fn cause(signal: i32, fault: Fault) -> Option<String> {
    let Fault { code, address: at } = fault;
    // Whatever else the processor complains about: an address that is not canonical, a privileged instruction. The
    // address that comes with it says nothing.
    const SI_KERNEL: i32 = 0x80;
    Some(match (signal, code) {
        (libc::SIGSEGV, SI_KERNEL) => "an address that can be none, or a privileged instruction".to_string(),
        (libc::SIGSEGV, _) => address(fault),
        (libc::SIGBUS, 1) => format!("a misaligned access, at {at:#x}"),
        (libc::SIGBUS, 2) => {
            format!("an access to {at:#x}, which is beyond the end of the file that is mapped there")
        }
        (libc::SIGBUS, 3..=5) => format!("an access to {at:#x}, where the hardware has failed"),
        (libc::SIGFPE, 1) => "integer division by zero (or the quotient does not fit)".to_string(),
        (libc::SIGFPE, 2) => "integer overflow".to_string(),
        (libc::SIGFPE, 3) => "floating-point division by zero".to_string(),
        (libc::SIGFPE, 4) => "floating-point overflow".to_string(),
        (libc::SIGFPE, 5) => "floating-point underflow".to_string(),
        (libc::SIGFPE, 6) => "an inexact floating-point result".to_string(),
        (libc::SIGFPE, 7) => "an invalid floating-point operation".to_string(),
        (libc::SIGILL, 1..=4) => {
            "illegal instruction (one that does not exist, or a trap that the compiler put there)".to_string()
        }
        (libc::SIGILL, 5 | 6) => "a privileged instruction".to_string(),
        _ => return None,
    })
}

/// What is special about an address that cannot be accessed.
fn address(fault: Fault) -> String {
    /// It is mapped, but not so.
    const SEGV_ACCERR: i32 = 2;
    let Fault { code, address: fault } = fault;
    // The first page is never mapped; the members of most structures and the first elements of arrays are near.
    match fault {
        0 => "null pointer".to_string(),
        1..0x1000 => {
            format!("null pointer + {fault:#x} (a member or element of what a null pointer points to)")
        }
        0x1000..0x1_0000 => format!("{fault:#x}, which is close to a null pointer"),
        0x8000_0000_0000..0xffff_8000_0000_0000 => format!("{fault:#x}, which can be no address"),
        0xffff_8000_0000_0000.. => {
            format!("{fault:#x}, which belongs to the kernel (or is a small negative number)")
        }
        _ if code == SEGV_ACCERR => format!("{fault:#x}, which may not be accessed like this"),
        _ => format!("{fault:#x}, which is not mapped"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(signal: i32, code: i32, address: u64) -> String {
        explain(signal, Some(Fault { code, address }))
    }

    #[test]
    fn addresses_are_explained() {
        assert_eq!(said(libc::SIGSEGV, 1, 0), "SIGSEGV: null pointer");
        assert!(said(libc::SIGSEGV, 1, 8).starts_with("SIGSEGV: null pointer + 0x8 "));
        assert!(said(libc::SIGSEGV, 1, 0x7fff_0000_0000).contains("not mapped"));
        assert!(said(libc::SIGSEGV, 2, 0x7fff_0000_0000).contains("may not be accessed"));
        assert!(said(libc::SIGSEGV, 1, 0x4141_4141_4141_4141).contains("can be no address"));
        assert!(said(libc::SIGSEGV, 0x80, 0).contains("can be none"));
        assert!(said(libc::SIGSEGV, 1, u64::MAX).contains("kernel"));
        assert_eq!(explain(libc::SIGUSR1, None), "SIGUSR1");
        assert_eq!(explain(99, None), "signal 99");
    }

    /// Only a SIGSEGV is about an address that is not mapped.
    #[test]
    fn faults_say_what_they_are() {
        assert!(said(libc::SIGFPE, 1, 0x401000).starts_with("SIGFPE: integer division by zero"));
        assert!(said(libc::SIGFPE, 3, 0x401000).contains("floating-point division by zero"));
        assert!(said(libc::SIGILL, 2, 0x401000).contains("illegal instruction"));
        assert!(said(libc::SIGBUS, 1, 0x401001).contains("misaligned"));
        assert!(said(libc::SIGBUS, 2, 0x401001).contains("beyond the end of the file"));
        assert!(explain(libc::SIGFPE, None).starts_with("SIGFPE: a division by zero"));
        for signal in [libc::SIGFPE, libc::SIGILL, libc::SIGBUS] {
            for code in 1..9 {
                assert!(!said(signal, code, 0x401000).contains("mapped,"), "{signal} {code}");
            }
        }
    }
}
