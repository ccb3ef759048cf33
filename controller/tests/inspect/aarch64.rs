//! Programs for AArch64, whose instructions say more about orders; and debug information that contradicts them.

use super::{Directory, accesses, json, of_function};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

const COMPILER: &str = "aarch64-linux-gnu-g++";

/// Whether programs can be built; if not, says so.
fn compiler() -> bool {
    let found = Command::new(COMPILER).arg("--version").output().is_ok();
    if !found {
        println!("skipped: there is no {COMPILER} here");
    }
    found
}

fn build(directory: &Directory, source: &str, options: &str) -> PathBuf {
    directory.file("a.cpp", source);
    directory.run(COMPILER, &format!("-std=c++17 {options} a.cpp -o a"));
    directory.0.join("a")
}

#[test]
fn optimised_cpp_with_outline_atomics() {
    if !compiler() {
        return;
    }
    let directory = Directory::new("a64");
    let program = build(&directory, include_str!("orders.cpp"), "-O2 -g -moutline-atomics");
    let report = json(&[], &program);
    assert_eq!((&report["arch"], &report["modules"][0]["orders"]), (&"aarch64".into(), &"known".into()));
    let entry = |function: &str| {
        let name = format!("{function}()");
        let mut entries = accesses(&report).iter().filter(|entry| entry["function"] == name.as_str());
        let entry = entries.next().unwrap();
        let words = ["op", "order", "from", "isa_order"].map(|key| entry[key].as_str().unwrap_or("null"));
        (words.join(" "), entry["text"].as_str().unwrap().to_owned(), entry["width"].clone())
    };
    let expected = [
        ("load_relaxed", "load relaxed dwarf relaxed", "ldr"),
        ("load_acquire", "load acquire dwarf acquire", "ldar"),
        ("load_seq_cst", "load seq_cst dwarf acquire", "ldar"),
        ("store_relaxed", "store relaxed dwarf relaxed", "str"),
        ("store_release", "store release dwarf release", "stlr"),
        ("store_seq_cst", "store seq_cst dwarf release", "stlr"),
        ("add_relaxed", "rmw relaxed dwarf relaxed", "__aarch64_ldadd8_relax"),
        ("add_acq_rel", "rmw acq_rel dwarf acq_rel", "__aarch64_ldadd8_acq_rel"),
        ("cas", "rmw acq_rel dwarf acq_rel", "__aarch64_cas4_acq_rel"),
    ];
    for (function, words, text) in expected {
        let found = entry(function);
        assert_eq!(found.0, words, "{function}");
        assert!(found.1.contains(text), "{function}: {}", found.1);
    }
    assert_eq!(entry("cas").2, 4);
    assert_eq!(of_function(&report, "fence_acquire"), ["load relaxed dwarf", "fence acquire dwarf"]);
    assert_eq!(report["warnings"], Value::Array(vec![]));
}

#[test]
fn a_loop_of_exclusives_has_two_halves() {
    if !compiler() {
        return;
    }
    let directory = Directory::new("a64-exclusive");
    let program = build(&directory, include_str!("orders.cpp"), "-O2 -g -mno-outline-atomics");
    let report = json(&[], &program);
    let halves = |function: &str| of_function(&report, function);
    assert_eq!(halves("add_relaxed"), ["load relaxed dwarf", "store relaxed dwarf"]);
    assert_eq!(halves("add_acq_rel"), ["load acquire dwarf", "store release dwarf"]);
    assert_eq!(halves("cas"), ["load acquire dwarf", "store release dwarf"]);
}

const ASSEMBLY: &str = r#"
#define A(name, text) __attribute__((naked)) extern "C" void name() { asm(".arch armv8.3-a\n" text "\nret"); }
A(ldar, "ldar w0, [x1]") A(ldapr, "ldapr w0, [x1]") A(ldaxr, "ldaxr x0, [x1]") A(stlr, "stlr w0, [x1]")
A(stlxr, "stlxr w2, x0, [x1]") A(ldadd, "ldadd w0, w2, [x1]") A(ldadda, "ldadda w0, w2, [x1]")
A(ldaddl, "ldaddl w0, w2, [x1]") A(ldaddal, "ldaddal x0, x2, [x1]") A(stadd, "stadd w0, [x1]")
A(swpa_zr, "swpa w0, wzr, [x1]") A(casal, "casal w0, w2, [x1]") A(casp, "caspa x0, x1, x2, x3, [x4]")
A(dmb, "dmb ish") A(dmb_ld, "dmb ishld") A(dmb_st, "dmb ishst") A(ldr, "ldr w0, [x1]")
int main() {}
"#;

#[test]
fn every_order_that_the_instruction_set_states() {
    if !compiler() {
        return;
    }
    let directory = Directory::new("a64-assembly");
    let report = json(&[], &build(&directory, ASSEMBLY, "-O1"));
    let expected = [
        ("ldar", "load acquire 4"),
        ("ldapr", "load acquire 4"),
        ("ldaxr", "load acquire 8"),
        ("stlr", "store release 4"),
        ("stlxr", "store release 8"),
        ("ldadd", "rmw relaxed 4"),
        ("ldadda", "rmw acquire 4"),
        ("ldaddl", "rmw release 4"),
        ("ldaddal", "rmw acq_rel 8"),
        ("stadd", "rmw relaxed 4"),
        // Nobody can acquire what was thrown away.
        ("swpa_zr", "rmw relaxed 4"),
        ("casal", "rmw acq_rel 4"),
        ("casp", "rmw acquire 16"),
        ("dmb", "fence seq_cst 0"),
        ("dmb_ld", "fence acquire 0"),
        ("dmb_st", "fence release 0"),
    ];
    for (function, words) in expected {
        let found: Vec<String> = accesses(&report)
            .iter()
            .filter(|entry| entry["function"] == function)
            .map(|entry| {
                assert_eq!(
                    (&entry["from"], &entry["order"]),
                    (&"isa".into(), &entry["isa_order"]),
                    "{entry}"
                );
                let word = |key: &str| entry[key].as_str().unwrap();
                format!("{} {} {}", word("op"), word("order"), entry["width"])
            })
            .collect();
        assert_eq!(found, [words], "{function}");
    }
    // A plain load may be relaxed, or no atomic at all.
    assert!(!accesses(&report).iter().any(|entry| entry["function"] == "ldr"));
}

#[test]
fn without_optimisation_the_thread_knows() {
    if !compiler() {
        return;
    }
    let directory = Directory::new("a64-unoptimised");
    let report = json(&["--all"], &build(&directory, include_str!("orders.cpp"), "-O0 -g"));
    for (function, ops) in [
        ("load_relaxed", &["load"][..]),
        ("store_release", &["store"]),
        ("fence_acquire", &["load", "fence"]),
    ] {
        let name = format!("{function}()");
        let atomic: Vec<&Value> = accesses(&report)
            .iter()
            .filter(|entry| entry["function"] == name.as_str() && entry["atomic"] == "yes")
            .collect();
        let found: Vec<&str> = atomic.iter().map(|entry| entry["op"].as_str().unwrap()).collect();
        assert_eq!(found, ops, "{function}: {atomic:#?}");
        assert!(atomic.iter().all(|entry| entry["order"].is_null() && entry["from"] == "runtime"));
    }
}

/// Replaces one instruction of a program: what debug information says of it stays.
fn patch(directory: &Directory, report: &Value, function: &str, old: u32, new: u32) -> PathBuf {
    let entry = accesses(report).iter().find(|entry| entry["function"] == function).unwrap();
    let pc = usize::from_str_radix(entry["pc"].as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap();
    let mut bytes = std::fs::read(directory.0.join("a")).unwrap();
    // The first segment begins at 0, in the file and in memory.
    assert_eq!(bytes[pc..pc + 4], old.to_le_bytes(), "{function}");
    bytes[pc..pc + 4].copy_from_slice(&new.to_le_bytes());
    directory.file("patched", bytes)
}

#[test]
fn the_stronger_of_debug_information_and_instruction() {
    if !compiler() {
        return;
    }
    let directory = Directory::new("a64-contradiction");
    let text = "#include <atomic>\n#define O(x) std::memory_order_##x\n\
                int acquire(std::atomic<int>* p) { return p->load(O(acquire)); }\n\
                int relaxed(std::atomic<int>* p) { return p->load(O(relaxed)); }\nint main() {}\n";
    let report = json(&[], &build(&directory, text, "-O2 -g"));
    let (ldr, ldar) = (0xb940_0000, 0x88df_fc00);
    for (function, old, new, warning) in [
        (
            "acquire(std::atomic<int>*)",
            ldar,
            ldr,
            "says acquire, the instruction only gives relaxed; acquire was taken",
        ),
        (
            "relaxed(std::atomic<int>*)",
            ldr,
            ldar,
            "says relaxed, the instruction gives more; acquire was taken",
        ),
    ] {
        let patched = json(&[], &patch(&directory, &report, function, old, new));
        let entry = accesses(&patched).iter().find(|entry| entry["function"] == function).unwrap();
        assert_eq!((&entry["order"], &entry["from"]), (&"acquire".into(), &"dwarf".into()), "{entry}");
        assert_eq!(patched["warnings"].as_array().unwrap().len(), 1, "{patched}");
        assert!(patched["warnings"][0].as_str().unwrap().ends_with(warning), "{patched}");
    }
}
