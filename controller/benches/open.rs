//! How long `wmtrace inspect --function` takes on a program with 100 MB of debug information, and how much memory.
//!
//! `cargo bench -p wmtrace --bench open` (or `scripts/bench`). The program is made for it: one C++ file of templates,
//! compiled once and linked many times under other names, so that it takes a minute and not an hour. The reference
//! is `readelf --debug-dump=info` of the same file, which is what looking at all of it costs.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Goals: seconds of processor time, and megabytes.
const SECONDS: f64 = 2.0;
const MEGABYTES: i64 = 500;

/// The least size of the program.
const SIZE: u64 = 100 << 20;

const WANTED: &str = "#include <atomic>
std::atomic<int> flag;
int data;
void publish(int value) { data = value; flag.store(1, std::memory_order_release); }
int main() { publish(1); }
";

const HEAVY: &str = "#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <regex>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>
template <int N> struct Key {
    int value;
    bool operator<(const Key& other) const { return value < other.value; }
};
template <int N> int work(const std::string& text) {
    std::map<Key<N>, std::vector<std::string>> map;
    std::unordered_map<std::string, std::deque<Key<N>>> other;
    std::atomic<Key<N>*> shared{nullptr};
    std::list<std::function<int(Key<N>)>> calls;
    for (char c : text) {
        map[Key<N>{c}].push_back(text);
        other[text].push_back(Key<N>{c});
        calls.push_back([c](Key<N> key) { return key.value + c; });
    }
    std::vector<Key<N>> keys;
    for (auto& entry : map) keys.push_back(entry.first);
    std::stable_sort(keys.begin(), keys.end());
    shared.store(keys.data(), std::memory_order_release);
    auto later = std::async(std::launch::async, [&] { return shared.load(std::memory_order_acquire)->value; });
    std::variant<int, std::string, Key<N>> any = keys[0];
    return later.get() + calls.size() + std::visit([](auto& v) { return (int)sizeof(v); }, any);
}
int all(const std::string& text) {
    std::regex regex(\"a(b|c)*[d-f]+\");
    return std::regex_match(text, regex) + work<0>(text) + work<1>(text) + work<2>(text) + work<3>(text)
        + work<4>(text) + work<5>(text) + work<6>(text) + work<7>(text);
}
";

/// Runs a tool in a directory; it must succeed. What it prints.
fn run(directory: &Path, tool: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(tool).args(arguments).current_dir(directory).stderr(Stdio::inherit()).output();
    let output = output.unwrap_or_else(|error| panic!("{tool}: {error} (see scripts/setup tests)"));
    assert!(output.status.success(), "{tool} {arguments:?}");
    output.stdout
}

/// The program; made once, and kept with what else was built.
fn program() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large");
    let large = directory.join("large");
    if std::fs::metadata(&large).is_ok_and(|file| file.len() >= SIZE) {
        return large;
    }
    println!("making a program of 100 MB …");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("wanted.cpp"), WANTED).expect("a file");
    std::fs::write(directory.join("heavy.cpp"), HEAVY).expect("a file");
    for source in ["wanted.cpp", "heavy.cpp"] {
        run(&directory, "g++", &["-std=c++17", "-g", "-O1", "-c", source]);
    }
    let symbols = run(&directory, "nm", &["--defined-only", "--format=posix", "heavy.o"]);
    let symbols = String::from_utf8(symbols).expect("names");
    let mut objects = vec!["wanted.o".to_owned()];
    while std::fs::metadata(&large).map_or(0, |file| file.len()) < SIZE {
        assert!(objects.len() < 200, "the copies are too small");
        for _ in 0..10 {
            let copy = objects.len();
            let names: String = symbols
                .lines()
                .filter_map(|line| line.split(' ').next())
                .map(|name| format!("{name} copy{copy}_{name}\n"))
                .collect();
            std::fs::write(directory.join("names"), names).expect("a file");
            let object = format!("copy{copy}.o");
            run(&directory, "objcopy", &["--redefine-syms=names", "heavy.o", &object]);
            objects.push(object);
        }
        let arguments: Vec<&str> = objects.iter().map(String::as_str).chain(["-o", "large"]).collect();
        run(&directory, "g++", &arguments);
    }
    objects.iter().for_each(|object| drop(std::fs::remove_file(directory.join(object))));
    large
}

/// Processor time and peak memory of a command, measured by a process that has no other child.
fn measure(command: &[&str]) -> (f64, i64) {
    let own = std::env::current_exe().expect("Linux tells");
    let output = Command::new(own).arg("--measure").args(command).output().expect("this program");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("numbers");
    let mut words = text.split_whitespace();
    let mut number = || words.next().and_then(|word| word.parse::<i64>().ok()).expect("a number");
    let (microseconds, kilobytes) = (number(), number());
    (microseconds as f64 / 1e6, kilobytes / 1024)
}

/// `--measure COMMAND…`: runs it, prints microseconds and kilobytes.
fn measured(command: &[String]) {
    let status = Command::new(&command[0]).args(&command[1..]).stdout(Stdio::null()).status();
    assert!(status.expect("it starts").success(), "{command:?}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("Linux tells");
    let time = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    println!("{time} {}", usage.max_rss());
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("--measure", command)) =
        arguments.split_first().map(|(first, command)| (first.as_str(), command))
    {
        return measured(command);
    }
    let large = program();
    let path = large.to_str().expect("a name in UTF-8");
    let size = std::fs::metadata(&large).expect("just made").len() >> 20;
    println!("{size} MB, g++ -g -O1; processor time; x: times the reference\n");
    let line = |name: &str, (seconds, megabytes): (f64, i64), reference: f64| {
        println!("{name:<44} {seconds:>6.2} s {megabytes:>5} MB {:>6.3} x", seconds / reference);
    };
    let reference = measure(&["readelf", "--debug-dump=info", path]);
    line("reference: readelf --debug-dump=info", reference, reference.0);
    let wmtrace = env!("CARGO_BIN_EXE_wmtrace");
    let opened = (0..3).map(|_| measure(&[wmtrace, "inspect", "--function", "publish", path]));
    let (seconds, megabytes) = opened.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).expect("three runs");
    line("wmtrace inspect --function publish", (seconds, megabytes), reference.0);
    let met = seconds < SECONDS && megabytes < MEGABYTES;
    println!("goal under {SECONDS} s and {MEGABYTES} MB: {}", if met { "met" } else { "MISSED" });
    line("wmtrace inspect", measure(&[wmtrace, "inspect", path]), reference.0);
    if !met {
        std::process::exit(1);
    }
}
