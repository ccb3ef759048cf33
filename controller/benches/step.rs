//! How fast the step engine is, in units of what the machine's own single-steps and forks cost.
//!
//! `cargo bench -p wmtrace --bench step` (or `scripts/bench step`). The program is store buffering with two
//! `std::thread`s; the goal is 100 executions a second where one single-step costs 20 µs, so an execution may take as
//! long as 500 single-steps, on whatever machine this runs. A campaign's start-up has an absolute goal.

use nix::sys::ptrace;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, raise};
use nix::sys::time::TimeValLike as _;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Goals: single-steps that an execution may cost, and seconds of start-up.
const STEPS: f64 = 500.0;
const START_UP: f64 = 0.3;

const EXECUTIONS: u64 = 500;

const PROGRAM: &str = "#include <atomic>
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

fn main() {
    let step = single_step();
    let copy = fork_and_exit();
    println!("one single-step {:.1} µs; fork, exit and wait {:.0} µs", micros(step), micros(copy));
    let mut missed = false;
    for level in ["-O2", "-O0"] {
        let program = compile(level);
        let start_up = campaign(&program, 1).0;
        let (elapsed, own) = campaign(&program, EXECUTIONS);
        let each = (elapsed.saturating_sub(start_up)).as_secs_f64() / (EXECUTIONS - 1) as f64;
        let steps = each / step.as_secs_f64();
        let share = own.as_secs_f64() / elapsed.as_secs_f64();
        println!(
            "store buffering, g++ {level}: {:.0} executions/s, {steps:.0} single-steps each (goal {STEPS:.0}), {:.0} % \
             of the time in wmtrace itself; start-up and one execution {:.2} s (goal {START_UP} s)",
            1.0 / each,
            share * 100.0,
            start_up.as_secs_f64(),
        );
        missed |= steps > STEPS || start_up.as_secs_f64() > START_UP;
    }
    if missed {
        println!("MISSED");
        std::process::exit(1);
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Makes a child that counts for ever, under ptrace.
fn spinner() -> Pid {
    // SAFETY: the child only makes system calls, and counts.
    match unsafe { fork() }.expect("fork") {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let _ = ptrace::traceme();
            let _ = raise(Signal::SIGSTOP);
            loop {
                std::hint::spin_loop();
            }
        }
    }
}

/// What one single-step costs: resuming, waiting, and reading registers.
fn single_step() -> Duration {
    const COUNT: u32 = 20_000;
    pin();
    let child = spinner();
    waitpid(child, None).expect("the child stops");
    let start = Instant::now();
    for _ in 0..COUNT {
        ptrace::step(child, None).expect("step");
        waitpid(child, None).expect("the child stops");
        ptrace::getregs(child).expect("registers");
    }
    let each = start.elapsed() / COUNT;
    let _ = ptrace::kill(child);
    let _ = waitpid(child, None);
    each
}

/// Everything on one processor, as the engine has it.
fn pin() {
    let all = nix::sched::sched_getaffinity(Pid::from_raw(0)).expect("affinity");
    let first = (0..nix::sched::CpuSet::count()).find(|&cpu| all.is_set(cpu).unwrap_or(false)).unwrap_or(0);
    let mut one = nix::sched::CpuSet::new();
    one.set(first).expect("a processor");
    nix::sched::sched_setaffinity(Pid::from_raw(0), &one).expect("affinity");
}

fn fork_and_exit() -> Duration {
    const COUNT: u32 = 500;
    let start = Instant::now();
    for _ in 0..COUNT {
        // SAFETY: the child exits at once.
        match unsafe { fork() }.expect("fork") {
            ForkResult::Parent { child } => drop(waitpid(child, None)),
            ForkResult::Child => unsafe { libc::_exit(0) },
        }
    }
    start.elapsed() / COUNT
}

fn compile(level: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (directory.join("step-bench.cc"), directory.join(format!("step-bench{level}")));
    std::fs::write(&source, PROGRAM).expect("the target directory can be written");
    let status =
        Command::new("g++").args([level, "-g", "-pthread", "-o"]).arg(&program).arg(&source).status();
    assert!(status.expect("g++ is there").success());
    program
}

/// Runs a campaign: its time, and the processor time of wmtrace itself in user mode.
fn campaign(program: &Path, executions: u64) -> (Duration, Duration) {
    let user = || {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("usage").user_time();
        Duration::from_micros(usage.num_microseconds() as u64)
    };
    let (start, before) = (Instant::now(), user());
    let output = Command::new(env!("CARGO_BIN_EXE_wmtrace"))
        .args(["--model", "c11", "--keep-going", "--format", "json", "-n", &executions.to_string(), "-o"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("step-bench-out"))
        .arg(program)
        .stderr(Stdio::inherit())
        .output()
        .expect("wmtrace runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["executions"], executions, "{report}");
    (start.elapsed(), user() - before)
}
