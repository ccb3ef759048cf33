//! Debug information that is not where one looks first, that contradicts itself, or that is not there; and operations
//! that are calls.

use super::{Directory, accesses, json, of_function};
use serde_json::Value;
use std::process::Command;

/// Whether a tool is here; if not, says so.
fn have(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        println!("skipped: there is no {tool} here");
    }
    found
}

const ONE: &str = "#include <atomic>\nstd::atomic<int> x;\n\
                   int get() { return x.load(std::memory_order_acquire); }\nint main() {}\n";

#[test]
fn split_units_their_package_and_neither() {
    let directory = Directory::new("dwo");
    directory.file("one.cpp", ONE);
    for version in [4, 5] {
        directory.run("g++", &format!("-O2 -g -gdwarf-{version} -gsplit-dwarf -c one.cpp -o one.o"));
        directory.run("g++", "one.o -o one");
        let program = directory.0.join("one");
        let found = || of_function(&json(&[], &program), "get");
        assert_eq!(found(), ["load acquire dwarf"], "one.dwo");
        if have("llvm-dwp") {
            directory.run("llvm-dwp", "-e one -o one.dwp");
            std::fs::remove_file(directory.0.join("one.dwo")).unwrap();
            assert_eq!(found(), ["load acquire dwarf"], "one.dwp");
            std::fs::remove_file(directory.0.join("one.dwp")).unwrap();
        } else {
            std::fs::remove_file(directory.0.join("one.dwo")).unwrap();
        }
        let report = json(&[], &program);
        assert_eq!(report["modules"][0]["orders"], "unknown");
        assert_eq!(
            report["warnings"][0], "split debug information was not found: one.dwo",
            "DWARF {version}"
        );
    }
}

#[test]
fn a_supplementary_file_is_missed_aloud() {
    if !have("dwz") {
        return;
    }
    let directory = Directory::new("dwz");
    directory.file("one.cpp", ONE);
    for name in ["a", "b"] {
        directory.run("g++", &format!("-O2 -g -gdwarf-4 one.cpp -o {name}"));
    }
    directory.run("dwz", "-m common a b");
    let report = json(&[], &directory.0.join("a"));
    let warning = "a part of the debug information is in a supplementary file (dwz), which is not read";
    assert_eq!(report["warnings"][0], warning);
    for entry in accesses(&report) {
        assert_ne!(entry["atomic"], "no", "{entry}");
    }
}

/// A second entry in the list of where an order is, for the same range, with another order.
#[cfg(target_arch = "x86_64")]
#[test]
fn of_two_orders_the_stronger() {
    let directory = Directory::new("contradictory");
    directory.file("one.cpp", ONE);
    directory.run("g++", "-O2 -g -S one.cpp -o one.s");
    let text = std::fs::read_to_string(directory.0.join("one.s")).unwrap();
    // DW_LLE_start_length, where, how long, two bytes: DW_OP_lit2 (acquire), DW_OP_stack_value.
    let lines: Vec<&str> = text.lines().collect();
    for (literal, taken) in [("0x30", "acquire"), ("0x35", "seq_cst")] {
        let mut doubled = Vec::new();
        let mut count = 0;
        for (at, line) in lines.iter().enumerate() {
            doubled.push((*line).to_owned());
            let before = |back: usize| at.checked_sub(back).map_or("", |at| lines[at].trim());
            if line.trim() == ".byte\t0x9f" && before(1) == ".byte\t0x32" && before(5) == ".byte\t0x8" {
                doubled.extend(lines[at - 5..=at].iter().map(|line| line.replace("0x32", literal)));
                count += 1;
            }
        }
        assert!(count > 0, "g++ writes its lists otherwise:\n{text}");
        directory.file("two.s", doubled.join("\n") + "\n");
        directory.run("g++", "two.s -o two");
        let report = json(&["--function", "get"], &directory.0.join("two"));
        assert_eq!(of_function(&report, "get"), [format!("load {taken} dwarf")]);
        let warning = report["warnings"][0].as_str().unwrap();
        let said = format!("debug information has several orders for this access; {taken} was taken");
        assert!(warning.ends_with(&said), "{warning}");
    }
}

const LARGE: &str = "#include <atomic>
struct alignas(16) Pair { long a, b; };
struct Triple { long a, b, c; };
std::atomic<Pair> pair; std::atomic<Triple> triple;
Pair load() { return pair.load(std::memory_order_acquire); }
void store() { pair.store(Pair{1, 2}, std::memory_order_release); }
bool cas() { Pair e{}; return pair.compare_exchange_strong(e, Pair{1, 2}, std::memory_order_acq_rel, std::memory_order_relaxed); }
Triple any() { return triple.load(std::memory_order_relaxed); }
long builtin() { return __atomic_load_n((__int128*)&pair, __ATOMIC_ACQUIRE); }
__attribute__((noinline)) int order() { asm(\"\"); return 2; }
long unknown() {
    int m = order();
    return __atomic_load_n((__int128*)&pair, m);
}
int main() {}
";

#[test]
fn operations_that_libatomic_does() {
    let directory = Directory::new("libatomic");
    directory.file("large.cpp", LARGE);
    directory.run("g++", "-std=c++17 -O2 -g large.cpp -o large -latomic");
    let program = directory.0.join("large");
    let report = json(&[], &program);
    let expected = [
        ("load", "load acquire dwarf"),
        ("store", "store release dwarf"),
        ("cas", "rmw acq_rel dwarf"),
        ("any", "load relaxed dwarf"),
        ("builtin", "load acquire source"),
        ("unknown", "load acquire policy"),
    ];
    for (function, words) in expected {
        assert_eq!(of_function(&report, function), [words], "{function}");
    }
    let entry = |function: &str| -> &Value {
        accesses(&report).iter().find(|entry| entry["function"] == function).unwrap()
    };
    assert_eq!(entry("cas()")["failure_order"], "relaxed");
    assert_eq!((&entry("load()")["width"], &entry("any()")["width"]), (&16.into(), &0.into()));
    assert!(entry("load()")["text"].as_str().unwrap().ends_with("<__atomic_load_16>"));
    assert_eq!(entry("load()")["isa_order"], Value::Null);

    directory.run("g++", "-std=c++17 -O0 -g large.cpp -o large -latomic");
    let report = json(&[], &program);
    let runtime = accesses(&report).iter().filter(|entry| entry["from"] == "runtime");
    assert_eq!(runtime.count(), 4, "load, store, compare-and-swap, load of any size: {report}");
}
