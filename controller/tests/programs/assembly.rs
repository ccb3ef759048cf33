//! Litmus shapes as small assembly files (`targets/litmus/aarch64`), assembled without debug information: the outcomes are
//! those of the litmus test that each names. Only instructions tell the orders, and a plain load or store has none
//! (`--assume relaxed`; by default loads are taken for stronger, see docs/GATE.md).

use crate::differential::{C11, litmus, same_outcomes, simulate};
use crate::run::Directory;
use crate::source::{for_each, targets};

/// The files, by name.
fn files() -> Vec<String> {
    let folder = std::fs::read_dir(targets().join("litmus/aarch64")).expect("the assembly files");
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter_map(|name| Some(name.strip_suffix(".s")?.to_owned())).collect();
    names.sort();
    names
}

fn is_as_in_the_simulator(name: &str) -> Result<(), String> {
    let path = targets().join(format!("litmus/aarch64/{name}.s"));
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let as_in =
        text.lines().find_map(|line| line.strip_prefix("// Litmus: ")).ok_or("names no litmus test")?;
    let directory = Directory::new("assembly");
    let test = simulate(&directory, as_in, litmus(as_in), C11)?;
    let built = test.assemble(&directory, name, &text);
    same_outcomes(&directory, &test, &built, C11, "--assume relaxed")
}

/// An execution costs ten times as much as a native one: the rest is in scripts/test-long.
#[test]
fn the_shapes_that_say_most() {
    let names = ["SB+plain", "SB+stlr+ldapr", "MP+stlr+ldar", "MP+dmb.ishst+dmb.ishld", "RMW+ldxr"];
    for_each(&names, |name| (*name).to_owned(), |name| is_as_in_the_simulator(name));
}

#[test]
#[ignore = "long: scripts/test-long runs it"]
fn every_shape() {
    let names = files();
    assert!(names.len() >= 30, "{names:?}");
    for_each(&names, String::clone, |name| is_as_in_the_simulator(name));
}

/// At depth 0 no thread sees the other's store, whatever the registers and the code around are.
#[test]
fn store_buffering_at_depth_0() {
    let directory = Directory::new("assembly");
    let test = simulate(&directory, "SB+rlx", litmus("SB+rlx"), C11).unwrap();
    let text = std::fs::read_to_string(targets().join("litmus/aarch64/SB+plain.s")).unwrap();
    let built = test.assemble(&directory, "SB+plain", &text);
    directory.report("-n 50 -d 0 --races off --shared-files", &built).unwrap().is_clean(50).unwrap();
    let lines = std::fs::read_to_string(directory.path.join("outcomes")).unwrap();
    assert_eq!(lines, "0:r0=0 1:r0=0 x=1 y=1\n".repeat(50));
}
