//! Runs wmtrace on a program, and reads its report.

use crate::build::Built;
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// All strategies.
pub(crate) const STRATEGIES: [&str; 9] =
    ["pctwm", "placewm", "pct", "random", "skewed", "pos", "basicpos", "basicposwm", "poswm"];

/// How many executions a program that is right must survive, over all strategies.
pub(crate) fn executions() -> u64 {
    let number = std::env::var("WMTRACE_TEST_EXECUTIONS").ok();
    number.map_or(140, |number| number.parse().expect("WMTRACE_TEST_EXECUTIONS is a number"))
}

/// Whether there is time for everything.
pub(crate) fn is_long() -> bool {
    executions() >= 1000
}

/// A directory of a test's own, gone when it ends, and a mark that every process started from it carries in its
/// environment.
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    mark: String,
}

impl Directory {
    pub(crate) fn new(test: &str) -> Directory {
        static UNIQUE: AtomicU32 = AtomicU32::new(0);
        let number = UNIQUE.fetch_add(1, Ordering::Relaxed);
        let name = format!("run-{}-{number}-{test}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(&name);
        std::fs::create_dir_all(&path).unwrap();
        Directory { path, mark: format!("WMTRACE_TEST_MARK={name}") }
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// This program, in this directory, marked.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let (key, value) = self.mark.split_once('=').unwrap();
        let mut command = Command::new(program);
        command.current_dir(&self.path).env(key, value).env("RUST_BACKTRACE", "full");
        command
    }

    /// `wmtrace` with these words.
    pub(crate) fn wmtrace(&self, words: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_wmtrace"));
        command.args(words);
        command
    }

    /// `wmtrace --format json -o out OPTIONS -- PROGRAM`
    pub(crate) fn test(&self, options: &str, program: &Built) -> Command {
        let mut command = self.wmtrace(&["--format", "json", "-o", "out"]);
        command.args(options.split_whitespace()).arg("--").arg(&program.path).args(&program.args);
        command
    }

    /// Tests a program and reads the report.
    pub(crate) fn report(&self, options: &str, program: &Built) -> Result<Report, String> {
        self.report_with("", options, program)
    }

    /// The same for a program that reads its standard input.
    pub(crate) fn report_with(&self, stdin: &str, options: &str, program: &Built) -> Result<Report, String> {
        let mut command = self.test(options, program);
        let output = feed(&mut command, stdin);
        let strays = self.processes();
        if !strays.is_empty() {
            return Err(format!("{strays:?} outlived it: {command:?}"));
        }
        Report::read(&output).map_err(|error| format!("{error}\n  {command:?}"))
    }

    /// Processes that carry the mark: pid and name.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let marked = pids.filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == self.mark.as_bytes())
        });
        let name = |pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        marked.map(|pid| (pid, name(pid).trim().to_owned())).collect()
    }

    /// Those that are left when the kernel had time to do what it was told (to kill a dead tracer's tracees).
    pub(crate) fn strays(&self) -> Vec<(u32, String)> {
        eventually(|| self.processes().is_empty());
        self.processes()
    }

    /// Recordings of bugs.
    pub(crate) fn recordings(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path.join("out")).into_iter().flatten().flatten();
        // Directories hold what executions wrote.
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).filter(|path| !path.is_dir()).collect();
        paths.sort();
        paths
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Asks again until it is so, or 10 seconds have passed.
pub(crate) fn eventually(mut so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if so() {
            return true;
        }
        if start.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::yield_now();
    }
}

/// Runs a command to its end, with this input. The input is small enough for a pipe.
pub(crate) fn feed(command: &mut Command, stdin: &str) -> Output {
    let mut child = start(command);
    // Who does not read its input need not.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

/// Starts a command with all pipes.
pub(crate) fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The JSON object at the end of wmtrace's output.
#[derive(Clone, Debug)]
pub(crate) struct Report(Value);

impl Report {
    /// Reads it, and checks everything that the contract says of any report.
    pub(crate) fn read(output: &Output) -> Result<Report, String> {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let status = output.status.code();
        let last = out.lines().last().unwrap_or_default();
        let json = || serde_json::from_str(last).map_err(|error| format!("no JSON ({error}): {last:?}"));
        let report = match status {
            Some(0 | 1) => Report(json()?),
            // Nothing was seen to its end, and nothing went wrong.
            Some(3) if json().is_ok_and(|json| Report(json).shows_nothing()) => return Ok(Report(json()?)),
            _ => return Err(format!("status {status:?}: {}", err.trim())),
        };
        let broken = report.breaks_contract();
        if !broken.is_empty() {
            return Err(format!("the report lacks {broken:?}: {last}"));
        }
        if status != Some(i32::from(!report.bugs().is_empty())) || report.shows_nothing() {
            return Err(format!("status {status:?} with {} bugs: {last}", report.bugs().len()));
        }
        Ok(report)
    }

    /// Fields of DESIGN's §5 that are missing or of another type.
    fn breaks_contract(&self) -> Vec<&'static str> {
        let words = ["program", "arch", "engine", "model", "strategy"];
        let numbers = [
            "depth",
            "history",
            "k",
            "k_com",
            "seed",
            "executions",
            "buggy_executions",
            "elapsed_s",
            "executions_per_s",
            "events_per_execution",
        ];
        let lists = ["bugs", "unsupported", "warnings"];
        let mut broken: Vec<_> = words.into_iter().filter(|key| !self.0[*key].is_string()).collect();
        broken.extend(numbers.into_iter().filter(|key| !self.0[*key].is_number()));
        broken.extend(lists.into_iter().filter(|key| !self.0[*key].is_array()));
        broken.extend((self.0["schema"] != 2).then_some("schema"));
        broken.extend((!self.0["inconclusive"]["count"].is_u64()).then_some("inconclusive"));
        for bug in self.0["bugs"].as_array().into_iter().flatten() {
            broken.extend(["kind", "message", "recording"].into_iter().filter(|key| !bug[*key].is_string()));
            broken.extend(
                ["count", "first_execution", "depth"].into_iter().filter(|key| !bug[*key].is_number()),
            );
            broken.extend((!bug["sites"].is_array()).then_some("sites"));
            broken.extend((bug["certified"] != true).then_some("certified"));
        }
        broken
    }

    pub(crate) fn bugs(&self) -> &[Value] {
        self.0["bugs"].as_array().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.bugs().iter().filter_map(|bug| bug["kind"].as_str()).collect()
    }

    pub(crate) fn number(&self, key: &str) -> u64 {
        self.0[key].as_u64().unwrap_or_else(|| panic!("{key}: {}", self.0[key]))
    }

    /// How many executions were given up.
    pub(crate) fn inconclusive(&self) -> u64 {
        self.0["inconclusive"]["count"].as_u64().unwrap_or_default()
    }

    /// Every execution was given up.
    fn shows_nothing(&self) -> bool {
        self.bugs().is_empty() && self.inconclusive() > 0 && self.0["executions"] == self.inconclusive()
    }

    pub(crate) fn value(&self) -> &Value {
        &self.0
    }

    /// Where the bug is recorded.
    pub(crate) fn recording(&self, directory: &Directory) -> PathBuf {
        directory.path.join(Path::new(self.bugs()[0]["recording"].as_str().unwrap()))
    }

    /// No bug, nothing unsupported, and as many executions as were asked for, all to their ends.
    pub(crate) fn is_clean(&self, executions: u64) -> Result<(), String> {
        let clean = self.bugs().is_empty() && self.0["unsupported"].as_array().is_some_and(Vec::is_empty);
        match clean && self.number("executions") == executions && self.inconclusive() == 0 {
            true => Ok(()),
            false => Err(format!("not clean in {executions} executions: {}", self.0)),
        }
    }
}

/// The judge is judged: reports that break the contract are refused.
#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    /// DESIGN's example.
    fn example() -> Value {
        json!({"schema": 2, "inconclusive": {"count": 0}, "program": "p", "arch": "x86_64", "engine": "step", "model": "c11", "strategy": "pctwm",
            "depth": 1, "history": 1, "k": 20, "k_com": 14, "seed": 1, "executions": 1000, "buggy_executions": 771,
            "elapsed_s": 4.2, "executions_per_s": 238.1, "events_per_execution": 31.5,
            "bugs": [{"kind": "race", "count": 771, "first_execution": 3, "depth": 1, "message": "m", "recording": "r",
                "sites": [], "certified": true}],
            "unsupported": [], "warnings": []})
    }

    fn read(status: i32, report: &Value) -> Result<Report, String> {
        let stdout = format!("text before\n{report}\n").into_bytes();
        Report::read(&Output { status: ExitStatus::from_raw(status << 8), stdout, stderr: Vec::new() })
    }

    #[test]
    fn the_contract() {
        let report = read(1, &example()).unwrap();
        assert_eq!((report.kinds(), report.number("buggy_executions")), (vec!["race"], 771));
        assert!(report.is_clean(1000).is_err());
        read(0, &example()).expect_err("a bug and status 0");
        read(3, &example()).expect_err("a tool error");
        for key in ["schema", "inconclusive", "model", "executions", "bugs", "unsupported", "warnings"] {
            let mut report = example();
            report.as_object_mut().unwrap().remove(key);
            read(1, &report).expect_err(key);
        }
        let mut report = example();
        report["bugs"][0]["certified"] = false.into();
        read(1, &report).expect_err("not certified");
        report["bugs"] = json!([]);
        let report = read(0, &report).unwrap();
        report.is_clean(1000).unwrap();
        report.is_clean(2000).expect_err("fewer executions than asked for");
        let mut report = report.value().clone();
        report["inconclusive"]["count"] = 1.into();
        read(0, &report).unwrap().is_clean(1000).expect_err("one was given up");
        report["inconclusive"]["count"] = 1000.into();
        read(0, &report).expect_err("nothing is known, and status 0");
        read(3, &report).unwrap();
    }

    #[test]
    fn strays_are_seen() {
        let (here, elsewhere) = (Directory::new("stray"), Directory::new("stray"));
        let mut child = start(&mut here.command("cat"));
        assert!(eventually(|| here.processes() == [(child.id(), "cat".to_owned())]));
        assert_eq!(elsewhere.processes(), []);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(here.strays(), []);
    }
}
