//! The model's promises on real code: the weak outcome of each shape is there or not, as the table of the litmus tests
//! says, in every language, by every compiler, with and without optimisation.

use crate::build::{Built, Flavour, GNU_O0, GNU_O2, LLVM_O0, LLVM_O2, RUST_DEBUG, RUST_RELEASE, Toolchain};
use crate::run::{Directory, executions, is_long};
use crate::source::{Source, for_each, targets};

/// Shape, order, and the litmus test of the same.
const ROWS: [(&str, &str, &str); 15] = [
    ("sb", "relaxed", "SB+rlx"),
    ("sb", "rel-acq", "SB+rel-acq"),
    ("sb", "sc", "SB+sc"),
    ("mp", "relaxed", "MP+rlx"),
    ("mp", "rel-acq", "MP+rel+acq"),
    ("mp", "sc", "MP+sc"),
    ("iriw", "relaxed", "IRIW+rlx"),
    ("iriw", "rel-acq", "IRIW+rel-acq"),
    ("iriw", "sc", "IRIW+sc"),
    ("2+2w", "relaxed", "2+2W+rlx"),
    ("2+2w", "rel-acq", "2+2W+rel"),
    ("2+2w", "sc", "2+2W+sc"),
    ("r", "relaxed", "R+rlx"),
    ("r", "rel-acq", "R+rel-acq"),
    ("r", "sc", "R+sc"),
];

const FLAVOURS: [Flavour; 6] = [GNU_O0, GNU_O2, LLVM_O0, LLVM_O2, RUST_DEBUG, RUST_RELEASE];

/// All of them, or the three that differ most.
fn flavours() -> Vec<Flavour> {
    if is_long() { FLAVOURS.to_vec() } else { vec![GNU_O0, LLVM_O2, RUST_RELEASE] }
}

/// How a weak outcome is looked for, one after the other. The default strategy sees what few reads make weak (R under
/// tso, with Rust's threads: one of 50); uniform sampling, what takes many (IRIW with Rust's threads, whose creation has
/// a hundred events of its own: one of 100). Seeds are fixed: what is there is found, each time in the same execution.
const SEARCHES: [&str; 3] =
    ["--strategy random -n 300", "--strategy pctwm -n 600", "--strategy random -s 2 -n 1000"];

/// The models, as the columns of the table are called.
const MODELS: [&str; 6] = ["sc", "tso", "pso", "pslo", "c11", "c11+insertion"];

fn options(model: &str) -> &str {
    match model {
        "c11" => "--model c11 --mo-insertion off",
        "c11+insertion" => "--model c11",
        "sc" => "--model sc",
        "tso" => "--model tso",
        "pso" => "--model pso",
        "pslo" => "--model pslo",
        _ => panic!("{model}"),
    }
}

/// Whether the table of the litmus tests says `yes`.
fn expected(litmus: &str, model: &str) -> bool {
    let column = MODELS.iter().position(|name| *name == model).unwrap() + 1;
    let table = std::fs::read_to_string(targets().join("litmus/expected.txt")).unwrap();
    let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.find(|words| words.first() == Some(&litmus)).expect(litmus)[column] == "yes"
}

fn build(shape: &str, order: &str, flavour: Flavour) -> Built {
    let path = if flavour.toolchain == Toolchain::Rustc {
        let file = if shape == "sb_bare" { "model/sb_bare.rs" } else { "model/shapes.rs" };
        let switches = format!("--cfg shape=\"{shape}\" --cfg order=\"{order}\"");
        Source::named(file).compile(flavour, &switches)
    } else {
        let (store, load) = match order {
            "relaxed" => ("relaxed", "relaxed"),
            "rel-acq" => ("release", "acquire"),
            _ => ("seq_cst", "seq_cst"),
        };
        let switches = format!("-DSTORE=std::memory_order_{store} -DLOAD=std::memory_order_{load}");
        Source::named(&format!("model/{shape}.cpp")).compile(flavour, &switches)
    };
    Built { path, args: Vec::new() }
}

fn keeps_promise(row: (&str, &str, &str), model: &str, flavour: Flavour) -> Result<(), String> {
    let (shape, order, litmus) = row;
    let directory = Directory::new("promise");
    let built = build(shape, order, flavour);
    if expected(litmus, model) {
        let mut found = Vec::new();
        let mut searches = SEARCHES;
        if model == "tso" {
            searches.swap(0, 1);
        }
        for search in searches {
            let report = directory.report(&format!("{} --expect-exit 0 {search}", options(model)), &built)?;
            match report.kinds()[..] {
                [] => found.push(report.value().to_string()),
                ["exit"] => return Ok(()),
                _ => return Err(format!("something else was found: {}", report.value())),
            }
        }
        Err(format!("the weak outcome is missing: {found:?}"))
    } else {
        let runs = executions();
        let options = format!("{} --expect-exit 0 -n {runs} --keep-going", options(model));
        directory.report(&options, &built)?.is_clean(runs)
    }
}

fn check(models: &[&str], orders: &[&str], flavours: &[Flavour]) {
    let rows = ROWS.iter().filter(|(_, order, _)| orders.contains(order));
    let table: Vec<_> = rows
        .flat_map(|row| {
            models.iter().flat_map(move |model| flavours.iter().map(move |flavour| (*row, *model, *flavour)))
        })
        .collect();
    for_each(
        &table,
        |(row, model, flavour)| format!("{} {model} {flavour:?}", row.2),
        |(row, model, flavour)| keeps_promise(*row, model, *flavour),
    );
}

const ORDERS: [&str; 3] = ["relaxed", "rel-acq", "sc"];

#[test]
fn c11() {
    check(&["c11+insertion"], &ORDERS, &flavours());
}

#[test]
fn c11_in_the_order_of_execution() {
    check(&["c11"], &ORDERS, if is_long() { &FLAVOURS } else { &FLAVOURS[..1] });
}

/// Where only the instructions count, the compiler matters less.
#[test]
fn sc_and_tso() {
    let flavours = [GNU_O2, RUST_RELEASE];
    check(&["sc", "tso"], &ORDERS, if is_long() { &flavours } else { &flavours[..1] });
}

/// A release store of the source is a plain one here: only the relaxed shapes are those of the table.
#[test]
fn pso_and_pslo() {
    check(&["pso", "pslo"], &["relaxed"], &[GNU_O2]);
}

/// At depth 0 no thread hears of another, but by what creation, the end and read-modify-writes force: both loads of
/// relaxed store buffering read 0, always. Rust's std takes one lock at the start and at the end of a thread, so that a
/// thread that starts after another's end hears of it: there the threads are the system's.
#[test]
fn store_buffering_at_depth_0() {
    let mut table = Vec::new();
    for shape in ["sb", "sb_bare"] {
        for model in ["c11", "tso"] {
            let flavours = flavours().into_iter();
            let flavours = flavours.filter(|it| it.toolchain != Toolchain::Rustc || shape == "sb_bare");
            table.extend(flavours.map(|flavour| (shape, model, flavour)));
        }
    }
    for order in ["relaxed", "sc"] {
        for_each(
            &table,
            |(shape, model, flavour)| format!("{shape} {order} {model} {flavour:?}"),
            |&(shape, model, flavour)| {
                let directory = Directory::new("depth");
                let options =
                    format!("--model {model} --strategy pctwm -d 0 -n 50 --keep-going --expect-exit 0");
                let report = directory.report(&options, &build(shape, order, flavour))?;
                // Without optimisation g++ does not know the order in `store`: every store is an exchange.
                let locked = model == "tso" && flavour == GNU_O0;
                let weak = if order == "relaxed" && !locked { 50 } else { 0 };
                match (report.number("executions"), report.number("buggy_executions")) {
                    (50, found) if found == weak => Ok(()),
                    other => Err(format!("{other:?}, not {weak}: {}", report.value())),
                }
            },
        );
    }
}

/// The shapes compile in every flavour, and natively are either weak or not.
#[test]
fn shapes_run() {
    for (shape, order, litmus) in ROWS {
        for flavour in flavours() {
            let status =
                Directory::new("shape").command(build(shape, order, flavour).path).output().unwrap().status;
            let allowed: &[i32] = if expected(litmus, "tso") { &[0, 42] } else { &[0] };
            assert!(
                status.code().is_some_and(|code| allowed.contains(&code)),
                "{litmus} {flavour:?}: {status}"
            );
        }
    }
}
