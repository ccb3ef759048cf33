//! `wmtrace inspect` on programs that g++ compiles, on itself, on a stripped program, and on what is no program.

mod aarch64;
mod elsewhere;
mod functions;
mod line_tables;
mod real_programs;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory of this test's own, gone when it ends.
struct Directory(PathBuf);

impl Directory {
    fn new(test: &str) -> Directory {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("inspect-{test}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Runs a tool here; it must succeed.
    fn run(&self, tool: &str, arguments: &str) {
        let status = Command::new(tool).args(arguments.split_whitespace()).current_dir(&self.0).status();
        assert!(status.unwrap().success(), "{tool} {arguments}");
    }

    /// The program of `orders.cpp`.
    fn program(&self, options: &str) -> PathBuf {
        self.file("orders.cpp", include_str!("orders.cpp"));
        self.run("g++", &format!("-std=c++17 {options} orders.cpp -o orders"));
        self.0.join("orders")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn wmtrace(arguments: &[&str], program: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wmtrace"));
    command.arg("inspect").args(arguments).arg(program).output().unwrap()
}

fn json(arguments: &[&str], program: &Path) -> Value {
    let output = wmtrace(&[&["--format", "json"], arguments].concat(), program);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stderr, b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["schema"], 1);
    assert_eq!(report["modules"].as_array().unwrap().len(), 1);
    report
}

fn accesses(report: &Value) -> &[Value] {
    report["modules"][0]["accesses"].as_array().unwrap()
}

/// What a function does: `op order from` of each entry.
fn of_function(report: &Value, function: &str) -> Vec<String> {
    let name = format!("{function}()");
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or("null").to_owned();
    accesses(report)
        .iter()
        .filter(|entry| entry["function"] == name.as_str())
        .map(|entry| format!("{} {} {}", word(entry, "op"), word(entry, "order"), word(entry, "from")))
        .collect()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn orders_of_optimised_cpp() {
    let directory = Directory::new("optimised");
    let program = directory.program("-O2 -g");
    let report = json(&[], &program);
    let expected: [(&str, &[&str]); 12] = [
        ("load_relaxed", &["load relaxed dwarf"]),
        ("load_acquire", &["load acquire dwarf"]),
        ("load_seq_cst", &["load seq_cst dwarf"]),
        ("store_relaxed", &["store relaxed dwarf"]),
        ("store_release", &["store release dwarf"]),
        ("store_seq_cst", &["rmw seq_cst dwarf"]),
        ("add_relaxed", &["rmw relaxed dwarf"]),
        ("add_acq_rel", &["rmw acq_rel dwarf"]),
        ("cas", &["rmw acq_rel dwarf"]),
        ("fence_acquire", &["load relaxed dwarf", "fence acquire dwarf"]),
        ("fence_seq_cst", &["store relaxed dwarf", "fence seq_cst dwarf", "store relaxed dwarf"]),
        ("plain", &[]),
    ];
    for (function, entries) in expected {
        assert_eq!(of_function(&report, function), entries, "{function}");
    }
    let module = &report["modules"][0];
    assert_eq!((&report["arch"], &module["orders"]), (&"x86_64".into(), &"known".into()));

    let cas = accesses(&report).iter().find(|entry| entry["function"] == "cas()").unwrap();
    assert_eq!(cas["failure_order"], "relaxed");
    assert_eq!(cas["isa_order"], "seq_cst");
    assert_eq!((&cas["width"], &cas["atomic"]), (&4.into(), &"yes".into()));
    assert!(cas["text"].as_str().unwrap().contains("cmpxchg"));
    assert!(cas["file"].as_str().unwrap().ends_with("/orders.cpp"), "{cas}");
    let line_of = |part: &str| include_str!("orders.cpp").lines().position(|l| l.contains(part)).unwrap() + 1;
    assert_eq!(cas["line"], line_of("compare_exchange"));

    // A fence without code has a place but no instruction.
    let fence = accesses(&report).iter().find(|e| e["op"] == "fence" && e["order"] == "acquire").unwrap();
    assert_eq!((&fence["isa_order"], &fence["text"]), (&Value::Null, &"".into()));
    assert_eq!(
        (&fence["function"], &fence["line"]),
        (&"fence_acquire()".into(), &line_of("int fence_acquire").into())
    );
}

#[test]
fn one_function_and_plain_accesses() {
    let directory = Directory::new("function");
    let program = directory.program("-O2 -g");
    let report = json(&["--function", "load_acquire"], &program);
    assert_eq!(accesses(&report).len(), 1, "{report}");
    assert_eq!(accesses(&json(&["--function", "plain"], &program)).len(), 0);
    let plain = json(&["--function", "plain", "--all"], &program);
    let entry = accesses(&plain).iter().find(|entry| entry["op"] == "store").unwrap();
    assert_eq!((&entry["atomic"], &entry["order"]), (&"no".into(), &"na".into()));
    let none = json(&["--function", "nowhere"], &program);
    assert_eq!(none["warnings"][0], "no function 'nowhere' with anything to list");
}

#[test]
fn an_orders_file_wins_and_its_errors_have_a_place() {
    let directory = Directory::new("orders");
    let program = directory.program("-O2 -g");
    let rules = directory.file("rules", "function load_relaxed seq_cst\n");
    let report = json(&["--orders", rules.to_str().unwrap()], &program);
    assert!(of_function(&report, "load_relaxed").contains(&"load seq_cst file".to_owned()));
    let rules = directory.file("rules", "function load_relaxed strong\n");
    let output = wmtrace(&["--orders", rules.to_str().unwrap()], &program);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1));
    assert!(message.contains("rules:1:23: 'strong' is no order"), "{message}");
}

#[test]
fn separate_debug_files_by_debuglink() {
    let directory = Directory::new("debuglink");
    let program = directory.program("-O2 -g");
    let whole = json(&[], &program);
    directory.run("objcopy", "--only-keep-debug orders orders.debug");
    directory.run("objcopy", "--strip-debug --add-gnu-debuglink=orders.debug orders");
    let orders = |report: &Value| -> Vec<(Value, Value)> {
        accesses(report).iter().map(|entry| (entry["order"].clone(), entry["from"].clone())).collect()
    };
    assert_eq!(orders(&json(&[], &program)), orders(&whole));
    // A debug file that is not the one that was linked does not count.
    directory.file("orders.debug", "other");
    assert_ne!(orders(&json(&[], &program)), orders(&whole));
}

#[test]
fn split_debug_information() {
    let directory = Directory::new("split");
    let whole = of_function(&json(&[], &directory.program("-O2 -g")), "load_acquire");
    let split = directory.program("-O2 -g -gsplit-dwarf");
    assert_eq!(of_function(&json(&[], &split), "load_acquire"), whole);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn without_optimisation_each_operation_has_one_access_and_the_thread_knows_its_order() {
    let directory = Directory::new("unoptimised");
    let report = json(&["--all"], &directory.program("-O0 -g"));
    let expected: [(&str, &[&str]); 10] = [
        ("load_relaxed", &["load"]),
        ("load_acquire", &["load"]),
        ("load_seq_cst", &["load"]),
        // g++ makes an XCHG of every store whose order it does not know.
        ("store_release", &["rmw"]),
        // The operator is a function of its own.
        ("store_seq_cst", &[]),
        ("add_acq_rel", &["rmw"]),
        ("cas", &["rmw"]),
        ("fence_acquire", &["load", "fence"]),
        ("fence_seq_cst", &["rmw", "fence", "rmw"]),
        ("plain", &[]),
    ];
    for (function, ops) in expected {
        let name = format!("{function}()");
        let of = |entry: &&Value| entry["function"] == name.as_str();
        let (atomic, plain): (Vec<&Value>, Vec<&Value>) =
            accesses(&report).iter().filter(of).partition(|entry| entry["atomic"] == "yes");
        let found: Vec<&str> = atomic.iter().map(|entry| entry["op"].as_str().unwrap()).collect();
        assert_eq!(found, ops, "{function}: {atomic:#?}");
        for entry in atomic {
            assert_eq!((&entry["order"], &entry["from"]), (&Value::Null, &"runtime".into()), "{entry}");
        }
        // Spills, arguments in the frame, pushes and return addresses.
        assert!(!plain.is_empty() && plain.iter().all(|entry| entry["atomic"] == "no"), "{plain:#?}");
    }
    // In the library's own functions too, nothing but the operation dereferences a pointer.
    for entry in accesses(&report).iter().filter(|entry| entry["atomic"] == "yes" && entry["op"] != "fence") {
        let text = entry["text"].as_str().unwrap();
        assert!(!["[rbp", "[rsp", "push", "call"].iter().any(|part| text.contains(part)), "{entry}");
    }
}

/// clang++ switches over the order: a case for each, of which a thread takes one.
#[cfg(target_arch = "x86_64")]
#[test]
fn without_optimisation_clang_has_an_access_for_each_order() {
    let directory = Directory::new("unoptimised-clang");
    directory.file("orders.cpp", include_str!("orders.cpp"));
    directory.run("clang++", "-std=c++17 -O0 -g orders.cpp -o orders");
    let report = json(&[], &directory.0.join("orders"));
    let runtime = |op: &str, count| vec![format!("{op} null runtime"); count];
    assert_eq!(of_function(&report, "load_acquire"), runtime("load", 3));
    assert_eq!(of_function(&report, "add_relaxed"), runtime("rmw", 5));
    let stores = [runtime("store", 2), runtime("rmw", 1)].concat();
    assert_eq!(of_function(&report, "store_release"), stores);
}

/// The keys that the JSON promises, no more and no less.
#[test]
fn the_json_has_its_keys() {
    fn keys(value: &Value) -> Vec<&str> {
        let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys
    }
    let directory = Directory::new("keys");
    let report = json(&["--all"], &directory.program("-O2 -g"));
    assert_eq!(keys(&report), ["arch", "modules", "program", "schema", "warnings"]);
    let module = &report["modules"][0];
    assert_eq!(keys(module), ["accesses", "build_id", "orders", "path", "unsupported"]);
    let wanted =
        "atomic column evidence failure_order file from function isa_order line op order pc text width";
    for entry in accesses(&report) {
        assert_eq!(keys(entry).join(" "), wanted);
        assert!(["load", "store", "rmw", "fence"].contains(&entry["op"].as_str().unwrap()), "{entry}");
        assert!(["yes", "no", "unsure"].contains(&entry["atomic"].as_str().unwrap()), "{entry}");
        assert!(entry["pc"].as_str().unwrap().starts_with("0x") && entry["width"].is_u64(), "{entry}");
        // Only a compare-and-swap can fail.
        let cas = entry["text"].as_str().unwrap().contains("cmpxchg");
        assert_eq!(entry["failure_order"].is_string(), cas && entry["function"] == "cas()", "{entry}");
    }
}

#[test]
fn the_table_has_a_summary() {
    let directory = Directory::new("table");
    let program = directory.program("-O2 -g");
    let output = wmtrace(&[], &program);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nload_acquire()\n"), "{text}");
    assert!(text.contains("orders known"), "{text}");
    assert_eq!(output.status.code(), Some(0));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_stripped_program_has_locked_instructions_but_no_orders() {
    let directory = Directory::new("stripped");
    let program = directory.program("-O2");
    directory.run("strip", "orders");
    let report = json(&[], &program);
    assert_eq!(report["modules"][0]["orders"], "unknown");
    assert!(accesses(&report).len() >= 4, "{report}");
    for entry in accesses(&report) {
        assert_eq!((&entry["from"], &entry["order"]), (&"isa".into(), &"seq_cst".into()), "{entry}");
        // Unwind information knows where functions begin, but not what they are called.
        let function = entry["function"].as_str().unwrap();
        let start = u64::from_str_radix(function.strip_prefix("sub_").unwrap(), 16).unwrap();
        let pc = u64::from_str_radix(entry["pc"].as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap();
        assert!(start <= pc && pc < start + 0x80 && entry["line"].is_null(), "{entry}");
    }
    let functions: BTreeSet<&str> =
        accesses(&report).iter().map(|entry| entry["function"].as_str().unwrap()).collect();
    assert!(functions.len() >= 4, "{functions:?}");
    let one = functions.first().unwrap();
    let listed = json(&["--function", one], &program);
    assert!(accesses(&listed).iter().all(|entry| entry["function"] == *one) && !accesses(&listed).is_empty());
}

const ASSEMBLY: &str = r#"
asm(".text\n.globl mixed\n.type mixed,@function\nmixed:\n.cfi_startproc\n lock incl (%rdi)\n ret\n.cfi_endproc\n"
    ".ascii \"lock \\xf0\\xff\\x07 opens\"\n.size mixed,.-mixed\n");
int identify(void) { int a = 0, b, c, d; asm volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d)); return b; }
void full(void) { asm volatile("mfence" ::: "memory"); }
void stores(void) { asm volatile("sfence" ::: "memory"); }
void in1(void) { asm volatile("inb %%dx, %%al" ::: "eax"); }
void in2(void) { asm volatile("inl %%dx, %%eax" ::: "eax"); asm volatile("inb %%dx, %%al" ::: "eax"); }
int main() { return 0; }
"#;

#[cfg(target_arch = "x86_64")]
#[test]
fn serialising_instructions_and_constants_are_not_atomics() {
    let directory = Directory::new("assembly");
    directory.file("a.c", ASSEMBLY);
    directory.run("g++", "-x c++ -O1 a.c -o a");
    let report = json(&[], &directory.0.join("a"));
    let of = |function: &str| -> Vec<String> {
        let entries = accesses(&report).iter().filter(|entry| entry["function"] == function);
        entries.map(|entry| format!("{} {}", entry["op"], entry["isa_order"])).collect()
    };
    assert_eq!(of("identify()"), [] as [&str; 0]);
    assert_eq!(of("full()"), [r#""fence" "seq_cst""#]);
    assert_eq!(of("stores()"), [r#""fence" "release""#]);
    // The second `lock inc` is a part of a string.
    assert_eq!(of("mixed"), [r#""rmw" "seq_cst""#]);
    assert_eq!(report["modules"][0]["unsupported"].as_array().unwrap().len(), 3, "{report}");
    let output = wmtrace(&[], &directory.0.join("a"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("unsupported 3") && text.contains("(3 times)"), "{text}");
}

/// The README's example, but for the addresses.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_readme_is_right() {
    let directory = Directory::new("readme");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../targets/demo/publish.cpp");
    directory.run("g++", &format!("-O2 -g {source} -o publish"));
    let report = json(&[], &directory.0.join("publish"));
    let found: Vec<_> =
        accesses(&report).iter().map(|e| format!("{} {} {}", e["op"], e["order"], e["line"])).collect();
    let expected = [r#""fence" "release" 9"#, r#""store" "relaxed" 10"#, r#""load" "acquire" 14"#];
    // `main` has copies of its own if it inlines the two.
    assert!(expected.iter().all(|entry| found.iter().any(|found| found == entry)), "{found:?}");
}

#[test]
fn real_programs() {
    for program in [env!("CARGO_BIN_EXE_wmtrace"), "/bin/ls"] {
        let report = json(&[], Path::new(program));
        assert_eq!(report["program"], program);
    }
    assert!(!accesses(&json(&["--all"], Path::new("/bin/ls"))).is_empty());
}

#[test]
fn what_is_no_program_is_refused_in_one_line() {
    let directory = Directory::new("refused");
    let mut head = [0; 64];
    head[..6].copy_from_slice(b"\x7fELF\x01\x01");
    let small = directory.file("small", head);
    head[4] = 2;
    head[18] = 243;
    let riscv = directory.file("riscv", head);
    directory.program("-c");
    let wrong = [
        (directory.0.join("orders"), "an object file"),
        (directory.0.join("missing"), "No such file"),
        (directory.0.clone(), "is a directory"),
        ("/dev/null".into(), "not a regular file"),
        (directory.file("empty", ""), "not an ELF file"),
        (directory.file("script\u{1b}[31m", "#!/bin/sh\n"), "script\\u{1b}[31m: not an ELF file"),
        (directory.file("short", "\x7fELF"), "malformed"),
        (small, "32-bit"),
        (riscv, "machine 243"),
    ];
    for (path, message) in wrong {
        for format in ["human", "json"] {
            let output = wmtrace(&["--format", format], &path);
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{error}");
            assert!(error.contains(message) && error.lines().count() == 1, "{error}");
            assert_eq!(output.stdout, b"");
        }
    }
}

#[test]
fn a_truncated_program_is_no_reason_to_panic() {
    let directory = Directory::new("truncated");
    let bytes = std::fs::read(directory.program("-O2 -g")).unwrap();
    for parts in 1..16 {
        let path = directory.file("part", &bytes[..bytes.len() * parts / 16]);
        let status = wmtrace(&["--all"], &path).status.code();
        assert!(matches!(status, Some(0 | 2)), "{parts}/16: {status:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wmtrace"));
    let mut child = command
        .args(["inspect", "--all", "/bin/ls"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"");
}
