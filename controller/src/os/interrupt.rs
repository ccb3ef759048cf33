//! Ctrl-C, SIGTERM, and a terminal that is closed: the first asks wmtrace to finish cleanly (whatever waits polls [`requested`]), the second ends
//! it at once. Programs under test die with their tracer either way.

#![allow(unsafe_code)]

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Whether the user wants wmtrace to end.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// From now on the signals set the flag instead of ending the process. System calls that they interrupt are not
/// restarted: whoever waits in one looks at the flag.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn install() -> nix::Result<()> {
    let action = SigAction::new(SigHandler::Handler(handle), SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler does nothing but what signal-safety(7) allows: an atomic, and `_exit`.
        let before = unsafe { sigaction(signal, &action) }?;
        // `nohup wmtrace` and `wmtrace &` of a script do not want to hear of it.
        if matches!(before.handler(), SigHandler::SigIgn) {
            // SAFETY: it is ignored, as it was.
            unsafe { sigaction(signal, &before) }?;
        }
    }
    Ok(())
}

extern "C" fn handle(signal: libc::c_int) {
    if REQUESTED.swap(true, Ordering::Relaxed) {
        // SAFETY: `_exit` is async-signal-safe, and does not return.
        unsafe { libc::_exit(128 + signal) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::kill;
    use nix::unistd::Pid;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, ExitStatus, Stdio};

    const ROLE: &str = "WMTRACE_TEST_INTERRUPT";

    /// Not a test: what the test below starts, in a process of its own.
    #[test]
    fn child() {
        let Some(role) = std::env::var_os(ROLE) else { return };
        // Whoever runs the tests may ignore them (`nohup`, a background job of a script).
        let usual = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            // SAFETY: no handler is replaced by one that is not there.
            unsafe { sigaction(signal, &usual) }.unwrap();
        }
        install().unwrap();
        let mut out = std::io::stdout();
        writeln!(out, "\nready").unwrap();
        while !requested() {
            std::thread::yield_now();
        }
        if role == "polite" {
            std::process::exit(42);
        }
        writeln!(out, "asked").unwrap();
        loop {
            std::thread::park();
        }
    }

    /// Starts the child, and signals it at each of its lines.
    fn run(role: &str, signals: &[(&str, Signal)]) -> ExitStatus {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "os::interrupt::tests::child", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Pid::from_raw(child.id().try_into().unwrap());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        for (line, signal) in signals {
            assert!(lines.any(|it| it == *line), "no line `{line}`");
            kill(pid, *signal).unwrap();
        }
        child.wait().unwrap()
    }

    #[test]
    fn the_first_signal_asks_and_the_second_ends() {
        assert_eq!(run("polite", &[("ready", Signal::SIGINT)]).code(), Some(42));
        assert_eq!(run("polite", &[("ready", Signal::SIGTERM)]).code(), Some(42));
        assert_eq!(run("polite", &[("ready", Signal::SIGHUP)]).code(), Some(42));
        let twice = [("ready", Signal::SIGINT), ("asked", Signal::SIGTERM)];
        assert_eq!(run("deaf", &twice).code(), Some(128 + libc::SIGTERM));
    }
}
