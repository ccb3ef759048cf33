//! Programs that exist both as litmus tests and as compiled C have the same outcomes, in `wmtrace litmus` and in
//! `wmtrace` on the binary. For c11 the orders come from the source; for tso only the instructions count, which are
//! those that the litmus test stands for.

use crate::build::{Built, compile};
use crate::run::{Directory, Report, executions, feed};
use crate::source::{for_each, targets};
use crate::{litmus_to_c, random_litmus};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Loads, stores, fences and exchanges only.
const TESTS: [&str; 18] = [
    "SB+rlx",
    "SB+rel-acq",
    "SB+sc",
    "SB+sc-fences",
    "SB+sc-stores",
    "SB+xchg-rlx",
    "MP+rlx",
    "MP+rel+acq",
    "MP+rel-fence+acq-fence",
    "MP+xchg-rel+acq",
    "2+2W+rlx",
    "2+2W+xchg",
    "R+rlx",
    "R+sc",
    "S+rlx",
    "LB+rlx",
    "CoRR",
    "WRC+rlx+rel+acq",
];

/// What AArch64 has besides: read-modify-writes as calls, exclusive loops and LSE instructions; LDAPR; more barriers.
const MORE: [&str; 12] = [
    "2+2W+sc-fences",
    "CAS+both",
    "CAS+none",
    "IRIW+sc",
    "MP+rel+cas-acq",
    "MP+sc-fences",
    "R+sc-fences",
    "RMW+add+store",
    "RMW+add-add",
    "RS+cas",
    "RS+rmw",
    "S+rel+acq",
];

/// Executions after which an outcome that was not seen is called impossible. The rarest outcome of these tests has a
/// probability of 2.7 % by the random strategy in the simulator (WRC: 109 of 4,000). The binary has more events around
/// them, so that it may be rarer there; at a tenth of it, one is missed once in e^-10.
const ENOUGH: usize = 4000;

#[derive(Clone, Copy)]
pub(crate) struct Model {
    name: &'static str,
    /// Whether modification order may differ from the order of execution.
    insertion: bool,
}

pub(crate) const C11: Model = Model { name: "c11", insertion: true };
const TSO: Model = Model { name: "tso", insertion: false };

pub(crate) struct Test {
    name: String,
    litmus: String,
    terms: Vec<String>,
    outcomes: BTreeSet<String>,
}

/// The text of one of our litmus tests.
pub(crate) fn litmus(name: &str) -> String {
    std::fs::read_to_string(targets().join(format!("litmus/{name}.litmus"))).unwrap()
}

/// What the simulator says: every outcome, of every register and location.
pub(crate) fn simulate(
    directory: &Directory,
    name: &str,
    litmus: String,
    model: Model,
) -> Result<Test, String> {
    let path = directory.file("test.litmus", &litmus);
    let mut words = vec!["litmus", "-v", "--format", "json", "--model", model.name, path.to_str().unwrap()];
    if model.insertion {
        words.push("--mo-insertion");
    }
    let output = directory.wmtrace(&words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let json: Value =
        serde_json::from_str(text.lines().last().unwrap_or_default()).map_err(|e| e.to_string())?;
    let test = &json["tests"][0];
    if test["complete"] != true {
        return Err(format!("not explored: {json}"));
    }
    let states = test["states"].as_array().unwrap();
    let maps: Vec<_> = states.iter().map(|state| state["values"].as_object().unwrap()).collect();
    let terms: Vec<String> = maps[0].keys().cloned().collect();
    let line = |map: &&serde_json::Map<String, Value>| {
        let values: Vec<_> = terms.iter().map(|term| format!("{term}={}", map[term])).collect();
        values.join(" ")
    };
    Ok(Test { name: name.to_owned(), litmus, outcomes: maps.iter().map(line).collect(), terms })
}

/// A compiler, and how it is called.
type Compiler = (&'static str, &'static str);

const NATIVE: Compiler = ("gcc", "-O2");

impl Test {
    fn build(&self, directory: &Directory, (compiler, flags): Compiler) -> Built {
        let text = litmus_to_c::program(&self.litmus, &self.terms, None);
        let mut all = vec!["-std=gnu17", "-g", "-pthread"];
        all.extend(flags.split(' '));
        Test::compile(directory, &self.name, &text, compiler, &all)
    }

    /// With threads in assembly, and without debug information: only instructions tell their orders.
    pub(crate) fn assemble(&self, directory: &Directory, name: &str, assembly: &str) -> Built {
        let text = litmus_to_c::program(&self.litmus, &self.terms, Some(assembly));
        let flags = ["-std=gnu17", "-O2", "-pthread", "-march=armv8.3-a"];
        Test::compile(directory, name, &text, "aarch64-linux-gnu-gcc", &flags)
    }

    fn compile(
        directory: &Directory,
        name: &str,
        text: &str,
        compiler: &'static str,
        flags: &[&str],
    ) -> Built {
        let source = generated(directory, name, text);
        let path = compile(compiler, flags, &source, text);
        Built { path, args: vec![directory.path.join("outcomes").display().to_string()] }
    }

    /// The outcomes of executions of the binary, which the simulator must have too.
    fn sample(
        &self,
        directory: &Directory,
        built: &Built,
        model: Model,
        options: &str,
    ) -> Result<BTreeSet<String>, String> {
        let insertion = if model.insertion { "on" } else { "off" };
        let model = model.name;
        let options =
            format!("--model {model} --mo-insertion {insertion} --races off --shared-files {options}");
        let _ = std::fs::remove_file(directory.path.join("outcomes"));
        let report = Report::read(&feed(&mut directory.test(&options, built), ""))?;
        let runs = report.number("executions");
        report.is_clean(runs)?;
        let lines = outcomes(directory);
        if lines.len() as u64 != runs {
            return Err(format!("{} outcomes of {runs} executions", lines.len()));
        }
        let seen: BTreeSet<String> = lines.into_iter().collect();
        let more: Vec<_> = seen.difference(&self.outcomes).collect();
        match more.is_empty() {
            true => Ok(seen),
            false => Err(format!("{model} in litmus has no {more:?}\n  wmtrace {options}\n{}", self.litmus)),
        }
    }
}

/// The source stays where the debug information says: in one place for all tests and runs.
fn generated(directory: &Directory, name: &str, text: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("litmus");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.c"));
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return path;
    }
    std::fs::rename(directory.file("generated.c", text), &path).unwrap();
    path
}

fn outcomes(directory: &Directory) -> Vec<String> {
    let text = std::fs::read_to_string(directory.path.join("outcomes")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn differ(name: &'static str, model: Model, compiler: Compiler) -> Result<(), String> {
    let directory = Directory::new("differential");
    let test = simulate(&directory, name, litmus(name), model)?;
    let built = test.build(&directory, compiler);
    same_outcomes(&directory, &test, &built, model, "")
}

/// The program has the outcomes of the test, and no others.
pub(crate) fn same_outcomes(
    directory: &Directory,
    test: &Test,
    built: &Built,
    model: Model,
    options: &str,
) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for seed in 1..=ENOUGH / 250 {
        // Random walks hardly ever let the thread that was made first come last.
        let strategy = ["pos", "random", "pct -d 3"][seed % 3];
        let options = format!("--strategy {strategy} -n 250 -s {seed} {options}");
        seen.extend(test.sample(directory, built, model, &options)?);
        if seen == test.outcomes {
            return Ok(());
        }
    }
    Err(format!("{} in litmus has also {:?}", model.name, test.outcomes.difference(&seen)))
}

fn check(name: &'static str, insertion: bool) {
    for_each(&TESTS, |test| (*test).to_owned(), |test| differ(test, Model { name, insertion }, NATIVE));
}

fn check_aarch64(tests: &[&'static str], flags: &'static str) {
    let compiler = ("aarch64-linux-gnu-gcc", flags);
    for_each(tests, |name| (*name).to_owned(), |name| differ(name, C11, compiler));
}

/// The shapes that say most, in a qemu: an execution costs ten times as much there. The others are in
/// scripts/test-long.
#[test]
fn aarch64_c11() {
    check_aarch64(&["SB+rlx", "MP+rel+acq", "MP+xchg-rel+acq"], "-O2");
}

/// All shapes, by each way to compile atomics.
mod aarch64_c11_all {
    use super::{MORE, TESTS, check_aarch64};

    fn check(flags: &'static str) {
        check_aarch64(&[&TESTS[..], &MORE[..]].concat(), flags);
    }

    #[test]
    #[ignore = "long: scripts/test-long runs it"]
    fn outline() {
        check("-O2");
    }

    #[test]
    #[ignore = "long: scripts/test-long runs it"]
    fn exclusives() {
        check("-O2 -march=armv8-a -mno-outline-atomics");
    }

    #[test]
    #[ignore = "long: scripts/test-long runs it"]
    fn lse() {
        check("-O2 -march=armv8.1-a");
    }

    #[test]
    #[ignore = "long: scripts/test-long runs it"]
    fn rcpc() {
        check("-O2 -march=armv8.3-a");
    }

    /// With the C library inside, whose code is then the program's, main takes a thousand events to make a thread. The
    /// first thread would have ended long before.
    #[test]
    #[ignore = "long: scripts/test-long runs it"]
    fn with_the_c_library() {
        check("-O2 -static -DTOGETHER");
    }
}

#[test]
fn c11() {
    check("c11", true);
}

#[test]
fn c11_in_the_order_of_execution() {
    check("c11", false);
}

#[test]
fn tso() {
    check("tso", false);
}

#[test]
fn sc() {
    check("sc", false);
}

/// Random programs, by all compilers: no outcome that the simulator does not have. (Not every one that it has: some need
/// many executions.) Orders come from the source at -O2, from arguments of functions at -O0, and from instructions.
#[test]
fn random_programs() {
    const COMPILERS: [(Compiler, Model); 8] = [
        (("gcc", "-O2"), C11),
        (("gcc", "-O0"), C11),
        (("clang", "-O2"), C11),
        (("clang", "-O0"), C11),
        (("gcc", "-O1"), TSO),
        (("clang", "-O1"), TSO),
        (("aarch64-linux-gnu-gcc", "-O2"), C11),
        (("aarch64-linux-gnu-gcc", "-O1 -march=armv8-a -mno-outline-atomics"), C11),
    ];
    const STRATEGIES: [&str; 3] = ["", "--strategy random", "--strategy pos"];
    let programs = executions().div_ceil(4);
    let table: Vec<u64> = (0..programs).collect();
    for_each(
        &table,
        |seed| format!("random-{seed}"),
        |&seed| {
            let (compiler, model) = COMPILERS[seed as usize % COMPILERS.len()];
            let directory = Directory::new("random");
            let name = format!("random-{seed}");
            let test = simulate(&directory, &name, random_litmus::program(seed), model)?;
            let built = test.build(&directory, compiler);
            let strategy = STRATEGIES[seed as usize % STRATEGIES.len()];
            test.sample(&directory, &built, model, &format!("-n 40 -s {seed} {strategy}")).map(|_| ())
        },
    );
}

/// This machine is one that x86-TSO describes: what it does natively, the simulator has. Also shows that the
/// translation to C means the same.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_processor_is_tso() {
    for_each(
        &TESTS,
        |name| (*name).to_owned(),
        |name| {
            let directory = Directory::new("native-litmus");
            let test = simulate(&directory, name, litmus(name), TSO)?;
            let built = test.build(&directory, NATIVE);
            for _ in 0..20 {
                let status = directory.command(&built.path).args(&built.args).status().unwrap();
                assert!(status.success(), "{status}");
            }
            let lines = outcomes(&directory);
            match lines.len() == 20 && lines.iter().all(|line| test.outcomes.contains(line)) {
                true => Ok(()),
                false => Err(format!("{lines:?} are not all in {:?}", test.outcomes)),
            }
        },
    );
}
