//! How fast the gate engine is, beside qemu alone and the step engine in the same run.
//!
//! `cargo bench -p wmtrace --bench gate` (or `scripts/bench gate`). Three figures: what one event costs (an atomic load
//! that the model decides on), executions of store buffering a second, and how much slower a loop without events is
//! than in qemu alone. The goal is 2.5 times as many events a second as the step engine has where it steps, that is
//! without shortcuts: `--verify` runs each execution once more like that. (With them it needs no stop for such a load.)

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many times more events a second than the step engine without shortcuts.
const FASTER: f64 = 2.5;

const SB: &str = "#include <atomic>
#include <thread>
std::atomic<int> x, y;
int r1, r2;
int main() {
    std::thread a([] { x.store(1, std::memory_order_relaxed); r1 = y.load(std::memory_order_relaxed); });
    std::thread b([] { y.store(1, std::memory_order_relaxed); r2 = x.load(std::memory_order_relaxed); });
    a.join();
    b.join();
    return 0;
}
";

/// `EVENTS` atomic loads, and `WORK` rounds without an event, in a second thread.
const LOOP: &str = "#include <atomic>
#include <thread>
std::atomic<int> x;
int main() {
    std::thread a([] {
        int sum = 0;
        for (int i = 0; i < EVENTS; i++) sum += x.load(std::memory_order_relaxed);
        unsigned value = sum + 1;
        for (long i = 0; i < WORK; i++) value = value * 1664525 + 1013904223;
        x.store(value, std::memory_order_relaxed);
    });
    a.join();
    return 0;
}
";

const CROSS: &str = "aarch64-linux-gnu-g++";

fn main() {
    let event = |compiler: &str, options: &[&str]| {
        let few = compile(compiler, "few", LOOP, &["-DEVENTS=1000", "-DWORK=0L"]);
        let many = compile(compiler, "many", LOOP, &["-DEVENTS=21000", "-DWORK=0L"]);
        let [few, many] = [few, many].map(|program| campaign_with(&program, 3, options));
        many.saturating_sub(few).as_secs_f64() / (3.0 * 20_000.0) * 1e6
    };
    let (short, gate) = (event("g++", &[]), event(CROSS, &[]));
    let step = event("g++", &["--verify"]) - short;
    println!(
        "one event: gate {gate:.1} µs, step without shortcuts {step:.1} µs ({:.1} times, goal {FASTER}), with them \
         {short:.1} µs",
        step / gate
    );

    let program = compile(CROSS, "sb", SB, &[]);
    let (first, more) = (campaign(&program, 1), campaign(&program, 51));
    let each = more.saturating_sub(first).as_secs_f64() / 50.0;
    let native = compile("g++", "sb", SB, &[]);
    let (native_first, native_more) = (campaign(&native, 1), campaign(&native, 101));
    let native_each = native_more.saturating_sub(native_first).as_secs_f64() / 100.0;
    println!(
        "store buffering: gate {:.0} executions/s, step {:.0}; start-up and one execution {:.2} s",
        1.0 / each,
        1.0 / native_each,
        first.as_secs_f64()
    );

    let idle = compile(CROSS, "idle", LOOP, &["-DEVENTS=1", "-DWORK=1L"]);
    let busy = compile(CROSS, "busy", LOOP, &["-DEVENTS=1", "-DWORK=300000000L"]);
    let ours = campaign(&busy, 1).saturating_sub(campaign(&idle, 1)).as_secs_f64();
    let qemu = emulated(&busy).saturating_sub(emulated(&idle)).as_secs_f64();
    println!("a loop without events: {:.2} times as long as in qemu alone", ours / qemu);
    if step / gate < FASTER {
        println!("MISSED");
        std::process::exit(1);
    }
}

fn compile(compiler: &str, name: &str, text: &str, flags: &[&str]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) =
        (directory.join(format!("gate-{name}.cc")), directory.join(format!("gate-{name}-{compiler}")));
    std::fs::write(&source, text).expect("the target directory can be written");
    let all = ["-O2", "-g", "-pthread", "-fno-tree-vectorize", "-o"];
    let status = Command::new(compiler).args(flags).args(all).arg(&program).arg(&source).status();
    assert!(status.expect("the compiler is there").success());
    program
}

/// How long a campaign takes.
fn campaign(program: &Path, executions: u64) -> Duration {
    campaign_with(program, executions, &[])
}

fn campaign_with(program: &Path, executions: u64, options: &[&str]) -> Duration {
    let start = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_wmtrace"))
        .args(options)
        .args(["--model", "c11", "--keep-going", "--format", "json", "-n", &executions.to_string(), "-o"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("gate-bench-out"))
        .arg(program)
        .stderr(Stdio::inherit())
        .output()
        .expect("wmtrace runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["executions"], executions, "{report}");
    start.elapsed()
}

/// How long the program takes in qemu alone.
fn emulated(program: &Path) -> Duration {
    let start = Instant::now();
    let status = Command::new("qemu-aarch64").args(["-L", "/usr/aarch64-linux-gnu"]).arg(program).status();
    assert!(status.expect("qemu-aarch64 is there").success());
    start.elapsed()
}
