//! Programs for AArch64, in qemu-user: the same programs as for x86-64, cross-compiled, with the same verdicts.

use crate::build::{
    CROSS, CROSS_LLSC, CROSS_LSE, CROSS_NO_PIE, CROSS_O0, CROSS_RCPC, CROSS_STATIC, CROSS_STRIPPED, Flavour,
};
use crate::run::{Directory, Report, executions};
use crate::source::{Language, Source, Variant, for_each};

/// As many executions as x86-64's bugs need; the rarest of these programs fails in one of 30 by the default strategy.
const EXECUTIONS: u64 = 400;

/// Programs of which the engine says that it does not support what they do, and what it says.
const REFUSED: [(&str, &str); 4] = [
    ("odd/changes_itself.c", "code that the program may change"),
    ("aarch64/jit.c", "code that is in no file"),
    ("aarch64/lone_store.c", "an exclusive store whose load is not found"),
    ("aarch64/executes_foreign.c", "which is no program for AArch64"),
];

/// Programs that are x86-64's alone (their instructions), or need what is a named gap (docs/GATE.md): processes that
/// know the program by its number.
const ELSEWHERE: [&str; 3] = ["odd/rep_movs.c", "odd/cas16.c", "odd/names_itself.c"];

fn sources(directory: &str) -> Vec<Source> {
    let mut sources = Source::all(directory);
    let elsewhere =
        |name: &str| ELSEWHERE.contains(&name) || REFUSED.iter().any(|(refused, _)| *refused == name);
    // Programs with x86-64's own instructions. (Those of the directory of this name have AArch64's.)
    let own = ["mmintrin.h", "__asm__", "__builtin_ia32_"];
    let foreign =
        |source: &Source| directory != "aarch64" && own.iter().any(|word| source.text.contains(word));
    sources
        .retain(|source| source.language != Language::Rust && !foreign(source) && !elsewhere(&source.name));
    sources
}

pub(crate) fn is_found(source: &Source, flavour: Flavour) -> Result<(), String> {
    let directory = Directory::new("aarch64");
    let built = source.build(Variant::Buggy, flavour);
    let options = format!("-n {EXECUTIONS} --expect-exit {} {}", source.status, source.options.join(" "));
    let report = directory.report_with(&source.stdin, &options, &built)?;
    let kinds = report.kinds();
    if kinds.is_empty() || !kinds.iter().all(|kind| source.expect.iter().any(|expected| expected == kind)) {
        return Err(format!("expected {:?}, not {kinds:?}: {}", source.expect, report.value()));
    }
    let value = report.value();
    if (&value["arch"], &value["engine"]) != (&"aarch64".into(), &"gate".into()) {
        return Err(format!("not by gate: {value}"));
    }
    let recording = report.recording(&directory);
    let words = ["replay", "--format", "json", recording.to_str().unwrap()];
    let replayed = Report::read(&directory.wmtrace(&words).output().unwrap())?;
    if replayed.kinds() != kinds[..1] || replayed.bugs()[0]["sites"] != report.bugs()[0]["sites"] {
        return Err(format!("replayed as {}, was {}", replayed.value(), report.value()));
    }
    Ok(())
}

pub(crate) fn is_clean(source: &Source, flavour: Flavour, runs: u64, strategy: &str) -> Result<(), String> {
    let directory = Directory::new("aarch64-clean");
    let built = source.build(Variant::Right, flavour);
    let (status, options) = (source.status, source.options.join(" "));
    let options = format!("--strategy {strategy} -n {runs} --keep-going --expect-exit {status} {options}");
    directory.report_with(&source.stdin, &options, &built)?.is_clean(runs)
}

fn name(source: &Source) -> String {
    source.name.clone()
}

#[test]
fn verdicts() {
    let mut wrong = sources("verdicts");
    wrong.retain(|source| source.has(Variant::Buggy));
    for_each(&wrong, name, |source| is_found(source, CROSS));
}

#[test]
fn right_programs() {
    let mut all = sources("verdicts");
    all.extend(sources("patterns"));
    all.push(Source::named("odd/exceptions.cpp"));
    for_each(&all, name, |source| is_clean(source, CROSS, 5, "random"));
}

#[test]
#[ignore = "long: scripts/test-long runs it"]
fn patterns() {
    let mut wrong = sources("patterns");
    wrong.retain(|source| source.has(Variant::Buggy));
    for_each(&wrong, name, |source| is_found(source, CROSS));
}

#[test]
#[ignore = "long: scripts/test-long runs it"]
fn odd() {
    for_each(&sources("odd"), name, |source| is_clean(source, CROSS, 20, "pctwm"));
}

/// Every way to compile atomics, static and not, unoptimised and stripped.
#[test]
fn flavours() {
    let all = [CROSS_LLSC, CROSS_LSE, CROSS_RCPC, CROSS_NO_PIE, CROSS_O0, CROSS_STATIC, CROSS_STRIPPED];
    let table: Vec<_> = ["patterns/spinlock.cpp", "patterns/refcount.cpp"]
        .iter()
        .flat_map(|program| all.map(|flavour| (Source::named(program), flavour)))
        .collect();
    let name = |(source, flavour): &(Source, Flavour)| format!("{} {flavour:?}", source.name);
    for_each(&table, name, |(source, flavour)| is_clean(source, *flavour, 5, "random"));
    for flavour in [CROSS_LLSC, CROSS_LSE, CROSS_RCPC, CROSS_NO_PIE, CROSS_O0] {
        is_found(&Source::named("patterns/spinlock.cpp"), flavour).unwrap();
    }
}

/// What is not supported is said, by its name and place, and is a tool error.
#[test]
fn refused() {
    for (program, what) in REFUSED {
        let directory = Directory::new("refused");
        let built = Source::named(program).build(Variant::Right, CROSS);
        let output = directory.test("-n 1", &built).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{program}: {said}");
        assert!(said.contains(what) && said.contains("unsupported: "), "{program}: {said}");
        assert_eq!(directory.strays(), []);
    }
}

/// What only programs for AArch64 have: data among the code, exclusive stores that fail for no reason, signal frames.
#[test]
fn of_its_own() {
    let all = sources("aarch64");
    let files = std::fs::read_dir(crate::source::targets().join("programs/aarch64")).unwrap().count();
    let refused = REFUSED.iter().filter(|(name, _)| name.starts_with("aarch64/")).count();
    let limited = std::env::var_os("WMTRACE_TEST_ONLY").is_some();
    assert!(limited || all.len() + refused == files, "{files} files: each is tested, or refused");
    let table: Vec<_> =
        all.iter().flat_map(|source| [CROSS, CROSS_STRIPPED].map(|flavour| (source, flavour))).collect();
    let name = |(source, flavour): &(&Source, Flavour)| format!("{} {flavour:?}", source.name);
    for_each(&table, name, |(source, flavour)| is_clean(source, *flavour, 20, "random"));
    let wrong: Vec<_> = all.into_iter().filter(|source| source.has(Variant::Buggy)).collect();
    for_each(&wrong, |source| source.name.clone(), |source| is_found(source, CROSS));
}

/// Held threads never keep the emulator from forking, executing, mapping, exiting or delivering signals.
#[test]
fn stress() {
    let runs = executions().div_ceil(10);
    is_clean(&Source::named("stress/stress.c"), CROSS, runs, "random").unwrap();
}

/// A signal between the two stores of one instruction. (`random` makes relaxed stores at once, without a choice between.)
#[test]
fn interrupted_pair() {
    is_clean(&Source::named("aarch64/interrupted_pair.c"), CROSS, 20, "pos").unwrap();
}

/// Which instructions the processor has, is no affair of the model: calls of outline atomics have the events of the
/// instructions that they stand for.
#[test]
fn outline_atomics_are_one_event() {
    let events = [CROSS, CROSS_LSE].map(|flavour| {
        let built = Source::named("patterns/refcount.cpp").build(Variant::Right, flavour);
        let report = Directory::new("outline").report("-n 10 --strategy random", &built).unwrap();
        report.value()["events_per_execution"].clone()
    });
    assert_eq!(events[0], events[1]);
}

/// Store buffering without order: no read of pctwm at depth 0 sees the other thread's store.
#[test]
fn store_buffering_at_depth_0() {
    let built = Source::named("model/sb_bare.cpp").build(Variant::Right, CROSS);
    let report = Directory::new("sb").report("-n 50 -d 0 --keep-going", &built).unwrap();
    assert_eq!(report.number("buggy_executions"), 50, "{}", report.value());
}

/// Each execution twice, compared event by event; also where threads wait in the kernel, and where a program is replaced.
#[test]
fn each_seed_twice() {
    for (program, status) in [
        ("odd/four_threads.cpp", 0),
        ("aarch64/blocks.c", 0),
        ("aarch64/frames.c", 0),
        ("odd/before_threads.c", 0),
        ("odd/exec.c", 9),
    ] {
        let built = Source::named(program).build(Variant::Right, CROSS);
        let options = format!("--verify -n 20 --strategy random --expect-exit {status}");
        Directory::new("verify").report(&options, &built).unwrap().is_clean(20).unwrap();
    }
}

/// Command lines that make no sense, and machines without an emulator.
#[test]
fn one_line_says_what_is_missing() {
    let directory = Directory::new("missing");
    let program = Source::named("verdicts/assert.c").build(Variant::Right, CROSS).path;
    let fails = |options: &[&str], path: Option<&str>, status: i32, message: &str| {
        let mut command = directory.wmtrace(options);
        command.arg(&program);
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{options:?}: {said}");
        assert!(said.contains(message), "{options:?}: {said}");
    };
    fails(&["--model", "tso"], None, 2, "makes no sense for AArch64");
    fails(&["--arch", "x86_64"], None, 2, "a program for aarch64");
    fails(&["--engine", "step"], None, 2, "a program for aarch64");
    fails(&["--sysroot", "/nowhere"], None, 2, "no /lib/ld-linux-aarch64.so.1 in it");
    fails(&["--qemu", "/nowhere"], None, 2, "no such file");
    fails(&[], Some("/nowhere"), 3, "install Debian's qemu-user");
}

/// Ctrl-C in the middle of a campaign leaves nothing behind.
#[test]
fn interrupted() {
    let directory = Directory::new("interrupted");
    let built = Source::named("verdicts/timeout.c").build(Variant::Buggy, CROSS);
    let mut child = crate::run::start(&mut directory.test("-n 100000 --timeout 30", &built));
    assert!(crate::run::eventually(|| directory
        .processes()
        .iter()
        .any(|(_, name)| name.starts_with("qemu"))));
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    assert_eq!(directory.strays(), []);
}
