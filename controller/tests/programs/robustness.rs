//! Whatever happens to wmtrace or is given to it: no process is left, no file is broken, and errors are one line.

use crate::build::{CROSS, GNU_O2, STATIC};
use crate::run::{Directory, Report, executions, start};
use crate::source::{Source, Variant};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

/// Memory, descriptors and processes of wmtrace do not grow with the executions: 20,000 in scripts/test-long.
#[test]
fn nothing_leaks() {
    let directory = Directory::new("leak");
    let built = Source::named("patterns/prodcons.cpp").build(Variant::Right, GNU_O2);
    let mut child = start(&mut directory.test(&format!("-n {} --keep-going", executions() * 10), &built));
    let mut samples: Vec<[u64; 3]> = Vec::new();
    while child.try_wait().unwrap().is_none() {
        samples.extend(sample(&directory, child.id()));
        // Looking at every process takes the processor that wmtrace needs.
        std::thread::sleep(Duration::from_millis(10));
    }
    Report::read(&child.wait_with_output().unwrap()).unwrap().is_clean(executions() * 10).unwrap();
    assert!(samples.len() >= 20, "only {} samples", samples.len());
    // The first quarter warms caches up.
    let quarter = samples.len() / 4;
    let most = |samples: &[[u64; 3]], of: usize| samples.iter().map(|sample| sample[of]).max().unwrap();
    for (of, what, slack) in [(0, "kB of memory", 4096), (1, "descriptors", 2), (2, "processes", 2)] {
        let (early, late) = (most(&samples[quarter..2 * quarter], of), most(&samples[3 * quarter..], of));
        assert!(late <= early + slack, "{early} {what} became {late}");
    }
}

/// Resident memory in kB, open descriptors, and processes; nothing if it is gone.
fn sample(directory: &Directory, pid: u32) -> Option<[u64; 3]> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64;
    let processes = directory.processes().len() as u64;
    Some([memory.trim().trim_end_matches(" kB").parse().ok()?, descriptors, processes])
}

/// What a process leaves behind does not outlive its execution.
#[test]
fn processes_that_run_away_are_caught() {
    for name in ["odd/fork_chain.c", "odd/fork_bomb.c"] {
        let directory = Directory::new("runaway");
        let built = Source::named(name).build(Variant::Buggy, GNU_O2);
        let report = directory.report("-n 3 --timeout 2 --keep-going", &built).unwrap();
        assert_eq!(report.number("executions"), 3, "{name}");
    }
}

/// The program's output is shown with the bug, but its escapes are not obeyed.
#[test]
fn garbage_does_not_reach_the_terminal() {
    let directory = Directory::new("garbage");
    let built = Source::named("odd/garbage.c").build(Variant::Buggy, GNU_O2);
    for format in ["human", "json", "junit", "sarif"] {
        let words = ["--format", format, "-n", "2", "-o", "out", "--", built.path.to_str().unwrap()];
        let output = directory.wmtrace(&words).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{format}");
        for bytes in [&output.stdout, &output.stderr] {
            let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{format}: {error}"));
            let control = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
            assert_eq!(control, None, "{format}");
        }
    }
}

/// One line that says what is wrong, on stderr, and this status.
fn refused(output: &Output, status: i32, says: &str) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{message}");
    assert!(message.lines().count() == 1 && message.contains(says), "not one line with `{says}`: {message}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

fn is_refused(directory: &Directory, program: &Path, says: &str) {
    let mut command = directory.wmtrace(&["-n", "1", "--"]);
    refused(&command.arg(program).output().unwrap(), 2, says);
}

#[test]
fn what_is_no_program_is_refused() {
    let directory = Directory::new("refused");
    let executable = |name: &str, content: &[u8]| -> PathBuf {
        let path = directory.file(name, content);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let built = Source::named("verdicts/exit.c").build(Variant::Right, GNU_O2).path;
    let elf = std::fs::read(&built).unwrap();
    let changed = |at: usize, to: u8| {
        let mut bytes = elf.clone();
        bytes[at] = to;
        bytes
    };
    is_refused(&directory, &directory.path.join("missing"), "No such file");
    is_refused(&directory, &directory.path, "directory");
    is_refused(&directory, &executable("empty", b""), "not an ELF");
    is_refused(&directory, &executable("text", b"hello\n"), "not an ELF");
    is_refused(&directory, &executable("short", &elf[..40]), "malformed");
    is_refused(&directory, &executable("riscv", &changed(18, 243)), "machine 243");
    is_refused(&directory, &executable("small", &changed(4, 1)), "32-bit");
    // Not even root may execute what nobody may.
    is_refused(&directory, &directory.file("mode", &elf), "ermission");
}

#[test]
fn broken_recordings_are_refused() {
    let directory = Directory::new("recordings");
    let built = Source::named("verdicts/race.cpp").build(Variant::Buggy, GNU_O2);
    let recording = directory.report("-n 100", &built).unwrap().recording(&directory);
    let whole = std::fs::read(recording).unwrap();
    let replay = |path: &Path| directory.wmtrace(&["replay", path.to_str().unwrap()]).output().unwrap();
    refused(&replay(&directory.path.join("missing")), 2, "No such file");
    refused(&replay(&directory.file("empty", "")), 2, "empty");
    refused(&replay(&directory.file("text", "hello\n")), 2, "text");
    for parts in 1..8 {
        refused(&replay(&directory.file("part", &whole[..whole.len() * parts / 8])), 2, "part");
    }
    for at in (0..whole.len()).step_by(whole.len().div_ceil(16)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        refused(&replay(&directory.file("flipped", bytes)), 2, "flipped");
    }
}

/// Programs with a sanitizer's runtime are refused by its name, also behind a wrapper.
#[test]
fn sanitizers_are_named() {
    let directory = Directory::new("sanitizers");
    let source = Source::named("verdicts/race.cpp");
    for (switch, says) in [
        ("-fsanitize=address", "is built with AddressSanitizer"),
        ("-fsanitize=thread", "is built with ThreadSanitizer"),
        ("-fsanitize=thread -static-libtsan", "is built with ThreadSanitizer"),
        ("-fsanitize=address -static-libasan", "is built with AddressSanitizer"),
    ] {
        let path = source.compile(GNU_O2, &format!("-DBUGGY {switch}"));
        is_refused(&directory, &path, says);
        let mut wrapped = directory.wmtrace(&["-n", "1", "--", "env"]);
        refused(&wrapped.arg(&path).output().unwrap(), 2, says);
    }
    // That of undefined behaviour has no threads or memory of its own.
    let path = source.compile(GNU_O2, "-DBUGGY -fsanitize=undefined");
    let mut command = directory.wmtrace(&["-q", "-n", "100", "--"]);
    assert_eq!(command.arg(path).output().unwrap().status.code(), Some(1));
}

/// Whatever `--qemu` names, it has not run the program.
#[test]
fn what_is_no_emulator_is_refused() {
    let directory = Directory::new("no-qemu");
    let built = Source::named("verdicts/exit.c").build(Variant::Right, CROSS);
    for (qemu, status, says) in [
        ("/bin/true", 3, "qemu did not start the program, and said: nothing"),
        ("/bin/nothing", 2, "--qemu /bin/nothing: no such file"),
        ("/etc/passwd", 2, "cannot run /etc/passwd: Permission denied"),
    ] {
        let words = ["-n", "1", "--qemu", qemu, "--", built.path.to_str().unwrap()];
        refused(&directory.wmtrace(&words).output().unwrap(), status, says);
    }
}

/// A segment where there is no memory for programs: the kernel notices too late for `execve` to fail, and kills.
#[test]
fn what_the_kernel_cannot_load_is_refused() {
    let directory = Directory::new("unloadable");
    let built = Source::named("verdicts/exit.c").build(Variant::Right, STATIC);
    let mut elf = std::fs::read(built.path).unwrap();
    let number = |at: usize| usize::from(u16::from_le_bytes([elf[at], elf[at + 1]]));
    let table = u64::from_le_bytes(elf[32..40].try_into().unwrap()) as usize;
    let headers = (0..number(56)).map(|index| table + 56 * index);
    let load = headers.into_iter().find(|&at| elf[at..at + 4] == [1, 0, 0, 0]).expect("PT_LOAD");
    // The upper bytes of its address.
    elf[load + 16 + 5] = 0xff;
    let path = directory.file("unloadable", &elf);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    is_refused(&directory, &path, "the kernel cannot load it");
}
