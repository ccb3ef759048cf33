//! Signals that end programs, explained.

use nix::sys::signal::Signal;

/// `SIGSEGV`
pub(crate) fn name(signal: i32) -> String {
    match Signal::try_from(signal) {
        Ok(signal) => signal.as_str().to_string(),
        Err(_) => format!("signal {signal}"),
    }
}

/// The signal, and what the address it is about says about the cause.
pub(crate) fn explain(signal: i32, fault: Option<u64>) -> String {
    let name = name(signal);
    let meaning = match Signal::try_from(signal) {
        Ok(Signal::SIGSEGV) => "an access to memory that is not there, or not allowed",
        Ok(Signal::SIGBUS) => "an access to memory that has nothing behind it, or is misaligned",
        Ok(Signal::SIGILL) => "an instruction that does not exist (or a trap that the compiler put there)",
        Ok(Signal::SIGFPE) => "a division by zero, or one whose result does not fit",
        Ok(Signal::SIGTRAP) => "a trap instruction",
        Ok(Signal::SIGSYS) => "a forbidden system call",
        Ok(Signal::SIGPIPE) => "a write to a pipe that nobody reads",
        Ok(Signal::SIGKILL) => "it was killed, perhaps for want of memory",
        _ => "",
    };
    let about = match fault {
        Some(fault) => format!(": {}", address(fault)),
        None if meaning.is_empty() => String::new(),
        None => format!(": {meaning}"),
    };
    format!("{name}{about}")
}

/// What is special about an address that cannot be accessed.
fn address(fault: u64) -> String {
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
        _ => format!("{fault:#x}, which is not mapped, or may not be accessed like this"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_explained() {
        assert_eq!(explain(libc::SIGSEGV, Some(0)), "SIGSEGV: null pointer");
        assert!(explain(libc::SIGSEGV, Some(8)).starts_with("SIGSEGV: null pointer + 0x8 "));
        assert!(explain(libc::SIGSEGV, Some(0x7fff_0000_0000)).contains("not mapped"));
        assert!(explain(libc::SIGSEGV, Some(0x4141_4141_4141_4141)).contains("can be no address"));
        assert!(explain(libc::SIGSEGV, Some(u64::MAX)).contains("kernel"));
        assert!(explain(libc::SIGFPE, None).starts_with("SIGFPE: a division by zero"));
        assert_eq!(explain(libc::SIGUSR1, None), "SIGUSR1");
        assert_eq!(explain(99, None), "signal 99");
    }
}
