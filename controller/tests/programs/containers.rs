//! Where wmtrace may not do everything: limits of memory, and system calls that a container's filter denies.

use crate::build::GNU_O2;
use crate::run::Directory;
use crate::source::{Source, Variant};

/// Want of memory is an error of wmtrace's, not a crash.
#[test]
fn memory_limits_are_errors() {
    let directory = Directory::new("memory");
    let built = Source::named("verdicts/exit.c").build(Variant::Right, GNU_O2);
    let mut said = 0;
    // In KiB: from "libraries cannot be loaded" (127, the dynamic linker's) to enough.
    for limit in (20_000..=160_000).step_by(20_000) {
        let script = format!("ulimit -v {limit}; exec \"$0\" -q -n 1 -- \"$1\"");
        let mut command = directory.command("/bin/sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_wmtrace")]).arg(&built.path);
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code();
        assert!(matches!(status, Some(0 | 3 | 127)), "{limit}: {status:?} {message}");
        assert!(status != Some(3) || message.lines().count() == 1, "{limit}: {message}");
        said += usize::from(status == Some(3) && message.contains("out of memory: raise the limit"));
    }
    assert!(said > 0, "no limit was too low");
}
